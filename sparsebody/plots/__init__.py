"""Pictures: one figure a function, and what can be drawn of a mechanism or a trajectory."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
