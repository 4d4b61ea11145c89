"""Wrenches that can circulate in single loops: redundancy, seen from one loop at a time.

A wrench w that every joint of a loop can carry may be added to all of them, and no body notices.
So the redundancy of a loop by itself is the dimension of the wrenches that do no work on any
freedom of its joints, 6 less the rank of these freedoms as seen from one point; and where the loops
of a cycle basis account for all dependent rows, their circulations are the whole null space of A'.

References
----------
Davies (1981), Mech. Mach. Theory 16:171, on wrenches in the loops of a graph; Featherstone (2008),
sec. 8.10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.kinematics.motion import body_rotations
from sparsebody.model.system import State, System
from sparsebody.sparse.cycles import Cycles, short_cycles

TOLERANCE = 1e-8  # of freedoms and wrenches of unit size
NOISE = 1e-15
N_SAMPLES = 6  # random circulations: as many as a joint's wrench has components


@dataclass(frozen=True, eq=False)
class Circulations:
    """The wrenches w that can circulate in each cycle: +w on the successors that it passes to."""

    cycles: Cycles  # of joints with constraint rows
    dimension: IntArray  # (n_cycles,)
    wrench: FloatArray  # (n_cycles, 6, 6) orthonormal (moment / length, force); dimension[c] rows
    center: FloatArray  # (n_cycles, 3) where moments are taken about, in the world [m]
    length: FloatArray  # (n_cycles,) [m]
    gap: FloatArray  # (n_cycles,) of the rank of the freedoms
    share: FloatArray  # (n_joints, 6) largest part of a unit circulation by component in S axes
    sample: FloatArray  # (n_joints, 6, N_SAMPLES) random ones, forces and moments / joint size


def joint_sizes(system: System) -> FloatArray:
    """Return (n_joints,) distances of the joints from the centers of mass that they hold [m]."""
    sizes = np.zeros(system.n_joints)
    for body, point in (
        (system.predecessor, system.predecessor_point),
        (system.successor, system.successor_point),
    ):
        sizes = np.maximum(sizes, np.where(body >= 0, np.linalg.norm(point, axis=1), 0.0))
    usual = float(np.median(sizes[sizes > 0.0])) if np.any(sizes > 0.0) else 1.0
    return np.where(sizes > 1e-6 * usual, sizes, usual)


def successor_frames(system: System, state: State) -> tuple[FloatArray, FloatArray]:
    """Return axes (n_joints, 3, 3), S to world, and origins (n_joints, 3) of the frames S [m]."""
    axes, origin = system.successor_rotation.copy(), system.successor_point.copy()
    moving = system.successor >= 0
    body = system.successor[moving]
    R = body_rotations(state)[body]
    axes[moving] = R @ axes[moving]
    origin[moving] = state.position[body] + np.einsum("nij,nj->ni", R, origin[moving])
    return axes, origin


def circulations(system: System, state: State, subspace: FloatArray, seed: int = 0) -> Circulations:
    """Return what can circulate in the cycles of a short basis.

    Parameters
    ----------
    system, state : System, State
        A consistent state.
    subspace : (n_rows, 6) float array
        T' in S coordinates at this state.
    seed : int
        Of the random samples.
    """
    constrained = np.flatnonzero(np.diff(system.first_row) > 0)
    ends = np.stack([system.predecessor[constrained], system.successor[constrained]], axis=1)
    found = short_cycles(system.n_bodies, ends)
    cycles = Cycles(found.start, constrained[found.edge], found.sign)
    n, sizes = len(cycles), joint_sizes(system)
    axes, origin = successor_frames(system, state)
    free, n_free = np.empty((system.n_joints, 6, 6)), np.empty(system.n_joints, dtype=np.intp)
    _fill_freedoms(system.first_row, subspace, sizes, free, n_free)
    result = Circulations(
        cycles,
        np.zeros(n, dtype=np.intp),
        np.zeros((n, 6, 6)),
        np.zeros((n, 3)),
        np.zeros(n),
        np.full(n, np.inf),
        np.zeros((system.n_joints, 6)),
        np.zeros((system.n_joints, 6, N_SAMPLES)),
    )
    _fill_circulations(
        cycles.start,
        cycles.edge,
        axes,
        origin,
        sizes,
        free,
        n_free,
        result.dimension,
        result.wrench,
        result.center,
        result.length,
        result.gap,
    )
    _spread(
        cycles.start,
        cycles.edge,
        cycles.sign,
        axes,
        origin,
        sizes,
        result.dimension,
        result.wrench,
        result.center,
        result.length,
        np.random.default_rng(seed).normal(size=(n, 6, N_SAMPLES)),
        result.share,
        result.sample,
    )
    return result


def cycle_wrenches(
    found: Circulations, cycle: int, axes: FloatArray, origin: FloatArray
) -> FloatArray:
    """Return (n_joints of the cycle, 6, dimension) what circulates, in S axes, moments / length."""
    places = slice(found.cycles.start[cycle], found.cycles.start[cycle + 1])
    joints, sign = found.cycles.edge[places], found.cycles.sign[places]
    basis, L = found.wrench[cycle, : found.dimension[cycle]], found.length[cycle]
    arm = (found.center[cycle] - origin[joints]) / L
    force = np.broadcast_to(basis[:, 3:], (len(joints), *basis[:, 3:].shape))
    moment = basis[:, :3] + np.cross(arm[:, None], force)
    wrench = np.concatenate([moment @ axes[joints], force @ axes[joints]], axis=2)
    return np.asarray(sign[:, None, None] * np.swapaxes(wrench, 1, 2))


@njit(cache=True)
def _orthonormal(vectors: FloatArray, n: int, basis: FloatArray, gap: FloatArray) -> int:
    """Fill `basis` with the span of vectors[:n] and then its complement; return the rank.

    Gram-Schmidt, the largest remainder first; `gap` becomes the clearness of the rank.
    """
    rank, least, largest = 0, np.inf, 0.0
    while rank < 6:
        best, size = -1, 0.0
        for i in range(n):
            square = np.sum(vectors[i] ** 2)
            if square > size:
                best, size = i, square
        size = np.sqrt(size)
        largest = size
        if best < 0 or size <= TOLERANCE:
            break
        least = size
        _add(vectors[best], basis, rank)
        rank += 1
        for i in range(n):
            _take_away(vectors[i], basis[rank - 1])
    if rank == 6:
        largest = 0.0
    gap[0] = least / max(largest, NOISE)
    for filled in range(rank, 6):
        best, most = 0, -1.0
        for a in range(6):  # the unit vector that is least covered
            left = 1.0 - np.sum(basis[:filled, a] ** 2)
            if left > most:
                best, most = a, left
        unit = np.zeros(6)
        unit[best] = 1.0
        for _ in range(2):
            for k in range(filled):
                _take_away(unit, basis[k])
        _add(unit, basis, filled)
    return rank


@njit(cache=True)
def _add(vector: FloatArray, basis: FloatArray, place: int) -> None:
    """Put what `vector` adds to basis[:place] there, normalized; orthogonalized once more."""
    basis[place] = vector / np.sqrt(np.sum(vector**2))
    for k in range(place):
        _take_away(basis[place], basis[k])
    basis[place] /= np.sqrt(np.sum(basis[place] ** 2))


@njit(cache=True)
def _take_away(vector: FloatArray, unit: FloatArray) -> None:
    part = 0.0
    for a in range(6):
        part += vector[a] * unit[a]
    for a in range(6):
        vector[a] -= part * unit[a]


@njit(cache=True)
def _fill_freedoms(
    first_row: IntArray, subspace: FloatArray, sizes: FloatArray, free: FloatArray, n_free: IntArray
) -> None:
    """Fill the freedoms (size * angular, linear) of every joint in S axes, orthonormal."""
    rows, basis, gap = np.empty((12, 6)), np.empty((6, 6)), np.empty(1)
    for j in range(len(sizes)):
        n = min(first_row[j + 1] - first_row[j], 12)
        for k in range(n):
            row = subspace[first_row[j] + k]
            rows[k, :3], rows[k, 3:] = row[:3] / sizes[j], row[3:]
            rows[k] /= np.sqrt(np.sum(rows[k] ** 2))
        rank = _orthonormal(rows, n, basis, gap)
        n_free[j] = 6 - rank
        free[j, : 6 - rank] = basis[rank:]


@njit(cache=True)
def _fill_circulations(
    start: IntArray,
    edge: IntArray,
    axes: FloatArray,
    origin: FloatArray,
    sizes: FloatArray,
    free: FloatArray,
    n_free: IntArray,
    dimension: IntArray,
    wrench: FloatArray,
    center: FloatArray,
    length: FloatArray,
    gap: FloatArray,
) -> None:
    """Fill what the freedoms of each cycle leave; the first six arrays are given."""
    longest = 0
    for c in range(len(start) - 1):
        longest = max(longest, start[c + 1] - start[c])
    motions, basis = np.empty((6 * longest, 6)), np.empty((6, 6))
    for c in range(len(start) - 1):
        joints = edge[start[c] : start[c + 1]]
        for j in joints:
            center[c] += origin[j] / len(joints)
        for j in joints:
            away = origin[j] - center[c]
            length[c] = max(length[c], np.sqrt(np.sum(away**2)), sizes[j])
        L, n = length[c], 0
        for j in joints:
            arm = center[c] - origin[j]
            for k in range(n_free[j]):
                w = axes[j] @ free[j, k, :3] / sizes[j]
                v = axes[j] @ free[j, k, 3:] + np.cross(w, arm)
                motions[n, :3], motions[n, 3:] = w, v / L
                motions[n] /= np.sqrt(np.sum(motions[n] ** 2))
                n += 1
        rank = _orthonormal(motions, n, basis, gap[c : c + 1])
        dimension[c] = 6 - rank
        wrench[c, : 6 - rank] = basis[rank:]


@njit(cache=True)
def _spread(
    start: IntArray,
    edge: IntArray,
    sign: IntArray,
    axes: FloatArray,
    origin: FloatArray,
    sizes: FloatArray,
    dimension: IntArray,
    wrench: FloatArray,
    center: FloatArray,
    length: FloatArray,
    weight: FloatArray,
    share: FloatArray,
    sample: FloatArray,
) -> None:
    """Fill what the circulations do at the joints; the last two arrays start at zero."""
    part, square = np.empty(6), np.empty(6)
    for c in range(len(start) - 1):
        for place in range(start[c], start[c + 1]):
            j = edge[place]
            arm = (center[c] - origin[j]) / length[c]
            square[:] = 0.0
            for i in range(dimension[c]):
                force = wrench[c, i, 3:]
                moment = wrench[c, i, :3] + np.cross(arm, force)
                part[:3], part[3:] = axes[j].T @ moment, axes[j].T @ force
                square += part**2
                part[:3] *= sign[place] * length[c] / sizes[j]
                part[3:] *= sign[place]
                for a in range(6):
                    for k in range(weight.shape[2]):
                        sample[j, a, k] += part[a] * weight[c, i, k]
            for a in range(6):
                share[j, a] = max(share[j, a], np.sqrt(square[a]))
