"""Fewer freedoms for bodies that move within displacement subgroups about the world.

An exact change of basis. Reactions outside the subgroups are recovered from the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure, kkt_structure
from sparsebody.dynamics.compiled.reduced import (
    ACROSS,
    FIRST,
    FIRST_AT,
    N_HELD,
    POINT,
    POINT_AT,
    REACH,
    SECOND,
    SECOND_AT,
    STRAY,
)
from sparsebody.dynamics.compiled.reduced_outer import OuterTree
from sparsebody.dynamics.structure import has_loops
from sparsebody.factorization.block_ldl import safe_order
from sparsebody.model.subgroups import displacement_classes
from sparsebody.model.subgroups.frames import incidence
from sparsebody.model.subgroups.ground import (
    KEEP_DIRECTIONS,
    THROUGH_POINT,
    GroundMotion,
    ground_motion,
)
from sparsebody.model.subgroups.kinds import SPHERE, TURN
from sparsebody.model.system import State, System
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank import RankDecision, independent_rows
from sparsebody.sparse.saddle import SaddleMatrix
from sparsebody.spatial import rotation_from_quaternion

NOTHING = 1e-9  # part of a row that is rounding


@dataclass(frozen=True, eq=False)
class GroundReduction:
    """What is left of a mechanism within the subgroups that its bodies move in."""

    motion: GroundMotion
    basis: FloatArray  # (n_bodies, 6, 6) orthonormal twists where inertias are one
    held: FloatArray  # (n_bodies, N_HELD) what bodies keep in place; see `compiled.reduced`
    tree: OuterTree
    structure: KKTStructure  # of the kept rows on the freedoms
    decision: RankDecision  # on all rows; those of the tree are kept where they hold bodies


def ground_reduction(
    system: System,
    rows: FloatArray,
    state: State,
    pays: Callable[[BlockPattern, BlockPattern], bool],
    has_corrections: bool = True,
) -> GroundReduction | None:
    """Return the reduction; None where no body has fewer freedoms, or where it does not pay.

    Parameters
    ----------
    system : System
        The mechanism.
    rows : (n_rows, 2, 6) float array
        All constraint rows at the state.
    state : State
        A consistent one.
    pays : callable
        Told the patterns with reduced and with all freedoms, answers whether to go on.
    has_corrections : bool
        Without corrections of positions, bodies that turn about points and lines keep all
        freedoms: integrators lose these.
    """
    if not has_loops(system):
        return None
    classes = displacement_classes(system)
    motion = ground_motion(classes)
    if not has_corrections:
        motion.kind[np.isin(motion.kind, THROUGH_POINT)] = -1
    freedoms = motion.freedoms
    if system.n_rows == 0 or np.all(freedoms == 6):
        return None
    basis, to_freedoms = _bases(system, motion)
    ends = np.stack([system.predecessor, system.successor], axis=1)
    on_freedoms = np.zeros(rows.shape)
    size = _reduce(system.row_joint, ends, rows, to_freedoms, _inverse_roots(system), on_freedoms)
    is_drive = np.zeros(system.n_rows, dtype=bool)
    is_drive[system.coordinates.row[system.coordinates.prescribed]] = True
    reduced = np.append(freedoms < 6, True)  # the world as well
    is_within = reduced[system.predecessor] & reduced[system.successor]
    keep, n_dropped = _locally_independent(system.first_row, is_within, on_freedoms, size, is_drive)
    tree = _tree(system, freedoms, n_dropped)
    if tree is None:
        return None
    keep &= is_within[system.row_joint] | ~classes.is_redundant
    structure = kkt_structure(system, keep)
    whole = kkt_structure(system, ~classes.is_redundant)
    if not pays(structure.pattern, whole.pattern):
        return None
    ones = np.broadcast_to(np.eye(6), (system.n_bodies, 6, 6))
    nothing = np.empty((system.n_bodies, 0, 0))
    pattern = _on_the_world(structure.pattern, freedoms)
    kept_rows = np.zeros((pattern.n_rows - pattern.n_primal_rows, 2, 6))
    kept_rows[: len(structure.rows)] = on_freedoms[keep]
    found = independent_rows(SaddleMatrix(pattern, nothing, ones, kept_rows))
    outer = _outer_rows(system, tree, freedoms, keep | is_drive)
    kept = keep.copy()
    kept[keep] = found.keep[: len(structure.rows)]
    method = f"displacement subgroups about the world, then {found.method}"
    decision = replace(found, keep=kept | outer, method=method)
    held = _held(system, motion, state)
    structure = kkt_structure(system, kept)
    return GroundReduction(motion, basis, held, tree, structure, decision)


def _on_the_world(pattern: BlockPattern, freedoms: IntArray) -> BlockPattern:
    """Return a pattern that shows that bodies with fewer freedoms hang on the world.

    Their subgroups hold them there, by rows that are not in the matrix any more; for each of these
    bodies there is one row of nothing, after the others.
    """
    bodies = np.flatnonzero(freedoms < 6)
    ends = np.stack([bodies, np.full_like(bodies, -1)], axis=1)
    sizes = np.concatenate([pattern.block_sizes, np.ones(len(bodies), dtype=np.intp)])
    return BlockPattern(sizes, np.concatenate([pattern.ends, ends]))


def order_with_freedoms(pattern: BlockPattern, order: IntArray, freedoms: IntArray) -> IntArray:
    """Return an order with the joints of bodies with fewer freedoms than six after both bodies.

    Where a body cannot give way to a joint, its rows are dependent as long as the other one stands.
    """
    n = pattern.n_primal
    has_less = np.append(freedoms < 6, False)[pattern.ends].any(axis=1)
    sizes = pattern.block_sizes.copy()
    sizes[n:] += 6 * has_less  # more than a body has
    return safe_order(BlockPattern(sizes, pattern.ends), order)


def _inverse_roots(system: System) -> FloatArray:
    """Return (n_bodies, 6, 6) W^-1, W = (C', sqrt(m)) taking twists to where inertias are one."""
    found = np.zeros((system.n_bodies, 6, 6))
    C = np.linalg.cholesky(system.inertia)
    found[:, :3, :3] = np.linalg.inv(np.swapaxes(C, 1, 2))
    found.reshape(-1, 36)[:, 21::7] = 1.0 / np.sqrt(system.mass)[:, None]
    return found


def _bases(system: System, motion: GroundMotion) -> tuple[FloatArray, FloatArray]:
    """Return Q, orthonormal where inertias are one, and W^-1 Q, both (n_bodies, 6, 6)."""
    inverse, twists = _inverse_roots(system), motion.basis()
    basis = np.zeros_like(twists)
    freedoms = motion.freedoms
    for d in range(1, 7):
        same = freedoms == d
        if d == 6:
            basis[same] = np.eye(6)
        elif same.any():
            basis[same, :, :d] = np.linalg.qr(
                np.linalg.solve(inverse[same], twists[same][:, :, :d])
            )[0]
    return basis, inverse @ basis


@njit(cache=True)
def _reduce(
    row_joint: IntArray,
    ends: IntArray,
    rows: FloatArray,
    to_freedoms: FloatArray,
    inverse: FloatArray,
    reduced: FloatArray,
) -> FloatArray:
    """Fill the rows on the freedoms; return (n_rows,) their sizes with all freedoms."""
    size = np.zeros(len(row_joint))
    for k in range(len(row_joint)):
        for side in range(2):
            body = ends[row_joint[k], side]
            if body < 0:
                continue
            for c in range(6):
                total, whole = 0.0, 0.0
                for a in range(6):
                    total += rows[k, side, a] * to_freedoms[body, a, c]
                    whole += rows[k, side, a] * inverse[body, a, c]
                reduced[k, side, c] = total
                size[k] += whole * whole
        size[k] = np.sqrt(size[k])
        for side in range(2):
            square = 0.0
            for c in range(6):
                square += reduced[k, side, c] ** 2
            if square <= (NOTHING * size[k]) ** 2:
                reduced[k, side] = 0.0
    return size


@njit(cache=True)
def _locally_independent(
    first_row: IntArray,
    is_within: BoolArray,
    rows: FloatArray,
    size: FloatArray,
    is_drive: BoolArray,
) -> tuple[BoolArray, IntArray]:
    """Return (n_rows,) a choice of rows for each joint, and (n_joints,) how many others it has.

    By a pivoted orthogonalization of the joint's rows on the freedoms of both its bodies.
    """
    keep = np.ones(len(size), dtype=np.bool_)
    n_dropped = np.zeros(len(is_within), dtype=np.intp)
    for j in range(len(is_within)):
        if not is_within[j]:
            continue
        n = 0
        work = np.zeros((first_row[j + 1] - first_row[j], 12))
        for k in range(first_row[j], first_row[j + 1]):
            if not is_drive[k]:
                for side in range(2):
                    for c in range(6):
                        work[n, 6 * side + c] = rows[k, side, c] / max(size[k], 1e-300)
                keep[k] = False
                n += 1
        for _ in range(n):
            best, largest = -1, NOTHING * NOTHING
            for i in range(n):
                square = np.sum(work[i] ** 2)
                if square > largest:
                    best, largest = i, square
            if best < 0:
                break
            keep[first_row[j] + best] = True
            unit = work[best] / np.sqrt(largest)
            for i in range(n):
                work[i] -= np.sum(work[i] * unit) * unit
            work[best] = 0.0
        for k in range(first_row[j], first_row[j + 1]):
            n_dropped[j] += not keep[k]
    return keep, n_dropped


def _tree(system: System, freedoms: IntArray, n_dropped: IntArray) -> OuterTree | None:
    """Return joints that take the freedoms from the bodies; None if there are not enough."""
    n = system.n_bodies
    ends = np.stack([system.predecessor, system.successor]) % (n + 1)
    indptr, joints = incidence(n + 1, ends)
    bodies, joint = _reach(indptr, joints, ends, np.append(freedoms, 0), n_dropped)
    if len(bodies) < np.count_nonzero(freedoms < 6):
        return None
    drives = np.bincount(
        system.row_joint[system.coordinates.row[system.coordinates.prescribed]],
        minlength=system.n_joints,
    )
    n_rows = np.diff(system.first_row) - drives
    return OuterTree(bodies, joint, n_rows[joint])


@njit(cache=True)
def _reach(
    indptr: IntArray, joints: IntArray, ends: IntArray, freedoms: IntArray, n_dropped: IntArray
) -> tuple[IntArray, IntArray]:
    """Return bodies, from the world outwards, and the joints that hold them within subgroups."""
    world = len(freedoms) - 1
    bodies, joint = np.empty(world, dtype=np.intp), np.empty(world, dtype=np.intp)
    is_reached = np.zeros(world + 1, dtype=np.bool_)
    is_reached[world] = True
    count, place = 0, -1
    while place < count:
        body = world if place < 0 else bodies[place]
        for j in joints[indptr[body] : indptr[body + 1]]:
            other = ends[1, j] if ends[0, j] == body else ends[0, j]
            if is_reached[other] or freedoms[other] == 6 or n_dropped[j] < 6 - freedoms[other]:
                continue
            is_reached[other] = True
            bodies[count], joint[count] = other, j
            count += 1
        place += 1
    return bodies[:count], joint[:count]


def _outer_rows(
    system: System, tree: OuterTree, freedoms: IntArray, is_taken: BoolArray
) -> BoolArray:
    """Return (n_rows,) as many dropped rows of the tree as its bodies have lost freedoms."""
    outer = np.zeros(system.n_rows, dtype=bool)
    wanted = np.zeros(system.n_joints, dtype=np.intp)
    wanted[tree.joint] = 6 - freedoms[tree.bodies]
    number = np.cumsum(~is_taken)  # of dropped rows, in their joints
    before = np.concatenate([[0], number])[system.first_row[:-1]]
    outer[:] = ~is_taken & (number - before[system.row_joint] <= wanted[system.row_joint])
    return outer


def _held(system: System, motion: GroundMotion, state: State) -> FloatArray:
    """Return what bodies keep in place, as it is at a state."""
    n, kind = system.n_bodies, motion.kind
    held = np.zeros((n, N_HELD))
    R = rotation_from_quaternion(state.orientation)
    first, second = motion.axis.copy(), motion.axis.copy()
    rigid = np.isin(kind, KEEP_DIRECTIONS)
    first[rigid], second[rigid] = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    point = motion.point
    held[:, FIRST : FIRST + 3], held[:, SECOND : SECOND + 3] = first, second
    held[:, FIRST_AT : FIRST_AT + 3] = np.einsum("nab,nb->na", R, first)
    held[:, SECOND_AT : SECOND_AT + 3] = np.einsum("nab,nb->na", R, second)
    held[:, POINT : POINT + 3] = point
    held[:, POINT_AT : POINT_AT + 3] = state.position + np.einsum("nab,nb->na", R, point)
    axis = np.einsum("nab,nb->na", R, motion.axis)
    across = np.eye(3) - axis[:, :, None] * axis[:, None, :]
    across[np.isin(kind, (TURN, SPHERE))] = np.eye(3)
    across[~np.isin(kind, THROUGH_POINT)] = 0.0
    held[:, ACROSS : ACROSS + 9] = across.reshape(n, 9)
    gyration = np.sqrt(np.trace(system.inertia, axis1=1, axis2=2) / system.mass)
    held[:, REACH] = STRAY * (gyration + np.linalg.norm(point, axis=1))
    return held
