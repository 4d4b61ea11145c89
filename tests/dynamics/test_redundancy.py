"""Decisions on wide parts by the least singular value, compared with singular values by LAPACK."""

import contextlib
import itertools
import pickle
import warnings
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import oracles
import overconstrained
import pytest
from linkages import at_start, matrix_at_start
from oracles import relative_difference
from scipy.linalg import svdvals
from textbook import assemble

import sparsebody as sb
from sparsebody.dynamics import reductions
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.dynamics.reductions import independent_rows, least_singular_value
from sparsebody.errors import AssemblyError, ConvergenceWarning, RankWarning
from sparsebody.factorization import available_factorizations, is_available
from sparsebody.factorization.krylov import QUASI_DEFINITE, least_norm
from sparsebody.sparse import rank
from sparsebody.sparse.row_choices import part_of_rows
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix
from sparsebody.tolerances import REGULAR_SINGULAR_VALUE

BACKENDS = [name for name in QUASI_DEFINITE if is_available(name)]


def lattice(k, layers=1, disorder=0.2, keep=1.0):
    return sb.build("lattice", rows=k, columns=k, layers=layers, disorder=disorder, keep=keep)


def all_rows(mechanism):
    matrix = matrix_at_start(mechanism.compile())
    label = np.full(matrix.pattern.n_primal, -1, dtype=np.intp)
    return part_of_rows(matrix, np.arange(matrix.pattern.n_dual), label)


def exact(part):
    nothing = np.empty((part.pattern.n_primal, 0, 0))
    rows = constraint_matrix(SaddleMatrix(part.pattern, nothing, nothing, part.rows))
    return float(svdvals(rows.toarray())[-1])


def only(monkeypatch, backend):
    monkeypatch.setattr(reductions.krylov, "QUASI_DEFINITE", (backend,))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mechanism", [lattice(14), lattice(6, layers=6, keep=0.4)])
def test_it_is_the_least_singular_value(monkeypatch, backend, mechanism):
    only(monkeypatch, backend)
    part = all_rows(mechanism)
    assert least_singular_value(part) == pytest.approx(exact(part), rel=1e-3)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("off", [0.0, 1e-10, 1e-8])
def test_one_dependent_row_of_many_is_found(monkeypatch, backend, off):
    """A joint is taken twice, but for a little in one of its rows."""
    only(monkeypatch, backend)
    part = all_rows(lattice(14))
    pattern, rng = part.pattern, np.random.default_rng(3)
    again = rng.integers(pattern.n_dual)
    first = pattern.offsets[pattern.n_primal + again] - pattern.n_primal_rows
    copied = part.rows[first : first + 1].copy()
    copied[0, 0] += off * rng.normal(size=6)
    sizes = np.append(pattern.block_sizes, 1)
    ends = np.vstack([pattern.ends, pattern.ends[again]])
    twice = replace(part, pattern=sb.BlockPattern(sizes, ends), rows=np.vstack([part.rows, copied]))
    assert least_singular_value(twice) < REGULAR_SINGULAR_VALUE


def test_wide_parts_without_dependent_rows_are_decided_by_it():
    result = independent_rows(matrix_at_start(lattice(16).compile()))
    assert result.keep.all()
    assert result.certain
    assert rank.SPECTRUM in result.method


def test_wide_parts_with_dependent_rows_are_decided_row_by_row():
    matrix = matrix_at_start(lattice(16, disorder=0.0).compile())
    result, other = independent_rows(matrix), rank.independent_rows(matrix)
    assert result.n_dependent == 14**2
    assert np.array_equal(result.keep, other.keep)


def test_what_would_take_minutes_is_not_begun(monkeypatch):
    monkeypatch.setattr(reductions, "LONGEST_FACTORIZATION", 1e-9)
    assert least_singular_value(all_rows(lattice(14))) is None
    result = independent_rows(matrix_at_start(lattice(16).compile()))
    assert result.keep.all()
    assert rank.SPECTRUM not in result.method


