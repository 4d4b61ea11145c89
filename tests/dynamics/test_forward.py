"""Accelerations and constraint forces against Pinocchio, dense algebra and closed forms."""

from __future__ import annotations

import copy
from collections.abc import Callable
from math import cos, pi

import numpy as np
import oracles
import pytest
from overconstrained import n_four_bar_state
from pinocchio_models import PinocchioModel
from random_mechanisms import TREE_TYPES, random_loops, random_tree

import sparsebody as sb
from sparsebody.dynamics import evaluators
from sparsebody.dynamics.energy import energy
from sparsebody.dynamics.evaluators import BlockQREvaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.equations.accelerations import Accelerations
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import (
    AccuracyWarning,
    ModelError,
    RankWarning,
    ShapeError,
    SingularSystemError,
    UnknownNameError,
)
from sparsebody.factorization import available_factorizations
from sparsebody.factorization.pivoted_lu import LUSymbolic
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.kinematics.poses import displaced, linear_accelerations
from sparsebody.methods import forward_dynamics
from sparsebody.model.frames import Frame
from sparsebody.model.gallery import build
from sparsebody.model.joints import JOINT_TYPES, Revolute
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, System
from sparsebody.ordering import ORDERINGS, available_orderings
from sparsebody.sparse.elimination_tree import OrderingMetrics

MOBILE = ("spherical", "universal", "planar", "cylindrical", "point-on-line", "point-on-plane")
PER_TYPE = 7  # random mechanisms; with the mixed ones 234 are compared with Pinocchio


def add_joint_forces(mechanism: Mechanism, rng: np.random.Generator) -> None:
    """Springs, dampers and efforts on all coordinates of the tree joints."""
    for name, joint in mechanism.joints.items():
        if name.startswith("loop") or not joint.type.has_named_coordinates:
            continue
        for i in range(joint.type.n_velocities):
            has_position = i in joint.type.scalar_positions
            mechanism.add_joint_force(
                f"{name}.{i}",
                name,
                coordinate=i,
                stiffness=rng.uniform(0.0, 2.0) if has_position else 0.0,
                rest=rng.normal(),
                damping=rng.uniform(0.0, 1.0),
                effort=rng.normal(),
            )


def relative_gap(found: np.ndarray, expected: np.ndarray) -> float:
    size = float(np.abs(expected).max(initial=0.0))
    return float(np.abs(found - expected).max(initial=0.0)) / (size if size > 0.0 else 1.0)


def assert_agrees_with_pinocchio(mechanism: Mechanism, rng: np.random.Generator) -> None:
    """Velocities, accelerations, unique loop forces, and Newton and Euler's laws."""
    add_joint_forces(mechanism, rng)
    system = mechanism.compile()
    state = consistent_state(system)
    body_force = rng.normal(size=(system.n_bodies, 6))
    peer = PinocchioModel(system, state)
    expected = peer.solve(oracles.active_wrenches(system, state), body_force)
    found = forward_dynamics(system, state, body_force=body_force)
    np.testing.assert_allclose(expected.velocity, state.velocity, atol=1e-11)
    assert relative_gap(found.acceleration, expected.acceleration) < 1e-9
    assert_balanced(system, state, found, body_force)
    determined = oracles.determined_rows(system, state)
    for j, wrench in expected.loop_wrench.items():
        if determined[system.rows(j)].all():
            size = np.abs(found.joint_wrench).max()
            np.testing.assert_allclose(found.joint_wrench[j], wrench, atol=1e-9 * size)


def assert_balanced(
    system: System, state: State, found: Accelerations, body_force: np.ndarray | None = None
) -> None:
    imbalance = oracles.newton_euler_imbalance(
        system, state, found.acceleration, found.joint_wrench, body_force
    )
    assert imbalance < 1e-10


