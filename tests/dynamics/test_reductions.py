"""Three freedoms a body in the plane against six, on mechanisms that move parallel to a plane."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from oracles import newton_euler_imbalance
from planted_loops import TYPES, plant, planted
from random_planar import Builder, random_planar

import sparsebody as sb
from benchmarks import oracle
from benchmarks.cases import problem
from sparsebody.dynamics import preparation
from sparsebody.dynamics.assembler import SubgroupAssembler
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.mobility import count_mobility
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.dynamics.solver_choice import SolverChoice, choose_solver
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.model.gallery import build
from sparsebody.model.joints import Revolute
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.subgroups.ground_motion import planar_motion
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import Sinusoid
from sparsebody.simulation import simulate
from sparsebody.sparse.pattern import BlockPattern


def both(system: System, state: State, **options):
    """Accelerations with three freedoms, and with six."""
    reduced = ForwardDynamics(system, state, **options)
    whole = ForwardDynamics(system, state, formulation=SPATIAL, **options)
    assert (reduced.is_planar, whole.is_planar) == (True, False)
    return reduced, whole


def assert_same(reduced: ForwardDynamics, whole: ForwardDynamics, state: State, **force) -> None:
    found, expected = reduced(state, **force), whole(state, **force)
    size = np.abs(expected.acceleration).max() + np.linalg.norm(reduced.system.gravity)
    for acceleration in (found.acceleration, reduced.acceleration(state, **force)):
        np.testing.assert_allclose(acceleration, expected.acceleration, atol=1e-9 * size)
    scale = np.abs(expected.joint_wrench).max()
    np.testing.assert_allclose(found.joint_wrench, expected.joint_wrench, atol=1e-7 * scale)
    assert found.residual < 1e-10
    assert abs(found.dropped_residual - expected.dropped_residual) < 1e-8
    assert reduced.rank == whole.rank


def assert_same_motion(reduced: ForwardDynamics, state: State, **force: np.ndarray) -> None:
    whole = ForwardDynamics(reduced.system, state, formulation=SPATIAL)
    assert_same(reduced, whole, state, **force)
    assert reduced(state, **force).dropped_residual < 1e-9


@pytest.mark.parametrize("seed", range(60))
def test_random_planar_mechanisms_move_as_with_six_freedoms(seed: int) -> None:
    system = random_planar(seed).compile()
    state = sb.consistent_state(system)
    reduced, whole = both(system, state)
    rng = np.random.default_rng(seed)
    assert_same(reduced, whole, state)
    assert_same(reduced, whole, state, body_force=rng.normal(size=(system.n_bodies, 6)))


@pytest.mark.parametrize(
    "name", ["scissor", "n-four-bar", "four-bar", "rotating-squares", "andrews", "pendulum"]
)
def test_planar_gallery_mechanisms_move_as_with_six_freedoms(name: str) -> None:
    system = build(name).compile()
    state = sb.consistent_state(system)
    reduced, whole = both(system, state)
    assert count_mobility(system, reduced) == count_mobility(system, whole)
    assert_same(reduced, whole, state)


def test_drives_springs_and_loads_act_in_the_plane() -> None:
    system = build("scissor", pairs=4, drive=True).compile()
    state = sb.consistent_state(system).with_(time=1.3)
    assert_same(*both(system, state), state)
    builder = Builder(np.random.default_rng(3))
    builder.add_body("b0", "revolute")
    builder.add_body("b1", "revolute")
    builder.add_body("b2", "revolute", Sinusoid(0.3, 2.0, 0.4))
    builder.mechanism.add_joint_force("spring", "to b1", stiffness=3.0, damping=0.4, effort=0.7)
    builder.mechanism.add_point_force("rod", "b0", "b2", stiffness=2.0, rest_length=0.3)
    builder.mechanism.add_external_force(
        "push", "b1", force=(1.0, 2.0, 3.0), moment=(1.0, -1.0, 2.0)
    )
    system = builder.mechanism.compile()
    state = sb.consistent_state(system)
    assert_same(*both(system, state), state)


@pytest.mark.parametrize("name", ["chain", "ladder", "lattice", "bricard", "governor", "stewart"])
def test_mechanisms_in_space_keep_six_freedoms(name: str) -> None:
    system = build(name).compile()
    assert planar_motion(system) is None
    assert not ForwardDynamics(system).is_planar


@pytest.mark.parametrize("tilt", [1e-9, 1e-3])
def test_one_hinge_out_of_parallel_is_enough_for_six_freedoms(tilt: float) -> None:
    mechanism = Mechanism()
    for i, axis in enumerate([(0.0, 0.0, 1.0), (np.sin(tilt), 0.0, np.cos(tilt))]):
        mechanism.add_body(f"b{i}", mass=1.0, inertia=[1.0, 1.0, 1.0], position=[i + 0.5, 0, 0])
        near = f"b{i - 1}" if i else WORLD
        mechanism.add_joint(f"j{i}", Revolute(), near, f"b{i}", point=[i, 0, 0], axis=axis)
    assert planar_motion(mechanism.compile()) is None


def test_bodies_that_hang_on_nothing_but_a_ball_joint_keep_all_from_the_plane() -> None:
    builder = Builder(np.random.default_rng(0))
    builder.add_body("b0", "revolute")
    builder.add_body("b1", "spherical")
    assert planar_motion(builder.mechanism.compile()) is None


def test_corrections_close_joints_within_the_plane() -> None:
    system = build("n-four-bar", loops=4).compile()
    state = sb.consistent_state(system)
    normal = planar_motion(system).basis[:, 0]
    twist = np.zeros_like(state.velocity)
    twist[:, :3] = 1e-4 * np.random.default_rng(2).normal(size=(system.n_bodies, 1)) * normal
    moved = displaced(state, twist)
    dynamics = ForwardDynamics(system, state)
    evaluation = dynamics.evaluate(moved)
    closed = displaced(moved, evaluation.position_correction())
    error = dynamics.evaluate(closed).position_error
    assert np.abs(error).max() < 1e-3 * np.abs(evaluation.position_error).max()
    assert dynamics.is_planar


@pytest.mark.parametrize("seed", range(4))
def test_baumgarte_terms_are_the_same(seed: int) -> None:
    system = random_planar(seed).compile()
    state = sb.consistent_state(system)
    plane = planar_motion(system)
    twist = np.zeros_like(state.velocity)
    twist[:, :3] = (
        1e-5 * np.random.default_rng(seed).normal(size=(system.n_bodies, 1)) * plane.basis[:, 0]
    )
    assert_same(*both(system, state, baumgarte=0.3), displaced(state, twist))


def test_orders_and_copies_do_not_matter() -> None:
    system = random_planar(11, ("revolute",)).compile()
    state = sb.consistent_state(system)
    dynamics = ForwardDynamics(system, state)
    expected = dynamics.acceleration(state)
    for ordering in ("natural", "random", "level-sweep", "leaves-first"):
        found = ForwardDynamics(system, state, ordering=ordering).acceleration(state)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    for other in (copy.deepcopy(dynamics), pickle.loads(pickle.dumps(dynamics))):
        np.testing.assert_array_equal(other.acceleration(state), expected)


@pytest.mark.parametrize("n", [20, 2048, 24_000])
def test_lifts_of_any_length_are_as_accurate_as_pivoting_makes_them(n: int) -> None:
    """The bound follows the condition number, the square root of that of A A'."""
    given = problem("scissor", n)
    reference = oracle.reference(given)
    dynamics = ForwardDynamics(given.system, given.state)
    assert dynamics.is_planar
    error = np.abs(dynamics.acceleration(given.state) - reference.acceleration).max()
    bound = max(1e-10, 10 * np.sqrt(reference.kappa) * np.finfo(float).eps)
    assert error < bound * np.abs(reference.acceleration).max()


