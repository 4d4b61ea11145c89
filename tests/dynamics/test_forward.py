"""Accelerations and constraint forces against Pinocchio, dense algebra and closed forms."""

from functools import partial

import numpy as np
import oracles
import pytest
from linkages import at_start, one_body
from oracles import relative_difference
from overconstrained import OVERCONSTRAINED, TILTED, state_of
from pinocchio_models import PinocchioModel
from random_mechanisms import TREE_TYPES, copied, random_loops, random_tree
from world_view import active_wrenches

import sparsebody as sb
from sparsebody.dynamics import evaluators
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.errors import (
    AccuracyWarning,
    ModelError,
    RankWarning,
    ShapeError,
    SingularSystemError,
    UnknownNameError,
)
from sparsebody.factorization import available_factorizations
from sparsebody.ordering import ORDERINGS, available_orderings

MOBILE = ("spherical", "universal", "planar", "cylindrical", "point-on-line", "point-on-plane")
PER_TYPE = 7  # random mechanisms; with the mixed ones 234 are compared with Pinocchio
TREES = [*TREE_TYPES, "free"]


def closed_by(bodies, loops, names):
    """What makes random loops closed by joints of some types."""
    return lambda rng: random_loops(rng, bodies, loops, MOBILE, names, moving=True)


def add_joint_forces(mechanism, rng):
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


def assert_agrees_with_pinocchio(mechanism, rng):
    """Velocities, accelerations, and Newton and Euler's laws."""
    add_joint_forces(mechanism, rng)
    system, state = at_start(mechanism)
    body_force = rng.normal(size=(system.n_bodies, 6))
    peer = PinocchioModel(system, state)
    expected = peer.solve(active_wrenches(system, state), body_force)
    result = sb.forward_dynamics(system, state, body_force=body_force)
    np.testing.assert_allclose(expected.velocity, state.velocity, atol=1e-11)
    assert relative_difference(result.acceleration, expected.acceleration) < 1e-9
    assert_balanced(system, state, result, body_force)


def assert_balanced(system, state, result, body_force=None):
    imbalance = oracles.newton_euler_imbalance(
        system, state, result.acceleration, result.joint_wrench, body_force
    )
    assert imbalance < 1e-10


BALLS_AND_WELDS = ("spherical", "spherical", "fixed")
MECHANISMS = [  # name, how many seeds, the first, and what is made with a generator
    *((name, PER_TYPE, 0, partial(random_tree, n_bodies=6, names=(name,))) for name in TREES),
    ("all", 40, 100, lambda rng: random_tree(rng, int(rng.integers(3, 13)), tuple(sb.JOINT_TYPES))),
    *((f"loop {name}", PER_TYPE, 200, closed_by(7, 2, (name,))) for name in sb.JOINT_TYPES),
    ("balls and welds", 26, 300, closed_by(12, 3, BALLS_AND_WELDS)),
]


@pytest.mark.parametrize(
    ("make", "seed"),
    [
        pytest.param(make, first + k, id=f"{name}-{k}")
        for name, count, first, make in MECHANISMS
        for k in range(count)
    ],
)
def test_trees_and_loops_of_every_joint_type_move_as_in_pinocchio(make, seed):
    rng = np.random.default_rng(seed)
    assert_agrees_with_pinocchio(make(rng), rng)


@pytest.mark.parametrize("seed", range(30))
def test_random_loops_obey_gauss_principle(seed):
    rng = np.random.default_rng(400 + seed)
    mechanism = random_loops(rng, 8, 4, MOBILE + TREE_TYPES, moving=True)
    add_joint_forces(mechanism, rng)
    assert_obeys_gauss(mechanism.compile())


def assert_obeys_gauss(system):
    """Accelerations, smallest multipliers, rank and balance against the pseudo-inverse."""
    state = state_of(system)
    dynamics = sb.ForwardDynamics(system, state)
    result = dynamics(state)
    acceleration, multiplier = oracles.gauss_accelerations(system, state)
    assert dynamics.rank == oracles.rank(system, state)
    assert relative_difference(result.acceleration, acceleration) < 1e-9
    assert relative_difference(result.multiplier, multiplier) < 1e-9
    assert result.residual < 1e-12
    assert result.dropped_residual < 1e-9
    assert_balanced(system, state, result)


