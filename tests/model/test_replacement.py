"""Mechanisms with other joints in place of some of their own."""

import numpy as np
import pytest

from sparsebody.analysis.advice import with_replaced_joints
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError
from sparsebody.model.gallery import build
from sparsebody.model.joints import PointOnLine, Prismatic, Spherical
from sparsebody.model.mechanism import WORLD, Mechanism

QUARTER = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def test_other_joints_and_bodies_stay_exactly_as_they_are() -> None:
    mechanism = build("scissor", pairs=3, drive=True)
    copy = with_replaced_joints(mechanism, {"middle-1": (PointOnLine(), QUARTER)})
    one, other = mechanism.compile(), copy.compile()
    assert list(copy.joints) == list(mechanism.joints)
    assert list(copy.bodies) == list(mechanism.bodies)
    assert other.n_rows == one.n_rows - 3
    for field in ("mass", "inertia", "predecessor", "successor", "successor_point"):
        np.testing.assert_array_equal(getattr(other, field), getattr(one, field))
    for field in ("position", "orientation", "velocity"):
        found = getattr(other.initial_state, field)
        np.testing.assert_array_equal(found, getattr(one.initial_state, field))
    j = one.joint("middle-1")
    turned = one.successor_rotation.copy()
    turned[j] = turned[j] @ QUARTER
    np.testing.assert_allclose(other.successor_rotation, turned, atol=1e-15)
    assert consistent_state(other).coordinate.shape == one.initial_state.coordinate.shape


def test_joints_in_use_and_unknown_ones_are_refused() -> None:
    mechanism = Mechanism()
    mechanism.add_body("slide", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("rail", Prismatic(), WORLD, "slide")
    mechanism.add_joint("motor", Prismatic(), WORLD, "slide", prescribed=0.0)
    mechanism.add_joint_force("spring", "rail", stiffness=1.0)
    for name, message in (("rail", "in use"), ("motor", "in use"), ("nothing", "no joint")):
        with pytest.raises(ModelError, match=message):
            with_replaced_joints(mechanism, {name: (Spherical(), np.eye(3))})
