"""Fewer freedoms for bodies that move within displacement subgroups about the world.

An exact change of basis. Reactions out of the plane, or outside the subgroups, are recovered from
the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparsebody._core import dynamics as native
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.constraint import KKTStructure, kkt_structure
from sparsebody.dynamics.evaluators import SubgroupAssembler
from sparsebody.dynamics.evaluators.assembler import ReactionTree
from sparsebody.dynamics.evaluators.planar_assembler import rows_in_plane
from sparsebody.dynamics.redundancy import independent_rows, rows_at
from sparsebody.factorization.block_ldl import safe_order
from sparsebody.model.subgroups import Classes, Kind
from sparsebody.model.subgroups.ground_motion import (
    KEEP_DIRECTIONS,
    THROUGH_POINT,
    GroundMotion,
    PlanarMotion,
    ground_motion,
    planar_motion,
)
from sparsebody.model.system import State, System
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank import RankDecision
from sparsebody.sparse.saddle import SaddleMatrix
from sparsebody.spatial import rotation_from_quaternion
from sparsebody.tolerances import POINT_TOLERANCE


@dataclass(frozen=True, eq=False)
class PlanarReduction:
    """What is left of a mechanism within its plane."""

    motion: PlanarMotion
    structure: KKTStructure  # of the kept rows within the plane
    left_out: IntArray  # the other rows within the plane
    decision: RankDecision  # on all rows; those out of the plane are kept where they hold bodies


def planar_reduction(
    system: System, state: State, tolerance: float = 1e-8, threads: int = 1
) -> PlanarReduction | None:
    """Return the reduction, decided at a state; None where bodies are not in a plane."""
    motion = planar_motion(system)
    rows = None if motion is None else rows_in_plane(system, motion, state)
    if motion is None or rows is None:
        return None
    is_within = np.zeros(system.n_rows, dtype=bool)
    is_within[~motion.is_out_of_plane] = rows.any(axis=(1, 2))
    three = np.full(system.n_bodies, 3, dtype=np.intp)
    pattern = kkt_structure(system, is_within, three).pattern
    matrix = SaddleMatrix.of_rows(pattern, rows[is_within[~motion.is_out_of_plane]])
    in_plane = independent_rows(matrix, tolerance, threads)
    kept = is_within.copy()
    kept[is_within] = in_plane.keep
    decision = replace(
        in_plane,
        keep=kept | motion.is_out_of_plane,
        method=f"planar motion, then {in_plane.method}",
    )
    structure = kkt_structure(system, kept, three)
    return PlanarReduction(motion, structure, np.flatnonzero(is_within & ~kept), decision)


FEW = 0.01  # share of bodies with fewer freedoms that could not pay


@dataclass(frozen=True, eq=False)
class GroundReduction:
    """What is left of a mechanism within the subgroups that its bodies move in."""

    motion: GroundMotion
    basis: FloatArray  # (n_bodies, 6, 6) orthonormal twists where inertias are one
    fixed: FloatArray  # (n_bodies, 28) what bodies keep in place; see `fixed_directions`
    tree: ReactionTree
    structure: KKTStructure  # of the kept rows on the freedoms
    decision: RankDecision  # on all rows; those of the tree are kept where they hold bodies


def ground_reduction(
    system: System,
    classes: Classes,
    state: State,
    pays: Callable[[BlockPattern, BlockPattern], bool],
    has_corrections: bool = True,
    tolerance: float = 1e-8,
) -> GroundReduction | None:
    """Return the reduction; None where no body has fewer freedoms, or where it does not pay.

    Parameters
    ----------
    system : System
        The mechanism.
    classes : Classes
        Its displacement classes.
    state : State
        A consistent one.
    pays : callable
        Told the patterns with reduced and with all freedoms, answers whether to go on.
    has_corrections : bool
        Without corrections of positions, bodies that turn about points and lines keep all
        freedoms: integrators lose these.
    tolerance : float
        See `independent_rows`.
    """
    motion = ground_motion(classes)
    if not has_corrections:
        motion.kind[np.isin(motion.kind, THROUGH_POINT)] = -1
    freedoms = motion.freedoms
    if system.n_rows == 0 or np.mean(freedoms < 6) < FEW:
        return None
    rows = rows_at(system, state)
    inverse_root = _inverse_roots(system)
    basis = _bases(motion, inverse_root)
    ends = np.stack([system.predecessor, system.successor], axis=1)
    on_freedoms = np.zeros(rows.shape)
    size = native.rows_on_freedoms(
        system.row_joint, ends, rows, inverse_root @ basis, inverse_root, on_freedoms
    )
    is_prescribed = np.zeros(system.n_rows, dtype=bool)
    is_prescribed[system.coordinates.row[system.coordinates.prescribed]] = True
    has_less = np.append(freedoms < 6, True)  # the world as well
    is_within = has_less[system.predecessor] & has_less[system.successor]
    keep, n_dropped = native.locally_independent_rows(
        system.first_row, is_within, on_freedoms, size, is_prescribed
    )
    tree = _tree(system, freedoms, n_dropped)
    if tree is None:
        return None
    keep &= is_within[system.row_joint] | ~classes.is_redundant
    patterns = (kkt_structure(system, some).pattern for some in (keep, ~classes.is_redundant))
    if not pays(*patterns):
        return None
    independent = _independent(system, keep, on_freedoms[keep], freedoms, tolerance)
    complementary = _complementary_rows(system, tree, freedoms, keep | is_prescribed)
    fixed, structure = (
        fixed_directions(system, motion, state),
        kkt_structure(system, independent.keep),
    )
    decision = replace(independent, keep=independent.keep | complementary)
    return GroundReduction(motion, basis, fixed, tree, structure, decision)


def _independent(
    system: System, keep: BoolArray, rows: FloatArray, freedoms: IntArray, tolerance: float
) -> RankDecision:
    """Decide which of some rows, (k, 2, 6) on the freedoms, are independent there."""
    pattern = _on_the_world(kkt_structure(system, keep).pattern, freedoms)
    every = np.zeros((pattern.n_rows - pattern.n_primal_rows, 2, 6))
    every[: len(rows)] = rows
    decision = independent_rows(SaddleMatrix.of_rows(pattern, every), tolerance)
    kept = keep.copy()
    kept[keep] = decision.keep[: len(rows)]
    return replace(
        decision,
        keep=kept,
        method=f"displacement subgroups about the world, then {decision.method}",
    )


def subgroup_assembler(
    system: System,
    reduction: GroundReduction,
    order: IntArray,
    factorization: str,
    threads: int,
) -> SubgroupAssembler:
    """Return the assembler of a reduction, in an elimination order of its pattern."""
    freedoms, structure = reduction.motion.freedoms, reduction.structure
    order = _order_with_freedoms(structure.pattern, order, freedoms)
    subgroups = reduction.basis, _inverse_roots(system), freedoms, reduction.fixed, reduction.tree
    return SubgroupAssembler(system, structure, order, factorization, threads, *subgroups)


def _order_with_freedoms(pattern: BlockPattern, order: IntArray, freedoms: IntArray) -> IntArray:
    """Return an order with the joints of bodies with fewer freedoms than six after both bodies.

    Where a body cannot give way to a joint, its rows are dependent as long as the other one stands.
    """
    n = pattern.n_primal
    has_less = np.append(freedoms < 6, False)[pattern.ends].any(axis=1)
    sizes = pattern.block_sizes.copy()
    sizes[n:] += 6 * has_less  # more than a body has
    return safe_order(BlockPattern(sizes, pattern.ends), order)


def _on_the_world(pattern: BlockPattern, freedoms: IntArray) -> BlockPattern:
    """Return a pattern that shows that bodies with fewer freedoms hang on the world.

    Their subgroups hold them there, by rows that are not in the matrix any more; for each of these
    bodies there is one row of nothing, after the others.
    """
    bodies = np.flatnonzero(freedoms < 6)
    ends = np.stack([bodies, np.full_like(bodies, -1)], axis=1)
    sizes = np.concatenate([pattern.block_sizes, np.ones(len(bodies), dtype=np.intp)])
    return BlockPattern(sizes, np.concatenate([pattern.ends, ends]))


def _tree(system: System, freedoms: IntArray, n_dropped: IntArray) -> ReactionTree | None:
    """Return joints that take the freedoms from the bodies; None if there are not enough."""
    ends = np.stack([system.predecessor, system.successor], axis=1)
    bodies, joint = native.reaction_tree(ends, freedoms, n_dropped)
    if len(bodies) < np.count_nonzero(freedoms < 6):
        return None
    drives = np.bincount(
        system.row_joint[system.coordinates.row[system.coordinates.prescribed]],
        minlength=system.n_joints,
    )
    n_rows = np.diff(system.first_row) - drives
    column = np.arange(n_rows.max(initial=0))
    rows = system.first_row[joint, None] + column
    return ReactionTree(bodies, joint, np.where(column < n_rows[joint, None], rows, -1))


def _complementary_rows(
    system: System, tree: ReactionTree, freedoms: IntArray, is_taken: BoolArray
) -> BoolArray:
    """Return (n_rows,) as many dropped rows of the tree as its bodies have lost freedoms."""
    is_complementary = np.zeros(system.n_rows, dtype=bool)
    n_lost = np.zeros(system.n_joints, dtype=np.intp)
    n_lost[tree.joint] = 6 - freedoms[tree.bodies]
    rank = np.cumsum(~is_taken)  # of dropped rows, in their joints
    before = np.concatenate([[0], rank])[system.first_row[:-1]]
    is_complementary[:] = ~is_taken & (rank - before[system.row_joint] <= n_lost[system.row_joint])
    return is_complementary


def fixed_directions(system: System, motion: GroundMotion, state: State) -> FloatArray:
    """Return (n_bodies, 28): what bodies keep in place, as it is at a state.

    Two directions, on the body and in the world; a point, on the body, in the world, the three
    directions in which it must not move, and how far it may.
    """
    n, kind = system.n_bodies, motion.kind
    R = rotation_from_quaternion(state.orientation)
    first, second = motion.axis.copy(), motion.axis.copy()
    rigid = np.isin(kind, KEEP_DIRECTIONS)
    first[rigid], second[rigid] = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    axis = np.einsum("nab,nb->na", R, motion.axis)
    across = np.eye(3) - axis[:, :, None] * axis[:, None, :]
    across[np.isin(kind, (Kind.TURN, Kind.SPHERE))] = np.eye(3)
    across[~np.isin(kind, THROUGH_POINT)] = 0.0
    gyration = np.sqrt(np.trace(system.inertia, axis1=1, axis2=2) / system.mass)
    columns = [
        first,
        np.einsum("nab,nb->na", R, first),
        second,
        np.einsum("nab,nb->na", R, second),
        motion.point,
        state.position + np.einsum("nab,nb->na", R, motion.point),
        across.reshape(n, 9),
        POINT_TOLERANCE * (gyration + np.linalg.norm(motion.point, axis=1)),
    ]
    return np.column_stack(columns)


def _inverse_roots(system: System) -> FloatArray:
    """Return (n_bodies, 6, 6) W^-1, W = (C', sqrt(m)) taking twists to where inertias are one."""
    inverse = np.zeros((system.n_bodies, 6, 6))
    C = np.linalg.cholesky(system.inertia)
    inverse[:, :3, :3] = np.linalg.inv(np.swapaxes(C, 1, 2))
    inverse.reshape(-1, 36)[:, 21::7] = 1.0 / np.sqrt(system.mass)[:, None]
    return inverse


def _bases(motion: GroundMotion, inverse_root: FloatArray) -> FloatArray:
    """Return Q (n_bodies, 6, 6), orthonormal where inertias are one."""
    twists = motion.basis()
    basis = np.zeros_like(twists)
    for d in range(1, 7):
        same = motion.freedoms == d
        if d == 6:
            basis[same] = np.eye(6)
        elif same.any():
            basis[same, :, :d] = np.linalg.qr(
                np.linalg.solve(inverse_root[same], twists[same][:, :, :d])
            )[0]
    return basis
