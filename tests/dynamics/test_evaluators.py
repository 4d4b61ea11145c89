"""Evaluators against the general functions, dense algebra and their own refusals."""

import contextlib
import copy
import pickle
import warnings

import numpy as np
import pytest
from linkages import at_start
from oracles import relative_difference
from overconstrained import n_four_bar_state, scissor_with_pendulum
from random_mechanisms import copied, random_loops, random_tree
from scipy.linalg import block_diag

import sparsebody as sb
from benchmarks import oracle
from benchmarks.cases import problem
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.dynamics import assembler, evaluators
from sparsebody.dynamics.energy import energy_and_momentum
from sparsebody.dynamics.evaluators import BlockQREvaluator
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.equations.system_motion import SystemMotion, constraint_errors
from sparsebody.errors import ModelError, ShapeError, SingularSystemError
from sparsebody.factorization.pivoted_lu import LUSymbolic
from sparsebody.sparse.saddle import constraint_matrix, saddle_csc

NO_ROWS = np.zeros(0)


def random_state(seed):
    """Return a random mechanism with loops of all joint types, in motion."""
    rng = np.random.default_rng(seed)
    system = random_loops(rng, 8, 2, moving=True).compile()
    return system, sb.consistent_state(system)


def general(system, state):
    """Return A, what its rows ask for, and the forces, as the general functions compute them."""
    moving = SystemMotion(system, state)
    matrix = kkt_structure(system).matrix(moving.constraint)
    forces = (moving.applied - moving.bias).ravel()
    return constraint_matrix(matrix).toarray(), moving.constraint.acceleration, forces


def mass_roots(system):
    """Return L with L L' the block-diagonal inertia."""
    return block_diag(*np.linalg.cholesky(system.spatial_inertia))


@pytest.mark.parametrize("seed", range(12))
def test_rows_and_right_hand_side_are_those_of_the_general_functions(seed):
    """A I^-1 A', A I^-1 f and f' I^-1 f do not depend on how bodies are numbered or measured."""
    system, state = random_state(seed)
    assembler = sb.ForwardDynamics(system, state, factorization="block-ldl").evaluator.assembler
    assembler.assemble(state, None, NO_ROWS)
    n = 6 * system.n_bodies
    A, gamma, force = general(system, state)
    root = mass_roots(system)
    unit = np.linalg.solve(root, A.T).T[assembler.rows]
    force = np.linalg.solve(root, force)
    result = constraint_matrix(assembler.matrix).toarray()
    size = np.abs(unit @ unit.T).max()
    np.testing.assert_allclose(result @ result.T, unit @ unit.T, atol=1e-12 * size)
    size = np.abs(unit).max() * np.abs(force).max()
    np.testing.assert_allclose(result @ assembler.right[:n], unit @ force, atol=1e-12 * size)
    assert assembler.right[:n] @ assembler.right[:n] == pytest.approx(force @ force, rel=1e-12)
    assert relative_difference(assembler.right[n:], gamma[assembler.rows], 1.0) < 1e-12


def test_a_wrong_solution_has_the_residual_that_it_should_have():
    system, state = random_state(5)
    assembler = sb.ForwardDynamics(system, state, factorization="block-ldl").evaluator.assembler
    assembler.assemble(state, None, NO_ROWS)
    x = np.random.default_rng(0).normal(size=len(assembler.right))
    assembler.x[:] = x
    n = 6 * system.n_bodies
    left = np.abs(assembler.right - saddle_csc(assembler.matrix) @ x)
    force = max(np.abs(x[:n]).max(), np.abs(assembler.right[:n]).max())
    A = constraint_matrix(assembler.matrix)
    term = max(np.abs(A @ np.diag(x[:n])).max(), np.abs(assembler.right[n:]).max())
    free = np.abs(A @ np.diag(assembler.right[:n])).max()
    expected = max(left[:n].max() / force, left[n:].max() / max(term, free))
    assert assembler.native.compute_residual(assembler.right) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_rough_factors_are_made_up_for(seed):
    """Factors that are off by a hundredth still give the solution to seven digits."""
    system, state = at_start(sb.build("ladder", rungs=12, gravity=(1.0, -2.0, -9.0)))
    dynamics = sb.ForwardDynamics(system, state, factorization="block-ldl")
    evaluator = dynamics.evaluator
    evaluator.assembler.assemble(state, None, NO_ROWS)
    evaluator.factorize(0.0)
    exact = np.empty((system.n_bodies, 6))
    evaluator.solve_assembled(state, exact, NO_ROWS)
    values = evaluator.assembler.symbolic.factors.values
    values *= 1.0 + 0.01 * np.random.default_rng(seed).uniform(-1.0, 1.0, values.shape)
    result = np.empty_like(exact)
    dynamics.run(lambda evaluator: evaluator.solve_assembled(state, result, NO_ROWS))
    np.testing.assert_allclose(result, exact, atol=1e-7 * np.abs(exact).max())


