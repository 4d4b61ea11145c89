"""Assembly with three freedoms a body and the rows within the plane."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sparsebody._core import dynamics, factorization
from sparsebody.arrays import FloatArray, IntArray, large_zeros
from sparsebody.assembly.constraint import KKTStructure
from sparsebody.dynamics import assembler
from sparsebody.dynamics.assembler import (
    NO_TERMS,
    Assembler,
    GeneralTerms,
    ReactionTree,
    Solver,
    Table,
    state_arrays,
)
from sparsebody.factorization import block_qr
from sparsebody.model.subgroups.ground_motion import PlanarMotion
from sparsebody.model.system import State, System
from sparsebody.tolerances import ELEMENT_TOLERANCE

GOOD = dynamics.PlanarEvaluation.GOOD


class PlanarRows:
    """Rows within the plane of `motion`; joints of `is_line` only hold a point on a line in it."""

    def __init__(self, system: System, motion: PlanarMotion) -> None:
        self.system, self.motion = system, motion
        self.is_line = np.zeros(system.n_joints, dtype=bool)
        for group in system.groups:
            if group.name == "point-on-plane":
                along_normal = self._line_normals(group.joints)[:, 0]
                self.is_line[group.joints] = np.abs(along_normal) <= ELEMENT_TOLERANCE
        self.is_line[system.coordinates.joint] = False
        self.terms = GeneralTerms(system, compiled=self.is_line)

    def table(self, bodies: IntArray, rows: IntArray) -> Table:
        """Return the table of `rows` on bodies, in order; an evaluation fills it."""
        system, motion, lines = self.system, self.motion, np.flatnonzero(self.is_line)
        anchor = np.zeros((system.n_joints, 4))
        anchor[:, :2] = system.successor_point @ motion.axes[1:].T  # where the world is successor
        point = self._in_plane(system.successor[lines], system.successor_point[lines])
        anchor[lines, :2] = self._line_normals(lines)[:, 1:]
        anchor[lines, 2:] = point[:, 1:]
        return assembler.row_table(system, bodies, rows, self.terms, anchor, 3, self.is_line)

    def evaluation(
        self,
        bodies: IntArray,
        kept: Table,
        roots: FloatArray,
        qr: factorization.BlockQR | None = None,
    ) -> tuple[dynamics.PlanarEvaluation, FloatArray, FloatArray]:
        """Return a native evaluation of bodies with roots (n, 2) of inertia and mass, b and x."""
        system, motion = self.system, self.motion
        right, x = (large_zeros(3 * len(bodies) + len(kept.rows)) for _ in range(2))
        roots = np.concatenate([roots[bodies], np.full((1, 2), dynamics.WORLD_ROOT)])
        native = dynamics.PlanarEvaluation(
            kept.native,
            qr,
            body=bodies.astype(np.uint32),
            gravity=motion.axes[1:] @ system.gravity,
            unit=np.concatenate([roots, 1.0 / roots], axis=1),
            basis=np.concatenate([motion.basis[bodies], motion.axes[None]]),
            right=right,
            x=x,
            n_coordinates=len(system.coordinates.joint),
        )
        native.fill_rows_on_successors(kept.native, assembler.successor_frames(system))
        return native, right, x

    def _line_normals(self, joints: IntArray) -> FloatArray:
        """Return (m, 3) the z axes of predecessor frames, along the normal and in the plane."""
        z = self.system.predecessor_rotation[joints][:, :, 2]
        return self._in_plane(self.system.predecessor[joints], z)

    def _in_plane(self, bodies: IntArray, vectors: FloatArray) -> FloatArray:
        """Return (m, 3) components of vectors on bodies along the normal and in the plane."""
        motion = self.motion
        basis = np.where((bodies >= 0)[:, None, None], motion.basis[bodies], motion.axes)
        return np.asarray(np.einsum("mij,mj->mi", basis, vectors))


def rows_in_plane(system: System, motion: PlanarMotion, state: State) -> FloatArray | None:
    """Return rows (k, 2, 3) that do not keep bodies in the plane; None for states outside it."""
    planar, bodies = PlanarRows(system, motion), np.arange(system.n_bodies)
    table = planar.table(bodies, np.flatnonzero(~motion.is_out_of_plane))
    native, *_ = planar.evaluation(bodies, table, np.ones((system.n_bodies, 2)))
    arrays: Any = (np.array(array, order="C") for array in state_arrays(state)[:4])
    status = native.assemble((*arrays, state.time), planar.terms.at(state, None), NO_TERMS.gamma)
    return table.values if status == GOOD else None


class PlanarAssembler(Assembler):
    """Three freedoms a body; `structure` has the kept rows in the plane, left_out the others."""

    width = 3
    native: dynamics.PlanarEvaluation
    outside, invalid = dynamics.PlanarEvaluation.OUT_OF_PLANE, dynamics.PlanarEvaluation.NOT_FINITE

    def __init__(
        self,
        system: System,
        motion: PlanarMotion,
        structure: KKTStructure,
        left_out: IntArray,
        solver: Solver,
    ) -> None:
        self._arguments = system, motion, structure, left_out, solver
        planar, n = PlanarRows(system, motion), system.n_bodies
        duals, part_starts = block_qr.dual_parts(structure.pattern, solver.order)
        bodies = _by_first_dual(structure.pattern.ends[duals], n)
        super().__init__(system, structure, bodies, duals, planar.terms)
        self._motion = motion
        own_order = np.arange(self.pattern.n_blocks, dtype=np.intp)
        if solver.factorization == "block-qr":
            self.symbolic = block_qr.analyze(self.pattern, own_order, part_starts)
        else:
            self.symbolic = self._analyze(solver, own_order)
        kept, normal = planar.table(bodies, self.rows), motion.basis[:, 0]
        inertia = np.einsum("na,nab,nb->n", normal, system.inertia, normal)
        roots = np.sqrt(np.stack([inertia, system.mass], axis=1))
        symbolic = self.symbolic
        qr = symbolic.qr if isinstance(symbolic, block_qr.BlockQRSymbolic) else None
        self.native, self.right, self.x = planar.evaluation(bodies, kept, roots, qr)
        self.values, self.native.threads = kept.values, solver.threads
        self._leave_out(planar.table(bodies, left_out), self.native)

    @cached_property
    def reaction_tree(self) -> ReactionTree:  # type: ignore[override]
        """The joints that hold each body in the plane, with three rows."""
        motion, system = self._motion, self.system
        rows = motion.out_of_plane_rows
        joint = motion.joint[motion.bodies]
        first = np.searchsorted(rows, system.first_row[joint])
        return ReactionTree(motion.bodies, joint, rows[first[:, None] + np.arange(3)])

    def solve_extended(self, state: State) -> None:
        """Correct x, by factors of QR, with residuals of 31 digits made from the newest state."""
        plain = state_arrays(self.plain(state))
        self._extended.solve(self.native, plain, self._terms, self._stabilization)

    @cached_property
    def _extended(self) -> dynamics.ExtendedPlanarSystem:
        return dynamics.ExtendedPlanarSystem(self.native, assembler.successor_frames(self.system))


def _by_first_dual(ends: IntArray, n: int) -> IntArray:
    """Return the primal blocks in the order in which the dual ones meet them."""
    met, first = np.unique(ends[ends >= 0], return_index=True)
    others = np.setdiff1d(np.arange(n), met, assume_unique=True)
    return np.concatenate([met[np.argsort(first, kind="stable")], others]).astype(np.intp)
