"""Fewer freedoms for bodies within subgroups about the world, against all six."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from oracles import newton_euler_imbalance
from planted_loops import TYPES, plant, planted

import sparsebody as sb
from sparsebody.dynamics import preparation
from sparsebody.dynamics.evaluators import SubgroupAssembler
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.solver_choice import SolverChoice, choose_solver
from sparsebody.kinematics.poses import displaced
from sparsebody.model.gallery import build
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, System
from sparsebody.simulation import simulate
from sparsebody.sparse.pattern import BlockPattern


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce also where it does not pay."""
    monkeypatch.setattr(preparation, "reduction_pays", lambda *_: True)


def moving(system: System, seed: int) -> State:
    """A consistent state at random velocities."""
    state = sb.consistent_state(system)
    twist = np.random.default_rng(seed).normal(size=state.velocity.shape)
    evaluation = ForwardDynamics(system, state, reduction="none").evaluate(
        state.with_(velocity=twist)
    )
    return state.with_(velocity=twist + evaluation.velocity_correction())


def wrenches(dynamics: ForwardDynamics, state: State, multiplier: np.ndarray) -> np.ndarray:
    """What multipliers exert on the bodies (n_bodies, 6)."""
    system, rows = dynamics.system, dynamics.evaluate(state).constraint.rows
    total = np.zeros((system.n_bodies + 1, 6))
    for side, body in enumerate((system.predecessor, system.successor)):
        np.add.at(total, body[system.row_joint], rows[:, side] * multiplier[:, None])
    return total[:-1]


def assert_same(reduced: ForwardDynamics, state: State, **force: np.ndarray) -> None:
    whole = ForwardDynamics(reduced.system, state, reduction="none")
    found, expected = reduced(state, **force), whole(state, **force)
    size = np.abs(expected.acceleration).max() + 1.0
    np.testing.assert_allclose(found.acceleration, expected.acceleration, atol=1e-10 * size)
    np.testing.assert_allclose(
        reduced.acceleration(state, **force), expected.acceleration, atol=1e-10 * size
    )
    scale = np.abs(expected.joint_wrench).max() + 1.0
    np.testing.assert_allclose(found.joint_wrench, expected.joint_wrench, atol=1e-8 * scale)
    assert found.residual < 1e-10
    assert found.dropped_residual < 1e-9
    assert reduced.rank == whole.rank


@pytest.mark.parametrize("seed", range(80))
def test_planted_loops_move_as_with_six_freedoms(seed: int, always: None) -> None:
    system = planted(seed).compile()
    state = moving(system, seed)
    force = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    dynamics = ForwardDynamics(system, state)
    evaluator = dynamics.evaluator
    assert_same(dynamics, state, body_force=force)
    assert dynamics.evaluator is evaluator  # it did not have to fall back


@pytest.mark.parametrize("seed", range(25))
def test_basic_reactions_balance_every_body(seed: int, always: None) -> None:
    system = planted(seed).compile()
    state = moving(system, seed)
    dynamics = ForwardDynamics(system, state, reactions="basic")
    found, expected = (
        d(state) for d in (dynamics, ForwardDynamics(system, state, reduction="none"))
    )
    exerted, wanted = (wrenches(dynamics, state, x.multiplier) for x in (found, expected))
    np.testing.assert_allclose(exerted, wanted, atol=1e-9 * (1.0 + np.abs(wanted).max()))


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind != "rigid"])
def test_bodies_of_a_class_on_the_world_have_its_freedoms(kind: str, always: None) -> None:
    mechanism, rng = Mechanism("one class"), np.random.default_rng(3)
    plant(mechanism, rng, "p", kind, WORLD, 5, 1)
    plant(mechanism, rng, "free", "spherical", "p 4", 1, 0)  # so that not all are planar
    system = mechanism.compile()
    state = moving(system, 1)
    dynamics = ForwardDynamics(system, state)
    assert isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    assert_same(dynamics, state)
    found = dynamics(state)
    assert newton_euler_imbalance(system, state, found.acceleration, found.joint_wrench) < 1e-9


def scissor_with_pendulum() -> Mechanism:
    mechanism = build("scissor", pairs=8)
    bar = "left-3"
    x = np.asarray(mechanism.body(bar).position)
    mechanism.add_body("bob", mass=0.3, inertia=[0.01, 0.01, 0.01], position=x - [0, 0, 0.4])
    mechanism.add_joint("ball", sb.Spherical(), bar, "bob", point=x)
    return mechanism


