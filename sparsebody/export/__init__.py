"""Trajectories and mechanisms written for other programs: VTK, CSV, Parquet, MJCF, URDF."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
