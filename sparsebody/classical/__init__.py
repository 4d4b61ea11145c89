"""The algorithms of the literature on arms and trees of revolute and prismatic joints.

An algorithm is a file with a kernel that takes `Links` and a `Motion`, and a line in ALGORITHMS.
The same kernel runs compiled on floats and, by `counting.interpreted`, on operation counters.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
