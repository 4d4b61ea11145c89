"""Derivatives in joint coordinates, against Pinocchio's and against differences."""

import numpy as np
import pytest
from random_mechanisms import copied, random_loops, random_tree
from random_motions import random_motion, slope

import sparsebody as sb
from sparsebody import tree as tree_school
from sparsebody.errors import ModelError, ShapeError, SingularSystemError
from sparsebody.linearization import derivatives

STEP = 1e-3


def assert_close(result, expected, tolerance):
    size = np.abs(expected).max(initial=1e-3)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * size)


def differences(f, tree, q, qd, last):
    """Derivatives of f(q, qd, last) by its three arguments, of the fourth order in STEP."""
    columns = []
    for unit in np.eye(len(qd)):
        rate = tree_school.position_rates(tree, q, unit)
        columns.append(
            (
                slope(lambda h, rate=rate: f(q + h * rate, qd, last), STEP),
                slope(lambda h, unit=unit: f(q, qd + h * unit, last), STEP),
                slope(lambda h, unit=unit: f(q, qd, last + h * unit), STEP),
            )
        )
    return np.moveaxis(np.array(columns), 0, -1)


@pytest.mark.parametrize("reversed_joints", [False, True])
@pytest.mark.parametrize("name", [*(name for name in sb.JOINT_TYPES if name != "fixed"), "all"])
def test_derivatives_by_coordinates_of_any_type_are_differences(name, reversed_joints):
    rng = np.random.default_rng(5)
    names = tuple(sb.JOINT_TYPES) if name == "all" else (name, "revolute")
    mechanism = random_tree(rng, 12 if name == "all" else 5, names)
    system = copied(mechanism, reversed_joints=reversed_joints).compile()
    of = tree_school.TreeDerivatives(system)
    tree, aba = of.tree, tree_school.tree_dynamics("aba", system, of.tree)
    assert (tree.direction == (-1 if reversed_joints else 1)).all()
    q, qd = tree_school.joint_coordinates(tree, system.initial_state)
    tau, qdd = rng.normal(size=(2, tree.n_velocities))
    forward = of.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(forward.qdd, aba.joint_acceleration(q, qd, tau))
    expected = differences(aba.joint_acceleration, tree, q, qd, tau)
    for result, other in zip(forward[1:], expected, strict=True):
        assert_close(result, other, 1e-8)

    def required(q, qd, qdd):
        return tree_school.inverse_dynamics(
            tree, tree_school.motion_at_coordinates(tree, q, qd), qdd
        )

    inverse = of.inverse_dynamics(q, qd, qdd)
    expected = differences(required, tree, q, qd, qdd)
    for result, other in zip(inverse[1:], expected, strict=True):
        assert_close(result, other, 1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_all_forces_and_prescribed_motions_are_taken_along(seed):
    """Springs, dampers, loads, bushings, wrenches that follow the bodies."""
    system, state, force = random_motion(seed, 6, 0)
    tree = tree_school.TreeDerivatives(system).tree
    state = tree_school.tree_state(
        tree, *tree_school.joint_coordinates(tree, state), time=state.time
    )
    of = derivatives(system, state, body_force=force).joint_space
    assert tree.is_prescribed.sum() == 1
    aba, (q, qd) = (
        tree_school.tree_dynamics("aba", system, tree),
        tree_school.joint_coordinates(tree, state),
    )

    def accelerations(q, qd, _):
        at = tree_school.tree_state(tree, q, qd, time=state.time)
        return aba.solve(aba.problem(at, force)).qdd

    expected = differences(accelerations, tree, q, qd, np.zeros_like(qd))
    assert_close(of.qdd, accelerations(q, qd, None), 1e-10)
    for result, other in zip(of[1:3], expected[:2], strict=True):
        assert_close(result, other, 1e-8)
    unit = np.linalg.inv(of.qdd_tau[np.ix_(~tree.is_prescribed, ~tree.is_prescribed)])
    H = tree_school.TreeDerivatives(system).inverse_dynamics(q, qd, of.qdd).H
    assert_close(unit, H[np.ix_(~tree.is_prescribed, ~tree.is_prescribed)], 1e-10)


def test_what_has_no_derivatives_by_joint_coordinates_is_refused(monkeypatch):
    loops = random_loops(np.random.default_rng(0), 5, 1).compile()
    with pytest.raises(ModelError, match=r"closes a loop .* jvp, vjp and matrix"):
        derivatives(loops).joint_space  # noqa: B018
    chain = sb.build("chain", bodies=3)
    of = tree_school.TreeDerivatives(chain.compile())
    with pytest.raises(ShapeError, match="tau has shape"):
        of.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(2))
    with pytest.raises(ModelError, match="must be finite"):
        of.inverse_dynamics(np.zeros(3), np.full(3, np.nan), np.zeros(3))
    with pytest.raises(SingularSystemError, match="too large to multiply"):
        of.inverse_dynamics(np.zeros(3), np.full(3, 1e200), np.zeros(3))
    with pytest.raises(SingularSystemError):
        of.forward_dynamics(np.zeros(3), np.full(3, 1e200), np.zeros(3))
    monkeypatch.setattr("sparsebody.tree.recursions.MOST_ENTRIES", 8)
    with pytest.raises(ModelError, match="3 joint coordinates"):
        tree_school.TreeDerivatives(chain.compile())
