"""Motions near a motion: derivatives, gradients, linearized equations, vibrations, plane waves.

All of it is more right-hand sides for factors of the matrix of (8.64), or of it with stiffness.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