def test_many_rows_are_not_even_tried(monkeypatch):
    """More rows than freedoms cannot be independent."""
    monkeypatch.setattr(reductions, "least_singular_value", pytest.fail)
    matrix = matrix_at_start(lattice(12, layers=3).compile())
    assert matrix.pattern.n_rows > 2 * matrix.pattern.n_primal_rows
    assert independent_rows(matrix).n_dependent > 0


@pytest.mark.parametrize("seed", [35, 57])
def test_poses_near_singular_ones_are_decided_by_pivoting_over_all_rows(seed):
    """Remainders joint by joint fall to rounding bit by bit; singular values have a clear gap."""
    mechanism = sb.build("lattice", rows=7, columns=7, layers=2, disorder=1e-6, seed=seed)
    matrix = matrix_at_start(mechanism.compile())
    rows = constraint_matrix(matrix).toarray()
    values = svdvals(rows / np.linalg.norm(rows, axis=1)[:, None])
    expected = np.count_nonzero(values > 1e-10 * values[0])
    assert values[expected - 1] > 1e-9 > 1e-13 > values[expected]
    result = independent_rows(matrix)
    assert result.rank == expected
    assert result.certain


quasi_definite = pytest.mark.parametrize(
    "factorization", [name for name in QUASI_DEFINITE if name in available_factorizations()]
)


def wild(state, seed=0):
    """The same pose with a velocity that constraints forbid, so that dependent rows disagree."""
    noise = np.random.default_rng(seed).normal(size=state.velocity.shape)
    return state.with_(velocity=state.velocity + noise)


# ---- rows left out --------------------------------------------------------------------------


def solved(system, state, factorization):
    options = {"factorization": factorization, "formulation": SPATIAL}
    return sb.ForwardDynamics(system, state, **options)(state)


@cache
def pivoting(name):
    """An overconstrained mechanism at its start, exact accelerations, the error by pivoting."""
    system, state = at_start(overconstrained.OVERCONSTRAINED[name]())
    expected = oracles.gauss_accelerations(system, state)[0]
    by_pivoting = solved(system, state, "superlu").acceleration
    return system, state, expected, relative_difference(by_pivoting, expected)


@pytest.mark.parametrize("name", overconstrained.OVERCONSTRAINED)
@pytest.mark.parametrize("factorization", available_factorizations())
def test_every_backend_is_as_accurate_as_pivoting(name, factorization):
    system, state, expected, error_of_pivoting = pivoting(name)
    result = solved(system, state, factorization)
    assert relative_difference(result.acceleration, expected) <= max(2.0 * error_of_pivoting, 1e-13)
    assert max(result.residual, result.dropped_residual) < 1e-12


def horizontal(loops, angle):
    """An N-four-bar whose "vertical" rods lie at an angle from the ground, falling."""
    system = sb.build("n-four-bar", loops=loops).compile()
    return system, overconstrained.n_four_bar_state(system, angle)


# ---- Krylov steps ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", overconstrained.OVERCONSTRAINED)
@quasi_definite
def test_krylov_steps_find_accelerations_and_the_smallest_multipliers(name, factorization):
    system = overconstrained.OVERCONSTRAINED[name]().compile()
    state = overconstrained.state_of(system)
    dynamics = sb.ForwardDynamics(system, state, redundancy="krylov", factorization=factorization)
    result = dynamics(state)
    acceleration, multiplier = oracles.gauss_accelerations(system, state)
    assert relative_difference(result.acceleration, acceleration) < 2e-12
    assert relative_difference(result.multiplier, multiplier) < 1e-11
    assert result.solver.converged
    assert 1 <= result.solver.iterations <= 10
    assert max(result.residual, result.dropped_residual) < 1e-14


