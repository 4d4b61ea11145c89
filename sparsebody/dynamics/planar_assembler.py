"""Assembly with three freedoms a body and the rows within the plane."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sparsebody._core import dynamics, factorization
from sparsebody.arrays import BoolArray, FloatArray, IntArray, large_zeros
from sparsebody.assembly.constraint import KKTStructure
from sparsebody.dynamics.assembler import (
    NO_TERMS,
    Assembler,
    GeneralTerms,
    ReactionTree,
    Table,
    row_table,
    state_arrays,
    successor_frames,
)
from sparsebody.factorization import block_qr
from sparsebody.factorization.block_qr import BlockQRSymbolic, dual_parts
from sparsebody.model.subgroups.ground_motion import PlanarMotion
from sparsebody.model.system import State, System
from sparsebody.tolerances import ELEMENT_TOLERANCE

GOOD = dynamics.PlanarEvaluation.GOOD


class PlanarAssembler(Assembler):
    """Three freedoms a body, in the plane of `motion`, in an elimination order of their pattern.

    `structure` has the kept rows within the plane, left_out (n_left_out,) are the others there.
    """

    width = 3
    native: dynamics.PlanarEvaluation
    outside, invalid = dynamics.PlanarEvaluation.OUT_OF_PLANE, dynamics.PlanarEvaluation.NOT_FINITE

    def __init__(
        self,
        system: System,
        motion: PlanarMotion,
        structure: KKTStructure,
        left_out: IntArray,
        order: IntArray,
        factorization: str,
        threads: int = 1,
    ) -> None:
        self._arguments = system, motion, structure, left_out, order, factorization, threads
        n = system.n_bodies
        duals, part_starts = dual_parts(structure.pattern, order)
        bodies = _by_first_dual(structure.pattern.ends[duals], n)
        is_line = _line_joints(system, motion)
        terms = GeneralTerms(system, compiled=is_line)
        super().__init__(system, structure, bodies, duals, terms)
        self._motion = motion
        own_order = np.arange(self.pattern.n_blocks, dtype=np.intp)
        if factorization == "block-qr":
            self.symbolic = block_qr.analyze(self.pattern, own_order, part_starts)
        else:
            self.symbolic = self._analyze(factorization, own_order, threads)
        kept, others = (
            _planar_table(system, motion, terms, is_line, bodies, rows)
            for rows in (self.rows, left_out)
        )
        self.values = kept.values
        self.right, self.x = (large_zeros(3 * n + len(self.rows)) for _ in range(2))
        normal = motion.basis[:, 0]
        self.native = _evaluation(
            system,
            motion,
            bodies,
            kept,
            np.einsum("na,nab,nb->n", normal, system.inertia, normal),
            system.mass,
            self.right,
            self.x,
            self.symbolic.qr if isinstance(self.symbolic, BlockQRSymbolic) else None,
        )
        self.native.threads = threads
        self._leave_out(others, self.native)

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
        return dynamics.ExtendedPlanarSystem(self.native, successor_frames(self.system))


def rows_in_plane(system: System, motion: PlanarMotion, state: State) -> FloatArray | None:
    """Return all rows but those that keep bodies in the plane (k, 2, 3), on velocities in it.

    A row without any part in the plane is zero. None if the state is not in the plane.
    """
    bodies, rows = np.arange(system.n_bodies), np.flatnonzero(~motion.is_out_of_plane)
    is_line = _line_joints(system, motion)
    general = GeneralTerms(system, compiled=is_line)
    table = _planar_table(system, motion, general, is_line, bodies, rows)
    ones = np.ones(system.n_bodies)  # as if inertias were
    right, x = (np.zeros(3 * len(bodies) + len(rows)) for _ in range(2))
    native = _evaluation(system, motion, bodies, table, ones, ones, right, x)
    arrays: Any = (np.array(array, order="C") for array in state_arrays(state)[:4])
    status = native.assemble((*arrays, state.time), general.at(state, None), NO_TERMS.gamma)
    return table.values if status == GOOD else None


def _evaluation(
    system: System,
    motion: PlanarMotion,
    bodies: IntArray,
    kept: Table,
    inertia: FloatArray,
    mass: FloatArray,
    right: FloatArray,
    x: FloatArray,
    qr: factorization.BlockQR | None = None,
) -> dynamics.PlanarEvaluation:
    """Return the native evaluation of bodies, in order, with inertias about the normal."""
    world = np.full((1, 2), dynamics.WORLD_ROOT)
    roots = np.concatenate([np.sqrt(np.stack([inertia, mass], axis=1))[bodies], world])
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
    native.fill_rows_on_successors(kept.native, successor_frames(system))
    return native


def _planar_table(
    system: System,
    motion: PlanarMotion,
    terms: GeneralTerms,
    is_line: BoolArray,
    bodies: IntArray,
    rows: IntArray,
) -> Table:
    """Return the table of `rows` within the plane; the evaluation fills it."""
    anchor = np.zeros((system.n_joints, 4))
    anchor[:, :2] = system.successor_point @ motion.axes[1:].T  # where the world is the successor
    lines = np.flatnonzero(is_line)
    point = _in_plane(motion, system.successor[lines], system.successor_point[lines])
    anchor[lines, :2] = _line_normals(system, motion, lines)[:, 1:]
    anchor[lines, 2:] = point[:, 1:]
    return row_table(system, bodies, rows, terms, anchor, 3, is_line)


def _line_joints(system: System, motion: PlanarMotion) -> BoolArray:
    """Return (n_joints,) which joints hold a point on a line in the plane, and do nothing else."""
    is_line = np.zeros(system.n_joints, dtype=bool)
    for group in system.groups:
        if group.name == "point-on-plane":
            joints = group.joints
            is_line[joints] = (
                np.abs(_line_normals(system, motion, joints)[:, 0]) <= ELEMENT_TOLERANCE
            )
    is_line[system.coordinates.joint] = False
    return is_line


def _line_normals(system: System, motion: PlanarMotion, joints: IntArray) -> FloatArray:
    """Return (m, 3) the z axes of predecessor frames, along the normal and in the plane."""
    z = system.predecessor_rotation[joints][:, :, 2]
    return _in_plane(motion, system.predecessor[joints], z)


def _in_plane(motion: PlanarMotion, bodies: IntArray, vectors: FloatArray) -> FloatArray:
    """Return (m, 3) components of vectors on bodies along the normal and in the plane."""
    basis = np.where((bodies >= 0)[:, None, None], motion.basis[bodies], motion.axes)
    return np.asarray(np.einsum("mij,mj->mi", basis, vectors))


def _by_first_dual(ends: IntArray, n: int) -> IntArray:
    """Return the primal blocks in the order in which the dual ones meet them."""
    met, first = np.unique(ends[ends >= 0], return_index=True)
    others = np.setdiff1d(np.arange(n), met, assume_unique=True)
    return np.concatenate([met[np.argsort(first, kind="stable")], others]).astype(np.intp)
