"""The spanning-tree school: dynamics in joint coordinates. Featherstone (2008), chs. 4 to 8.

The tables of the book are in `recursions.py` (5.1, 6.2 to 6.5, 7.1) and `loop_constraints.py`
(8.4), the methods of sec. 8.5 in `loop_methods.py` and `loops_projection.py`, explicit constraints
(secs. 3.2, 8.11) in `explicit_constraints.py`.
"""

import lazy_loader

# Functions that are called as their modules are must be here before these.
from sparsebody.tree.joint_space import joint_space as joint_space
from sparsebody.tree.tree_choice import spanning_tree as spanning_tree

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
