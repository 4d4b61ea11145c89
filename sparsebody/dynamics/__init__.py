"""The sparse school: forward and inverse dynamics by factorizations of the whole graph.

`preparation.py` decides rows and freedoms (`reductions.py`: in a plane, or within displacement
subgroups about the world), order and factorization; an evaluator of `evaluators.py` assembles and
solves with nothing allocated, in one native call where a fused pass exists. Where it cannot
evaluate a state, another one takes its place.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
