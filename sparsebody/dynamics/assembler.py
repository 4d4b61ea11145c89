"""Assembly of Featherstone's (2008) eq. (8.64), bodies and independent rows in elimination order.

The inertia of a body about its center of mass, in its axes, is diag(C C', m 1). The vectors of the
equation are in units in which it is 1: twists (C' w, sqrt(m) u), wrenches (C^-1 n, f / sqrt(m)).

Loads, prescribed motions and rows with varying T are native calls of their own: LoadsAndRows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sparsebody._core import dynamics, graph
from sparsebody.arrays import BoolArray, FloatArray, IntArray, large_zeros
from sparsebody.assembly.constraint import KKTStructure
from sparsebody.equations.inverse import DesiredMotion
from sparsebody.equations.system_motion import LoadsAndRows, checked_vectors
from sparsebody.errors import ModelError, SingularSystemError
from sparsebody.factorization import Symbolic, analyze, mumps, substructures, unit_factors
from sparsebody.model.system import State, System, check_state, with_joints
from sparsebody.sparse.pattern import BlockPattern, positions
from sparsebody.sparse.saddle import SaddleMatrix
from sparsebody.tolerances import POINT_ROUNDING, POINT_TOLERANCE, ROUNDING_RESIDUAL

CHUNK_LENGTH = 512  # pivots: their bodies and joints are in cache from assembly to factorization
MAX_REFINEMENTS = 2  # of a solution by block LDL'
# Residual up to which solutions of trees, eliminated from their leaves, are not refined: sums of
# inertias lose no digits there if roots of inertias have ratios up to EVEN_ROOTS
EVEN_TREE_RESIDUAL, EVEN_ROOTS = 1e-11, 1e3
INERTIA_ROOTS, MASS_ROOT = [0, 2, 5], 12  # columns of a table of units: diagonal of C, sqrt(m)


class Terms(NamedTuple):
    """Values at a state, in the user's numbering."""

    load: FloatArray  # (n_bodies, 6) in body coordinates, or (0, 6) for none
    rows: FloatArray  # (n_general_rows, 2, 6) of A
    gamma: FloatArray  # (n_general_rows,) of A a = gamma


NO_TERMS = Terms(np.zeros((0, 6)), np.zeros((0, 2, 6)), np.zeros(0))


def state_arrays(state: State) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
    """Return the arguments of native evaluations for a state."""
    return state.position, state.orientation, state.velocity, state.coordinate, state.time


class Table(NamedTuple):
    """Some constraint rows on the freedoms of their bodies, joint by joint."""

    rows: IntArray  # (k,) the user's numbers
    values: FloatArray  # (k, 2, width) on predecessor and successor, in units of the bodies
    native: dynamics.RowTable


class RowTables:
    """What tables of constraint rows need, for bodies with `width` freedoms in elimination order.

    `anchor` (n_joints, 3) are reference points where the world is the successor [m]; in a plane
    (n_joints, 4), of points on lines, `is_line`, the lines' normals and the points.
    """

    def __init__(
        self,
        system: System,
        bodies: IntArray,
        anchor: FloatArray,
        width: int,
        is_line: BoolArray | None = None,
    ) -> None:
        is_general, self.width = np.zeros(system.n_joints, dtype=bool), width
        is_general[np.append(system.varying_joints, system.coordinates.joint)] = True
        kind = np.where(is_general, dynamics.RowTable.GENERAL, dynamics.RowTable.CARRIED)
        if is_line is not None:
            is_general &= ~is_line
            kind[is_line] = dynamics.RowTable.LINE
        is_general_row = is_general[system.row_joint]
        general_row = np.cumsum(is_general_row) - is_general_row
        numbers = kind.astype(np.uint32), anchor, general_row.astype(np.uint32)
        self._rows = system.row_joint, system.ends, *numbers, positions(bodies)
        self.general: System | None = None  # whose rows and loads are computed by GeneralRows
        if system.has_loads or is_general.any():
            self.general = with_joints(system, np.flatnonzero(is_general))

    def table(self, rows: IntArray) -> Table:
        """Return the table of `rows`, to be filled."""
        native = dynamics.RowTable(rows, self._rows, self.width)
        return Table(rows, native.rows, native)