# ---- overconstrained mechanisms ---------------------------------------------------------------


@pytest.mark.parametrize("name", OVERCONSTRAINED)
def test_overconstrained_mechanisms_obey_gauss_principle(name):
    assert_obeys_gauss(OVERCONSTRAINED[name]().compile())


def test_a_pendulum_falls_as_the_closed_form():
    """m L^2 / 3 phi'' = -m g L / 2 cos(phi), and the hinge carries the rest."""
    m, L, rate = 2.0, 1.5, 0.7
    bar = {"mass": m, "inertia": [0.01, m * L**2 / 12, m * L**2 / 12]}
    bar |= {"center_of_mass": [L / 2, 0, 0], "angular_velocity": [0, 0, rate]}
    mechanism = one_body(sb.Revolute(), [0, -9.81, 0], {"point": [0, 0, 0]}, **bar)
    result = sb.forward_dynamics(mechanism.compile())
    turning = -1.5 * 9.81 / L
    np.testing.assert_allclose(result.acceleration[0, :3], [0, 0, turning], atol=1e-13)
    pull, lift = -m * rate**2 * L / 2, m * (turning * L / 2 + 9.81)
    np.testing.assert_allclose(result.joint_wrench[0], [0, 0, 0, pull, lift, 0], atol=1e-12)


# ---- every ordering with every backend --------------------------------------------------------