def wild_tree(seed, decades):
    """Return a random tree in motion with masses over so many decades."""
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 12)
    target = 10.0 ** rng.uniform(-decades / 2, decades / 2, size=mechanism.n_bodies)
    mass = np.array([body.mass for body in mechanism.bodies.values()])
    system = copied(mechanism, masses=target / mass).compile()
    return system, sb.consistent_state(system)


def test_masses_over_eighteen_decades_are_corrected_until_light_bodies_are_right():
    """Heavy bodies make a correction look small whose light bodies still need another one."""
    system, state = wild_tree(41, 18.0)
    assert sb.ForwardDynamics(system, state, factorization="block-ldl")(state).residual < 1e-7


@pytest.mark.parametrize("seed", [7, 44, 61, 86])
def test_trees_of_wild_masses_are_as_accurate_as_by_pivoting(seed):
    system, state = wild_tree(seed, 9.0)
    result, expected = (
        sb.ForwardDynamics(system, state, factorization=name).acceleration(state)
        for name in ("block-ldl", "superlu")
    )
    np.testing.assert_allclose(result, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("how", ["read-only", "transposed", "strided"])
def test_states_of_any_layout_are_taken(how):
    system, state = random_state(3)
    dynamics = sb.ForwardDynamics(system, state, factorization="block-ldl")
    expected = dynamics.acceleration(state)
    change = {
        "read-only": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
        "transposed": np.asfortranarray,
        "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    }[how]
    changed = {f: change(getattr(state, f)) for f in ("position", "orientation", "velocity")}
    np.testing.assert_array_equal(dynamics.acceleration(state.with_(**changed)), expected)


def test_numbers_too_large_to_multiply_spoil_no_later_evaluation():
    system, state = random_state(3)
    dynamics = sb.ForwardDynamics(system, state, factorization="block-ldl")
    expected = dynamics.acceleration(state)
    with pytest.raises(SingularSystemError):
        dynamics.acceleration(state.with_(velocity=1e200 * state.velocity))
    np.testing.assert_array_equal(dynamics.acceleration(state), expected)
    evaluation = dynamics.evaluate(state)
    with pytest.raises(SingularSystemError):
        evaluation.position_correction(np.full(system.n_rows, np.nan))
    np.testing.assert_array_equal(dynamics.acceleration(state), expected)


def infinite(velocity):
    return np.where(np.arange(velocity.size).reshape(velocity.shape) == 6 * 2 + 4, np.inf, velocity)


BAD_STATES = {  # what is changed, how, and the error
    "float32": ("position", np.float32, ShapeError, r"state\.position is of type float32"),
    "too short": ("velocity", lambda v: v[:-1], ShapeError, r"state\.velocity has shape"),
    "of no unit norm": ("orientation", lambda q: 1.05 * q, ModelError, r"has norm 1\.05"),
    "infinite": ("velocity", infinite, ModelError, "'b2'"),
}


@pytest.mark.parametrize("question", ["acceleration", "position_correction", "velocity_correction"])
@pytest.mark.parametrize("bad", BAD_STATES)
@pytest.mark.parametrize("baumgarte", [None, 0.1])
def test_states_that_are_none_are_refused_by_name_again_and_again(baumgarte, bad, question):
    """Neither half an assembly nor that of another state answers for them."""
    system, state = random_state(3)
    dynamics = sb.ForwardDynamics(system, state, baumgarte=baumgarte)
    field, change, error, message = BAD_STATES[bad]
    evaluation = dynamics.evaluate(state.with_(**{field: change(getattr(state, field))}))
    for _ in range(2):
        with pytest.raises(error, match=message):
            getattr(evaluation, question)()
        assert np.isfinite(dynamics.acceleration(state)).all()


QUESTIONS = (sb.joint_positions, sb.joint_velocities, energy_and_momentum, constraint_errors)


@pytest.mark.parametrize("question", [*QUESTIONS, sb.modes])
@pytest.mark.parametrize("field", ["position", "orientation", "velocity"])
def test_no_question_reads_beyond_the_end_of_a_state(field, question):
    system, state = random_state(3)
    short = state.with_(**{field: getattr(state, field)[:-1]})
    with pytest.raises(ShapeError, match=rf"state\.{field} has shape"):
        question(system, short)


@pytest.mark.parametrize("n_bodies", [20, 300, 17_000])  # one chunk of pivots, several, parts
def test_evaluations_recover_from_one_that_overflowed(n_bodies):
    system = sb.build("tree", bodies=n_bodies, gravity=(1.0, 0.0, -9.0)).compile()
    dynamics = sb.ForwardDynamics(system, factorization="block-ldl", reactions="basic")
    state = system.initial_state
    acceleration = dynamics.acceleration(state)
    for _ in range(2):
        with pytest.raises(SingularSystemError), np.errstate(all="ignore"):
            dynamics(state, body_force=np.full_like(state.velocity, 1e307))
        np.testing.assert_array_equal(dynamics.acceleration(state), acceleration)


def test_krylov_steps_refuse_right_hand_sides_that_overflow():
    system = sb.build("four-bar").compile()
    state = system.initial_state
    spin = state.with_(velocity=np.tile([0.0, 0.0, 1e200, 0.0, 0.0, 0.0], (3, 1)))
    dynamics = sb.ForwardDynamics(system, redundancy="krylov")
    with pytest.raises(SingularSystemError, match="not finite"), np.errstate(all="ignore"):
        dynamics(spin)


COPIED = {
    "random": lambda: random_loops(np.random.default_rng(3), 8, 2, moving=True),
    "scissor": lambda: sb.build("scissor", pairs=8),
    "scissor with a pendulum": scissor_with_pendulum,
}


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))], ids=["copy", "pickle"]
)
@pytest.mark.parametrize(
    ("option", "value"),
    [("factorization", "block-ldl"), ("factorization", "superlu"), ("redundancy", "krylov")],
)
@pytest.mark.parametrize("name", COPIED)
def test_copies_answer_for_themselves(copied, option, value, name):
    """With six freedoms a body, in a plane, and within subgroups."""
    mechanism = COPIED[name]()
    system, state = at_start(mechanism)
    dynamics = sb.ForwardDynamics(system, state, **{option: value})
    evaluation = dynamics.evaluate(state)
    expected = evaluation.acceleration()
    other = copied(evaluation)
    other.dynamics.acceleration(state.with_(velocity=2.0 * state.velocity))
    for result in (other.acceleration(), evaluation.acceleration()):
        np.testing.assert_allclose(result, expected, atol=1e-9 * np.abs(expected).max())


