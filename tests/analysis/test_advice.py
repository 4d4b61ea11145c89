"""Replacements of joints that leave nothing redundant and the motion as it is."""

import json

import numpy as np
import pytest
from exact_equality import assert_same
from linkages import at_start, one_body
from overconstrained import add_twin, random_mechanism
from random_mechanisms import random_position, random_tree

import sparsebody as sb
from sparsebody.analysis import advice_choices
from sparsebody.analysis.advice import moving_state, nearby_state, with_replaced_joints
from sparsebody.analysis.advice_choices import relaxations
from sparsebody.errors import ModelError
from sparsebody.kinematics.joint_motion import joint_motion
from sparsebody.spatial import plucker_parts, plucker_transform


def five_bar():
    """Five hinges with parallel axes: mobility 2."""
    mechanism = sb.Mechanism("five-bar")
    corners = np.array([[0, 0, 0], [-0.5, 1, 0], [0.5, 1.8, 0], [1.5, 1.1, 0], [1.2, 0, 0]])
    middle = (corners[1:] + corners[:-1]) / 2
    mechanism.add_bodies("bar-{}", mass=1.0, inertia=[0.1, 0.1, 0.1], position=middle)
    mechanism.add_joints(
        "hinge-{}", sb.Revolute(), [-1, 0, 1, 2, 3], [0, 1, 2, 3, -1], point=corners
    )
    return mechanism


def welded_twice():
    mechanism = sb.Mechanism("welded twice")
    position = [[0.5, 0, 0], [1.0, 0, 0]]
    mechanism.add_bodies(["arm", "tip"], mass=1.0, inertia=[1, 1, 1], position=position)
    mechanism.add_joint("hinge", sb.Revolute(), sb.WORLD, "arm", point=[0, 0, 0], axis=[0, 1, 0])
    mechanism.add_joint("weld", sb.Fixed(), "arm", "tip")
    mechanism.add_joint("weld again", sb.Fixed(), "arm", "tip", point=[0.7, 0.1, 0])
    return mechanism


def doubled():
    mechanism = random_tree(np.random.default_rng(2), 4, ("revolute",))
    add_twin(mechanism, "j1")
    return mechanism


POINTS = {"point-on-line", "point-on-plane"}
CASES = {  # name: mechanism, replacements, types that come in
    "scissor": (lambda: sb.build("scissor", pairs=6), 5, {"point-on-line"}),
    "row of four-bars": (lambda: sb.build("n-four-bar", loops=5), 5, {"point-on-line"}),
    "parallelogram": (lambda: sb.build("n-four-bar", loops=1), 1, {"point-on-line"}),
    "four-bar": (lambda: sb.build("four-bar"), 1, {"point-on-line"}),
    "five-bar": (five_bar, 1, {"point-on-line"}),
    "Bricard": (lambda: sb.build("bricard"), 1, {"cylindrical"}),
    "sheet": (lambda: sb.build("rotating-squares", rows=4, columns=4), 9, POINTS),
    "welded twice": (welded_twice, 1, {None}),
    "a joint declared twice": (doubled, 1, {None}),
}


@pytest.mark.parametrize("case", CASES)
def test_overconstrained_mechanisms_become_properly_constrained_whatever_is_chosen(case):
    make, n_replacements, types = CASES[case]
    mechanism = make()
    advice = sb.advise(mechanism)
    assert advice.is_verified
    assert len(advice.replacements) == n_replacements
    assert {one.new and one.new.name for one in advice.replacements} == types
    assert advice.check.difference < 1e-10
    system, state = at_start(mechanism)
    dynamics = sb.ForwardDynamics(system, state)
    expected = dynamics(state).acceleration
    choices = [advice.replacements]
    for loop in advice.loops:
        rest = [r for other in advice.loops if other is not loop for r in other.choices[0]]
        choices += [[*rest, *choice] for choice in loop.choices[1:]]
    for choice in choices:
        advised = sb.apply_advice(mechanism, choice).compile()
        proper = sb.ForwardDynamics(advised, state)
        assert len(proper.redundant_rows) == 0
        assert proper.rank == dynamics.rank == advised.n_rows
        a = proper(state).acceleration
        np.testing.assert_allclose(a, expected, atol=1e-10 * np.abs(expected).max())