class GeneralRows:
    """All loads, and the rows of joints with varying T or tracked coordinates, at a state."""

    def __init__(self, system: System, general: System | None) -> None:
        self._system, self.is_empty = system, general is None
        self.native = None if general is None else LoadsAndRows(general)

    def at(self, state: State, body_force: FloatArray | None) -> Terms:
        """Return the terms at a state. Raises the errors of check_state and of the loads."""
        load = NO_TERMS.load
        if body_force is not None:
            load = checked_vectors(self._system, body_force, "body_force")
        if self.native is None:
            return NO_TERMS._replace(load=load)
        check_state(self._system, state)
        self.native.fill(state)
        if self._system.has_loads:
            load = np.zeros((self._system.n_bodies, 6)) if body_force is None else load.copy()
            self.native.add_loads(state, load)
        return Terms(load, self.native.rows, self.native.gamma)


class ReactionTree(NamedTuple):
    """Bodies, from the world outwards, and the joints that hold them within their subgroups."""

    bodies: IntArray  # (m,)
    joint: IntArray  # (m,)
    rows: IntArray  # (m, k) of these joints that take part, up to the first -1

    def add_reactions(self, desired: DesiredMotion, multiplier: FloatArray) -> None:
        """Add the reactions of these joints to the multipliers (n_rows,) of independent rows."""
        system, rows = desired.system, desired.constraint.rows
        ends = system.predecessor, system.successor
        dynamics.fill_complementary_reactions(
            *self, *ends, system.row_joint, rows, desired.required, multiplier
        )


class Solver(NamedTuple):
    """Elimination order and factorization of the systems of a pattern."""

    order: IntArray  # (n_blocks,) of elimination
    factorization: str
    threads: int
    accepts_dependent_rows: bool = False  # where it can; else they are an error


class BlockOrder:
    """Bodies and joints in elimination order, whichever rows of the joints are kept."""

    def __init__(
        self, structure: KKTStructure, bodies: IntArray, duals: IntArray, tables: RowTables
    ) -> None:
        self.bodies, self.joints = bodies, structure.joints[duals]  # in the user's numbering
        self.tables = tables
        self.body_index = np.append(positions(bodies), -1)  # -1 stays -1
        self.ends = np.ascontiguousarray(self.body_index[structure.pattern.ends[duals]])


class ReductionViolated(Exception):
    """A state outside the subgroups that a reduction to fewer freedoms assumes."""


def successor_frames(system: System) -> tuple[Any, ...]:
    """Return the native SuccessorFrames, from which rows constant on successors are computed."""
    frames = system.successor_rotation, system.successor_point
    return system.row_joint, *frames, *system.subspaces


Native = dynamics.SpatialEvaluation | dynamics.PlanarEvaluation


