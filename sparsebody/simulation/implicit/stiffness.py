"""How fast springs and dampers let bodies move: what explicit steps must resolve."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import elastic_motion
from sparsebody.assembly.constraint import rows_on_bodies
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.model.system import State, System
from sparsebody.spatial import symmetric_inverse


def fastest_spring(system: System, state: State) -> float:
    """Return the largest rate [1/s] of a spring or damper between its two bodies, otherwise free.

    sqrt(k r M^-1 r') or d r M^-1 r' for the row r of the coordinate; what is between points is
    taken as if it pulled along each body's longest arm, and of an elastic element its stiffest row.
    """
    springs, lines = system.joint_forces, system.point_forces
    rates = [np.zeros(1)]
    if len(springs.item):
        motion = SystemMotion(system, state)
        joint = system.coordinates.joint[springs.item]
        dual = motion.coordinates.dual[springs.item]
        rows, _, _ = rows_on_bodies(system, joint, motion.joints, dual, np.zeros(len(joint)))
        ends = np.stack([system.predecessor[joint], system.successor[joint]], axis=1)
        mobility = np.where(ends >= 0, _mobility(system, ends, rows), 0.0).sum(axis=1)
        rates += _rates(springs.stiffness, springs.damping, mobility)
    if len(lines.first):
        mobility = sum(
            np.where(body >= 0, 1.0 / system.mass[body] + _lever(system, body, point), 0.0)
            for body, point in (
                (lines.first, lines.first_point),
                (lines.second, lines.second_point),
            )
        )
        rates += _rates(lines.stiffness, lines.damping, np.asarray(mobility))
    if len(system.elastic):
        rates += _elastic_rates(system, state)
    return float(max(rate.max(initial=0.0) for rate in rates))


def _elastic_rates(system: System, state: State) -> list[FloatArray]:
    """Return the roots of the eigenvalues of z M^-1 z', and D z M^-1 z', z the rows."""
    elastic, rows = system.elastic, elastic_motion(system, state).rows
    ends = np.stack([elastic.predecessor, elastic.successor], axis=1)
    inverse = np.where((ends >= 0)[..., None, None], system.inverse_inertia[ends], 0.0)
    mobility = np.einsum("kisa,ksab,kjsb->kij", rows, inverse, rows)
    damped = np.abs(np.linalg.eigvals(elastic.damping @ mobility))
    return [np.sqrt(np.linalg.eigvalsh(mobility)[:, -1].clip(0.0)), damped.ravel()]


def _rates(stiffness: FloatArray, damping: FloatArray, mobility: FloatArray) -> list[FloatArray]:
    return [np.sqrt(np.maximum(stiffness, 0.0) * mobility), damping * mobility]


def _inverse(system: System, body: IntArray) -> FloatArray:
    """Return the inverse rotational inertias of some bodies."""
    inverse = np.zeros((len(body), 6, 6))
    symmetric_inverse(np.ascontiguousarray(system.inertia[body]), inverse)
    return inverse[:, :3, :3]


def _mobility(system: System, ends: IntArray, rows: FloatArray) -> FloatArray:
    """Return r M^-1 r' of rows (n, 2, 6) on their bodies (n, 2)."""
    inverse = np.stack([_inverse(system, ends[:, side]) for side in (0, 1)], axis=1)
    turning = np.einsum("nsi,nsij,nsj->ns", rows[..., :3], inverse, rows[..., :3])
    return np.asarray(turning + np.sum(rows[..., 3:] ** 2, axis=2) / system.mass[ends])


def _lever(system: System, body: IntArray, point: FloatArray) -> FloatArray:
    """Return |r|^2 times the largest inverse moment of inertia."""
    largest = np.linalg.eigvalsh(_inverse(system, body))[:, -1]
    return np.asarray(np.sum(point**2, axis=1) * largest)