def comparison_systems():
    """Random mechanisms of up to 12 bodies, and overconstrained ones."""
    systems = {}
    for seed in range(12):
        rng, names = np.random.default_rng(500 + seed), MOBILE + TREE_TYPES
        mechanism = random_loops(rng, 1 + seed, seed // 3, names, moving=True)
        systems[f"random {seed}"] = mechanism.compile()
    for name in ("four-bar", "scissor", "hinged ring", "bricard"):
        systems[name] = OVERCONSTRAINED[name]().compile()
    systems["ladder"] = sb.build("ladder", rungs=6, disorder=0.1, gravity=TILTED).compile()
    return systems


@pytest.fixture(scope="module")
def comparisons():
    """Systems, consistent states, and the accelerations by the pseudo-inverse."""
    result = []
    for name, system in comparison_systems().items():
        state = state_of(system)
        result.append((name, system, state, oracles.gauss_accelerations(system, state)[0]))
    return result


@pytest.mark.parametrize("factorization", available_factorizations())
@pytest.mark.parametrize("ordering", available_orderings())
def test_every_ordering_with_every_factorization_gives_the_same_accelerations(
    ordering, factorization, comparisons
):
    """Each pair for a third of the systems: each ordering, and each factorization, for all."""
    part = available_orderings().index(ordering) + available_factorizations().index(factorization)
    for name, system, state, expected in comparisons[part % 3 :: 3]:
        if system.n_bodies + system.n_joints > ORDERINGS[ordering].largest:
            continue
        dynamics = sb.ForwardDynamics(system, state, ordering=ordering, factorization=factorization)
        assert (dynamics.ordering, dynamics.factorization) == (ordering, factorization)
        assert relative_difference(dynamics(state).acceleration, expected) < 1e-9, name


# ---- numbering and declaration order ----------------------------------------------------------


SHUFFLED = {
    "scissor": lambda: sb.build("scissor", pairs=8, drive=True),
    "bricard": lambda: sb.build("bricard"),
    "ladder": lambda: sb.build("ladder", rungs=12, disorder=0.1, gravity=TILTED),
    "lattice": lambda: sb.build("lattice", rows=4, columns=5, gravity=TILTED),
    "rotating-squares": lambda: sb.build("rotating-squares", rows=3, columns=3),
    "tree": lambda: random_tree(np.random.default_rng(0), 20),
    "loops": lambda: random_loops(np.random.default_rng(2), 15, 5, MOBILE, moving=True),
}


@pytest.mark.parametrize("name", SHUFFLED)
def test_declaration_order_changes_neither_result_nor_cost(name):
    def solved(mechanism):
        system = mechanism.compile()
        dynamics = sb.ForwardDynamics(system, state_of(system))
        metrics = dynamics.choice.metrics[dynamics.ordering]
        return system, dynamics(state_of(system)), np.array([metrics.nnz_l, metrics.flops])

    mechanism, rng = SHUFFLED[name](), np.random.default_rng(0)
    system, result, cost = solved(mechanism)
    for _ in range(3):
        other, repeated, other_cost = solved(copied(mechanism, rng=rng))
        body = [other.body(name) for name in system.body_names]
        joint = [other.joint(name) for name in system.joint_names]
        assert relative_difference(repeated.acceleration[body], result.acceleration) < 1e-9
        assert relative_difference(repeated.joint_wrench[joint], result.joint_wrench) < 1e-8
        assert np.all(np.maximum(cost, other_cost) <= 1.2 * np.minimum(cost, other_cost))


# ---- options ----------------------------------------------------------------------------------


def test_stabilization_asks_for_the_terms_of_baumgarte():
    """A a = asked - 2 / T (A v - sigma) - delta / T^2."""
    rng = np.random.default_rng(3)
    system = random_tree(rng, 4, ("spherical", "universal")).compile()
    state = system.initial_state
    state = state.with_(
        velocity=state.velocity + 0.1 * rng.normal(size=state.velocity.shape),
        position=state.position + 0.01 * rng.normal(size=state.position.shape),
    )
    T = 0.2
    plain, dynamics = sb.ForwardDynamics(system), sb.ForwardDynamics(system, baumgarte=T)
    evaluation = dynamics.evaluate(state)
    change = evaluation.acceleration() - plain.evaluate(state).acceleration()
    book = oracles.assemble(system, state)
    along_rows = book.rows @ np.linalg.solve(book.world_to_body, change[:, :, None]).ravel()
    expected = -2.0 / T * evaluation.velocity_error - evaluation.position_error / T**2
    np.testing.assert_allclose(along_rows, expected, atol=1e-10)


@pytest.mark.parametrize("redundancy", ["auto", "krylov"])
def test_corrections_close_the_joints_and_their_velocities(redundancy):
    rng = np.random.default_rng(5)
    system, state = at_start(sb.build("four-bar", speed=3.0))
    dynamics = sb.ForwardDynamics(system, state, redundancy=redundancy)
    twist = 1e-4 * rng.normal(size=state.velocity.shape)
    state = sb.displaced(state, twist).with_(velocity=state.velocity + 100.0 * twist)
    before = dynamics.evaluate(state)
    evaluation = dynamics.evaluate(sb.displaced(state, before.position_correction()))
    size = np.abs(before.position_error).max()
    assert np.abs(evaluation.position_error).max() < 1e-3 * size
    velocity = evaluation.state.velocity + evaluation.velocity_correction()
    error = dynamics.evaluate(evaluation.state.with_(velocity=velocity)).velocity_error
    assert np.abs(error[dynamics.structure.rows]).max() < 1e-12


def test_explanation_names_what_was_chosen_and_left_out():
    dynamics = sb.ForwardDynamics(sb.build("four-bar").compile())
    explanation = dynamics.explain()
    assert explanation["constraint_rows"] == 20
    assert explanation["redundant_rows"] == 3
    assert explanation["redundancy_certain"] is True
    assert explanation["ordering"] == dynamics.ordering
    assert explanation["factorization"] == dynamics.factorization
    assert dynamics.rank == 17
    assert len(dynamics.redundant_rows) == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"ordering": "best"}, UnknownNameError, "'best'.*leaves-first"),
        ({"factorization": "best"}, UnknownNameError, "'best'.*dense"),
        ({"redundancy": "best"}, UnknownNameError, "'best'.*remove"),
        ({"reactions": "best"}, UnknownNameError, "'best'.*minimum-norm"),
        (
            {"redundancy": "krylov", "factorization": "superlu"},
            UnknownNameError,
            r"'superlu', which needs independent rows; .*auto",
        ),
        (
            {"method": "aba", "redundancy": "krylov"},
            ModelError,
            r"'aba' has no option redundancy; give method 'sparse'",
        ),
        ({"baumgarte": 0.0}, ModelError, r"Baumgarte time constant is 0\.0"),
        ({"baumgarte": np.nan}, ModelError, "Baumgarte time constant is nan"),
        ({"body_force": np.zeros(3)}, ShapeError, r"body_force.*\(3,\).*\(1, 6\)"),
        ({"threads": 0}, ModelError, "threads is 0; give the number"),
        ({"threads": -1}, ModelError, "threads is -1; give the number"),
    ],
    ids=str,
)
def test_options_that_cannot_be_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        sb.forward_dynamics(sb.build("pendulum").compile(), **options)


