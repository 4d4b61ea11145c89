import numpy as np
import oracles
import pytest
from linkages import at_start
from oracles import assert_same_dynamics, loop_system
from random_mechanisms import copied, random_loops

import sparsebody as sb
from sparsebody._core import tree as native
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.errors import AccuracyWarning, ModelError
from sparsebody.study.families import shuffled
from sparsebody.tree import spanning_tree, tree_dynamics
from sparsebody.tree.fronts import Elimination, cost, empty_fronts, least_elimination
from sparsebody.tree.loops_aba import LEVELS, MU_FACTOR, SOFT
from sparsebody.tree.method import TreeProblem, free_equations
from sparsebody.tree.recursions import symmetric

TREES = ("minimum-fronts", "breadth-first", "depth-first")
SIZES = {
    "ladder": {"rungs": 6, "joint": "revolute"},
    "rotating-squares": {"rows": 5, "columns": 5},
    "scissor": {"pairs": 12},
}
GALLERY = (
    *("four-bar", "andrews", "bricard", "slider-crank", "stewart", "ring", "n-four-bar"),
    *("lattice", *SIZES),
)


def sparse(system, state, **options):
    return sb.forward_dynamics(system, state, formulation=SPATIAL, **options)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("name", GALLERY)
def test_machines_of_the_gallery_move_as_the_sparse_system_says(name, tree):
    system, state = at_start(sb.build(name, **SIZES.get(name, {})))
    dynamics = tree_dynamics("loops-aba", system, tree)
    expected = sparse(system, state)
    assert_same_dynamics(dynamics(state), expected, 1e-9)
    size = max(np.abs(expected.acceleration).max(), 9.81)  # some cannot move
    np.testing.assert_allclose(
        dynamics.acceleration(state), expected.acceleration, rtol=0, atol=1e-9 * size
    )


@pytest.mark.parametrize("closing", ["met", "early"])
@pytest.mark.parametrize("tree", TREES)
def test_factors_solve_the_regularized_equations_of_the_tree(closing, tree):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        system = random_loops(rng, 12, 5, moving=True).compile()
        tree_of = spanning_tree(system, tree)
        problem = TreeProblem(tree_of, system.initial_state)
        rows, K, _ = loop_system(problem)
        H = symmetric(tree_of.pattern, free_equations(problem)[0])
        elimination = Elimination(tree_of, closing)
        assert elimination.is_complete
        plan, first_row = elimination.plan(), elimination.loops.first_row
        mu = rng.uniform(0.1, 1.0, size=len(rows.row))
        fronts, prescribed = empty_fronts(plan), np.zeros(0, dtype=bool)
        arguments = tree_of.links, plan, problem.motion
        native.factorize_fronts(*arguments, rows.wrench, mu, prescribed, fronts)
        tau, b = rng.normal(size=len(H)), rng.normal(size=len(K))
        qdd, multiplier = np.zeros(len(H)), np.zeros(len(K))
        native.solve_fronts(*arguments, first_row, prescribed, fronts, tau, b, qdd, multiplier)
        matrix = np.block([[H, -K.T], [K, np.diag(mu)]])
        expected = np.linalg.solve(matrix, np.concatenate([tau, b]))
        np.testing.assert_allclose(
            np.concatenate([qdd, multiplier]), expected, rtol=0, atol=1e-10 * np.abs(expected).max()
        )


def test_light_bodies_between_heavy_ones_cost_no_accuracy():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        mechanism = random_loops(rng, 10, 3, moving=True)
        factor = 10.0 ** rng.uniform(-3, 3, size=mechanism.n_bodies)
        system, state = at_start(copied(mechanism, masses=factor))
        expected = sparse(system, state).acceleration
        result = tree_dynamics("loops-aba", system).acceleration(state)
        size = max(np.abs(expected).max(), np.abs(system.gravity).max())
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("name", ["ladder", "scissor"])
def test_work_is_linear_with_the_tree_that_is_chosen(name):
    size = {"ladder": "rungs", "scissor": "pairs"}[name]
    works = []
    for n in (50, 200):
        system = sb.build(name, **{size: n}).compile()
        dynamics = tree_dynamics("loops-aba", system)
        explanation = dynamics.explain()
        assert explanation["widest_front"] <= 16
        works.append(explanation["front_work"] / system.n_bodies)
    assert works[1] < 1.05 * works[0]


def test_the_work_does_not_depend_on_how_things_are_numbered():
    mechanism = sb.build("ladder", rungs=30)
    works, accelerations = [], []
    for other in (mechanism, shuffled(mechanism, 1)):
        system = other.compile()
        dynamics = tree_dynamics("loops-aba", system)
        works.append(dynamics.explain()["front_work"])
        bodies = [system.body(name) for name in mechanism.bodies]
        accelerations.append(dynamics.acceleration(system.initial_state)[bodies])
    assert works[1] == pytest.approx(works[0], rel=0.05)
    np.testing.assert_allclose(accelerations[1], accelerations[0], atol=1e-11)


def test_the_chosen_tree_costs_least_of_all_choices():
    for seed in range(4):
        system = random_loops(np.random.default_rng(seed), 30, 12).compile()
        chosen = cost(least_elimination(spanning_tree(system, "minimum-fronts")))
        for choice in ("breadth-first", "depth-first", "minimum-depth", "minimum-nonzeros"):
            assert chosen <= cost(least_elimination(spanning_tree(system, choice)))


def test_fronts_too_large_for_memory_are_refused_and_the_sparse_method_named():
    elimination = Elimination(spanning_tree(sb.build("four-bar").compile()))
    elimination.n_factor_entries = 1 << 40
    with pytest.raises(ModelError, match=r"'four-bar'.*method 'sparse'"):
        elimination.plan()


def test_contradictory_loops_leave_a_residual_that_tells_of_them():
    system, state = at_start(sb.build("four-bar"))
    rng = np.random.default_rng(0)
    state = state.with_(velocity=state.velocity + rng.normal(size=state.velocity.shape))
    result = tree_dynamics("loops-aba", system)(state)
    assert np.isfinite(result.acceleration).all()
    assert result.residual > 1e-3


def test_iterations_that_do_not_converge_are_told_of():
    system = sb.build("four-bar").compile()
    dynamics = tree_dynamics("loops-aba", system)
    with pytest.warns(AccuracyWarning, match=r"1e-03 of the largest after 90 proximal"):
        dynamics.note_outcome((90, LEVELS + 1, 1e-3), system.initial_state)
    largest = SOFT * MU_FACTOR ** (LEVELS - 1)  # that of the last factorization, of LEVELS
    assert dynamics.explain()["proximal_term"] == pytest.approx(largest)


@pytest.mark.parametrize("name", ["four-bar", "rotating-squares", "bricard"])
def test_loop_forces_balance_the_bodies_even_where_multipliers_are_not_unique(name):
    system, state = at_start(sb.build(name))
    dynamics = tree_dynamics("loops-aba", system, reactions="basic")
    assert not dynamics.solve(dynamics.problem(state)).is_unique
    result = dynamics(state)
    size = np.abs(result.acceleration).max()
    expected = sparse(system, state).acceleration
    np.testing.assert_allclose(result.acceleration, expected, atol=1e-9 * size)
    imbalance = oracles.newton_euler_imbalance(
        system, state, result.acceleration, result.joint_wrench
    )
    assert imbalance < 1e-9
