"""Displacement subgroups: sub-mechanisms in which bodies have fewer freedoms than six."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