def test_rows_left_out_are_watched_at_other_states():
    """A velocity that the left-out rows forbid shows in what they ask for."""
    system, state = at_start(sb.build("scissor", pairs=6))
    dynamics = sb.ForwardDynamics(system, state)
    assert dynamics(state).dropped_residual < 1e-10
    velocity = state.velocity + np.random.default_rng(0).normal(size=state.velocity.shape)
    other = state.with_(velocity=velocity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.errors.RankWarning)
        result = dynamics(other)
    A, gamma, force = general(system, other)
    residual = np.abs(A @ result.acceleration.ravel() - gamma)[dynamics.redundant_rows].max()
    root = mass_roots(system)
    unit = np.linalg.solve(root, A.T).T
    ways = (root.T @ result.acceleration.ravel(), np.linalg.solve(root, force))
    scale = max(np.abs(gamma).max(), *(np.abs(unit).max() * np.abs(way).max() for way in ways))
    assert result.dropped_residual == pytest.approx(residual / scale, rel=1e-6)


@pytest.mark.parametrize("first_question", ["acceleration", "velocity_correction"])
def test_lifts_too_long_for_ldl_are_as_accurate_by_qr(first_question):
    lift = problem("scissor", 24_000)
    dynamics = sb.ForwardDynamics(lift.system, lift.state, reactions="basic", formulation=SPATIAL)
    evaluation = dynamics.evaluate(lift.state)
    getattr(evaluation, first_question)()
    exact = oracle.scissor_reference(lift)
    for result in (evaluation.acceleration(), dynamics.acceleration(lift.state)):
        assert np.abs(result - exact).max() < 1e-7 * np.abs(exact).max()


def test_whether_a_singular_pose_is_refused_does_not_depend_on_what_came_before():
    system = sb.build("n-four-bar", loops=1).compile()
    flat, near, raised = (n_four_bar_state(system, angle, 0.0) for angle in (0.0, 1e-7, 0.7))
    fresh, used = (sb.ForwardDynamics(system, raised, factorization="block-ldl") for _ in range(2))
    with pytest.raises(SingularSystemError, match="vanishes"):
        fresh.acceleration(flat)
    with contextlib.suppress(SingularSystemError):
        used.acceleration(near)
    with pytest.raises(SingularSystemError, match="vanishes"):
        used.acceleration(flat)


