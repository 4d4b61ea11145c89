"""Equations with fewer rows and freedoms: redundant rows left out, bodies within subgroups.

Rows that depend on others are left out. A body whose motion about the world stays in a displacement
subgroup has as many freedoms d as that, three in a plane: v = W^-1 Q y with a constant basis Q
(6 x d), rows A W^-1 Q. Reactions outside of the subgroups are recovered from the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from sparsebody import errors, ordering, spatial, tolerances
from sparsebody._core import dynamics, factorization, model
from sparsebody.arrays import BoolArray, FloatArray, IntArray, large_zeros
from sparsebody.assembly.constraint import KKTStructure, kkt_structure
from sparsebody.dynamics import assembler as assemblers
from sparsebody.dynamics.assembler import (
    Assembler,
    BlockOrder,
    GeneralRows,
    ReactionTree,
    RowTables,
    Solver,
    Table,
)
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.factorization import analyze, choose_factorization, krylov, unit_factors
from sparsebody.factorization.unit_factors import BlockQRSymbolic
from sparsebody.model import PointOnPlane, State, System
from sparsebody.model.subgroups import Classes, Kind
from sparsebody.model.subgroups.classes import KEEP_DIRECTIONS, THROUGH_POINT, GroundMotion
from sparsebody.sparse import BlockPattern, RankDecision, SaddleMatrix, rank, row_choices, saddle


class Plane:
    """A plane of motion, and what joints keep within it, for every choice of rows.

    `normals` (n_bodies + 1, 3) are its normals in body axes, the world's last. `is_line`
    (n_joints,) are joints that keep a point on a line in the plane, points on planes across it.
    """

    def __init__(self, system: System, normals: FloatArray) -> None:
        self.system = system
        self.axes = np.roll(model.triads(normals), 1, axis=1)  # normal, and two in the plane
        self.is_line = np.zeros(system.n_joints, dtype=bool)
        joints = np.flatnonzero(system.joint_kind == PointOnPlane.kind)
        along_normal = self._line_normals(joints)[:, 0]
        self.is_line[joints] = np.abs(along_normal) <= tolerances.ELEMENT_TOLERANCE
        self.is_line[system.coordinates.joint] = False
        lines = np.flatnonzero(self.is_line)
        self.anchor = np.zeros((system.n_joints, 4))  # as RowTable in core/dynamics/assembly.hpp
        self.anchor[:, :2] = system.successor_point @ self.axes[-1, 1:].T  # the world as successor
        point = self._in_plane(system.successor[lines], system.successor_point[lines])
        self.anchor[lines, :2] = self._line_normals(lines)[:, 1:]
        self.anchor[lines, 2:] = point[:, 1:]
        normal, inertia = self.axes[:-1, 0], system.inertia
        moment = np.einsum("na,nab,nb->n", normal, inertia, normal)
        self.unit = planar_units(np.sqrt(np.stack([moment, system.mass], axis=1)))

    def _line_normals(self, joints: IntArray) -> FloatArray:
        """Return (m, 3) the z axes of predecessor frames, along the normal and in the plane."""
        z = self.system.predecessor_rotation[joints][:, :, 2]
        return self._in_plane(self.system.predecessor[joints], z)

    def _in_plane(self, bodies: IntArray, vectors: FloatArray) -> FloatArray:
        """Return (m, 3) components of vectors on bodies along the normal and in the plane."""
        return np.asarray(np.einsum("mij,mj->mi", self.axes[bodies], vectors))


def planar_units(roots: FloatArray) -> FloatArray:
    """Return the PlanarUnits (n_bodies + 1, 4) of bodies and of the world.

    roots (n_bodies, 2): square roots of moments of inertia about the normals and of masses.
    """
    roots = np.concatenate([roots, np.full((1, 2), dynamics.WORLD_ROOT)])
    return np.concatenate([roots, 1.0 / roots], axis=1)


class PlanarRows(RowTables):
    """The parts within a plane of constraint rows; bodies in elimination order, with units."""

    def __init__(self, plane: Plane, bodies: IntArray, unit: FloatArray, threads: int = 1) -> None:
        system, order = plane.system, np.append(bodies, -1)
        super().__init__(system, bodies, plane.anchor, PlanarAssembler.width, plane.is_line)
        self.system, self._threads = system, threads
        self._bodies = {
            "body": bodies.astype(np.uint32),
            "gravity": plane.axes[-1, 1:] @ system.gravity,
            "unit": unit[order],
            "basis": plane.axes[order],
            "n_coordinates": len(system.coordinates.joint),
        }

    def evaluation(
        self, table: Table, qr: factorization.BlockQR | None
    ) -> tuple[dynamics.PlanarEvaluation, FloatArray, FloatArray]:
        """Return a native evaluation, and the arrays b and x of its system [1 A'; A 0] x = b."""
        system, native = self.system, table.native
        n = 3 * system.n_bodies + len(table.rows)
        right, x = large_zeros((2, n + -n % 8))[:, :n]  # both begin with a cache line
        evaluated = dynamics.PlanarEvaluation(native, qr, right=right, x=x, **self._bodies)
        evaluated.threads = self._threads
        evaluated.fill_rows_on_successors(native, assemblers.successor_frames(system))
        return evaluated, right, x


def rows_in_plane(
    plane: Plane, state: State, threads: int = 1
) -> tuple[FloatArray, FloatArray] | None:
    """Return all rows (n_rows, 2, 3) for unit inertias and their norms; None off the plane."""
    system, bodies = plane.system, np.arange(plane.system.n_bodies)
    planar = PlanarRows(plane, bodies, planar_units(np.ones((system.n_bodies, 2))), threads)
    table = planar.table(np.arange(system.n_rows))
    evaluated, *_ = planar.evaluation(table, qr=None)
    arrays: Any = (np.array(array, order="C") for array in assemblers.state_arrays(state)[:4])
    terms = GeneralRows(system, planar.general).at(state, None)
    status = evaluated.assemble((*arrays, state.time), terms, assemblers.NO_TERMS.gamma)
    if status != unit_factors.REGULAR:
        return None
    return table.values, np.sqrt(np.einsum("rsa,rsa->r", table.values, table.values))


class RowSelection(NamedTuple):
    """The rows on reduced freedoms, and the joints that hold bodies within their subgroups."""

    structure: KKTStructure  # of the independent rows
    left_out: IntArray  # rows that act on the freedoms, but depend on others
    tree: ReactionTree  # of the joints that exert the reactions outside of the freedoms


class PlanarOrder(BlockOrder):
    """Bodies and joints in elimination order, and what depends on that alone."""

    tables: PlanarRows

    def __init__(self, plane: Plane, structure: KKTStructure, solver: Solver) -> None:
        n, self._made_for = structure.system.n_bodies, (solver.order, structure.joints)
        duals, self.part_starts = unit_factors.dual_parts(structure.pattern, solver.order)
        ends = structure.pattern.ends[duals].ravel()
        first = np.full(n + 1, ends.size)  # dual block of each primal one; the last is the world's
        first[ends[::-1]] = np.arange(ends.size)[::-1]
        bodies = np.argsort(first[:n], kind="stable")  # in the order in which dual ones meet them
        tables = PlanarRows(plane, bodies, plane.unit, solver.threads)
        super().__init__(structure, bodies, duals, tables)
        self.own_duals = np.arange(len(duals), dtype=np.intp)

    def fits(self, structure: KKTStructure, solver: Solver) -> bool:
        """Tell whether it is the order of other rows of the same joints.

        Parts depend on how many rows each joint has.
        """
        order, joints = self._made_for
        is_whole = len(self.part_starts) == 1
        return is_whole and solver.order is order and np.array_equal(structure.joints, joints)


class PlanarAssembler(Assembler):
    """Three freedoms a body, in a plane."""

    width = 3
    native: dynamics.PlanarEvaluation

    def __init__(
        self,
        plane: Plane,
        selection: RowSelection,
        solver: Solver,
        order: PlanarOrder | None = None,
    ) -> None:
        self._arguments, structure = (plane, selection, solver), selection.structure
        self._order = order = order or PlanarOrder(plane, structure, solver)
        super().__init__(structure, order)
        self.reaction_tree, planar = selection.tree, order.tables
        qr: factorization.BlockQR | None = None
        if solver.factorization == "block-qr":
            self.symbolic = BlockQRSymbolic(self.pattern, order.own_duals, order.part_starts)
            qr = self.symbolic.factors
        else:
            self.symbolic = self._analyze(solver, np.arange(self.pattern.n_blocks, dtype=np.intp))
        rows, self.normal = planar.table(self.rows), plane.axes[:-1, 0]
        self.native, self.right, self.x = planar.evaluation(rows, qr)
        self.values = rows.values
        self._leave_out(planar.table(selection.left_out), self.native)

    def with_rows(self, structure: KKTStructure, left_out: IntArray, solver: Solver) -> Assembler:
        """Return an assembler that keeps and leaves out others of the same rows.

        It shares what depends on the order alone.
        """
        plane, selection, _ = self._arguments
        changed = selection._replace(structure=structure, left_out=left_out)
        order = self._order if self._order.fits(structure, solver) else None
        return PlanarAssembler(plane, changed, solver, order)

    def refine_by_qr(self, state: State, acceleration: FloatArray, multiplier: FloatArray) -> None:
        """Correct the newest solution, by QR, with residuals of 31 digits made from its state."""
        plain = assemblers.state_arrays(self.plain(state))
        self._extended.solve(self.native, plain, self._terms, self._stabilization)
        multiplier[:] = 0.0
        self.native.to_user_order(acceleration, multiplier)

    @cached_property
    def _extended(self) -> dynamics.ExtendedPlanarSystem:
        return dynamics.ExtendedPlanarSystem(self.native, assemblers.successor_frames(self.system))


ORDERING = "nested-dissection"  # of parts that are wide in every direction
LONGEST_FACTORIZATION = 60.0  # [s] predicted; beyond it other methods decide


def independent_rows(
    matrix: row_choices.Rows, tolerance: float = tolerances.RANK_TOLERANCE, threads: int = 1
) -> RankDecision:
    """Decide which rows of A to keep: all in wide parts of a least singular value far from 0."""
    return rank.independent_rows(matrix, tolerance, least_singular_value, threads)


def least_singular_value(part: row_choices.PartOfRows) -> float | None:
    """Return the least singular value of A, or None if its factors would take too long.

    By Lanczos steps with the factors of A A' + delta; values below sqrt(delta), about 1e-7, are not
    distinguished. Kuczynski and Wozniakowski (1992), SIAM J. Matrix Anal. Appl. 13, 4, on the
    probability that steps from a random start miss it.
    """
    order = ordering.order(part.pattern, ORDERING)
    predicted = choose_factorization(part.pattern, order)[1]
    name = min(set(krylov.QUASI_DEFINITE) & set(predicted), key=lambda name: predicted[name])
    if predicted[name] > LONGEST_FACTORIZATION:
        return None
    factors = krylov.quasi_definite(analyze(name, part.pattern, order))
    try:
        factors.factorize(part.rows, tolerances.GRAM_SHIFT)
    except errors.SingularSystemError:
        return 0.0
    tolerance = tolerances.EIGENVALUE_TOLERANCE
    largest = saddle.largest_eigenvalue(factors.solve, len(part.rows), tolerance)
    return float(np.sqrt(max(1.0 / largest - tolerances.GRAM_SHIFT, 0.0)))


def rank_decision(
    system: System,
    state: State,
    redundancy: str,
    tolerance: float,
    classes: Classes | None = None,
    threads: int = 1,
) -> RankDecision | None:
    """Return which rows to keep, without those that are redundant by subgroups; None for all."""
    if redundancy == "keep" or system.n_rows == 0:
        return None
    has_redundant = classes is not None and classes.is_redundant.any()
    keep = ~classes.is_redundant if classes is not None and has_redundant else None
    structure = kkt_structure(system, keep)
    if len(system.varying_joints) or len(system.coordinates.prescribed):
        every = SystemMotion(system, state, threads=threads).constraint.rows
        rows: row_choices.Rows = SaddleMatrix.of_rows(structure.pattern, every[structure.rows])
    else:  # those of joints whose T is constant on the successor are made on demand
        make = partial(
            model.unit_rows,
            joint=system.row_joint,
            frames=system.joint_frames,
            bodies=(state.position, state.orientation, state.velocity),
            subspaces=system.subspaces,
        )
        rows = row_choices.RowsOnDemand(structure.pattern, structure.rows, make)
    decision = independent_rows(rows, tolerance, threads)
    return decision if keep is None else _on_all_rows(keep, decision, "displacement subgroups")


def _on_all_rows(is_candidate: BoolArray, decision: RankDecision, method: str) -> RankDecision:
    """Return a decision on the candidates, the choice of `method`, as one on all rows."""
    keep = is_candidate.copy()
    keep[is_candidate] = decision.keep[: np.count_nonzero(is_candidate)]
    return replace(decision, keep=keep, method=f"{method}, then {decision.method}")


@dataclass(frozen=True, eq=False)
class Reduction:
    """The equations of a mechanism whose bodies have fewer freedoms."""

    structure: KKTStructure  # of the independent rows on the freedoms
    decision: RankDecision  # on all rows; rows outside of the subgroups count as independent
    assembler: Callable[[Solver], Assembler]
    bodies: dict[str, int] = field(default_factory=dict)  # number in each subgroup; {} if planar


class FreedomRows(NamedTuple):
    """Rows on the freedoms of their bodies, and what evaluates them at any state."""

    rows: FloatArray  # (n_rows, 2, 3 or 6)
    size: FloatArray  # (n_rows,) norms, zero for rows without any part on the freedoms
    assembler: Callable[[RowSelection, Solver], Assembler]
    method: str  # its name in a RankDecision


def freedom_rows(
    system: System, motion: GroundMotion, state: State, threads: int
) -> FreedomRows | None:
    """Return the rows at a state, on 3 freedoms of planar motion, else on 6; None off the plane."""
    if motion.normal is not None:  # planar
        plane = Plane(system, np.concatenate([motion.axis, motion.normal[None]]))
        in_plane = rows_in_plane(plane, state, threads)
        make: Callable[..., Assembler] = partial(PlanarAssembler, plane)
        return None if in_plane is None else FreedomRows(*in_plane, make, "planar motion")
    subgroups = Subgroups.of(system, motion, state)
    rows, make = subgroups.rows(system, state), partial(SubgroupAssembler, subgroups)
    return FreedomRows(*rows, make, "displacement subgroups about the world")


LEAST_SHARE = 0.01  # of bodies with fewer than six freedoms, below which nothing is gained


def reduction(
    system: System,
    motion: GroundMotion,
    state: State,
    pays: Callable[[BlockPattern, BlockPattern], bool] | None = None,
    tolerance: float = tolerances.RANK_TOLERANCE,
    threads: int = 1,
) -> Reduction | None:
    """Return the equations on the freedoms that bodies have about the world, decided at a state.

    None if a body is outside of its subgroup at the state; if joints do not hold all bodies in
    their subgroups; if there are few such bodies; or, in space, if pays(pattern with the freedoms,
    pattern with six a body) is false.
    """
    freedoms = motion.freedoms
    if system.n_rows == 0 or np.mean(freedoms < 6) < LEAST_SHARE:
        return None
    on_freedoms = freedom_rows(system, motion, state, threads)
    if on_freedoms is None:
        return None
    rows, size = on_freedoms.rows, on_freedoms.size
    is_prescribed = np.zeros(system.n_rows, dtype=bool)
    is_prescribed[system.coordinates.row[system.coordinates.prescribed]] = True
    is_reduced = np.append(freedoms < 6, True)  # the world as well
    is_within = is_reduced[system.predecessor] & is_reduced[system.successor]
    keep, n_dropped = dynamics.locally_independent_rows(
        system.first_row, is_within, rows, size, is_prescribed
    )
    branches = dynamics.reaction_tree(system.ends, freedoms, n_dropped)
    tree = _tree(system, branches, is_prescribed)
    if len(tree.bodies) < np.count_nonzero(freedoms < 6):
        return None  # joints do not hold all bodies in their subgroups
    if motion.classes is not None:
        is_candidate = ~motion.classes.is_redundant
        keep &= is_within[system.row_joint] | is_candidate
        patterns = (kkt_structure(system, some).pattern for some in (keep, is_candidate))
        if pays is not None and not pays(*patterns):
            return None
    width = rows.shape[2]
    pattern = _grounded(kkt_structure(system, keep, width).pattern, freedoms < width)
    every = np.zeros((pattern.n_rows - pattern.n_primal_rows, 2, width))
    np.compress(keep, rows, axis=0, out=every[: np.count_nonzero(keep)])
    independent = independent_rows(SaddleMatrix.of_rows(pattern, every), tolerance, threads)
    decision = _on_all_rows(keep, independent, on_freedoms.method)
    structure = kkt_structure(system, decision.keep, width)
    left_out = np.flatnonzero((size > 0.0) & ~decision.keep)
    complementary = _complementary_rows(system, tree, freedoms, keep | is_prescribed)
    decision = replace(decision, keep=decision.keep | complementary)
    bodies = {} if motion.is_planar else motion.counts()
    assembler = partial(on_freedoms.assembler, RowSelection(structure, left_out, tree))
    return Reduction(structure, decision, assembler, bodies)


def _grounded(pattern: BlockPattern, is_reduced: BoolArray) -> BlockPattern:
    """Return a pattern with one more row, of zeros, between each reduced body and the world.

    The rank decision then takes these bodies for grounded: their subgroups are about the world.
    """
    bodies = np.flatnonzero(is_reduced)
    ends = np.stack([bodies, np.full_like(bodies, -1)], axis=1)
    sizes = np.concatenate([pattern.block_sizes, np.ones(len(bodies), dtype=np.intp)])
    return BlockPattern(sizes, np.concatenate([pattern.ends, ends]))


Branches = tuple[IntArray, IntArray]  # bodies, and the joints that hold them


def _tree(system: System, branches: Branches, is_prescribed: BoolArray) -> ReactionTree:
    """Return the tree of bodies and the joints that hold them, by rows not prescribed."""
    bodies, joint = branches
    n_prescribed = np.bincount(system.row_joint[is_prescribed], minlength=system.n_joints)
    n_rows = np.diff(system.first_row) - n_prescribed
    column = np.arange(n_rows.max(initial=0))
    rows = system.first_row[joint, None] + column
    return ReactionTree(bodies, joint, np.where(column < n_rows[joint, None], rows, -1))


def _complementary_rows(
    system: System, tree: ReactionTree, freedoms: IntArray, is_taken: BoolArray
) -> BoolArray:
    """Return (n_rows,) rows that stand for the freedoms that each body of the tree has lost.

    6 - d of its joint, the first that are not among the rows `is_taken`.
    """
    n_lost = np.zeros(system.n_joints, dtype=np.intp)
    n_lost[tree.joint] = 6 - freedoms[tree.bodies]
    count = np.cumsum(~is_taken)  # of dropped rows up to each
    before = np.concatenate([[0], count])[system.first_row[:-1]]  # in earlier joints
    return np.asarray(~is_taken & (count - before[system.row_joint] <= n_lost[system.row_joint]))


def fixed_directions(system: System, motion: GroundMotion, state: State) -> FloatArray:
    """Return (n_bodies, 28): what the subgroups keep fixed both in each body and in the world.

    Two directions (3), each in body axes and in world axes at the state; a point (3), in the body
    and in the world; a projector (3, 3) on the directions in which it must not move, zero if it
    may; and the distance that is tolerated (1) [m].
    """
    n, kind = system.n_bodies, motion.kind
    R = spatial.rotation_from_quaternion(state.orientation)
    first, second = motion.axis.copy(), motion.axis.copy()
    keeps_all = np.isin(kind, KEEP_DIRECTIONS)
    first[keeps_all], second[keeps_all] = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    axis = np.einsum("nab,nb->na", R, motion.axis)
    across = np.eye(3) - axis[:, :, None] * axis[:, None, :]
    across[np.isin(kind, (Kind.ROTATION, Kind.SPHERE))] = np.eye(3)
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
        tolerances.POINT_TOLERANCE * (gyration + np.linalg.norm(motion.point, axis=1)),
    ]
    return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class Subgroups:
    """Motions of bodies about the world within displacement subgroups.

    W = diag(C', sqrt(m) 1), I_c = C C', maps twists to units in which inertias are identities.
    """

    freedoms: IntArray  # (n_bodies,)
    inverse_root: FloatArray  # (n_bodies, 6, 6) W^-1
    basis: FloatArray  # (n_bodies, 6, 6) Q, twists in the leading columns, orthonormal in W's units
    fixed: FloatArray  # (n_bodies, 28) see `fixed_directions`

    @classmethod
    def of(cls, system: System, motion: GroundMotion, state: State) -> Subgroups:
        """Return the subgroups of a motion, with their directions and points at a state."""
        inverse, C = np.zeros((system.n_bodies, 6, 6)), np.linalg.cholesky(system.inertia)
        inverse[:, :3, :3] = np.linalg.inv(np.swapaxes(C, 1, 2))
        inverse.reshape(-1, 36)[:, 21::7] = 1.0 / np.sqrt(system.mass)[:, None]
        twists, freedoms = motion.basis(), motion.freedoms
        basis = np.zeros_like(twists)
        basis[freedoms == 6] = np.eye(6)
        for d in range(1, 6):
            same = freedoms == d
            in_units = np.linalg.solve(inverse[same], twists[same][:, :, :d])
            basis[same, :, :d] = np.linalg.qr(in_units)[0]
        return cls(freedoms, inverse, basis, fixed_directions(system, motion, state))

    def rows(self, system: System, state: State) -> tuple[FloatArray, FloatArray]:
        """Return rows A W^-1 Q (n_rows, 2, 6), and the norms (n_rows,) of A W^-1.

        The norms are zero of rows whose part on the freedoms is zero.
        """
        rows = SystemMotion(system, state).constraint.rows
        to_freedoms, on_freedoms = self.inverse_root @ self.basis, np.zeros(rows.shape)
        size = dynamics.rows_on_freedoms(
            system.row_joint, system.ends, rows, to_freedoms, self.inverse_root, on_freedoms
        )
        return on_freedoms, size


