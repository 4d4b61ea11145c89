"""Certificates of growth: how the work of a family grows, with proofs where fronts stay bounded."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
