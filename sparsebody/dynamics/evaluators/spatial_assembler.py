"""Assembly with six freedoms a body, or with those that subgroups about the world leave.

The inertia of a body is C C' + m, about its center of mass and in its axes. The vectors of (8.64)
are in units in which it is one: of a twist (C' w, sqrt(m) u), of a wrench (C^-1 n, f / sqrt(m)).
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import dynamics
from sparsebody.arrays import FloatArray, IntArray, large_zeros
from sparsebody.assembly.constraint import KKTStructure
from sparsebody.dynamics.evaluators.assembler import (
    Assembler,
    GeneralTerms,
    ReactionTree,
    Table,
    row_table,
    successor_frames,
)
from sparsebody.factorization import analyze, block_ldl
from sparsebody.factorization.block_ldl import BlockLDLSymbolic, in_parts, safe_order
from sparsebody.factorization.multifrontal import MultifrontalSymbolic
from sparsebody.model.system import State, System
from sparsebody.sparse.pattern import positions
from sparsebody.tolerances import POINT_ROUNDING, POINT_TOLERANCE, ROUNDING_RESIDUAL

CHUNK_LENGTH = 512  # pivots
MAX_REFINEMENTS = 2  # of a solution by block LDL'
EVEN_TREE_RESIDUAL = 1e-11  # not refined where inertias are summed from the leaves of trees
EVEN_ROOTS = 1e3  # the largest over the smallest root of an inertia with which that is so
INERTIA_ROOTS, MASS_ROOT = [0, 2, 5], 12  # columns of a table of units: diagonal of C, sqrt(m)


class SpatialAssembler(Assembler):
    """Six freedoms a body.

    Parameters
    ----------
    system : System
        The mechanism.
    structure : KKTStructure
        The kept rows, in the user's numbering.
    order : (n_blocks,) int array
        Elimination order of its pattern.
    factorization : str
        A name from FACTORIZATIONS.
    threads : int
        That an evaluation may use.
    """

    width = 6
    native: dynamics.SpatialEvaluation | dynamics.ReducedEvaluation
    outside, invalid = dynamics.OUTSIDE_SUBGROUPS, dynamics.BAD_STATE

    def __init__(
        self,
        system: System,
        structure: KKTStructure,
        order: IntArray,
        factorization: str,
        threads: int = 1,
    ) -> None:
        self._arguments = system, structure, order, factorization, threads
        self._threads = threads
        part_starts = None
        if factorization == "block-ldl":
            order, part_starts = in_parts(structure.pattern, safe_order(structure.pattern, order))
        n = system.n_bodies
        position = positions(order)
        bodies, duals = np.argsort(position[:n]), np.argsort(position[n:])
        super().__init__(system, structure, bodies, duals, GeneralTerms(system))
        own_order = np.concatenate([self._body_index[:n], n + positions(duals)])[order]
        if part_starts is None:
            self.symbolic = analyze(factorization, self.pattern, own_order)
        else:
            self.symbolic = block_ldl.analyze(self.pattern, own_order, part_starts)
        if isinstance(self.symbolic, MultifrontalSymbolic):
            self.symbolic.factors.threads = threads
        self.pattern.forget_adjacency()
        self._unit = large_zeros((n + 1, dynamics.UNIT_COLUMNS))
        dynamics.fill_units(system.mass, system.inertia, bodies, self._unit)
        self.native, self.values, self.right, self.x = self._evaluation()
        self._leave_out(self._table(structure.left_out), self.native)

    def _evaluation(
        self,
    ) -> tuple[dynamics.SpatialEvaluation, FloatArray, FloatArray, FloatArray]:
        """Return a native evaluation, and its A (k, 2, 6), right-hand side and solution."""
        n, n_rows = self.system.n_bodies, 6 * self.system.n_bodies + len(self.rows)
        kept = self._table(self.rows)
        right, padded_x = large_zeros(n_rows), large_zeros(n_rows + 2 * dynamics.MARGIN)
        factors, is_even_tree = None, False
        if isinstance(self.symbolic, BlockLDLSymbolic):
            factors = self.symbolic.factors
            is_even_tree = self.symbolic.layout.is_leaves_first and _is_even(self._unit[:n])
        native = dynamics.SpatialEvaluation(
            kept.native,
            factors,
            body=self.bodies.astype(np.uint32),
            gravity=np.array(self.system.gravity, dtype=float),
            unit=self._unit,
            right=right,
            padded_x=padded_x,
            residual=large_zeros(n_rows),
            wrench=large_zeros(8 * n + 8),
            n_coordinates=len(self.system.coordinates.joint),
            max_corrections=MAX_REFINEMENTS,
            goal=EVEN_TREE_RESIDUAL if is_even_tree else ROUNDING_RESIDUAL,
            chunk_length=CHUNK_LENGTH,
        )
        native.threads = self._threads
        native.fill_rows_on_successors(kept.native, successor_frames(self.system))
        return native, kept.values, right, padded_x[dynamics.MARGIN : -dynamics.MARGIN]

    def _table(self, rows: IntArray) -> Table:
        anchor = self.system.successor_point
        return row_table(self.system, self.bodies, rows, self._general, anchor, self.width)

    @property
    def has_alternatives(self) -> bool:
        """Whether rows were left out."""
        return len(self._left_out.rows) > 0


class SubgroupAssembler(SpatialAssembler):
    """Rows and forces multiplied by constant bases of what each body can do about the world.

    Parameters
    ----------
    system, structure, order, factorization, threads
        See `SpatialAssembler`.
    basis : (n_bodies, 6, 6) float array
        Orthonormal twists of the freedoms in the leading columns, where inertias are one.
    freedoms : (n_bodies,) int array
        Their number.
    inverse_root : (n_bodies, 6, 6) float array
        From twists where inertias are one to those of the bodies.
    fixed : (n_bodies, 28) float array
        Directions and points that bodies keep in place; see `reduced.fixed_directions`.
    tree : ReactionTree
        The joints that see to that.
    """

    def __init__(
        self,
        system: System,
        structure: KKTStructure,
        order: IntArray,
        factorization: str,
        threads: int,
        basis: FloatArray,
        inverse_root: FloatArray,
        freedoms: IntArray,
        fixed: FloatArray,
        tree: ReactionTree,
    ) -> None:
        super().__init__(system, structure, order, factorization, threads)
        self._arguments = (*self._arguments, basis, inverse_root, freedoms, fixed, tree)
        bodies, n = self.bodies, system.n_bodies
        assert isinstance(self.native, dynamics.SpatialEvaluation)
        self.values[:] = 0.0
        self.native = dynamics.ReducedEvaluation(
            unreduced=self._evaluation()[0],
            reduced=self.native,
            freedoms=np.append(freedoms[bodies], 0).astype(np.uint32),
            basis=np.concatenate([basis[bodies], np.zeros((1, 6, 6))]).reshape(n + 1, 36),
            fixed=np.ascontiguousarray(fixed[bodies]),
        )
        self.reaction_tree, self._fixed = tree, np.ascontiguousarray(fixed)
        self._has_points = bool(np.any(fixed[:, 18:27]))
        within = basis.transpose(0, 2, 1) @ np.linalg.inv(inverse_root)
        self._projection = inverse_root @ basis @ within  # of twists, in the metric of the inertias

    @property
    def retraction(self) -> tuple[FloatArray, FloatArray]:
        """Points that have to stay, and projections of twists."""
        return (self._fixed, self._projection) if self._has_points else super().retraction

    def retracted(self, state: State) -> State:
        """Return the state with points of bodies where they have to stay, and twists within."""
        if not self._has_points:
            return state
        position = np.array(state.position)
        dynamics.retract(self._fixed, state.position, state.orientation, position)
        velocity = (self._projection @ state.velocity[:, :, None])[:, :, 0]
        return state.with_(position=position, velocity=velocity)

    def violates_subgroup(self, state: State) -> bool:
        """Tell whether points are not where they have to stay."""
        if not self._has_points:
            return False
        position = np.empty_like(state.position)
        distance = dynamics.retract(self._fixed, state.position, state.orientation, position)
        return distance * POINT_TOLERANCE > POINT_ROUNDING


def _is_even(unit: FloatArray) -> bool:
    """Tell whether neither masses nor rotational inertias, in a table of units, differ too much."""
    inertia_roots, mass_roots = unit[:, INERTIA_ROOTS], unit[:, MASS_ROOT]
    return all(roots.max() <= EVEN_ROOTS * roots.min() for roots in (inertia_roots, mass_roots))
