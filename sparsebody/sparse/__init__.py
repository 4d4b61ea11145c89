"""Block matrices and their patterns; knows no mechanics.

`pattern.py` and `saddle.py` are patterns and values, `elimination_tree.py` what an order makes of
them, `searches.py`, `cycles.py` and `treewidth.py` graph algorithms, `subtree_rules.py` induction
over elimination trees. `rank.py` decides which rows to leave out, one biconnected component at a
time.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
