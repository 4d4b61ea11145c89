"""From results to numbers: what inspection, orderings, reactions and loops tell.

`cost_prediction.py` predicts what factorizations of large lattices take.
`reactions.py` says which reactions rigid bodies determine; `advice.py` replaces joints
by such as have more freedoms, and compares the outcome with the original in two poses.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