def test_errors_to_correct_have_one_entry_a_row():
    system, state = random_state(3)
    evaluation = sb.ForwardDynamics(system, state).evaluate(state)
    with pytest.raises(ShapeError, match="one a row"):
        evaluation.position_correction(np.zeros(system.n_rows + 1))


def test_accelerations_fill_an_array_that_is_given():
    system, state = random_state(3)
    for dynamics in (
        sb.ForwardDynamics(system, state),
        sb.ForwardDynamics(system, state, baumgarte=0.1),
    ):
        out = np.full((system.n_bodies, 6), np.nan)
        assert dynamics.acceleration(state, out=out) is out
        np.testing.assert_array_equal(out, dynamics.acceleration(state))
        with pytest.raises(ShapeError, match="out must be"):
            dynamics.acceleration(state, out=out[:, :5])


# ---- QR in the place of rough factors ----------------------------------------------------------


def scissor(factorization):
    system = sb.build("scissor", pairs=4).compile()
    return sb.ForwardDynamics(system, factorization=factorization, formulation=SPATIAL)


@pytest.fixture
def inaccurate(monkeypatch):
    """Take factors for inaccurate, or for singular, if they are not those of QR."""

    def lose(*_):
        raise SingularSystemError("a pivot of dual block 2 vanishes")

    monkeypatch.setattr(evaluators, "ROUGH_CORRECTION", -1.0)
    monkeypatch.setattr(LUSymbolic, "factorize", lose)


@pytest.mark.usefixtures("inaccurate")
@pytest.mark.parametrize("factorization", ["block-ldl", "superlu"])
def test_qr_takes_over_in_a_new_evaluator_and_history_tells(factorization):
    dynamics = scissor(factorization)
    state, before = sb.consistent_state(dynamics.system), dynamics.evaluator
    acceleration = dynamics.acceleration(state)
    np.testing.assert_allclose(acceleration, scissor("dense").acceleration(state), atol=1e-9)
    assert isinstance(dynamics.evaluator, BlockQREvaluator)
    assert dynamics.evaluator.assembler is before.assembler
    assert not isinstance(before, BlockQREvaluator)
    history = dynamics.explain()["history"]
    assert history == ["block-qr: the constraint rows are ill-conditioned at t = 0 s"]
    again = copy.deepcopy(dynamics)
    np.testing.assert_array_equal(again.acceleration(state), dynamics.acceleration(state))
    assert again.explain()["history"] == history


@pytest.mark.usefixtures("inaccurate")
@pytest.mark.parametrize("factorization", ["block-ldl", "superlu"])
def test_what_qr_refuses_too_is_refused_by_name_and_changes_nothing(factorization, monkeypatch):
    dynamics = scissor(factorization)
    evaluator = dynamics.evaluator
    monkeypatch.setattr(BlockQREvaluator, "_factorize", refuse)
    with pytest.raises(SingularSystemError, match="joint 'a'"):
        dynamics.acceleration(sb.consistent_state(dynamics.system))
    assert dynamics.evaluator is evaluator
    assert dynamics.explain()["history"] == []


def refuse(*_):
    raise SingularSystemError("a pivot of joint 'a' vanishes")


# ---- chunks of the evaluation -----------------------------------------------------------------

SYSTEMS = {
    "ladder": lambda: sb.build("ladder", rungs=12, gravity=(1.0, -2.0, -9.0)),
    "loops": lambda: random_loops(np.random.default_rng(3), 14, 3, moving=True),
    "tree": lambda: random_tree(np.random.default_rng(4), 15, moving=True),
    "lattice": lambda: sb.build("lattice", rows=5, columns=6, keep=0.5),
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("length", [1, 2, 7])
def test_the_length_of_chunks_changes_nothing(name, length, monkeypatch):
    system, state = at_start(SYSTEMS[name]())
    whole = sb.ForwardDynamics(system, state, factorization="block-ldl")(state).acceleration
    monkeypatch.setattr(assembler, "CHUNK_LENGTH", length)
    result = sb.ForwardDynamics(system, state, factorization="block-ldl")(state).acceleration
    np.testing.assert_allclose(result, whole, rtol=0.0, atol=1e-10 * np.abs(whole).max())
