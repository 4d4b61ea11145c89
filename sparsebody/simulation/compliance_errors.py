"""Errors of a motion by joints that are compliant in implicit steps, but meant to be rigid.

Joints that are open by delta = C lambda pass loads on as if moments delta x lambda acted. However
small delta is, these move light bodies that are between heavy ones.
"""

from collections.abc import Sequence

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.simulation import stabilization
from sparsebody.simulation.integrators import pose_derivatives
from sparsebody.simulation.step_errors import End


def rigid_differences(dynamics: ForwardDynamics, ends: Sequence[End]) -> FloatArray:
    """Return by how much y'' (k, n_bodies, 7) of poses differs from that with rigid joints.

    These are closed in the nearest states. Raises SingularSystemError near singular poses, where
    rigid joints determine no accelerations.
    """
    differences = []
    for state, acceleration, _ in ends:
        rigid = stabilization.projected(dynamics.evaluate, state).solved()
        _, curvature = pose_derivatives(state, acceleration)
        differences.append(curvature - pose_derivatives(rigid.state, rigid.acceleration)[1])
    return np.array(differences)
