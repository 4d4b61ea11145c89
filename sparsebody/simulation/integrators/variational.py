"""Variational steps: symplectic, and with the momenta of the symmetries of a mechanism kept.

The energy of a conservative motion errs by O(h^2), or O(h^4), but does not drift, however long it
goes on: backward error analysis, Hairer, Lubich, Wanner (2006), Geometric Numerical Integration,
chapter IX. A step is one factorization at its start, one evaluation at its end, and corrections of
the pose in between, `core/simulation/variational_step.hpp`. Near singular poses, where these do not
converge, and where control acts, single steps are those of "rk4".
"""

import numpy as np

from sparsebody.simulation.integrators.base import Composition

RATTLE = Composition(np.ones(1))

_OUTER = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
SUZUKI = Composition(np.array([_OUTER, _OUTER, 1.0 - 4.0 * _OUTER, _OUTER, _OUTER]))
"""Order 4. Suzuki (1990), Phys. Lett. A 146:319."""
