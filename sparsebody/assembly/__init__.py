"""From motion to the system of Featherstone (2008), eq. (8.64): rows, body forces, the matrix.

The pattern is the one that solvers use. Rows and forces are the readable form, which tests compare
with the compiled assembly of `core/dynamics`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
