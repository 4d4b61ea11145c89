"""Evaluations in many small chunks against those in one piece."""

from __future__ import annotations

import numpy as np
import pytest
from random_mechanisms import random_loops, random_tree

import sparsebody as sb
from sparsebody.dynamics import assembler
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.gallery import build
from sparsebody.model.system import State, System


def lattice() -> System:
    return build("lattice", rows=5, columns=6, keep=0.5).compile()


def loops() -> System:
    return random_loops(np.random.default_rng(3), 14, 3, moving=True).compile()


def tree() -> System:
    return random_tree(np.random.default_rng(4), 15, moving=True).compile()


def ladder() -> System:
    return build("ladder", rungs=12, gravity=(1.0, -2.0, -9.0)).compile()


LARGE = 1 << 14  # blocks, from which on memory is requested before it is needed


SYSTEMS = [ladder, loops, tree, lattice]


def accelerations(system: System, state: State) -> np.ndarray:
    return ForwardDynamics(system, state, factorization="block-ldl")(state).acceleration


@pytest.mark.parametrize("make", SYSTEMS)
@pytest.mark.parametrize("length", [1, 2, 7])
def test_the_length_of_chunks_changes_nothing(make, length, monkeypatch):
    system = make()
    state = sb.consistent_state(system)
    whole = accelerations(system, state)
    monkeypatch.setattr(assembler, "CHUNK_LENGTH", length)
    found = accelerations(system, state)
    np.testing.assert_allclose(found, whole, rtol=0.0, atol=1e-10 * np.abs(whole).max())


def test_a_mechanism_that_is_asked_for_early_is_solved_too():
    system = build("ladder", rungs=LARGE // 2 + 3, gravity=(1.0, -2.0, -9.0)).compile()
    dynamics = ForwardDynamics(system, factorization="block-ldl", reactions="basic")
    state = system.initial_state
    found = dynamics(state)
    assert found.residual < 1e-8
    scale = np.abs(found.acceleration).max()
    np.testing.assert_allclose(
        dynamics.acceleration(state), found.acceleration, rtol=0.0, atol=1e-10 * scale
    )
