import math

import numpy as np
import pytest
from oracles import gauss_accelerations
from random_mechanisms import random_loops, random_tree
from scipy.linalg import null_space

import sparsebody as sb
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.errors import ShapeError
from sparsebody.factorization.plain_ldl import analyze
from sparsebody.ordering import ALGORITHMS, algorithm_order
from sparsebody.spatial import plucker_transform, rotation_from_quaternion

TILTED = (3.0, -4.0, -8.0)
LOOPS_FIRST = ("penalty", "articulated-body", "depth-first", "band")


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("tree", {"bodies": 12}),
        ("ladder", {"rungs": 6, "gravity": TILTED}),
        ("lattice", {"rows": 3, "columns": 3, "gravity": TILTED}),
        ("scissor", {"pairs": 3}),
    ],
)
def test_every_algorithm_does_what_is_predicted_and_finds_the_same_accelerations(name, size):
    lines = sb.compare_algorithms(sb.build(name, **size), eps=(1e-9, 0.0)).lines
    assert [line.name for line in lines] == list(ALGORITHMS)
    for line in lines:
        assert line.counted_flops == line.metrics.flops
        assert 0.0 < line.seconds < 10.0
        assert line.errors[1e-9] < 3e-5, line.name
        if line.name not in LOOPS_FIRST:
            assert line.errors[0.0] < 1e-11, line.name


def test_the_reference_is_that_of_gauss_in_motion():
    rng = np.random.default_rng(3)
    system = random_loops(rng, 7, 2, loop_names=("spherical", "revolute")).compile()
    state = system.initial_state
    (line,) = sb.compare_algorithms(system, ("baraff",), eps=(0.0,), state=state).lines
    sparse = sb.ForwardDynamics(system, state).acceleration(state)
    expected = gauss_accelerations(system, state)[0]
    np.testing.assert_allclose(sparse, expected, rtol=1e-8, atol=1e-8)
    assert line.errors[0.0] < 1e-9


def test_joints_first_lose_digits_in_proportion_to_1_over_eps_and_the_others_gain_them():
    ladder = sb.build("ladder", rungs=12, gravity=TILTED)
    eps = (1e-8, 1e-10, 1e-12, 1e-14)
    comparison = sb.compare_algorithms(ladder, ("penalty", "minimum-degree"), eps=eps)
    penalty, dual = (np.array([*line.errors.values()]) for line in comparison.lines)
    np.testing.assert_allclose(dual[1:] / dual[:-1], 1e-2, rtol=0.05)
    np.testing.assert_allclose(penalty[:2], dual[:2], rtol=0.05)
    assert 10.0 < penalty[2] / penalty[1] < 1000.0  # what rounding does has taken over
    assert 10.0 < penalty[3] / penalty[2] < 1000.0


def pivot_block(numeric, block):
    """The Schur complement L_1 D_1 L_1', unscaled, that a block was eliminated with."""
    symbolic = numeric.symbolic
    position = int(np.flatnonzero(symbolic.order == block)[0])
    size, base = int(symbolic.sizes[position]), int(symbolic.base[position])
    height = (int(symbolic.base[position + 1]) - base) // size
    stored = numeric.values[base : base + size * height].reshape(size, height)[:, :size].T
    L = np.tril(stored, -1) + np.eye(size)
    offset = int(symbolic.pattern.offsets[block])
    scale = numeric.scale[offset : offset + size]
    return (L * np.diag(stored)) @ L.T / np.outer(scale, scale)


def test_eliminating_leaves_and_joints_leaves_articulated_body_inertias():
    rng = np.random.default_rng(5)
    system = random_tree(rng, 9).compile()
    state = system.initial_state
    dynamics = sb.ForwardDynamics(system, state, formulation=SPATIAL)
    constraint, pattern = dynamics.evaluate(state).constraint, dynamics.structure.pattern
    sequence = algorithm_order(pattern, "articulated-body")
    matrix = dynamics.structure.matrix(constraint)
    numeric = analyze(pattern, sequence).factorize(matrix)
    articulated = system.spatial_inertia.copy()
    for body in sequence[sequence < pattern.n_primal].tolist():
        own = articulated[body]
        np.testing.assert_allclose(pivot_block(numeric, body), own, rtol=1e-9, atol=1e-9)
        (joint,) = np.flatnonzero(system.successor == body)  # in these trees away from the world
        parent = system.predecessor[joint]
        if parent < 0:
            continue
        S = null_space(constraint.rows[system.rows(joint), 1])
        U = own @ S
        left = own - U @ np.linalg.solve(S.T @ U, U.T)  # Featherstone (2008), (7.26)
        R, R_p = (rotation_from_quaternion(state.orientation[b]) for b in (body, parent))
        way = R_p.T @ (state.position[body] - state.position[parent])
        X = plucker_transform(R.T @ R_p, way)
        articulated[parent] += X.T @ left @ X


def test_the_work_of_leaves_first_is_that_of_aba_up_to_a_constant_a_body():
    """Linear, as 429 n - 507 in Featherstone (2008), table 10.1."""
    chains = [sb.build("chain", bodies=n) for n in (10, 20, 40)]
    lines = [sb.compare_algorithms(one, ("articulated-body",)).lines[0] for one in chains]
    first, second, third = (line.counted_flops for line in lines)
    assert third - second == 2 * (second - first)
    assert 1.0 < (second - first) / 10 / 429 < 3.0


def test_nothing_is_run_that_is_predicted_to_take_too_long():
    (line,) = sb.compare_algorithms(sb.build("ladder"), ("baraff",), most_flops=1e3).lines
    assert line.metrics.flops > 1e3
    assert np.isnan([line.counted_flops, line.seconds, *line.errors.values()]).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"eps": ()}, ShapeError, r"eps is \[\]; give"),
        ({"eps": (1e-3, -1.0)}, ShapeError, "give zero or small positive"),
        ({"most_flops": math.nan}, ShapeError, "most_flops is nan"),
    ],
)
def test_bad_input_is_told(arguments, error, message):
    with pytest.raises(error, match=message):
        sb.compare_algorithms(sb.build("pendulum"), **arguments)
