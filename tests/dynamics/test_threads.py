"""Several threads that call one ForwardDynamics, against one alone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from linkages import at_start, in_motion
from random_mechanisms import random_tree

import sparsebody as sb

N_THREADS, N_ROUNDS = 3, 20


MECHANISMS = {
    "ladder": lambda: sb.build("ladder", rungs=60, gravity=(1.0, -2.0, -9.0)),
    "scissor": lambda: sb.build("scissor", pairs=40),
    "universals": lambda: random_tree(np.random.default_rng(0), 60, ("universal",)),
}


def acceleration(dynamics, state):
    return [dynamics.acceleration(state)]


def reactions(dynamics, state):
    evaluation = dynamics.evaluate(state)
    solution = evaluation.accelerations()
    return [solution.acceleration, solution.multiplier, evaluation.velocity_correction()]


@pytest.mark.parametrize("ask", [acceleration, reactions])
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("factorization", ["auto", "block-ldl"])
@pytest.mark.parametrize("shared", [True, False])
def test_threads_get_what_one_gets_alone(name, ask, factorization, shared):
    """Several threads at once, with one ForwardDynamics or with one each."""
    system = MECHANISMS[name]().compile()
    given = [in_motion(system, seed) for seed in range(N_THREADS)]
    options = {"reactions": "basic", "factorization": factorization}
    dynamics = [sb.ForwardDynamics(system, given[0], **options)] * N_THREADS
    if not shared:
        dynamics = [sb.ForwardDynamics(system, given[0], **options) for _ in given]
    expected = [ask(dynamics[0], state) for state in given]
    start = Barrier(N_THREADS)

    def run(i):
        start.wait()
        return [ask(dynamics[i], given[i]) for _ in range(N_ROUNDS)]

    with ThreadPoolExecutor(N_THREADS) as pool:
        by_threads = list(pool.map(run, range(N_THREADS)))
    for rounds, alone in zip(by_threads, expected, strict=True):
        for answers in rounds:
            for answer, known in zip(answers, alone, strict=True):
                np.testing.assert_array_equal(answer, known)


def test_a_thread_that_leaves_the_plane_leaves_the_others_in_it():
    system, state = at_start(sb.build("scissor", pairs=4))
    dynamics = sb.ForwardDynamics(system, state)
    velocity = state.velocity.copy()
    velocity[:, 5] += 0.1  # out of the plane, all alike
    tilted = state.with_(position=state.position + np.array([0.0, 0.0, 1.0]), velocity=velocity)

    def leave():
        dynamics.acceleration(tilted)
        return dynamics.is_planar, dynamics.explain()["history"]

    with ThreadPoolExecutor(1) as pool:
        is_planar, history = pool.submit(leave).result()
    assert not is_planar
    assert isinstance(history, list)
    assert len(history) == 1
    assert "outside their subgroups" in history[0]
    assert dynamics.is_planar
    assert dynamics.explain()["history"] == []


LARGE = [
    ("ladder", {"rungs": 8000}),
    ("chain", {"bodies": 20_000}),
    ("tree", {"bodies": 20_000}),
    ("tube", {"rings": 1500, "rails": 6}),
    ("scissor", {"pairs": 8000}),
    ("rotating-squares", {"rows": 110, "columns": 110}),
]


@pytest.mark.parametrize(("name", "parameters"), LARGE)
def test_threads_of_one_evaluation_change_no_bit(name, parameters):
    system = sb.build(name, gravity=(1.0, 0.0, -9.0), **parameters).compile()
    rng = np.random.default_rng(0)
    state = system.initial_state
    force = rng.normal(size=state.velocity.shape)
    dynamics = [sb.ForwardDynamics(system, state, threads=n, reactions="basic") for n in (1, 2, 4)]
    alone, *others = [each(state, body_force=force) for each in dynamics]
    for other in others:
        np.testing.assert_array_equal(other.acceleration, alone.acceleration)
        np.testing.assert_array_equal(other.multiplier, alone.multiplier)
    for each in dynamics[1:]:
        evaluation, first = each.evaluate(state), dynamics[0].evaluate(state)
        np.testing.assert_array_equal(evaluation.velocity_correction(), first.velocity_correction())


def test_parts_of_large_mechanisms_agree_with_another_factorization():
    """With loads, in the user's numbering: against SuperLU, which knows no parts."""
    system = sb.build("tree", bodies=20_000, gravity=(1.0, 0.0, -9.0)).compile()
    state = system.initial_state
    force = np.random.default_rng(1).normal(size=state.velocity.shape)
    mine = sb.ForwardDynamics(
        system, state, threads=2, reactions="basic", factorization="block-ldl"
    )
    assert mine.evaluator.assembler.symbolic.layout.n_parts > 2
    other = sb.ForwardDynamics(system, state, reactions="basic", factorization="superlu")
    first, second = mine(state, body_force=force), other(state, body_force=force)
    scale = np.abs(second.acceleration).max()
    np.testing.assert_allclose(first.acceleration, second.acceleration, atol=1e-7 * scale)


def test_wide_mechanisms_are_factorized_on_the_threads_of_their_evaluation():
    system = sb.build("lattice", rows=30, columns=30, disorder=0.2).compile()
    state = system.initial_state
    dynamics = [sb.ForwardDynamics(system, threads=n, factorization="multifrontal") for n in (1, 2)]
    assert dynamics[1].evaluator.assembler.symbolic.factors.threads == 2
    alone, other = (each.acceleration(state) for each in dynamics)
    np.testing.assert_array_equal(other, alone)
