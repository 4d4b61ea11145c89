"""Errors of a motion by joints that are compliant in implicit steps, but meant to be rigid.

Joints that are open by delta = C lambda pass loads on as if moments delta x lambda acted. However
small delta is, these move light bodies that are between heavy ones. Joints also vibrate, with far
larger accelerations that cancel: these are of the form M^-1 A' mu, as those by any constraint
forces, while motions that rigid joints allow are orthogonal to them in the metric of M.
"""

from collections.abc import Sequence

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.simulation import stabilization
from sparsebody.simulation.integrators import pose_derivatives
from sparsebody.simulation.step_errors import End


def rigid_differences(dynamics: ForwardDynamics, ends: Sequence[End]) -> FloatArray:
    """Return by how much y'' (k, n_bodies, 7) of poses differs from that with rigid joints.

    These are closed in the nearest states; the part of the difference that they allow is returned.
    Raises SingularSystemError near singular poses, where they determine no accelerations.
    """
    system, differences = dynamics.system, []
    for state, acceleration, *_ in ends:
        closed = stabilization.projected(dynamics.evaluate, state)
        rigid = closed.solved()
        difference, still = acceleration - rigid.acceleration, np.zeros_like(acceleration)
        of_rows = [
            constraint_errors(system, rigid.state.with_(velocity=velocity))[1]
            for velocity in (difference, still)
        ]
        difference += closed.evaluation.position_correction(of_rows[0] - of_rows[1])
        moving = rigid.state.with_(velocity=difference)
        differences.append(pose_derivatives(moving, still)[0])
    return np.array(differences)
