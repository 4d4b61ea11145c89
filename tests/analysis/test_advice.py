"""Replacements of joints that leave nothing redundant and the motion as it is."""

import json

import numpy as np
import pytest
from overconstrained import add_linkage, add_twin, random_mechanism
from random_mechanisms import random_position, random_tree

from sparsebody.analysis import advice_choices
from sparsebody.analysis.advice import Advice, advise, apply_advice, moving_state, nearby_state
from sparsebody.analysis.advice_choices import relaxations
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.errors import SparsebodyError
from sparsebody.methods import forward_dynamics
from sparsebody.model.gallery import build
from sparsebody.model.joints import (
    JOINT_TYPES,
    ConstantDistance,
    Cylindrical,
    Fixed,
    Helical,
    Planar,
    Revolute,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.simulation import simulate
from sparsebody.spatial import plucker_parts, plucker_transform


def five_bar() -> Mechanism:
    """Five hinges with parallel axes: mobility 2."""
    mechanism = Mechanism("five-bar")
    corners = np.array([[0, 0, 0], [-0.5, 1, 0], [0.5, 1.8, 0], [1.5, 1.1, 0], [1.2, 0, 0]])
    names = [WORLD, *(f"bar-{i}" for i in range(4)), WORLD]
    for i in range(4):
        middle = (corners[i] + corners[i + 1]) / 2
        mechanism.add_body(names[i + 1], mass=1.0, inertia=[0.1, 0.1, 0.1], position=middle)
    for i in range(5):
        mechanism.add_joint(f"hinge-{i}", Revolute(), *names[i : i + 2], point=corners[i])
    return mechanism


def welded_twice() -> Mechanism:
    mechanism = Mechanism("welded twice")
    mechanism.add_body("arm", mass=1.0, inertia=[1, 1, 1], position=[0.5, 0, 0])
    mechanism.add_body("tip", mass=1.0, inertia=[1, 1, 1], position=[1.0, 0, 0])
    mechanism.add_joint("hinge", Revolute(), WORLD, "arm", point=[0, 0, 0], axis=[0, 1, 0])
    mechanism.add_joint("weld", Fixed(), "arm", "tip")
    mechanism.add_joint("weld again", Fixed(), "arm", "tip", point=[0.7, 0.1, 0])
    return mechanism


def doubled() -> Mechanism:
    mechanism = random_tree(np.random.default_rng(2), 4, ("revolute",))
    add_twin(mechanism, "j1")
    return mechanism


CASES = {  # name: mechanism, replacements, types that come in
    "scissor": (lambda: build("scissor", pairs=6), 5, {"point-on-line"}),
    "row of four-bars": (lambda: build("n-four-bar", loops=5), 5, {"point-on-line"}),
    "parallelogram": (lambda: build("n-four-bar", loops=1), 1, {"point-on-line"}),
    "four-bar": (lambda: build("four-bar"), 1, {"point-on-line"}),
    "five-bar": (five_bar, 1, {"point-on-line"}),
    "Bricard": (lambda: build("bricard"), 1, {"cylindrical"}),
    "sheet": (
        lambda: build("rotating-squares", rows=4, columns=4),
        9,
        {"point-on-line", "point-on-plane"},
    ),
    "welded twice": (welded_twice, 1, {None}),
    "a joint declared twice": (doubled, 1, {None}),
}


def new_types(advice: Advice) -> set[str | None]:
    return {None if r.new is None else r.new.name for r in advice.replacements}


@pytest.mark.parametrize("case", CASES)
def test_overconstrained_mechanisms_become_properly_constrained(case):
    make, n_replacements, types = CASES[case]
    mechanism = make()
    advice = advise(mechanism)
    assert advice.is_verified
    assert len(advice.replacements) == n_replacements
    assert new_types(advice) == types
    assert advice.check is not None
    assert advice.check.difference < 1e-10
    system, advised = mechanism.compile(), apply_advice(mechanism, advice).compile()
    state = consistent_state(system)
    first, second = ForwardDynamics(system, state), ForwardDynamics(advised, state)
    assert len(second.redundant_rows) == 0
    assert second.rank == first.rank == advised.n_rows
    a = first(state).acceleration
    np.testing.assert_allclose(second(state).acceleration, a, atol=1e-10 * np.abs(a).max())


@pytest.mark.parametrize("case", ["scissor", "Bricard", "sheet"])
def test_every_choice_will_do(case):
    mechanism = CASES[case][0]()
    advice = advise(mechanism)
    state = consistent_state(mechanism.compile())
    expected = forward_dynamics(mechanism.compile(), state).acceleration
    for loop in advice.loops:
        rest = [r for other in advice.loops if other is not loop for r in other.choices[0]]
        for choice in loop.choices[1:]:
            advised = apply_advice(mechanism, [*rest, *choice]).compile()
            dynamics = ForwardDynamics(advised, state)
            assert len(dynamics.redundant_rows) == 0
            found = dynamics(state).acceleration
            np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("case", ["four-bar", "Bricard", "five-bar"])
def test_the_advised_mechanism_moves_on_the_same_path(case):
    mechanism = CASES[case][0]()
    advised = apply_advice(mechanism, advise(mechanism))
    one, other = (simulate(m.compile(), duration=0.3, step=1e-2) for m in (mechanism, advised))
    np.testing.assert_allclose(other.position, one.position, atol=1e-8)


def test_random_mechanisms_with_planted_redundancy_are_set_right():
    n_set_right = 0
    for seed in [seed for seed in range(100) if seed % 5 >= 3]:
        mechanism = random_mechanism(seed)
        advice = advise(mechanism, mechanism.compile().initial_state)
        assert advice.check is not None
        assert advice.check.is_same, seed
        assert advice.check.difference < 1e-10, seed
        n_set_right += advice.is_verified
    assert n_set_right >= 38  # of 40; see the next test for the others


def test_what_no_joint_type_can_mend_is_said():
    """A slide that turns and a plane share one moment; no type takes one row from either."""
    mechanism = Mechanism()
    mechanism.add_body("disk", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("rod", Cylindrical(), WORLD, "disk", axis=[0.3, 0.5, 1.0])
    mechanism.add_joint("table", Planar(), WORLD, "disk")
    advice = advise(mechanism)
    assert not advice.is_verified
    assert advice.remaining == 1
    assert advice.replacements == ()
    lines = list(advice.lines())
    assert lines[0] == "1 redundant constraint in rod, table"
    assert "cylindrical 'rod': point-on-line (-2), point-on-plane (-3), no joint (-4)" in lines[2]
    assert apply_advice(mechanism, advice).n_joints == 2


def test_joints_with_drives_or_springs_stay():
    mechanism = build("four-bar")
    driven = Mechanism("driven", mechanism.gravity)
    for name, body in mechanism.bodies.items():
        driven.add_body(name, mass=body.mass, inertia=body.inertia, position=body.position)
    for name, joint in mechanism.joints.items():
        frames = {end: getattr(joint, end) for end in ("predecessor_frame", "successor_frame")}
        driven.add_joint(name, joint.type, joint.predecessor, joint.successor, **frames)
    for name in list(mechanism.joints)[1:]:
        driven.add_joint_force(f"spring {name}", name, stiffness=1.0)
    advice = advise(driven)
    assert advice.is_verified
    names = {r.joint for loop in advice.loops for choice in loop.choices for r in choice}
    assert names == {next(iter(mechanism.joints))}


def test_proper_mechanisms_need_no_advice():
    advice = advise(build("ladder", rungs=3))
    assert advice.is_verified
    assert advice.loops == ()
    assert list(advice.lines()) == []


def test_redundancy_of_a_single_pose_is_no_fault_of_joints():
    """A lattice of balls has dependent rows where it is drawn, and none in poses near by."""
    advice = advise(build("lattice", rows=3, columns=3))
    assert advice.is_singular
    assert advice.replacements == ()
    assert "near by" in next(advice.lines())


def test_two_linkages_on_one_body_are_set_right_one_by_one():
    rng = np.random.default_rng(4)
    mechanism = random_tree(rng, 2, ("revolute",))
    for name in ("first", "second"):
        add_linkage(mechanism, rng, name, 3, base="b1")
    advice = advise(mechanism)
    assert advice.is_verified
    assert len(advice.loops) == 2
    assert {loop.redundant for loop in advice.loops} == {3}


def test_a_long_lift_is_set_right_loop_by_loop():
    advice = advise(build("scissor", pairs=150))
    assert advice.is_verified
    assert len(advice.replacements) == 149
    lines = list(advice.lines(3))
    assert sum(line.startswith("3 redundant constraints in ") for line in lines) == 3
    assert lines[-2] == "and 146 loops more"
    assert lines[-1].startswith("verified in 2 poses")


def test_large_sheets_are_set_right_loop_by_loop_as_far_as_that_goes(monkeypatch):
    monkeypatch.setattr(advice_choices, "MOST_REDUNDANT", 50)
    advice = advise(build("rotating-squares", rows=6, columns=6))
    assert len(advice.replacements) == 5**2
    assert advice.remaining == 4**2
    assert advice.check is not None
    assert advice.check.is_same
    assert not advice.is_verified
    assert "are not looked at together" in list(advice.lines(500))[-2]


def test_advice_is_plain_json_and_remedies_are_by_joint():
    advice = advise(build("four-bar"))
    found = advice.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == json.loads(json.dumps(found))
    assert found["verified"] is True
    assert found["loops"][0]["choices"][0][0]["new"] == "point-on-line"
    assert advice.remedies["crank-pin"] == ("replace by point-on-line", 3)
    assert advise(welded_twice()).remedies["weld again"] == ("remove it", 6)


def test_a_nearby_state_is_consistent_and_elsewhere():
    system = build("rotating-squares", rows=3, columns=3).compile()
    state = consistent_state(system)
    there = nearby_state(ForwardDynamics(system, state), state, seed=1)
    assert np.abs(constraint_errors(system, there)[0]).max() < 1e-10
    turned = np.abs(np.sum(state.orientation * there.orientation, axis=1)).min()
    assert turned < np.cos(0.02)


def test_what_cannot_move_stays():
    mechanism = Mechanism()
    mechanism.add_body("block", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("weld", Fixed(), WORLD, "block")
    system = mechanism.compile()
    state = consistent_state(system)
    assert not moving_state(ForwardDynamics(system, state), state).velocity.any()


@pytest.mark.filterwarnings("ignore")
def test_extreme_lengths_end_in_advice_that_is_not_verified_or_in_an_error_with_a_name():
    advice = advise(build("chain", bodies=2, length=1e12))
    assert advice.check is None or not advice.check.is_same
    with pytest.raises(SparsebodyError, match="'bar-0' is not finite"):
        advise(build("chain", bodies=2, length=1e150))


TYPES = {
    name: kind(0.3) if kind in (Helical, ConstantDistance) else kind()
    for name, kind in JOINT_TYPES.items()
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
    found = {(relaxation.name, relaxation.n_removed) for relaxation in relaxations(Revolute())}
    expected = {"cylindrical": 1, "universal": 1, "planar": 2, "spherical": 2}
    expected |= {"point-on-line": 3, "point-on-plane": 4, "no joint": 5}
    assert found == set(expected.items())
    assert relaxations(TYPES["free"]) == ()