def test_random_mechanisms_with_planted_redundancy_are_set_right():
    n_set_right = 0
    for seed in [seed for seed in range(100) if seed % 5 >= 3]:
        mechanism = random_mechanism(seed)
        advice = sb.advise(mechanism, mechanism.compile().initial_state)
        assert advice.check is not None
        assert advice.check.is_same, seed
        assert advice.check.difference < 1e-10, seed
        n_set_right += advice.is_verified
    assert n_set_right >= 38  # of 40; see the next test for the others


def test_what_no_joint_type_can_mend_is_said():
    """A slide that turns and a plane share one moment; no type takes one row from either."""
    mechanism = one_body()
    mechanism.add_joint("rod", sb.Cylindrical(), sb.WORLD, "body", axis=[0.3, 0.5, 1.0])
    mechanism.add_joint("table", sb.Planar(), sb.WORLD, "body")
    advice = sb.advise(mechanism)
    assert not advice.is_verified
    assert advice.remaining == 1
    assert advice.replacements == ()
    lines = list(advice.lines())
    assert lines[0] == "1 redundant constraint in rod, table"
    assert "cylindrical 'rod': point-on-line (-2), point-on-plane (-3), no joint (-4)" in lines[2]
    assert sb.apply_advice(mechanism, advice).n_joints == 2


def test_joints_with_drives_or_springs_stay():
    driven = sb.build("four-bar", speed=0.0)
    first, *others = driven.joints
    for name in others:
        driven.add_joint_force(f"spring {name}", name, stiffness=1.0)
    advice = sb.advise(driven)
    assert advice.is_verified
    assert {r.joint for loop in advice.loops for choice in loop.choices for r in choice} == {first}


def test_proper_mechanisms_need_no_advice():
    advice = sb.advise(sb.build("ladder", rungs=3))
    assert advice.is_verified
    assert advice.loops == ()
    assert list(advice.lines()) == []


def test_redundancy_of_a_single_pose_is_no_fault_of_joints():
    """A lattice of balls has dependent rows where it is drawn, and none in poses near by."""
    advice = sb.advise(sb.build("lattice", rows=3, columns=3))
    assert advice.is_singular
    assert advice.replacements == ()
    assert "near by" in next(advice.lines())


@pytest.mark.parametrize("seed", range(3))
def test_a_nearby_pose_of_a_cube_is_closed_and_another_one(seed):
    """Joints of cubes of balls do not close after long random motions from the pose as drawn."""
    system = sb.build("lattice", rows=3, columns=3, layers=3).compile()
    dynamics = sb.ForwardDynamics(system, reactions="basic")
    there = nearby_state(dynamics, system.initial_state, seed)
    motion = joint_motion(system, there)
    np.testing.assert_allclose(motion.translation, 0.0, atol=1e-6)  # of spherical joints
    assert np.abs(there.position - system.initial_state.position).max() > 1e-3


def test_a_long_lift_is_set_right_loop_by_loop():
    advice = sb.advise(sb.build("scissor", pairs=150))
    assert advice.is_verified
    assert len(advice.replacements) == 149
    lines = list(advice.lines(3))
    assert sum(line.startswith("3 redundant constraints in ") for line in lines) == 3
    assert lines[-2] == "and 146 loops more"
    assert lines[-1].startswith("verified in 2 poses")


def test_large_sheets_are_set_right_loop_by_loop_as_far_as_that_goes(monkeypatch):
    monkeypatch.setattr(advice_choices, "MOST_REDUNDANT", 50)
    advice = sb.advise(sb.build("rotating-squares", rows=6, columns=6))
    assert len(advice.replacements) == 5**2
    assert advice.remaining == 4**2
    assert advice.check is not None
    assert advice.check.is_same
    assert not advice.is_verified
    assert "are not looked at together" in list(advice.lines(500))[-2]


def test_advice_is_plain_json_and_remedies_are_by_joint():
    advice = sb.advise(sb.build("four-bar"))
    document = advice.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == json.loads(json.dumps(document))
    assert document["verified"] is True
    assert document["loops"][0]["choices"][0][0]["new"] == "point-on-line"
    assert advice.remedies["crank-pin"] == ("replace by point-on-line", 3)
    assert sb.advise(welded_twice()).remedies["weld again"] == ("remove it", 6)