def consistent(seeds):
    """(seed, system, state) of random mechanisms with constraints that can be assembled."""
    for seed in seeds:
        system = overconstrained.random_system(seed)
        with contextlib.suppress(AssemblyError):
            if system.n_rows:
                yield seed, system, sb.consistent_state(system)


def test_krylov_steps_are_right_on_random_mechanisms():
    n_checked = 0
    for seed, system, state in consistent(range(60)):
        expected = oracles.gauss_accelerations(system, state)[0]
        result = sb.forward_dynamics(system, state, redundancy="krylov")
        size = max(np.abs(expected).max(), 1e-3)  # some cannot move
        assert np.abs(result.acceleration - expected).max() < 1e-9 * size, seed
        assert result.solver.converged, seed
        n_checked += 1
    assert n_checked > 50


@quasi_definite
def test_rows_that_contradict_each_other_are_met_in_least_squares(factorization):
    """The shift of A A' must be the same for all rows, or what is outside the range gets in."""
    options, n_checked = {"redundancy": "krylov", "factorization": factorization}, 0
    for seed, system, pose in consistent(range(20000, 20200, 9)):
        state = wild(pose, 1)
        result = sb.ForwardDynamics(system, pose, **options)(state)
        expected = oracles.gauss_accelerations(system, state)[0]
        assert relative_difference(result.acceleration, expected) < 1e-9, seed
        assert result.solver.converged, seed
        n_checked += 1
    assert n_checked > 13


@pytest.mark.parametrize("pairs", [100, 1000])
def test_krylov_steps_are_few_on_long_lifts(pairs):
    system, state = at_start(sb.build("scissor", pairs=pairs))
    expected = sb.ForwardDynamics(system, state).acceleration(state)
    result = sb.ForwardDynamics(system, state, redundancy="krylov", reactions="basic")(state)
    assert relative_difference(result.acceleration, expected) < 1e-10
    assert result.solver.iterations <= 20
    assert result.dropped_residual < 1e-14


@pytest.mark.parametrize("arms", [(0.0, 0.0), (np.pi, np.pi), (0.0, np.pi)])
def test_the_flat_pose_of_figure_8_2_has_accelerations(arms):
    """The least value of Gauss's function with the rows as they stand, two fewer than around."""
    tree, state = overconstrained.figure_8_2_a(0.0, arms)
    expected = oracles.gauss_accelerations(tree.system, state)[0]
    result = sb.forward_dynamics(tree.system, state, redundancy="krylov")
    assert relative_difference(result.acceleration, expected) < 1e-11
    assert result.solver.converged


@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-6, 1e-7])
@pytest.mark.parametrize("loops", [1, 4, 12])
def test_krylov_steps_are_right_close_to_a_singular_pose(angle, loops):
    """[(N+1)/3 + N] m L^2 phi'' = -[(N+1)/2 + N] m g L cos(phi): errors grow as eps / angle."""
    system, state = horizontal(loops, angle)
    result = sb.forward_dynamics(system, state, redundancy="krylov")
    expected = -((loops + 1) / 2 + loops) * 9.81 * np.cos(angle) / ((loops + 1) / 3 + loops)
    upright = [i for i, name in enumerate(system.body_names) if name.startswith("vertical")]
    error = np.abs(result.acceleration[upright, 2] - expected).max()
    assert error < 1e-13 * loops**2 / angle + 1e-12
    assert result.solver.converged


def test_an_explanation_says_that_no_rank_is_decided():
    dynamics = sb.ForwardDynamics(
        overconstrained.OVERCONSTRAINED["free scissor"]().compile(), redundancy="krylov"
    )
    assert dynamics.explain()["redundancy_method"] == "Krylov steps, no rank decided"
    assert dynamics.is_krylov
    assert not dynamics.is_planar
    assert len(dynamics.redundant_rows) == 0


