"""Rigid-body dynamics on the whole body-joint graph, by sparse factorization.

The public names stand in `__init__.pyi`; each is loaded when it is first used, so that small
commands start quickly.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
