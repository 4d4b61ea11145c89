"""Which reactions are determined, against the dense null space."""

import numpy as np
import oracles
import pytest
from overconstrained import random_mechanism

from sparsebody.analysis.circulations import joint_sizes
from sparsebody.analysis.reactions import ReactionReport, determined_reactions
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.initial import consistent_state
from sparsebody.model.gallery import build
from sparsebody.model.system import State, System

SMALL = [
    ("scissor", {"pairs": 4}),
    ("scissor", {"pairs": 3, "drive": True}),
    ("n-four-bar", {"loops": 5}),
    ("four-bar", {}),
    ("bricard", {}),
    ("slider-crank", {}),
    ("governor", {}),
    ("stewart", {}),
    ("ring", {"bodies": 7}),
    ("ladder", {"rungs": 5}),
    ("rotating-squares", {"rows": 4, "columns": 4}),
    ("lattice", {"rows": 3, "columns": 3}),
    ("chain", {}),
    ("andrews", {}),
]


def check_against_dense(system: System, state: State, found: ReactionReport) -> None:
    """The null space of A' by singular values, and what it does at each joint."""
    null = oracles.null_multipliers(system, state)
    dynamics = ForwardDynamics(system, state, reactions="basic")
    T = dynamics.evaluate(state).constraint.subspace
    assert found.dimension == null.shape[1]
    for j in range(system.n_joints):
        rows = system.rows(j)
        wrench = T[rows].T @ null[rows]
        wrench[:3] /= joint_sizes(system)[j]
        unique = np.linalg.norm(wrench, axis=1) < 1e-7
        np.testing.assert_array_equal(found.unique[j], unique, system.joint_names[j])
        rank = np.linalg.matrix_rank(wrench, tol=1e-7) if wrench.size else 0
        assert found.freedom[j] == rank, system.joint_names[j]


@pytest.mark.parametrize(("name", "parameters"), SMALL)
def test_the_gallery_agrees_with_the_dense_null_space(
    name: str, parameters: dict[str, int]
) -> None:
    system = build(name, **parameters).compile()
    state = consistent_state(system)
    for method in ("auto", "random"):
        found = determined_reactions(system, state, method=method)
        assert found.certain
        check_against_dense(system, state, found)


@pytest.mark.parametrize("first", range(0, 320, 20))
def test_random_mechanisms_agree_with_the_dense_null_space(first: int) -> None:
    for seed in range(first, first + 20):
        system = random_mechanism(seed).compile()
        state = system.initial_state
        found = determined_reactions(system, state)
        assert found.certain, seed
        check_against_dense(system, state, found)