@pytest.mark.parametrize("ordering", ["auto", "natural", "level-sweep", "minimum-degree"])
def test_a_planar_part_of_a_mechanism_is_reduced_in_any_order(ordering: str) -> None:
    system = scissor_with_pendulum().compile()
    state = moving(system, 0)
    dynamics = ForwardDynamics(system, state, ordering=ordering)
    assert isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    assert len(dynamics.structure.rows) < 0.6 * dynamics.rank
    assert_same(dynamics, state)


def test_a_factorization_by_name_asks_for_all_freedoms() -> None:
    dynamics = ForwardDynamics(scissor_with_pendulum().compile(), factorization="superlu")
    assert not isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    assert len(dynamics.structure.rows) == dynamics.rank


@pytest.mark.parametrize("factorization", ["superlu", "dense", "block-qr"])
def test_other_factorizations_of_fewer_rows_give_the_same(
    factorization: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = scissor_with_pendulum().compile()
    state = moving(system, 0)

    def chosen(pattern: BlockPattern, ordering: str, *_: object) -> SolverChoice:
        return choose_solver(pattern, ordering, factorization)

    monkeypatch.setattr(preparation, "choose_solver", chosen)
    dynamics = ForwardDynamics(system, state)
    assert isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    assert dynamics.factorization == factorization
    assert_same(dynamics, state)


def test_where_it_does_not_pay_all_freedoms_stay() -> None:
    dynamics = ForwardDynamics(build("stewart").compile())
    assert not isinstance(dynamics.evaluator.assembler, SubgroupAssembler)


@pytest.mark.parametrize("pose", [False, True])
def test_states_outside_are_taken_with_all_freedoms(pose: bool) -> None:
    system = scissor_with_pendulum().compile()
    state = sb.consistent_state(system)
    twist = 1e-3 * np.random.default_rng(1).normal(size=state.velocity.shape)
    away = displaced(state, twist) if pose else state.with_(velocity=state.velocity + twist)
    dynamics, whole = (
        ForwardDynamics(system, state),
        ForwardDynamics(system, state, reduction="none"),
    )
    before = dynamics.evaluate(state)
    expected = before.acceleration()
    np.testing.assert_allclose(dynamics.acceleration(away), whole.acceleration(away), atol=1e-10)
    assert not isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    np.testing.assert_allclose(before.acceleration(), expected, atol=1e-10)


@pytest.mark.parametrize("kind", ["spherical", "cylindrical", "Schoenflies", "translational"])
def test_a_motion_stays_within_its_subgroup(kind: str, always: None) -> None:
    mechanism, rng = Mechanism("motion", gravity=[1.0, 2.0, -9.81]), np.random.default_rng(8)
    plant(mechanism, rng, "p", kind, WORLD, 5, 1)
    plant(mechanism, rng, "free", "spherical", "p 2", 1, 0)
    system = mechanism.compile()
    state = sb.consistent_state(system)
    dynamics = ForwardDynamics(system, state)
    found = simulate(system, state, duration=0.1, step=5e-3, dynamics=dynamics)
    assert isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    whole = simulate(system, state, duration=0.1, step=5e-3, reduction="none")
    np.testing.assert_allclose(found.position[-1], whole.position[-1], atol=1e-9)
    assert found.summary()["position_error"] < 1e-11


def test_corrections_close_joints_out_of_the_subgroups_as_well(always: None) -> None:
    mechanism, rng = Mechanism("motion"), np.random.default_rng(4)
    plant(mechanism, rng, "p", "spherical", WORLD, 4, 1)
    system = mechanism.compile()
    state = sb.consistent_state(system)
    dynamics = ForwardDynamics(system, state)
    moved = displaced(state, 1e-8 * rng.normal(size=state.velocity.shape))
    moved = moved.with_(orientation=state.orientation)
    before = dynamics.evaluate(moved)
    closed = displaced(moved, before.position_correction())
    after = dynamics.evaluate(closed).position_error
    assert np.abs(after).max() < 1e-6 * np.abs(before.position_error).max()


def test_a_copy_of_the_dynamics_gives_the_same() -> None:
    system = scissor_with_pendulum().compile()
    state = sb.consistent_state(system)
    dynamics = ForwardDynamics(system, state)
    expected = dynamics.acceleration(state)
    for copied in (copy.deepcopy(dynamics), pickle.loads(pickle.dumps(dynamics))):
        np.testing.assert_array_equal(copied.acceleration(state), expected)


def test_explain_lists_the_subgroups() -> None:
    system = scissor_with_pendulum().compile()
    (told,) = ForwardDynamics(system).explain()["subgroups"]
    assert told == "planar, about the world: 16 bodies, 23 joints, 7 loops: 21 redundant rows"
    assert ForwardDynamics(system, reduction="none").explain()["subgroups"] == []
