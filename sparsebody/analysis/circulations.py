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

from sparsebody._core import rank as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.kinematics.motion import body_rotations
from sparsebody.model.system import State, System
from sparsebody.sparse.cycles import Cycles, short_cycles
from sparsebody.sparse.rank.tolerances import CIRCULATION_TOLERANCE, REMAINDER_FLOOR

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
    basis = short_cycles(system.n_bodies, ends)
    cycles = Cycles(basis.start, constrained[basis.edge], basis.sign)
    n, sizes = len(cycles), joint_sizes(system)
    axes, origin = successor_frames(system, state)
    free, n_free = kernels.joint_freedoms(
        system.first_row, subspace, sizes, CIRCULATION_TOLERANCE, REMAINDER_FLOOR
    )
    loops, frames = (cycles.start, cycles.edge), (axes, origin, sizes)
    dimension, wrench, center, length, gap = kernels.cycle_wrenches(
        loops, frames, free, n_free, CIRCULATION_TOLERANCE, REMAINDER_FLOOR
    )
    share, sample = kernels.circulation_samples(
        loops,
        cycles.sign,
        frames,
        dimension,
        wrench,
        center,
        length,
        np.random.default_rng(seed).normal(size=(n, 6, N_SAMPLES)),
    )
    return Circulations(cycles, dimension, wrench, center, length, gap, share, sample)


def cycle_wrenches(
    loops: Circulations, cycle: int, axes: FloatArray, origin: FloatArray
) -> FloatArray:
    """Return (n_joints of the cycle, 6, dimension) what circulates, in S axes, moments / length."""
    entries = slice(loops.cycles.start[cycle], loops.cycles.start[cycle + 1])
    joints, sign = loops.cycles.edge[entries], loops.cycles.sign[entries]
    basis, L = (
        loops.wrench[cycle, : loops.dimension[cycle]],
        loops.length[cycle],
    )
    arm = (loops.center[cycle] - origin[joints]) / L
    force = np.broadcast_to(basis[:, 3:], (len(joints), *basis[:, 3:].shape))
    moment = basis[:, :3] + np.cross(arm[:, None], force)
    wrench = np.concatenate([moment @ axes[joints], force @ axes[joints]], axis=2)
    return np.asarray(sign[:, None, None] * np.swapaxes(wrench, 1, 2))
