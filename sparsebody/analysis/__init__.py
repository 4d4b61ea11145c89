"""Numbers of results: energy, orderings, reactions, loops.

`cost_prediction.py` predicts time and memory of factorizations of large lattices, `reactions.py`
the reactions that rigid bodies determine; `advice.py` replaces joints by ones with more freedoms.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