class Assembler:
    """Fills [1 A'; A 0] x = b of independent rows at states, in units of the bodies, in place."""

    width: int  # freedoms of a body
    symbolic: Symbolic  # of the pattern
    values: FloatArray  # (n_independent, 2, width) A, workspace
    right: FloatArray  # (width n_bodies + n_independent,) forces, then gamma, workspace
    x: FloatArray  # (width n_bodies + n_independent,) the newest solution, workspace
    native: Native | dynamics.ReducedEvaluation
    reaction_tree: ReactionTree | None = None  # of joints that hold bodies within subgroups
    # points (n_bodies, 28) that subgroups fix, see the native `retract`, and projections
    # (n_bodies, 6, 6) of twists; of length 0 without subgroups
    retraction = np.zeros((0, 28)), np.zeros((0, 6, 6))
    left_out: Table  # rows that were left out and have a part on the freedoms
    state: State | None = None  # of the newest assembly, if native steps made and factorized it
    normal: FloatArray | None = None  # (n_bodies, 3) of the plane of motion, in body axes
    _arguments: tuple[Any, ...]  # of the constructor

    def __init__(self, structure: KKTStructure, order: BlockOrder) -> None:
        self.system, n = structure.system, structure.system.n_bodies
        self.bodies, self._joints = order.bodies, order.joints  # in the user's numbering
        selected = graph.selected_items(self.system.first_row, structure.keep, order.joints)
        self.rows, n_rows = selected  # in the user's numbering
        sizes = np.concatenate([structure.pattern.block_sizes[:n], n_rows])
        self.pattern = BlockPattern(sizes, order.ends)
        self.assembly = object()  # identity of the newest one
        self._tables, self._general = order.tables, GeneralRows(self.system, order.tables.general)
        self._terms, self._stabilization = NO_TERMS, NO_TERMS.gamma
        self.loads_and_rows = self._general.native  # that the compiled assembly does not compute

    def __reduce__(self) -> tuple[type[Assembler], tuple[Any, ...]]:
        """Copy and pickle the arguments: views of memory can be neither."""
        return type(self), self._arguments

    def with_rows(self, structure: KKTStructure, left_out: IntArray, solver: Solver) -> Assembler:
        """Return an assembler that keeps and leaves out others of the same rows."""
        freedoms, selection, _ = self._arguments
        changed = selection._replace(structure=structure, left_out=left_out)
        renewed: Callable[..., Assembler] = type(self)
        return renewed(freedoms, changed, solver)

    def _analyze(self, solver: Solver, own_order: IntArray) -> Symbolic:
        """Return the layout of the pattern in an order of its blocks."""
        symbolic = analyze(solver.factorization, self.pattern, own_order)
        if isinstance(symbolic, unit_factors.MultifrontalSymbolic):
            symbolic.factors.threads = solver.threads
        if isinstance(symbolic, substructures.IterativeSymbolic):
            symbolic.substructures.threads = solver.threads
        if isinstance(symbolic, mumps.MumpsSymbolic) and solver.accepts_dependent_rows:
            symbolic.accept_dependent_rows()
        return symbolic

    def assemble(
        self, state: State, body_force: FloatArray | None, stabilization: FloatArray
    ) -> None:
        """Fill rows and right-hand side at a state, with wrenches (n_bodies, 6) on the bodies.

        `stabilization` (n_rows,), or (0,), is added to gamma. Raises ShapeError, ModelError or
        ReductionViolated if the state is none of the system, not finite, or outside the subgroups.
        """
        self.check(self.call(self.native.assemble, state, body_force, stabilization), state)

    def check(self, status: int, state: State) -> None:
        """Raise ReductionViolated or ModelError if the status is that of a failed assembly."""
        if status == dynamics.OUTSIDE_SUBGROUPS:
            raise ReductionViolated(f"bodies are outside their subgroups at t = {state.time:.6g} s")
        if status == dynamics.BAD_STATE:
            check_state(self.system, state)
            raise ModelError(
                f"sums of the numbers of the state at t = {state.time:.6g} s overflow; give "
                "smaller ones"
            )

    def violation(self) -> float:
        """Return the largest violation of rows left out, relative to the largest term of all."""
        if len(self.left_out.rows) == 0:
            return 0.0
        terms = self._terms, self._stabilization
        return self.native.violation(self.left_out.native, *terms, self._left_out_gamma)

    def _leave_out(self, table: Table, native: Native) -> None:
        """Set the table of rows that are left out, and fill those that are constant."""
        self.left_out, self._left_out_gamma = table, np.zeros(len(table.rows))
        native.fill_rows_on_successors(table.native, successor_frames(self.system))

    def retracted(self, state: State) -> State:
        """Return the state nearby in which bodies are within their subgroups."""
        fixed, projection = self.retraction
        if len(fixed) == 0:
            return state
        position = np.array(state.position)
        dynamics.retract(fixed, state.position, state.orientation, position)
        velocity = (projection @ state.velocity[:, :, None])[:, :, 0]
        return state.with_(position=position, velocity=velocity)

    def violates_subgroup(self, state: State) -> bool:
        """Tell whether points of bodies are off where their subgroups fix them, beyond rounding."""
        if len(self.retraction[0]) == 0:
            return False
        at = state.position, state.orientation, np.empty_like(state.position)
        error = dynamics.retract(self.retraction[0], *at)  # over POINT_TOLERANCE
        return error * POINT_TOLERANCE > POINT_ROUNDING

    @cached_property
    def matrix(self) -> SaddleMatrix:
        """The newest matrix [1 A'; A 0], a view of the workspace."""
        ones = np.tile(np.eye(self.width), (self.system.n_bodies, 1, 1))
        return SaddleMatrix(self.pattern, ones, ones, self.values, is_unit=True)

    def unit_axes(self) -> FloatArray:
        """Return (n_bodies, width, 6): each unit of x in the user's units, bodies in order."""
        n, width, solution = self.system.n_bodies, self.width, self.x.copy()
        axes, acceleration = np.empty((n, width, 6)), np.empty((n, 6))
        for i in range(width):
            self.x[:] = 0.0
            self.x[i : width * n : width] = 1.0
            self.native.to_user_order(acceleration, NO_TERMS.gamma)
            axes[:, i] = acceleration[self.bodies]
        self.x[:] = solution
        return axes

    def renew(self) -> None:
        """Record an assembly by native code, with the general terms of `loads_and_rows`."""
        self.assembly, self.state, native = object(), None, self.loads_and_rows
        self._stabilization = NO_TERMS.gamma
        self._terms = (
            NO_TERMS if native is None else Terms(NO_TERMS.load, native.rows, native.gamma)
        )

    def call(
        self,
        kernel: Callable[..., Any],
        state: State,
        body_force: FloatArray | None,
        stabilization: FloatArray,
        outputs: tuple[FloatArray, ...] = (),
    ) -> Any:
        """Call a native function that assembles, with the state and what `_general` adds to it.

        It takes contiguous arrays of doubles only, and raises TypeError for others, before it
        computes anything: then it is called again with copies.
        """
        self.assembly, self.state = object(), None
        is_empty = body_force is None and self._general.is_empty
        terms = NO_TERMS if is_empty else self._general.at(state, body_force)
        self._terms, self._stabilization = terms, stabilization
        try:
            return kernel(state_arrays(state), terms, stabilization, *outputs)
        except TypeError:
            return kernel(state_arrays(self.plain(state)), terms, stabilization, *outputs)

    def plain(self, state: State) -> State:
        """Return a checked copy that compiled code takes."""
        check_state(self.system, state)
        names = ("position", "orientation", "velocity", "coordinate")
        return state.with_(**{name: np.array(getattr(state, name), order="C") for name in names})

    def singular(self, error: SingularSystemError, time: float) -> SingularSystemError:
        """Return the error with the names of joints and bodies instead of numbers of blocks."""
        system, message = self.system, str(error)
        for kind, word, names, indices in (
            ("dual block", "joint", system.joint_names, self._joints),
            ("primal block", "body", system.body_names, self.bodies),
        ):
            match = re.search(rf"{kind} (\d+)", message)
            if match:
                name = names[int(indices[int(match.group(1))])]
                message = message.replace(match.group(0), f"{word} {name!r}")
        return SingularSystemError(f"at t = {time:.6g} s {message}")