class SubgroupAssembler(assemblers.SpatialAssembler):
    """Equations in y of v = W^-1 Q y, with the constant basis Q of each body's motions."""

    with_rows = Assembler.with_rows

    def __init__(self, subgroups: Subgroups, selection: RowSelection, solver: Solver) -> None:
        pattern, n = selection.structure.pattern, selection.structure.pattern.n_primal
        is_reduced = np.append(subgroups.freedoms < 6, False)[pattern.ends].any(axis=1)
        sizes = pattern.block_sizes.copy()
        sizes[n:] += 6 * is_reduced  # more than a body has: these joints come after both bodies
        order = unit_factors.safe_order(BlockPattern(sizes, pattern.ends), solver.order)
        super().__init__(selection.structure, solver._replace(order=order), selection.left_out)
        self._arguments = subgroups, selection, solver
        self.reaction_tree, fixed = selection.tree, subgroups.fixed
        bodies, basis = np.append(self.bodies, -1), np.zeros((len(fixed) + 1, 6, 6))
        basis[:-1] = subgroups.basis
        assert isinstance(self.native, dynamics.SpatialEvaluation)
        self.values[:] = 0.0
        self.native = dynamics.ReducedEvaluation(
            unreduced=self._evaluation()[0],
            reduced=self.native,
            freedoms=np.append(subgroups.freedoms, 0)[bodies].astype(np.uint32),
            basis=basis[bodies].reshape(-1, 36),
            fixed=np.ascontiguousarray(fixed[self.bodies]),
        )
        if np.any(fixed[:, 18:27]):  # some bodies keep points
            within = subgroups.basis.transpose(0, 2, 1) @ np.linalg.inv(subgroups.inverse_root)
            projection = subgroups.inverse_root @ subgroups.basis @ within  # by the inertias
            self.retraction = np.ascontiguousarray(fixed), projection