def test_a_residual_that_remains_is_reported():
    """Singular values down to rounding, and no good preconditioner."""
    A = 1.0 / (1.0 + np.add.outer(np.arange(30), np.arange(30)))  # Hilbert's matrix
    operator = SimpleNamespace(
        product=lambda x: A @ x, transposed=lambda y: A.T @ y, precondition=lambda r: 1e-9 * r
    )
    g = np.random.default_rng(0).normal(size=30)
    result = least_norm(operator, g, float(np.abs(g).max()))
    assert result.residual == pytest.approx(np.abs(g - A @ result.x).max() / np.abs(g).max())
    assert not result.converged


def test_steps_that_stall_are_told(monkeypatch):
    monkeypatch.setattr("sparsebody.factorization.krylov.MOST_STEPS", 1)
    monkeypatch.setattr("sparsebody.factorization.krylov.MOST_PASSES", 1)
    system = sb.build("scissor", pairs=300).compile()
    dynamics = sb.ForwardDynamics(system, redundancy="krylov", reactions="basic")
    state = sb.consistent_state(system)
    with pytest.warns(ConvergenceWarning, match=r"not converged after \d+ Krylov steps"):
        result = dynamics(state)
    assert not result.solver.converged
    assert result.solver.residual > 1e-10
    dynamics(state)  # told once


# ---- rows that contradict each other --------------------------------------------------------


def test_baumgarte_terms_that_contradict_each_other_are_met_in_least_squares():
    system = overconstrained.OVERCONSTRAINED["bricard"]().compile()
    state = wild(sb.consistent_state(system))
    options = {"baumgarte": 0.1, "redundancy": "krylov"}
    result = sb.ForwardDynamics(system, state, **options)(state).acceleration
    error = sb.ForwardDynamics(system, state).evaluate(state).velocity_error
    expected = oracles.gauss_accelerations(system, state, shift=-2.0 / 0.1 * error)[0]
    assert relative_difference(result, expected) < 1e-7


def test_kept_rows_hold_exactly_whatever_the_others_ask_for():
    system = overconstrained.OVERCONSTRAINED["free scissor"]().compile()
    state = wild(sb.consistent_state(system))
    dynamics = sb.ForwardDynamics(system, formulation=SPATIAL)
    with pytest.warns(RankWarning):
        result = dynamics(state)
    book, n = assemble(system, state), 6 * system.n_bodies
    A, gamma = book.rows, book.right_hand_side[n:]
    a = np.linalg.solve(book.world_to_body, result.acceleration[:, :, None]).ravel()
    residual = np.abs(A @ a - gamma)
    kept = np.setdiff1d(np.arange(system.n_rows), dynamics.redundant_rows)
    size = np.abs(gamma).max()
    assert residual[kept].max() < 1e-11 * size
    assert residual[dynamics.redundant_rows].max() > 1e-3 * size


# ---- doubt, and changes of rank -------------------------------------------------------------


def in_doubt(matrix, tolerance, threads=1):
    return replace(rank.independent_rows(matrix, tolerance), gap=12.0, certain=False)


@pytest.mark.parametrize("redundancy", ["remove", "auto"])
@pytest.mark.parametrize("name", ["bricard", "free scissor"])
def test_doubt_is_told_once(name, redundancy, monkeypatch):
    system, state = at_start(overconstrained.OVERCONSTRAINED[name]())
    expected = oracles.gauss_accelerations(system, state)[0]
    monkeypatch.setattr("sparsebody.dynamics.reductions.independent_rows", in_doubt)
    with pytest.warns(RankWarning, match=r"in doubt .* \(gap 1e\+01\)"):
        dynamics = sb.ForwardDynamics(system, state, redundancy=redundancy)
    result = dynamics(state)
    assert dynamics.is_krylov == (redundancy == "auto")
    assert relative_difference(result.acceleration, expected) < 1e-11