# ---- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("factorization", available_factorizations())
def test_dependent_rows_that_are_kept_are_refused_or_do_no_harm(factorization):
    system, state = at_start(sb.build("four-bar", speed=3.0, gravity=TILTED))
    dynamics = sb.ForwardDynamics(system, state, redundancy="keep", factorization=factorization)
    assert len(dynamics.redundant_rows) == 0
    if factorization in ("cholmod-ldl", "iterative", "mumps"):  # these do with dependent rows
        expected = oracles.gauss_accelerations(system, state)[0]
        np.testing.assert_allclose(dynamics(state).acceleration, expected, atol=1e-9)
    else:
        with pytest.raises(SingularSystemError, match="depends on the others; leave dependent"):
            dynamics(state)


ASK = {
    "acceleration": lambda system, state: spatial(system).acceleration(state),
    "call": lambda system, state: spatial(system)(state),
    "evaluation": lambda system, state: spatial(system).evaluate(state).accelerations(),
    "its acceleration": lambda system, state: spatial(system).evaluate(state).acceleration(),
    "function": lambda system, state: sb.forward_dynamics(system, state, formulation=SPATIAL),
    "simulate": lambda system, state: sb.simulate(
        system, state, duration=0.02, step=0.01, dynamics=spatial(system)
    ),
}


def spatial(system):
    return sb.ForwardDynamics(system, formulation=SPATIAL)


@pytest.fixture
def rough(monkeypatch):
    """Take every solution for a rough one."""
    monkeypatch.setattr(evaluators, "ROUGH_CORRECTION", -1.0)
    monkeypatch.setattr(evaluators, "ROUGH_RESIDUAL", -1.0)


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize("name", ASK)
def test_roughness_is_told_once_with_the_condition_number_at_the_line_that_asked(name):
    system = sb.build("scissor", pairs=4).compile()
    said = r"inaccurate \(condition number 2\.[78]e\+02: "
    with pytest.warns(AccuracyWarning, match=said) as heard:
        ASK[name](system, system.initial_state)
    assert [warning.filename for warning in heard] == [__file__]


def test_rows_that_are_violated_are_told_of_at_the_line_that_asked():
    """A flat lattice of ball joints has dependent rows that it needs as soon as it folds."""
    system, flat = at_start(sb.build("lattice", rows=3, columns=3))
    rng = np.random.default_rng(0)
    folded = sb.displaced(flat, 0.1 * rng.normal(size=(system.n_bodies, 6)))
    dynamics = sb.ForwardDynamics(system, flat)
    assert dynamics.redundant_rows.size > 0
    dynamics(flat)
    folded = sb.consistent_state(system, folded)
    with pytest.warns(RankWarning, match="violated here by .* a new ForwardDynamics") as heard:
        dynamics(folded)
    assert [warning.filename for warning in heard] == [__file__]
    sb.ForwardDynamics(system, folded)(folded)
