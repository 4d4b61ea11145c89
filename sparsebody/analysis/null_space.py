"""The null space of A': wrenches that circulate in single loops, and random elements.

A wrench w that every joint of a loop can carry may be added to all of them, and no body notices.
So the redundancy of a loop by itself is the dimension of the wrenches that do no work on any
freedom of its joints, 6 less the rank of these freedoms as seen from one point; and where the loops
of a cycle basis account for all dependent rows, their circulations are the whole null space of A'.

Each left-out row d is a combination of kept ones K, and random combinations of the left-out rows
give, with one factor of A_K, random elements of the whole null space: what is zero in a few of them
is zero in all, with probability one.

References
----------
Davies (1981), Mech. Mach. Theory 16:171, on wrenches in the loops of a graph; Featherstone (2008),
sec. 8.10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from sparsebody._core import rank as kernels
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.constraint import ConstraintRows, kkt_structure
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.preparation import choose_solver
from sparsebody.factorization.unit_factors import analyze_qr
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model.system import State, System
from sparsebody.sparse.cycles import Cycles, short_cycles
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.row_choices import part_of_rows
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix
from sparsebody.tolerances import CIRCULATION_TOLERANCE, REMAINDER_FLOOR

N_SAMPLES = 6  # random circulations: as many as a joint's wrench has components
MOST_STEPS = 6  # corrections
FEWER = 0.5  # a correction is worth it where it makes the residual this much smaller


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

    `subspace` (n_rows, 6) is T' in S coordinates at this state.
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
    basis, L = loops.wrench[cycle, : loops.dimension[cycle]], loops.length[cycle]
    arm = (loops.center[cycle] - origin[joints]) / L
    force = np.broadcast_to(basis[:, 3:], (len(joints), *basis[:, 3:].shape))
    moment = basis[:, :3] + np.cross(arm[:, None], force)
    wrench = np.concatenate([moment @ axes[joints], force @ axes[joints]], axis=2)
    return np.asarray(sign[:, None, None] * np.swapaxes(wrench, 1, 2))


Weights = Callable[[int], FloatArray]
"""(n, k) coefficients of n left-out rows: random ones, or `numpy.eye` for a dense basis."""


def null_wrenches(
    dynamics: ForwardDynamics, constraint: ConstraintRows, joints: IntArray, weights: Weights
) -> FloatArray:
    """Return (n, 6, k) null vectors as wrenches of the joints, forces and moments / joint size.

    They are whole biconnected components: their rows depend on each other only.
    """
    system, structure = dynamics.system, kkt_structure(dynamics.system)
    keep = np.ones(system.n_rows, dtype=bool)
    keep[dynamics.redundant_rows] = False
    place = np.full(system.n_joints, -1, dtype=np.intp)
    place[joints] = np.arange(len(joints))
    duals = np.flatnonzero(place[structure.joints] >= 0)
    rows, multiplier = null_vectors(structure.matrix(constraint), keep, duals, weights)
    wrench = np.zeros((len(joints), 6, multiplier.shape[1]))
    terms = constraint.subspace[rows][:, :, None] * multiplier[:, None, :]
    np.add.at(wrench, place[system.row_joint[rows]], terms)
    wrench[:, :3] /= joint_sizes(system)[joints][:, None, None]
    return wrench


def null_vectors(
    matrix: SaddleMatrix, keep: BoolArray, duals: IntArray, weights: Weights
) -> tuple[IntArray, FloatArray]:
    """Return rows (n,) of A and multipliers (n, k) of them with A' lambda = 0.

    `keep` (n_dual_rows,) is a maximal set of independent rows. Solves A_K' y = A_D' w for the rows
    of some joints; (y, -w) are the multipliers.
    """
    part = part_of_rows(matrix, duals, np.full(matrix.pattern.n_primal, -1, dtype=np.intp))
    kept = keep[part.index]
    on_body = matrix.pattern.ends[matrix.row_block[part.index]] >= 0
    norm = np.linalg.norm(matrix.rows[part.index] * on_body[:, :, None], axis=(1, 2))[:, None]
    whole = SaddleMatrix.of_rows(part.pattern, part.rows)
    A, w = constraint_matrix(whole).tocsr(), np.asarray(weights(int(np.count_nonzero(~kept))))
    scaled = np.empty((len(kept), w.shape[1]))
    scaled[~kept] = -w
    scaled[kept] = _least_squares(
        part.pattern, whole.row_block[kept], part.rows[kept], A[kept].T.tocsc(), A[~kept].T @ w
    )
    return part.index, np.divide(scaled, norm, out=np.zeros_like(scaled), where=norm > 0.0)


def _least_squares(
    pattern: BlockPattern, dual: IntArray, rows: FloatArray, columns: csc_array, force: FloatArray
) -> FloatArray:
    """Return y with A_K' y = force by seminormal equations, corrected while that helps.

    Paige (1973), BIT 13:364; Bjorck (1987), Linear Algebra Appl. 88:31.
    """
    n = pattern.n_primal
    used, size = np.unique(dual, return_counts=True)
    sizes = np.concatenate([pattern.block_sizes[:n], size]).astype(np.intp)
    reduced = BlockPattern(sizes, pattern.ends[used])
    width = rows.shape[2]
    ones = np.broadcast_to(np.eye(width), (n, width, width)).copy()
    order = choose_solver(reduced, "auto", "block-qr").order
    factor = analyze_qr(reduced, order).factorize(SaddleMatrix(reduced, ones, ones, rows))
    y = np.zeros((len(rows), force.shape[1]))
    rest, before = force, np.inf
    for _ in range(MOST_STEPS):
        size_of_rest = float(np.abs(rest).max(initial=0.0))
        if not 0.0 < size_of_rest < FEWER * before:
            break
        right = np.concatenate([rest, np.zeros((len(rows), force.shape[1]))])
        trial = y + factor.solve(right)[reduced.n_primal_rows :]
        trial_rest = force - columns @ trial
        if float(np.abs(trial_rest).max(initial=0.0)) >= size_of_rest:
            break
        y, rest, before = trial, trial_rest, size_of_rest
    return y
