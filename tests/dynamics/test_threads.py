"""Several threads that call one ForwardDynamics, against one alone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.gallery import build
from sparsebody.model.system import State, System

N_THREADS, N_ROUNDS = 3, 20


def states(system: System) -> list[State]:
    """As many states in motion as there are threads."""
    state = sb.consistent_state(system)
    twists = np.random.default_rng(0).normal(size=(N_THREADS, *state.velocity.shape))
    dynamics = ForwardDynamics(system, state, reactions="basic")
    moving = [state.with_(velocity=twist) for twist in twists]
    changes = [dynamics.evaluate(start).velocity_correction() for start in moving]
    return [
        state.with_(velocity=start.velocity + change)
        for start, change in zip(moving, changes, strict=True)
    ]


def ladder() -> System:
    return build("ladder", rungs=60, gravity=(1.0, -2.0, -9.0)).compile()


def scissor() -> System:
    return build("scissor", pairs=40).compile()


def universal_chain() -> System:
    mechanism = sb.Mechanism(gravity=(1.0, 0.0, -9.0))
    for i in range(60):
        mechanism.add_body(f"b{i}", mass=1.0, inertia=[0.1, 0.2, 0.15], position=[1.0 * i, 0, 0])
        first = f"b{i - 1}" if i else sb.WORLD
        mechanism.add_joint(f"j{i}", sb.Universal(), first, f"b{i}", point=[i - 0.5, 0, 0])
    return mechanism.compile()


def acceleration(dynamics: ForwardDynamics, state: State) -> list[np.ndarray]:
    return [dynamics.acceleration(state)]


def reactions(dynamics: ForwardDynamics, state: State) -> list[np.ndarray]:
    evaluation = dynamics.evaluate(state)
    found = evaluation.accelerations()
    return [found.acceleration, found.multiplier, evaluation.velocity_correction()]


@pytest.mark.parametrize("ask", [acceleration, reactions])
@pytest.mark.parametrize("make", [ladder, scissor, universal_chain])
@pytest.mark.parametrize("factorization", ["auto", "block-ldl"])
def test_threads_get_what_one_gets_alone(
    make: Callable[[], System],
    ask: Callable[[ForwardDynamics, State], list[np.ndarray]],
    factorization: str,
) -> None:
    system = make()
    given = states(system)
    dynamics = ForwardDynamics(system, given[0], reactions="basic", factorization=factorization)
    expected = [ask(dynamics, state) for state in given]
    start = Barrier(N_THREADS)

    def run(i: int) -> list[list[np.ndarray]]:
        start.wait()
        return [ask(dynamics, given[i]) for _ in range(N_ROUNDS)]

    with ThreadPoolExecutor(N_THREADS) as pool:
        found = list(pool.map(run, range(N_THREADS)))
    for rounds, alone in zip(found, expected, strict=True):
        for answers in rounds:
            for answer, known in zip(answers, alone, strict=True):
                np.testing.assert_array_equal(answer, known)


def test_a_thread_that_leaves_the_plane_leaves_the_others_in_it() -> None:
    system = build("scissor", pairs=4).compile()
    state = sb.consistent_state(system)
    dynamics = ForwardDynamics(system, state)
    velocity = state.velocity.copy()
    velocity[:, 5] += 0.1  # out of the plane, all alike
    tilted = state.with_(position=state.position + np.array([0.0, 0.0, 1.0]), velocity=velocity)

    def leave() -> tuple[bool, object]:
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
