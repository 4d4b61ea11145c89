"""Derivatives in joint coordinates on trees, against Pinocchio's computeABADerivatives."""

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_models import ANGULAR_FIRST, PinocchioModel
from random_mechanisms import random_tree

from sparsebody.linearization import derivatives


def peer(system, state):
    """Twists, and rates of velocities and accelerations of the bodies, by q, dq/dt and tau."""
    of = PinocchioModel(system, state)
    model, data, q = of.model, of.model.createData(), of.position()
    v, tau = of.along_joints(of.joint_motion.velocity, is_velocity=True), np.zeros(of.model.nv)
    qdd = pin.aba(model, data, q, v, tau)
    by_q, by_v, by_tau = (part.copy() for part in pin.computeABADerivatives(model, data, q, v, tau))
    pin.computeForwardKinematicsDerivatives(model, data, q, v, qdd)
    bodies = []
    for i in range(system.n_bodies):
        anchor = of.anchors[i]
        parts = pin.getJointAccelerationDerivatives(model, data, anchor.joint, pin.LOCAL)
        bodies.append(
            [(anchor.placement.toActionMatrixInverse() @ x)[ANGULAR_FIRST] for x in parts]
        )
    v_q, a_q, a_v, J = np.array(bodies).swapaxes(0, 1)
    return J, v_q, a_q + J @ by_q, a_v + J @ by_v, J @ by_tau


@pytest.mark.parametrize("n_bodies", [3, 10, 30])
@pytest.mark.parametrize("names", [("revolute",), ("prismatic", "revolute")])
def test_changes_along_joint_coordinates_are_those_of_pinocchio(n_bodies, names):
    mechanism = random_tree(np.random.default_rng(n_bodies), n_bodies, names)
    system = mechanism.compile()
    state = system.initial_state
    J, v_q, *expected = peer(system, state)
    of = derivatives(system, state)
    wrench = np.linalg.pinv(J.reshape(6 * n_bodies, -1)).T.reshape(J.shape)  # J' wrench = 1
    directions = {"position": J, "velocity": v_q}, {"velocity": J}, {"force": wrench}
    for along, change in zip(directions, expected, strict=True):
        size = np.abs(change).max()
        np.testing.assert_allclose(of.jvp(**along).acceleration, change, rtol=0, atol=1e-10 * size)
