"""Mechanisms as users build them, and the flat arrays that they are compiled to.

Mechanisms hold bodies and joints as columns in the order of declaration (`columns.py`, `names.py`);
files and gallery go through columns from end to end. `compilation.py` makes the `System`, after
`rigid_clusters.py` has made bodies without mass or moments part of others.
`subgroups/` finds classes of joints that move within one displacement subgroup, and what bodies
about the world are left with; `gallery/` generates mechanisms, `robots/` reads MJCF and URDF.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