_FLOAT64 = np.dtype(np.float64)


def is_plain(array: FloatArray, shape: tuple[int, ...]) -> bool:
    """Tell whether compiled code takes the array as it is."""
    return (
        array.__class__ is np.ndarray
        and array.shape == shape
        and array.dtype is _FLOAT64
        and array.flags.carray
    )


class SpatialAssembler(Assembler):
    """Six freedoms a body: independent rows in an elimination order of their pattern."""

    width = 6
    native: dynamics.SpatialEvaluation | dynamics.ReducedEvaluation

    def __init__(
        self, structure: KKTStructure, solver: Solver, left_out: IntArray | None = None
    ) -> None:
        self._arguments, system = (structure, solver, left_out), structure.system
        self._threads, order, part_starts = solver.threads, solver.order, None
        if solver.factorization == "block-ldl":
            order = unit_factors.safe_order(structure.pattern, order)
            order, part_starts = unit_factors.in_parts(structure.pattern, order)
        n = system.n_bodies
        position = positions(order)
        bodies, duals = np.argsort(position[:n]), np.argsort(position[n:])
        tables = RowTables(system, bodies, system.successor_point, self.width)
        blocks = BlockOrder(structure, bodies, duals, tables)
        super().__init__(structure, blocks)
        own_order = np.concatenate([blocks.body_index[:n], n + positions(duals)])[order]
        if part_starts is None:
            self.symbolic = self._analyze(solver, own_order)
        else:
            self.symbolic = unit_factors.analyze_ldl(self.pattern, own_order, part_starts)
        self.pattern.forget_adjacency()
        self._unit = large_zeros((n + 1, dynamics.UNIT_COLUMNS))
        dynamics.fill_units(system.mass, system.inertia, bodies, self._unit)
        self.native, self.values, self.right, self.x = self._evaluation()
        if left_out is None:
            is_left_out = np.ones(system.n_rows, dtype=bool)
            is_left_out[structure.rows] = False
            left_out = np.flatnonzero(is_left_out)
        self._leave_out(self._tables.table(left_out), self.native)

    def with_rows(self, structure: KKTStructure, left_out: IntArray, solver: Solver) -> Assembler:
        """Return an assembler that keeps and leaves out others of the same rows."""
        return SpatialAssembler(structure, solver, left_out)

    def _evaluation(self) -> tuple[dynamics.SpatialEvaluation, FloatArray, FloatArray, FloatArray]:
        """Return a native evaluation, and its A (k, 2, 6), right-hand side and solution."""
        n, n_rows = self.system.n_bodies, 6 * self.system.n_bodies + len(self.rows)
        table = self._tables.table(self.rows)
        right, padded_x = large_zeros(n_rows), large_zeros(n_rows + 2 * dynamics.MARGIN)
        factors, is_even_tree = None, False
        if isinstance(self.symbolic, unit_factors.BlockLDLSymbolic):
            factors = self.symbolic.factors
            roots = self._unit[:n, INERTIA_ROOTS], self._unit[:n, MASS_ROOT]
            is_even = all(root.max() <= EVEN_ROOTS * root.min() for root in roots)
            is_even_tree = self.symbolic.layout.is_leaves_first and is_even
        native = dynamics.SpatialEvaluation(
            table.native,
            factors,
            body=self.bodies.astype(np.uint32),
            gravity=np.array(self.system.gravity, dtype=float),
            unit=self._unit,
            right=right,
            padded_x=padded_x,
            residual=large_zeros(n_rows),
            wrench=large_zeros(8 * (n + 1)),  # 6 numbers a body, padded to 8; the world's is last
            n_coordinates=len(self.system.coordinates.joint),
            max_corrections=MAX_REFINEMENTS,
            goal=EVEN_TREE_RESIDUAL if is_even_tree else ROUNDING_RESIDUAL,
            chunk_length=CHUNK_LENGTH,
        )
        native.threads = self._threads
        native.fill_rows_on_successors(table.native, successor_frames(self.system))
        return native, table.values, right, padded_x[dynamics.MARGIN : -dynamics.MARGIN]
