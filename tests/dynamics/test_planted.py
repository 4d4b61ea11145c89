"""1,000 random mechanisms with planted dependences: none wrong, and no false alarm."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from planted import PLANTS, RANDOM_LOOP, planted, plants

import sparsebody as sb
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.sparse.saddle import constraint_matrix

MECHANISMS, BATCH = 1000, 125
EPS = float(np.finfo(float).eps)
HELD = 1e-9  # part of the accelerations without joints that is none: everything is fixed
ZERO_TOLERANCE = 1e-11  # singular values of unit rows that are zeros: all others are beyond 1e-8


@dataclass(frozen=True)
class Dense:
    """Gauss' principle by singular values, in coordinates in which inertias are one."""

    acceleration: np.ndarray  # (n_bodies, 6)
    unbound: float  # the largest one of the bodies without joints
    rank: int
    kappa: float
    smallest: float  # singular value that counts


def dense(system, state):
    moving = SystemMotion(system, state)
    rows = moving.constraint
    A = constraint_matrix(kkt_structure(system).matrix(rows)).toarray()
    root = np.linalg.cholesky(system.inverse_inertia)
    unit = np.einsum("rnk,nkl->rnl", A.reshape(len(A), -1, 6), root).reshape(A.shape)
    free = np.einsum("nkl,nk->nl", root, moving.applied - moving.bias).ravel()
    norm = np.linalg.norm(unit, axis=1, keepdims=True)
    unit, gamma = unit / norm, rows.acceleration / norm[:, 0]
    U, size, _ = np.linalg.svd(unit, full_matrices=False)
    U, size = U[:, size > ZERO_TOLERANCE], size[size > ZERO_TOLERANCE]
    a = free
    for _ in range(6):  # and corrections; by forces of constraints, which V is not exactly
        a = a + unit.T @ (U @ (U.T @ (gamma - unit @ a) / size**2))
    result, unbound = (np.einsum("nkl,nl->nk", root, x.reshape(-1, 6)) for x in (a, free))
    return Dense(
        result, float(np.abs(unbound).max()), len(size), float(size[0] / size[-1]), float(size[-1])
    )


def complaints(seed):
    """What is wrong with one mechanism."""
    given = planted(seed)
    system, n_dependent = given.system, given.n_dependent
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        state = sb.consistent_state(system)
        dynamics = sb.ForwardDynamics(system, state, ordering="leaves-first", reactions="basic")
        result = dynamics(state).acceleration
    expected = dense(system, state)
    complaints = [str(warning.message) for warning in heard]
    if n_dependent is not None and system.n_rows - expected.rank != n_dependent:
        complaints.append(f"by singular values {system.n_rows - expected.rank} are dependent")
    if dynamics.rank != expected.rank:
        complaints.append(f"rank {dynamics.rank}, not {expected.rank}")
    if dynamics.rank_decision is not None and not dynamics.rank_decision.certain:
        complaints.append(f"not certain, smallest singular value {expected.smallest:.1e}")
    size = np.abs(expected.acceleration).max()
    size = size if size > HELD * expected.unbound else expected.unbound
    error = float(np.abs(result - expected.acceleration).max() / size)
    if not error <= max(1e-9, 10.0 * expected.kappa * EPS):
        complaints.append(f"the accelerations are off by {error:.1e}")
    return [f"{given.family} {seed}: {complaint}" for complaint in complaints]


@pytest.mark.parametrize("first", range(0, MECHANISMS, BATCH))
def test_no_planted_mechanism_gets_wrong_accelerations_or_a_false_alarm(first):
    assert [text for seed in range(first, first + BATCH) for text in complaints(seed)] == []


def test_every_plant_occurs_alone_and_three_eighths_are_regular():
    result = [plants(seed) for seed in range(MECHANISMS)]
    assert {names[0] for names in result if len(names) == 1} == {*PLANTS, RANDOM_LOOP}
    assert result.count(()) == 3 * MECHANISMS // 8
