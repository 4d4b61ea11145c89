"""Families of test matrices with their known properties, for authors of sparse solvers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
