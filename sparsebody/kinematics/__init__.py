"""Relative motion at the joints, position and velocity errors, moving bodies and points."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