def test_what_cannot_move_stays():
    system, state = at_start(one_body(sb.Fixed()))
    assert not moving_state(sb.ForwardDynamics(system, state), state).velocity.any()


@pytest.mark.filterwarnings("ignore")
def test_extreme_lengths_end_in_advice_that_is_not_verified_or_in_an_error_with_a_name():
    advice = sb.advise(sb.build("chain", bodies=2, length=1e12))
    assert advice.check is None or not advice.check.is_same
    with pytest.raises(sb.SparsebodyError, match="'bar-0' is not finite"):
        sb.advise(sb.build("chain", bodies=2, length=1e150))


TYPES = {
    name: kind(0.3) if kind in (sb.Helical, sb.ConstantDistance) else kind()
    for name, kind in sb.JOINT_TYPES.items()
}


@pytest.mark.parametrize("name", TYPES)
def test_what_stands_in_takes_every_pose_and_frees_more(name):
    old = TYPES[name]
    rng = np.random.default_rng(7)
    for relaxation in relaxations(old):
        R, new = relaxation.turn, relaxation.new
        E, r = plucker_parts(old.transform(random_position(rng, old)))
        S = old.motion_subspace(old.coordinates(E, r))
        extra = relaxation.extra_at(old, E, r)
        assert extra.shape == (relaxation.n_removed, 6)
        assert np.linalg.matrix_rank(np.column_stack([S, extra.T])) == S.shape[1] + len(extra)
        if new is None:
            assert relaxation.n_removed == old.n_constraints
            continue
        assert relaxation.n_removed == old.n_constraints - new.n_constraints
        turned, shifted = R.T @ E @ R, R.T @ r
        q = new.coordinates(turned, shifted)
        np.testing.assert_allclose(new.transform(q), plucker_transform(turned, shifted), atol=1e-9)
        T = new.constraint_force_subspace(q)
        T = np.concatenate([R @ T[:3], R @ T[3:]])  # in the old S axes
        np.testing.assert_allclose(T.T @ S, 0.0, atol=1e-9)
        np.testing.assert_allclose(T.T @ extra.T, 0.0, atol=1e-9)


def test_a_hinge_can_become_what_the_book_says_and_nothing_is_freer_than_free():
    replacements = {(one.name, one.n_removed) for one in relaxations(sb.Revolute())}
    expected = {"cylindrical": 1, "universal": 1, "planar": 2, "spherical": 2}
    expected |= {"point-on-line": 3, "point-on-plane": 4, "no joint": 5}
    assert replacements == set(expected.items())
    assert relaxations(TYPES["free"]) == ()


QUARTER = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def test_other_joints_and_bodies_stay_exactly_as_they_are():
    mechanism = sb.build("scissor", pairs=3, drive=True)
    copy = with_replaced_joints(mechanism, {"middle-1": (sb.PointOnLine(), QUARTER)})
    one, other = mechanism.compile(), copy.compile()
    assert (list(copy.joints), list(copy.bodies)) == (
        list(mechanism.joints),
        list(mechanism.bodies),
    )
    assert other.n_rows == one.n_rows - 3
    for field in ("mass", "inertia", "predecessor", "successor", "successor_point"):
        np.testing.assert_array_equal(getattr(other, field), getattr(one, field))
    assert_same(other.initial_state, one.initial_state)
    turned = one.successor_rotation.copy()
    turned[one.joint("middle-1")] @= QUARTER
    np.testing.assert_allclose(other.successor_rotation, turned, atol=1e-15)


def test_joints_in_use_and_unknown_ones_are_not_replaced():
    mechanism = one_body(sb.Prismatic())
    mechanism.add_joint("motor", sb.Prismatic(), sb.WORLD, "body", prescribed=0.0)
    mechanism.add_joint_force("spring", "joint", stiffness=1.0)
    for name, message in (("joint", "in use"), ("motor", "in use"), ("nothing", "no joint")):
        with pytest.raises(ModelError, match=message):
            with_replaced_joints(mechanism, {name: (sb.Spherical(), np.eye(3))})
