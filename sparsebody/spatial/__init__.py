"""Spatial (6-D) vector algebra: rotations, transforms, inertia, subspaces; knows no mechanism.

Arrays may have any leading axes, written "..."; those of several arguments broadcast. ShapeError
names the argument whose last axes do not fit, ModelError the solid or body that cannot be. Vectors
are angular part first. RBDA is Featherstone (2008).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
