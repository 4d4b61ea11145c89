"""From motion to the system (8.64): constraint rows, body forces, the matrix.

The readable form; tests hold the compiled assembly of `core/dynamics` to it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