@pytest.mark.parametrize("reduction", ["auto", "none"])
def test_a_change_of_rank_is_told_in_either_direction(reduction):
    system, flat = horizontal(2, 0.0)
    raised = horizontal(2, 0.7)[1]
    formulation = sb.Formulation(reduction)
    at_flat = sb.ForwardDynamics(system, flat, formulation=formulation)
    at_raised = sb.ForwardDynamics(system, raised, formulation=formulation)
    assert at_flat.rank < at_raised.rank
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        at_flat(flat)
        at_raised(raised)
    with pytest.warns(RankWarning, match="violated here by .* a new ForwardDynamics"):
        at_flat(raised)
    with pytest.raises(sb.SparsebodyError, match=r"at t = 0 s .*joint '.*vanishes"):
        at_raised(flat)


@pytest.mark.parametrize("turn", [0.0, 0.4, np.pi / 2])
def test_a_stretched_chain_of_double_rods_raises_no_false_alarm(turn):
    """All rows lie across all accelerations, and feel nothing but rounding."""
    direction = np.array([np.cos(turn), np.sin(turn), 0.0])
    mechanism, position = sb.Mechanism("rods"), np.outer(range(1, 5), direction)
    mechanism.add_bodies("mass {}", mass=1.0, inertia=[0.1] * 3, position=position)
    points = {"first_point": (0, 0, 0), "second_point": (0, 0, 0)}
    for ends in itertools.pairwise([sb.WORLD, *mechanism.body_names]):
        for name in ("rod", "twin"):
            mechanism.add_distance(f"{name} of {ends[1]}", *ends, **points)
    dynamics = sb.ForwardDynamics(mechanism.compile())
    result = dynamics(sb.consistent_state(dynamics.system))
    assert len(dynamics.redundant_rows) == 4
    assert result.dropped_residual < 1e-14


# ---- the smallest pivot ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reduction", "factorization"),
    [("auto", "block-qr"), ("none", "block-qr"), ("none", "block-ldl")],
)
def test_the_smallest_pivot_tells_how_near_a_singular_pose_is(reduction, factorization):
    (system, state), result = horizontal(3, 0.5), []
    options = {"formulation": sb.Formulation(reduction), "factorization": factorization}
    dynamics = sb.ForwardDynamics(system, state, **options)
    for angle in (1e-2, 1e-3, 1e-4):
        dynamics.acceleration(horizontal(3, angle)[1])
        sine, row = dynamics.evaluator.smallest_pivot()
        result.append(sine)
        assert system.joint_names[system.row_joint[row]].startswith(("node", "ground"))
    np.testing.assert_allclose(np.array(result) / result[0], [1.0, 0.1, 0.01], rtol=0.02)


def test_the_smallest_pivot_is_that_of_a_dense_qr():
    system = sb.build("scissor", pairs=4).compile()
    dynamics = sb.ForwardDynamics(system, formulation=SPATIAL, factorization="block-qr")
    dynamics.acceleration(sb.consistent_state(system))
    A = constraint_matrix(dynamics.evaluator.assembler.matrix).toarray()
    sines = np.abs(np.diag(np.linalg.qr(A.T, mode="r"))) / np.linalg.norm(A, axis=1)
    sine, _ = dynamics.evaluator.smallest_pivot()
    assert sine == pytest.approx(sines.min(), rel=0.5)


