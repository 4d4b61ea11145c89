"""The Runge-Kutta method of order 4 for second-order equations: four evaluations per step.

Velocities are those of the classical method. Poses of stages use the accelerations as well: they
are off the motion by h^3 and h^4 instead of h^2, and joints hardly open. The last stage and the end
of the step differ by an error of order 3: Hairer, Norsett, Wanner (1993), sec. II.4.
"""

import numpy as np

from sparsebody.simulation.integrators.base import Tableau

RK4 = Tableau(
    node=np.array([1 / 2, 1 / 2, 1, 1]),
    pose=np.array(
        [[1, 0, 0, 0], [2 / 3, 1 / 3, 0, 0], [1 / 6, 0, 5 / 6, 0], [1 / 3, 1 / 3, 1 / 3, 0]]
    ),
    rate=np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1 / 6, 1 / 3, 1 / 3, 1 / 6]]),
    error=np.array([0, 0, 0, 1 / 6, -1 / 6]),
)
