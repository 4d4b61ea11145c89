"""The method Radau IIA with three stages, of order 5: implicit, for precise and for stiff motions.

Constraints hold at all stages in positions and velocities, `simulation/implicit/collocation.py`.
Ehle (1969); Hairer and Wanner (1996), Solving Ordinary Differential Equations II, sec. IV.5.
"""

import numpy as np

from sparsebody.simulation.integrators.base import Collocation

RADAU_IIA = Collocation(np.array([(4.0 - 6.0**0.5) / 10.0, (4.0 + 6.0**0.5) / 10.0, 1.0]))