@pytest.mark.parametrize("reduction", ["auto", "none"])
@pytest.mark.parametrize("name", ["bricard", "four-bar-torus", "tube"])
def test_an_exchange_of_rows_gains_what_their_gram_determinant_does(name, reduction):
    system = sb.build(name).compile()
    state = sb.consistent_state(system)
    formulation = sb.Formulation(reduction=reduction)
    dynamics = sb.ForwardDynamics(system, state, formulation=formulation)
    book = assemble(system, state)
    gram = book.rows @ np.linalg.solve(book.inertia.toarray(), book.rows.T)
    gram /= np.sqrt(np.outer(np.diag(gram), np.diag(gram)))

    def volume(keep):
        return 0.5 * np.linalg.slogdet(gram[np.ix_(keep, keep)])[1]

    kept = np.setdiff1d(np.arange(system.n_rows), dynamics.redundant_rows)
    best = dynamics.evaluate(state).best_exchange()
    gains = [
        volume(np.append(np.setdiff1d(kept, best.row), other)) - volume(kept)
        for other in dynamics.evaluator.assembler.left_out.rows
    ]
    assert best.gain == pytest.approx(np.exp(max(gains)), rel=1e-6)
    rows = np.append(np.setdiff1d(dynamics.structure.rows, best.row), best.other)
    exchanged = dynamics.with_rows(np.sort(rows))
    np.testing.assert_array_equal(
        np.setxor1d(exchanged.redundant_rows, dynamics.redundant_rows),
        np.sort([best.row, best.other]),
    )
    assert relative_difference(exchanged(state).acceleration, dynamics(state).acceleration) < 1e-9
    difference = relative_difference(exchanged(state).joint_wrench, dynamics(state).joint_wrench)
    assert difference < 1e-8  # the smallest multipliers


@pytest.mark.parametrize("name", ["bricard", "four-bar-torus"])
@pytest.mark.parametrize("has_load", [False, True])
def test_dynamics_with_other_rows_share_no_arrays_with_those_before(name, has_load):
    mechanism = sb.build(name)
    if has_load:
        mechanism.add_joint_force("spring", next(iter(mechanism.joints)), stiffness=1.0)
    system = mechanism.compile()
    state = sb.consistent_state(system)
    dynamics = sb.ForwardDynamics(system, state)
    rows, best = dynamics.structure.rows, dynamics.evaluate(state).best_exchange()
    exchanged = dynamics.with_rows(np.sort(np.where(rows == best.row, best.other, rows)))
    alone = pickle.loads(pickle.dumps(exchanged))  # made anew
    later = state.with_(time=1.0, velocity=0.5 * state.velocity)
    acceleration, residual = dynamics.acceleration(state), dynamics.evaluator.dropped_residual()
    np.testing.assert_array_equal(exchanged.acceleration(later), alone.acceleration(later))
    assert dynamics.evaluator.dropped_residual() == residual
    np.testing.assert_array_equal(dynamics.acceleration(state), acceleration)


@pytest.mark.parametrize("reduction", ["auto", "none"])
def test_rows_of_other_joints_give_the_same_accelerations(reduction):
    """Joints of which no row was kept are added to the order, those that lose all are left out."""
    system = sb.build("rotating-squares").compile()
    state = sb.consistent_state(system)
    formulation = sb.Formulation(reduction=reduction)
    dynamics = sb.ForwardDynamics(system, state, formulation=formulation)
    book = assemble(system, state)
    rows = book.rows @ np.linalg.inv(np.linalg.cholesky(book.inertia.toarray())).T
    expected, rng, n_changed = dynamics.acceleration(state), np.random.default_rng(3), 0
    candidates = np.append(dynamics.structure.rows, dynamics.evaluator.assembler.left_out.rows)
    for _ in range(10):
        kept: list[int] = []
        basis = np.zeros((0, rows.shape[1]))
        late = rng.permutation(system.n_joints)[system.row_joint]
        for k in candidates[np.argsort(late[candidates])]:
            rest = rows[k] - basis.T @ (basis @ rows[k])
            rest -= basis.T @ (basis @ rest)
            if (length := np.linalg.norm(rest)) > 1e-3 * np.linalg.norm(rows[k]):
                kept.append(int(k))
                basis = np.vstack([basis, rest / length])
        if len(kept) != len(dynamics.structure.rows):
            continue
        other = dynamics.with_rows(np.sort(kept))
        n_changed += not np.array_equal(other.structure.joints, dynamics.structure.joints)
        assert relative_difference(other.acceleration(state), expected) < 1e-8
        assert other.choice.factorization == dynamics.choice.factorization
    assert n_changed > 2
