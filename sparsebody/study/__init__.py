"""Scaling studies: a file of cases, a runner of them in processes of their own, one result file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
