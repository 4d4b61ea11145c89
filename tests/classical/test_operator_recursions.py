from fractions import Fraction

import numpy as np
import pytest
from random_arms import Instant, random_arm

from sparsebody.classical import ALGORITHMS
from sparsebody.classical.arm_links import Links, Motion
from sparsebody.classical.counting import interpreted, lifted
from sparsebody.classical.counts import counted
from sparsebody.classical.kernels.operator_recursions import operator_forward, operator_inverse
from sparsebody.classical.operators import SpatialOperators, body_masses


def exact(seed: int, n: int, *, tree: bool) -> tuple[Links, Motion]:
    """An arm on rational numbers whose inertias are symmetric without rounding."""
    rng = np.random.default_rng(seed)
    arm, at = random_arm(rng, n, tree=tree, convention="modified"), Instant.random(rng, n)
    links = lifted(arm.links, Fraction)
    inertia = (links.inertia + links.inertia.swapaxes(1, 2)) / 2
    whole = links._replace(
        inertia=inertia,
        moment=links.mass[:, None] * links.com,
        spatial_inertia=body_masses(links.mass, links.com, inertia),
    )
    return whole, lifted(arm.motion(at.q, at.qd, at.qdd), Fraction)


@pytest.mark.parametrize("tree", [False, True])
def test_recursions_are_exactly_what_the_operators_say(tree):
    links, motion = exact(1, 3, tree=tree)
    operators = SpatialOperators(links, motion, 2, np.eye(6, dtype=object))
    tau = interpreted(operator_inverse)(links, motion)
    assert (tau == operators.inverse_dynamics(motion.qd, motion.qdd)).all()
    back = interpreted(operator_forward)(links, motion._replace(qdd=tau))
    assert (back == motion.qdd).all()
    assert (back == operators.forward_dynamics(motion.qd, tau)).all()


def test_a_single_joint_of_either_kind_obeys_newton():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        arm, at = random_arm(rng, 1), Instant.random(rng, 1)
        motion = arm.motion(at.q, at.qd, at.qdd)
        c, z = arm.com[0], np.array([0.0, 0.0, 1.0])
        weight = arm.mass[0] * motion.rotation[0].T @ arm.gravity
        if arm.revolute[0]:
            inertia = arm.inertia[0, 2, 2] + arm.mass[0] * (c[0] ** 2 + c[1] ** 2)
            pull = np.cross(c, weight) @ z
        else:
            inertia, pull = arm.mass[0], weight @ z
        expected = inertia * at.qdd - pull
        found = ALGORITHMS["spatial-operators"](arm, at.q, at.qd, at.qdd)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        found = ALGORITHMS["spatial-operators-forward"](arm, at.q, at.qd, expected)
        np.testing.assert_allclose(found, at.qdd, rtol=1e-12)


def test_counts_of_the_recursions():
    inverse, forward = (counted(ALGORITHMS[f"spatial-operators{x}"]) for x in ("", "-forward"))
    assert (str(inverse.multiplications), str(inverse.additions)) == ("125 n - 129", "100 n - 111")
    assert (str(forward.multiplications), str(forward.additions)) == ("314 n - 372", "253 n - 313")
    bent = counted(ALGORITHMS["spatial-operators-forward"], "right-angled")
    assert (str(bent.multiplications), bent.smallest) == ("193 n - 248", 4)
    assert bent.to_dict()["smallest"] == 4
