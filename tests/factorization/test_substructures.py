"""Substructures and their motions: what is solved, how nearly, and what is said where it is not."""

from dataclasses import replace

import numpy as np
import pytest

import sparsebody as sb
from sparsebody._core import factorization as native
from sparsebody.analysis.inspection import inspect_mechanism
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import substructures


def dynamics(system, factorization="iterative", **options):
    return sb.ForwardDynamics(
        system, redundancy="krylov", factorization=factorization, reactions="basic", **options
    )


@pytest.fixture(scope="module", params=[0.0, 0.1, 1e-2, 1e-3, 1e-7], ids="disorder={}".format)
def cube(request):
    """8 x 8 x 8 bodies: with joints in planes, in general position, and nearly in planes."""
    built = sb.build("lattice", rows=8, columns=8, layers=8, disorder=request.param)
    return built.compile()


def largest_difference(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def test_cubes_are_solved_like_by_factors_of_all_rows(cube, request):
    state = sb.consistent_state(cube)
    iterative, direct = dynamics(cube), dynamics(cube, "multifrontal")
    result, expected = iterative(state), direct(state)
    difference = largest_difference(result.acceleration, expected.acceleration)
    assert result.residual < 1e-12
    assert result.solver.converged
    estimate, error = iterative.condition(state), iterative.condition(state).forward_error
    assert np.isnan(estimate.kappa)
    assert str(estimate) == f"{error:.0e} of the accelerations uncertain"
    assert difference < error < 1e-6
    assert error < 1e-10 or "1e-07" in request.node.name  # soft motions amplify rounding


def test_a_cube_of_4_has_18_motions():
    """Six of a rigid body, and one of each plane of joints; the base takes three away."""
    cube = sb.build("lattice", rows=8, columns=8, layers=8).compile()
    solver = dynamics(cube)
    solver(sb.consistent_state(cube))
    levels = solver.explain()["substructures"]
    assert [level["parts"] for level in levels] == [8, 1]
    assert [level["freedoms"] for level in levels] == [6 * 8**3, 8 * 18 - 3]


def test_the_accelerations_are_the_same_bits_for_any_number_of_threads(cube):
    state = sb.consistent_state(cube)
    one, two = (dynamics(cube, threads=n).acceleration(state) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("redundancy", ["remove", "keep", "auto"])
def test_all_rows_are_kept_whatever_is_asked_for(cube, redundancy):
    state = sb.consistent_state(cube)
    solver = sb.ForwardDynamics(cube, state, redundancy=redundancy, factorization="iterative")
    assert solver.is_krylov
    assert solver.rank == cube.n_rows
    np.testing.assert_array_equal(solver.acceleration(state), dynamics(cube).acceleration(state))


def test_inspections_decide_the_rank_nevertheless():
    lift = sb.build("scissor", pairs=3)
    one, other = (inspect_mechanism(lift, factorization=name) for name in ("iterative", "auto"))
    assert (one.mobility, one.redundant_rows) == (other.mobility, other.redundant_rows) == (1, 6)
    assert one.factorization == "iterative"
    assert one.forward_error < 1e-10


def test_rows_that_contradict_each_other_are_refused():
    cube = sb.build("lattice", rows=8, columns=8, layers=8).compile()
    state = sb.consistent_state(cube)
    velocity = np.random.default_rng(5).normal(size=state.velocity.shape)
    with pytest.raises(SingularSystemError, match="or make the state consistent"):
        dynamics(cube)(replace(state, velocity=velocity))


def test_parts_without_motions_belong_to_the_world(monkeypatch):
    monkeypatch.setattr(substructures, "MOTION_TOLERANCE", 1e-6)  # for those that rows hardly hold
    cube = sb.build("lattice", rows=8, columns=8, layers=8, disorder=0.1)
    cube.add_joint("weld", sb.Fixed(), sb.WORLD, "cube-0-0-0", point=(0.0, 0.0, 0.0))
    cube = cube.compile()
    state = sb.consistent_state(cube)
    solver = dynamics(cube)
    acceleration = solver.acceleration(state)
    levels = solver.explain()["substructures"]
    assert levels[1]["bodies"] < levels[0]["parts"]
    expected = dynamics(cube, "multifrontal").acceleration(state)
    assert np.abs(acceleration - expected).max() < 1e-10 * 9.81


@pytest.fixture(scope="module")
def analyzed():
    """Parts of random rows, of which a tenth depend on others, as an analyzed pattern and rows."""
    system = sb.build("lattice", rows=5, columns=5, layers=5).compile()
    assembler = dynamics(system).evaluator.assembler
    pattern, rng = assembler.pattern, np.random.default_rng(2)
    rows = rng.normal(size=(pattern.n_rows - pattern.n_primal_rows, 2, 6))
    ends = np.repeat(pattern.ends, np.diff(pattern.dual_offsets), axis=0)
    rows[ends < 0] = 0.0
    rows[2::30] = rows[1::30][: len(rows[2::30])]
    rows /= np.linalg.norm(rows, axis=(1, 2))[:, None, None]
    return assembler.symbolic, rows


@pytest.mark.parametrize("delta", [1e-3, 0.5])
def test_shifted_systems_are_solved(analyzed, delta):
    symbolic, rows = analyzed
    pattern, n = symbolic.pattern, symbolic.pattern.n_primal_rows
    symbolic.eliminate(rows, delta)
    rhs = np.random.default_rng(3).normal(size=pattern.n_rows)
    xy = symbolic.unit_solution(rows, rhs)
    of_rows = pattern.offsets, pattern.ends
    x, y = xy[:n], xy[n:]
    assert np.abs(x + native.constraint_forces(of_rows, rows, y) - rhs[:n]).max() < 1e-12
    residual = native.constraint_product(of_rows, rows, x) - delta * y - rhs[n:]
    assert np.abs(residual).max() < 1e-8


def test_the_preconditioner_is_symmetric_and_inverts_what_rows_can_cause(analyzed):
    symbolic, rows = analyzed
    of_rows, solve = (symbolic.pattern.offsets, symbolic.pattern.ends), symbolic.substructures.solve
    symbolic.eliminate(rows, 1e-12)
    x = np.random.default_rng(4).normal(size=(3, symbolic.pattern.n_primal_rows))
    caused = [native.constraint_product(of_rows, rows, one) for one in x]
    y = [solve(one) for one in caused]
    product = np.array([[a @ b for b in y] for a in caused])
    assert np.abs(product - product.T).max() < 1e-6 * np.abs(product).max()
    assert np.linalg.eigvalsh(product).min() > 0.0
    for r, one in zip(caused, y, strict=True):
        again = native.constraint_product(
            of_rows, rows, native.constraint_forces(of_rows, rows, one)
        )
        assert np.abs(again - r).max() < 1e-5 * np.abs(r).max()


def test_what_does_not_converge_is_told(monkeypatch, cube):
    monkeypatch.setattr("sparsebody.factorization.krylov.MOST_STEPS", 1)
    monkeypatch.setattr("sparsebody.factorization.krylov.MOST_PASSES", 1)
    monkeypatch.setattr(substructures, "MOTION_TOLERANCE", 0.5)  # some are overlooked
    with pytest.raises(SingularSystemError, match="factorization='multifrontal'"):
        dynamics(cube)(sb.consistent_state(cube))


def test_conjugate_gradients_that_do_not_converge_are_told(monkeypatch, analyzed):
    symbolic, rows = analyzed
    monkeypatch.setattr(substructures, "MOST_SHIFTED_STEPS", 1)
    symbolic.eliminate(rows, 1e-3)
    with pytest.raises(SingularSystemError, match="in 1 steps"):
        symbolic.unit_solution(rows, np.ones(symbolic.pattern.n_rows))


def test_nothing_is_left_of_bodies_that_are_all_fixed():
    row, ends = sb.Mechanism("row"), np.arange(200)[:, None] * [1.0, 0, 0]
    position = np.add(ends, [0.5, 0, 0])
    bodies = row.add_bodies("bar-{}", mass=1.0, inertia=[0.01, 0.1, 0.1], position=position)
    row.add_joints("weld-{}", sb.Fixed(), np.full(200, -1), bodies, point=ends)
    row.add_joints("joint-{}", sb.Fixed(), bodies[:-1], bodies[1:], point=ends[1:])
    system = row.compile()
    solver = dynamics(system)
    assert np.abs(solver.acceleration(system.initial_state)).max() < 1e-12
    assert [level["bodies"] for level in solver.explain()["substructures"]] == [200, 0]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("scissor", {"pairs": 100}),
        ("ladder", {"rungs": 120}),
        ("lattice", {"rows": 7, "columns": 7, "layers": 7, "joint": "universal"}),
        ("lattice", {"rows": 7, "columns": 7, "layers": 7, "keep": 0.5}),
    ],
)
def test_parts_may_have_many_motions(name, parameters):
    system = sb.build(name, **parameters).compile()
    state = sb.consistent_state(system)
    result = dynamics(system).acceleration(state)
    expected = dynamics(system, "multifrontal").acceleration(state)
    assert largest_difference(result, expected) < 1e-9


def test_steps_by_iterations_are_those_by_factors():
    system, times = sb.build("scissor", pairs=2).compile(), {"duration": 0.02, "step": 1e-3}
    solver = sb.Solver(factorization="iterative")
    run, other = (sb.simulate(system, **times, **by) for by in ({"dynamics": solver}, {}))
    np.testing.assert_allclose(run.velocity[-1], other.velocity[-1], rtol=0.0, atol=1e-12)