@pytest.mark.parametrize("seed", range(PER_TYPE))
@pytest.mark.parametrize("name", [*TREE_TYPES, "free"])
def test_trees_of_one_joint_type_move_as_in_pinocchio(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert_agrees_with_pinocchio(random_tree(rng, 6, (name,)), rng)


@pytest.mark.parametrize("seed", range(40))
def test_trees_of_all_joint_types_move_as_in_pinocchio(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    assert_agrees_with_pinocchio(random_tree(rng, 3 + seed // 4, tuple(JOINT_TYPES)), rng)


@pytest.mark.parametrize("seed", range(PER_TYPE))
@pytest.mark.parametrize("name", JOINT_TYPES)
def test_loops_closed_by_one_joint_type_move_as_in_pinocchio(name: str, seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    assert_agrees_with_pinocchio(random_loops(rng, 7, 2, MOBILE, (name,), moving=True), rng)


@pytest.mark.parametrize("seed", range(26))
def test_loops_closed_by_balls_and_welds_move_as_in_pinocchio(seed: int) -> None:
    rng = np.random.default_rng(300 + seed)
    closing = ("spherical", "spherical", "fixed")
    assert_agrees_with_pinocchio(random_loops(rng, 12, 3, MOBILE, closing, moving=True), rng)


@pytest.mark.parametrize("seed", range(30))
def test_random_loops_obey_gauss_principle(seed: int) -> None:
    rng = np.random.default_rng(400 + seed)
    mechanism = random_loops(rng, 8, 4, MOBILE + TREE_TYPES, moving=True)
    add_joint_forces(mechanism, rng)
    assert_obeys_gauss(mechanism.compile())


def state_of(system: System) -> State:
    """A consistent state, at a time when drives are moving."""
    return consistent_state(system, system.initial_state.with_(time=1.3))


def assert_obeys_gauss(system: System) -> None:
    """Accelerations, smallest multipliers, rank and balance against the pseudo-inverse."""
    state = state_of(system)
    dynamics = ForwardDynamics(system, state)
    found = dynamics(state)
    acceleration, multiplier = oracles.gauss_accelerations(system, state)
    assert dynamics.rank == oracles.rank(system, state)
    assert relative_gap(found.acceleration, acceleration) < 1e-9
    assert relative_gap(found.multiplier, multiplier) < 1e-8
    assert found.residual < 1e-12
    assert found.dropped_residual < 1e-9
    assert_balanced(system, state, found)


@pytest.mark.parametrize("seed", range(6))
def test_springs_and_gravity_give_what_the_bodies_take(seed: int) -> None:
    """d(kinetic energy)/dt = v' I a, and the potential energy falls by as much."""
    rng = np.random.default_rng(600 + seed)
    mechanism = random_loops(rng, 5, 1, MOBILE, moving=True)
    for name, joint in mechanism.joints.items():
        for i in joint.type.scalar_positions:
            mechanism.add_joint_force(f"{name}.{i}", name, coordinate=i, stiffness=2.0, rest=0.3)
    mechanism.add_point_force("tie", "b0", "b3", stiffness=2.0, rest_length=0.5)
    system = mechanism.compile()
    state, h = consistent_state(system), 1e-6
    a = forward_dynamics(system, state).acceleration
    power = np.einsum("ni,nij,nj->", state.velocity, system.spatial_inertia, a)

    def potential(step: float) -> float:
        moved = displaced(state, step * state.velocity)
        value = coordinate_motion(system, moved, joint_motion(system, moved)).value
        return energy(system, moved.with_(coordinate=value)).potential

    assert power == pytest.approx(-(potential(h) - potential(-h)) / (2 * h), rel=1e-6, abs=1e-8)


# ---- overconstrained mechanisms ---------------------------------------------------------------

OVERCONSTRAINED: dict[str, Callable[[], Mechanism]] = {
    "four-bar": lambda: build("four-bar", speed=3.0),
    "n-four-bar": lambda: build("n-four-bar", loops=5),
    "scissor": lambda: build("scissor", pairs=5, drive=True),
    "free scissor": lambda: build("scissor", pairs=4),
    "bricard": lambda: build("bricard"),
    "hinged ring": lambda: build("ring", bodies=7, joint="revolute", gravity=(1.0, -2.0, 3.0)),
    "rotating-squares": lambda: build("rotating-squares", rows=3, columns=3),
    "andrews": lambda: build("andrews"),
    "stewart": lambda: build("stewart", drive=True),
    "governor": lambda: build("governor"),
    "slider-crank": lambda: build("slider-crank"),
}
every_overconstrained = pytest.mark.parametrize("name", OVERCONSTRAINED)


@every_overconstrained
def test_overconstrained_mechanisms_obey_gauss_principle(name: str) -> None:
    assert_obeys_gauss(OVERCONSTRAINED[name]().compile())


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("four-bar", (0, 0, 1)),
        ("n-four-bar", (0, 0, 1)),
        ("scissor", (0, -1, 0)),
        ("free scissor", (0, -1, 0)),
        ("rotating-squares", (0, 0, 1)),
    ],
)
def test_planar_mechanisms_move_as_with_three_freedoms_a_body(
    name: str, normal: tuple[float, ...]
) -> None:
    system = OVERCONSTRAINED[name]().compile()
    state = state_of(system)
    found = forward_dynamics(system, state).acceleration
    centers, about_normal = oracles.planar_accelerations(system, state, np.array(normal, float))
    size = max(np.abs(centers).max(), np.abs(about_normal).max())
    assert size > 0.1
    np.testing.assert_allclose(linear_accelerations(state, found), centers, atol=1e-9 * size)
    view = oracles.WorldView(system, state)
    turning = [normal @ R @ a[:3] for R, a in zip(view.rotation, found, strict=True)]
    np.testing.assert_allclose(turning, about_normal, atol=1e-9 * size)


@pytest.mark.parametrize("phi", [0.3, 1.0, pi / 2, 2.5])
@pytest.mark.parametrize("loops", [1, 4, 12])
def test_n_four_bar_moves_as_its_reduction_to_one_freedom(loops: int, phi: float) -> None:
    """[(N+1)/3 + N] m L^2 phi'' = -[(N+1)/2 + N] m g L cos(phi)."""
    system = build("n-four-bar", loops=loops).compile()
    state = n_four_bar_state(system, phi)
    found = forward_dynamics(system, state).acceleration
    expected = -((loops + 1) / 2 + loops) * 9.81 * cos(phi) / ((loops + 1) / 3 + loops)
    for name, a in zip(system.body_names, found, strict=True):
        turning = expected if name.startswith("vertical") else 0.0
        np.testing.assert_allclose(a[:3], [0.0, 0.0, turning], atol=1e-10)


def test_a_pendulum_falls_as_the_closed_form() -> None:
    """m L^2 / 3 phi'' = -m g L / 2 cos(phi), and the hinge carries the rest."""
    mechanism = Mechanism(gravity=[0, -9.81, 0])
    m, L, rate = 2.0, 1.5, 0.7
    mechanism.add_body(
        "bar",
        mass=m,
        inertia=[0.01, m * L**2 / 12, m * L**2 / 12],
        center_of_mass=[L / 2, 0, 0],
        angular_velocity=[0, 0, rate],
    )
    mechanism.add_joint("hinge", Revolute(), WORLD, "bar", point=[0, 0, 0])
    found = forward_dynamics(mechanism.compile())
    turning = -1.5 * 9.81 / L
    np.testing.assert_allclose(found.acceleration[0, :3], [0, 0, turning], atol=1e-13)
    pull, lift = -m * rate**2 * L / 2, m * (turning * L / 2 + 9.81)
    np.testing.assert_allclose(found.joint_wrench[0], [0, 0, 0, pull, lift, 0], atol=1e-12)


# ---- every ordering with every backend --------------------------------------------------------


def comparison_systems() -> dict[str, System]:
    """Random mechanisms of up to 12 bodies, and overconstrained ones."""
    systems = {}
    for seed in range(12):
        rng = np.random.default_rng(500 + seed)
        n_bodies = 1 + seed
        loops = seed // 3
        mechanism = random_loops(rng, n_bodies, loops, MOBILE + TREE_TYPES, moving=True)
        systems[f"random {seed}"] = mechanism.compile()
    for name in ("four-bar", "scissor", "hinged ring", "bricard"):
        systems[name] = OVERCONSTRAINED[name]().compile()
    systems["ladder"] = build("ladder", rungs=6, disorder=0.1, gravity=(1.0, -2.0, 3.0)).compile()
    return systems


@pytest.fixture(scope="module")
def comparisons() -> list[tuple[str, System, State, np.ndarray]]:
    """Systems, consistent states, and the accelerations by the pseudo-inverse."""
    found = []
    for name, system in comparison_systems().items():
        state = state_of(system)
        found.append((name, system, state, oracles.gauss_accelerations(system, state)[0]))
    return found


@pytest.mark.parametrize("factorization", available_factorizations())
@pytest.mark.parametrize("ordering", available_orderings())
def test_every_ordering_with_every_factorization_gives_the_same_accelerations(
    ordering: str,
    factorization: str,
    comparisons: list[tuple[str, System, State, np.ndarray]],
) -> None:
    for name, system, state, expected in comparisons:
        if system.n_bodies + system.n_joints > ORDERINGS[ordering].largest:
            continue
        dynamics = ForwardDynamics(system, state, ordering=ordering, factorization=factorization)
        assert (dynamics.ordering, dynamics.factorization) == (ordering, factorization)
        assert relative_gap(dynamics(state).acceleration, expected) < 1e-9, name


# ---- numbering and declaration order ----------------------------------------------------------


def shuffled(mechanism: Mechanism, rng: np.random.Generator) -> Mechanism:
    """The same mechanism, its bodies and joints declared in another order."""
    other = Mechanism(mechanism.name, mechanism.gravity)
    bodies, joints = list(mechanism.bodies.values()), list(mechanism.joints.values())
    for i in rng.permutation(len(bodies)):
        other.add_body(**vars(bodies[i]))
    for j in rng.permutation(len(joints)):
        joint = joints[j]
        frames = {end: getattr(joint, end) for end in ("predecessor_frame", "successor_frame")}
        ends = joint.predecessor, joint.successor
        other.add_joint(joint.name, joint.type, *ends, **frames, prescribed=joint.prescribed)
    return other


SHUFFLED: dict[str, Callable[[], Mechanism]] = {
    "scissor": lambda: build("scissor", pairs=8, drive=True),
    "bricard": lambda: build("bricard"),
    "ladder": lambda: build("ladder", rungs=12, disorder=0.1, gravity=(1.0, -2.0, 3.0)),
    "lattice": lambda: build("lattice", rows=4, columns=5, gravity=(1.0, -2.0, 3.0)),
    "rotating-squares": lambda: build("rotating-squares", rows=3, columns=3),
    "tree": lambda: random_tree(np.random.default_rng(0), 20),
    "loops": lambda: random_loops(np.random.default_rng(2), 15, 5, MOBILE, moving=True),
}


@pytest.mark.parametrize("name", SHUFFLED)
def test_declaration_order_changes_neither_result_nor_cost(name: str) -> None:
    mechanism = SHUFFLED[name]()
    system = mechanism.compile()
    state = state_of(system)
    dynamics = ForwardDynamics(system, state)
    found, cost = dynamics(state), chosen_metrics(dynamics)
    rng = np.random.default_rng(0)
    for _ in range(3):
        other = shuffled(mechanism, rng).compile()
        other_state = state_of(other)
        other_dynamics = ForwardDynamics(other, other_state)
        again, other_cost = other_dynamics(other_state), chosen_metrics(other_dynamics)
        body = [other.body(name) for name in system.body_names]
        joint = [other.joint(name) for name in system.joint_names]
        assert relative_gap(again.acceleration[body], found.acceleration) < 1e-9
        assert relative_gap(again.joint_wrench[joint], found.joint_wrench) < 1e-8
        for one, two in ((cost.nnz_l, other_cost.nnz_l), (cost.flops, other_cost.flops)):
            assert max(one, two) <= 1.2 * min(one, two)


def chosen_metrics(dynamics: ForwardDynamics) -> OrderingMetrics:
    return dynamics.choice.metrics[dynamics.ordering]


# ---- options ----------------------------------------------------------------------------------


def test_basic_reactions_move_the_bodies_as_well_as_the_smallest() -> None:
    system = build("four-bar", speed=3.0, gravity=(1.0, -2.0, 3.0)).compile()
    state = consistent_state(system)
    basic = forward_dynamics(system, state, reactions="basic")
    least = forward_dynamics(system, state)
    np.testing.assert_allclose(basic.acceleration, least.acceleration, atol=1e-12)
    assert_balanced(system, state, basic)
    assert np.count_nonzero(basic.multiplier == 0.0) >= 3
    assert np.linalg.norm(least.multiplier) < np.linalg.norm(basic.multiplier)


def test_a_given_basis_of_rows_serves_other_poses() -> None:
    system = build("n-four-bar", loops=3).compile()
    dynamics = ForwardDynamics(system)
    for phi in (0.4, 1.1, 2.0):
        state = n_four_bar_state(system, phi, rate=0.5)
        acceleration, _ = oracles.gauss_accelerations(system, state)
        assert relative_gap(dynamics(state).acceleration, acceleration) < 1e-9


def test_stabilization_asks_for_the_terms_of_baumgarte() -> None:
    """A a = asked - 2 / T (A v - sigma) - delta / T^2."""
    rng = np.random.default_rng(3)
    system = random_tree(rng, 4, ("spherical", "universal")).compile()
    state = system.initial_state
    state = state.with_(
        velocity=state.velocity + 0.1 * rng.normal(size=state.velocity.shape),
        position=state.position + 0.01 * rng.normal(size=state.position.shape),
    )
    T = 0.2
    plain, dynamics = ForwardDynamics(system), ForwardDynamics(system, baumgarte=T)
    evaluation = dynamics.evaluate(state)
    change = evaluation.acceleration() - plain.evaluate(state).acceleration()
    n = 6 * system.n_bodies
    A = oracles.assemble(system, state).matrix.toarray()[n:, :n]
    to_world = np.linalg.inv(oracles.assemble(system, state).world_to_body)
    along_rows = A @ np.einsum("nij,nj->ni", to_world, change).ravel()
    expected = -2.0 / T * evaluation.velocity_error - evaluation.position_error / T**2
    np.testing.assert_allclose(along_rows, expected, atol=1e-10)


def test_corrections_close_the_joints_and_their_velocities() -> None:
    rng = np.random.default_rng(5)
    system = build("four-bar", speed=3.0).compile()
    state = consistent_state(system)
    dynamics = ForwardDynamics(system, state)
    twist = 1e-4 * rng.normal(size=state.velocity.shape)
    state = displaced(state, twist).with_(velocity=state.velocity + 100.0 * twist)
    before = dynamics.evaluate(state)
    closed = displaced(state, before.position_correction())
    size = np.abs(before.position_error).max()
    evaluation = dynamics.evaluate(closed)
    assert np.abs(evaluation.position_error).max() < 1e-3 * size
    moving = closed.with_(velocity=closed.velocity + evaluation.velocity_correction())
    kept = dynamics.structure.rows
    assert np.abs(dynamics.evaluate(moving).velocity_error[kept]).max() < 1e-12


def test_bodies_without_joints_fall_freely() -> None:
    mechanism = Mechanism(gravity=[0, 0, -9.81])
    mechanism.add_body("stone", mass=2.0, inertia=[1, 2, 2.5], angular_velocity=[1, 2, 3])
    found = forward_dynamics(mechanism.compile())
    spin = np.array([1.0, 2.0, 3.0])
    I_c = np.diag([1, 2, 2.5])
    expected = np.linalg.solve(I_c, -np.cross(spin, I_c @ spin))
    np.testing.assert_allclose(found.acceleration[0], [*expected, 0, 0, -9.81], atol=1e-14)
    assert found.multiplier.shape == (0,)


def test_joints_between_fixed_and_moving_nodes_may_point_either_way() -> None:
    def pendulum(reverse: bool) -> Mechanism:
        mechanism = Mechanism()
        mechanism.add_body("bar", mass=1.0, inertia=[0.1, 0.1, 0.1])
        ends, points = [WORLD, "bar"], [(0.0, 0.0, 0.0), (0.5, 0.0, 0.0)]
        if reverse:
            ends, points = ends[::-1], points[::-1]
        frames = [Frame(point, (0.6, 0.8, 0.0, 0.0)) for point in points]
        mechanism.add_joint(
            "hinge", Revolute(), *ends, predecessor_frame=frames[0], successor_frame=frames[1]
        )
        mechanism.add_body("other", mass=1.0, inertia=[0.1, 0.1, 0.1])
        return mechanism

    one, two = (forward_dynamics(pendulum(reverse).compile()) for reverse in (False, True))
    np.testing.assert_allclose(one.acceleration, two.acceleration, atol=1e-13)
    np.testing.assert_allclose(one.joint_wrench, -two.joint_wrench, atol=1e-13)


def test_explanation_names_what_was_chosen_and_left_out() -> None:
    dynamics = ForwardDynamics(build("four-bar").compile())
    explanation = dynamics.explain()
    assert explanation["constraint_rows"] == 20
    assert explanation["redundant_rows"] == 3
    assert explanation["redundancy_certain"] is True
    assert explanation["ordering"] == dynamics.ordering
    assert explanation["factorization"] == dynamics.factorization
    assert dynamics.rank == 17
    assert len(dynamics.redundant_rows) == 3


# ---- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["ordering", "factorization", "redundancy", "reactions"])
def test_an_unknown_name_is_refused_with_the_known_ones(option: str) -> None:
    known = {
        "ordering": "leaves-first",
        "factorization": "dense",
        "redundancy": "remove",
        "reactions": "minimum-norm",
    }
    system = build("pendulum").compile()
    with pytest.raises(UnknownNameError, match=f"'best'.*{known[option]}"):
        ForwardDynamics(system, **{option: "best"})


@pytest.mark.parametrize("constant", [0.0, -1.0, np.nan])
def test_stabilization_needs_a_positive_time_constant(constant: float) -> None:
    with pytest.raises(ModelError, match=f"Baumgarte time constant is {constant}"):
        ForwardDynamics(build("pendulum").compile(), baumgarte=constant)


def test_body_forces_have_the_shape_of_the_velocities() -> None:
    system = build("four-bar").compile()
    with pytest.raises(ShapeError, match=r"body_force.*\(3,\).*\(3, 6\)"):
        ForwardDynamics(system)(system.initial_state, body_force=np.zeros(3))


@pytest.mark.parametrize("factorization", available_factorizations())
def test_dependent_rows_that_are_kept_are_refused_or_do_no_harm(factorization: str) -> None:
    system = build("four-bar", speed=3.0, gravity=(1.0, -2.0, 3.0)).compile()
    state = consistent_state(system)
    dynamics = ForwardDynamics(system, state, redundancy="keep", factorization=factorization)
    assert len(dynamics.redundant_rows) == 0
    if factorization == "cholmod-ldl":  # regularized, and refined
        expected = oracles.gauss_accelerations(system, state)[0]
        np.testing.assert_allclose(dynamics(state).acceleration, expected, atol=1e-9)
    else:
        with pytest.raises(SingularSystemError, match="depends on the others; leave dependent"):
            dynamics(state)


def scissor(factorization: str) -> ForwardDynamics:
    system = build("scissor", pairs=4).compile()
    return ForwardDynamics(system, factorization=factorization, formulation=SPATIAL)


@pytest.fixture
def inaccurate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take factors for inaccurate, or for singular, if they are not those of QR."""

    def lose(*_: object) -> object:
        raise SingularSystemError("a pivot of dual block 2 vanishes")

    monkeypatch.setattr(evaluators, "ROUGH_CORRECTION", -1.0)
    monkeypatch.setattr(LUSymbolic, "factorize", lose)


@pytest.mark.usefixtures("inaccurate")
@pytest.mark.parametrize("factorization", ["block-ldl", "superlu"])
def test_qr_takes_over_in_a_new_evaluator_and_history_tells(factorization: str) -> None:
    dynamics = scissor(factorization)
    state, before = sb.consistent_state(dynamics.system), dynamics.evaluator
    acceleration = dynamics.acceleration(state)
    np.testing.assert_allclose(acceleration, scissor("dense").acceleration(state), atol=1e-9)
    assert isinstance(dynamics.evaluator, BlockQREvaluator)
    assert dynamics.evaluator.assembler is before.assembler
    assert not isinstance(before, BlockQREvaluator)
    history = dynamics.explain()["history"]
    assert history == ["block-qr: rounding hides the softest motions at t = 0 s"]
    again = copy.deepcopy(dynamics)
    np.testing.assert_array_equal(again.acceleration(state), dynamics.acceleration(state))
    assert again.explain()["history"] == history


@pytest.mark.usefixtures("inaccurate")
@pytest.mark.parametrize("factorization", ["block-ldl", "superlu"])
def test_what_qr_refuses_too_is_refused_by_name_and_changes_nothing(
    factorization: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dynamics = scissor(factorization)
    evaluator = dynamics.evaluator
    monkeypatch.setattr(BlockQREvaluator, "_factorize", refuse)
    with pytest.raises(SingularSystemError, match="joint 'a'"):
        dynamics.acceleration(sb.consistent_state(dynamics.system))
    assert dynamics.evaluator is evaluator
    assert dynamics.explain()["history"] == []


def refuse(*_: object) -> None:
    raise SingularSystemError("a pivot of joint 'a' vanishes")


ASK: dict[str, Callable[[System, State], object]] = {
    "acceleration": lambda system, state: spatial(system).acceleration(state),
    "call": lambda system, state: spatial(system)(state),
    "evaluation": lambda system, state: spatial(system).evaluate(state).accelerations(),
    "its acceleration": lambda system, state: spatial(system).evaluate(state).acceleration(),
    "function": lambda system, state: forward_dynamics(system, state, formulation=SPATIAL),
    "simulate": lambda system, state: sb.simulate(
        system, state, duration=0.02, step=0.01, dynamics=spatial(system)
    ),
}


def spatial(system: System) -> ForwardDynamics:
    return ForwardDynamics(system, formulation=SPATIAL)


@pytest.fixture
def rough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every solution for a rough one."""
    monkeypatch.setattr(evaluators, "ROUGH_CORRECTION", -1.0)
    monkeypatch.setattr(evaluators, "ROUGH_RESIDUAL", -1.0)


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize("name", ASK)
def test_roughness_is_told_once_with_the_condition_number_at_the_line_that_asked(name: str) -> None:
    system = build("scissor", pairs=4).compile()
    with pytest.warns(AccuracyWarning, match=r"rough \(condition number 2\.[78]e\+02: ") as heard:
        ASK[name](system, system.initial_state)
    assert [warning.filename for warning in heard] == [__file__]


def test_rows_that_are_violated_are_told_of_at_the_line_that_asked() -> None:
    """A flat lattice of ball joints has dependent rows that it needs as soon as it folds."""
    system = build("lattice", rows=3, columns=3).compile()
    flat = sb.consistent_state(system)
    rng = np.random.default_rng(0)
    folded = sb.displaced(flat, 0.1 * rng.normal(size=(system.n_bodies, 6)))
    dynamics = ForwardDynamics(system, flat)
    assert dynamics.redundant_rows.size > 0
    dynamics(flat)
    folded = sb.consistent_state(system, folded)
    with pytest.warns(RankWarning, match="violated here by .* a new ForwardDynamics") as heard:
        dynamics(folded)
    assert [warning.filename for warning in heard] == [__file__]
    ForwardDynamics(system, folded)(folded)