@pytest.mark.parametrize("k", [3, 12, 24, 32])
def test_sheets_have_mobility_two_for_certain(k: int) -> None:
    """Squares on hinges, one held by the world: (k - 2)^2 rows in the plane depend on others."""
    system = build("rotating-squares", rows=k, columns=k).compile()
    dynamics = ForwardDynamics(system, system.initial_state, reactions="basic")
    assert dynamics.is_planar
    assert 6 * system.n_bodies - dynamics.rank == 2
    assert len(dynamics.evaluator.assembler._left_out.rows) == (k - 2) ** 2
    assert dynamics.explain()["redundancy_certain"]
    assert dynamics(system.initial_state).dropped_residual < 1e-10


def test_shuffled_lifts_are_as_accurate() -> None:
    given = problem("scissor", 200, seed=4, shuffled=True)
    found = ForwardDynamics(given.system, given.state).acceleration(given.state)
    expected = oracle.reference(given).acceleration
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce also where it does not pay."""
    monkeypatch.setattr(preparation, "reduction_pays", lambda *_, **__: True)


def moving(system: System, seed: int) -> State:
    """A consistent state at random velocities."""
    state = sb.consistent_state(system)
    twist = np.random.default_rng(seed).normal(size=state.velocity.shape)
    evaluation = ForwardDynamics(system, state, formulation=SPATIAL).evaluate(
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


@pytest.mark.parametrize("seed", range(80))
def test_planted_loops_move_as_with_six_freedoms(seed: int, always: None) -> None:
    system = planted(seed).compile()
    state = moving(system, seed)
    force = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    dynamics = ForwardDynamics(system, state)
    evaluator = dynamics.evaluator
    assert_same_motion(dynamics, state, body_force=force)
    assert dynamics.evaluator is evaluator  # it did not have to fall back


@pytest.mark.parametrize("seed", range(25))
def test_basic_reactions_balance_every_body(seed: int, always: None) -> None:
    system = planted(seed).compile()
    state = moving(system, seed)
    dynamics = ForwardDynamics(system, state, reactions="basic")
    found, expected = (
        d(state)
        for d in (
            dynamics,
            ForwardDynamics(system, state, formulation=SPATIAL),
        )
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
    assert_same_motion(dynamics, state)
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
    assert_same_motion(dynamics, state)


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
    assert_same_motion(dynamics, state)


@pytest.mark.parametrize("pose", [False, True])
@pytest.mark.parametrize(
    "mechanism", [build("four-bar", speed=3.0), scissor_with_pendulum()], ids=["plane", "subgroups"]
)
def test_states_outside_are_taken_with_all_freedoms(mechanism: Mechanism, pose: bool) -> None:
    system = mechanism.compile()
    state = sb.consistent_state(system)
    twist = 1e-3 * np.random.default_rng(1).normal(size=state.velocity.shape)
    away = displaced(state, twist) if pose else state.with_(velocity=state.velocity + twist)
    dynamics = ForwardDynamics(system, state)
    whole = ForwardDynamics(system, state, formulation=SPATIAL)
    before = dynamics.evaluate(state)
    expected = before.acceleration()
    assert dynamics.structure.rows.size < whole.structure.rows.size
    np.testing.assert_allclose(dynamics.acceleration(away), whole.acceleration(away), atol=1e-10)
    assert dynamics.structure.rows.size == whole.structure.rows.size
    np.testing.assert_array_equal(dynamics.redundant_rows, whole.redundant_rows)
    np.testing.assert_allclose(before.acceleration(), expected, atol=1e-10)
    assert not ForwardDynamics(system, away).is_planar


def test_where_it_does_not_pay_all_freedoms_stay() -> None:
    dynamics = ForwardDynamics(build("stewart").compile())
    assert not isinstance(dynamics.evaluator.assembler, SubgroupAssembler)


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
    whole = simulate(system, state, duration=0.1, step=5e-3, dynamics=sb.Solver(reduction="none"))
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


def test_explain_lists_the_subgroups() -> None:
    system = scissor_with_pendulum().compile()
    (told,) = ForwardDynamics(system).explain()["subgroups"]
    assert told == "planar, about the world: 16 bodies, 23 joints, 7 loops: 21 redundant rows"
    assert ForwardDynamics(system, formulation=SPATIAL).explain()["subgroups"] == []
