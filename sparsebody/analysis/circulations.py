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
from sparsebody.spatial.tuples import (
    Vector,
    add,
    cross,
    difference,
    dot,
    load_rotation,
    load_vector,
    scaled,
    store_vector,
    turned,
    turned_back,
)

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
def _orthonormal(vectors: FloatArray, n: int, basis: FloatArray) -> tuple[int, float]:
    """Fill `basis` with the span of vectors[:n] and then its complement; return rank and gap.

    Gram-Schmidt, the largest remainder first; overwrites `vectors`.
    """
    rank, least, largest = 0, np.inf, 0.0
    while rank < 6:
        best, size = -1, 0.0
        for i in range(n):
            length = _length(vectors[i])
            if length > size:
                best, size = i, length
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
    unit = np.empty(6)
    for filled in range(rank, 6):
        best, most = 0, -1.0
        for a in range(6):  # the unit vector that is least covered
            left = 1.0
            for k in range(filled):
                left -= basis[k, a] ** 2
            if left > most:
                best, most = a, left
        unit[:] = 0.0
        unit[best] = 1.0
        for k in range(filled):
            _take_away(unit, basis[k])
        _add(unit, basis, filled)
    return rank, least / max(largest, NOISE)


@njit(cache=True)
def _add(vector: FloatArray, basis: FloatArray, place: int) -> None:
    """Put what `vector` adds to basis[:place] there, normalized; orthogonalized once more."""
    basis[place] = vector
    for _ in range(2):
        length = _length(basis[place])
        for a in range(6):
            basis[place, a] /= length
        for k in range(place):
            _take_away(basis[place], basis[k])


@njit(cache=True)
def _length(vector: FloatArray) -> float:
    square = 0.0
    for a in range(6):
        square += vector[a] * vector[a]
    return float(np.sqrt(square))


@njit(cache=True)
def _take_away(vector: FloatArray, unit: FloatArray) -> None:
    part = 0.0
    for a in range(6):
        part += vector[a] * unit[a]
    for a in range(6):
        vector[a] -= part * unit[a]


@njit(cache=True)
def _store(linear: Vector, angular: Vector, vector: FloatArray) -> None:
    """Fill a vector of unit length."""
    store_vector(vector, 0, angular)
    store_vector(vector, 3, linear)
    length = _length(vector)
    for a in range(6):
        vector[a] /= length


@njit(cache=True)
def _fill_freedoms(
    first_row: IntArray, subspace: FloatArray, sizes: FloatArray, free: FloatArray, n_free: IntArray
) -> None:
    """Fill the freedoms (size * angular, linear) of every joint in S axes, orthonormal."""
    rows, basis = np.empty((12, 6)), np.empty((6, 6))
    for j in range(len(sizes)):
        n = min(first_row[j + 1] - first_row[j], 12)
        for k in range(n):
            row = subspace[first_row[j] + k]
            moment = scaled(1.0 / sizes[j], load_vector(row, 0))
            _store(load_vector(row, 3), moment, rows[k])
        rank, _ = _orthonormal(rows, n, basis)
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
    """Fill what the freedoms of each cycle leave; the last five arrays start at zero."""
    longest = 0
    for c in range(len(start) - 1):
        longest = max(longest, start[c + 1] - start[c])
    motions, basis = np.empty((6 * longest, 6)), np.empty((6, 6))
    for c in range(len(start) - 1):
        joints = edge[start[c] : start[c + 1]]
        for j in joints:
            for a in range(3):
                center[c, a] += origin[j, a] / len(joints)
        middle = load_vector(center[c], 0)
        for j in joints:
            arm = difference(middle, load_vector(origin[j], 0))
            length[c] = max(length[c], np.sqrt(dot(arm, arm)), sizes[j])
        n = 0
        for j in joints:
            arm = difference(middle, load_vector(origin[j], 0))
            R = load_rotation(axes[j])
            for k in range(n_free[j]):
                w = scaled(1.0 / sizes[j], turned(R, load_vector(free[j, k], 0)))
                v = add(turned(R, load_vector(free[j, k], 3)), cross(w, arm))
                _store(scaled(1.0 / length[c], v), w, motions[n])
                n += 1
        rank, gap[c] = _orthonormal(motions, n, basis)
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
            R = load_rotation(axes[j])
            arm = difference(load_vector(center[c], 0), load_vector(origin[j], 0))
            arm = scaled(1.0 / length[c], arm)
            square[:] = 0.0
            for i in range(dimension[c]):
                force = load_vector(wrench[c, i], 3)
                moment = add(load_vector(wrench[c, i], 0), cross(arm, force))
                store_vector(part, 0, turned_back(R, moment))
                store_vector(part, 3, turned_back(R, force))
                for a in range(6):
                    square[a] += part[a] ** 2
                    size = sign[place] * part[a] * (length[c] / sizes[j] if a < 3 else 1.0)
                    for k in range(weight.shape[2]):
                        sample[j, a, k] += size * weight[c, i, k]
            for a in range(6):
                share[j, a] = max(share[j, a], np.sqrt(square[a]))
