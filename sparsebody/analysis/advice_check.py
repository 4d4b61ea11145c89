"""A mechanism with other joints, and whether it moves as the one it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from sparsebody.analysis.closed_loops import moving_state
from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import ModelError
from sparsebody.model.connections import JointColumns
from sparsebody.model.forces import JointForce
from sparsebody.model.frames import Frames
from sparsebody.model.joints import JointType
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import State, System
from sparsebody.spatial import quaternion_from_rotation
from sparsebody.tolerances import VIOLATION_TOLERANCE

Substitute = tuple[JointType, FloatArray]  # and the axes (3, 3) of its frames in the old ones


def with_replaced_joints(
    mechanism: Mechanism, substitutes: Mapping[str, Substitute | None]
) -> Mechanism:
    """Return a copy of a mechanism with some joints of another type, or without them.

    Parameters
    ----------
    mechanism : Mechanism
        It stays as it is.
    substitutes : mapping of joint names to (type, turn) or None
        The new type, and the axes of both new joint frames in the old ones, whose origins they
        keep; None takes the joint away.

    Raises
    ------
    ModelError
        For a joint that is not there, or one whose coordinates are in use by a drive or a force.
    """
    in_use = {f.joint for f in mechanism.forces.values() if isinstance(f, JointForce)}
    for name in substitutes:
        joint = mechanism.joint(name)
        if joint.compliance.any():
            raise ModelError(
                f"joint {name!r}: has a compliance on its rows, so it cannot be replaced; take "
                "that away first"
            )
        if joint.prescribed or name in in_use:
            raise ModelError(
                f"joint {name!r}: its coordinates are in use by a drive or a force, so it cannot "
                "be replaced; take these away first"
            )
    bodies, joints = mechanism.columns()
    copy = Mechanism(mechanism.name, mechanism.gravity)
    copy.add_bodies(
        list(mechanism.body_names), **{f.name: getattr(bodies, f.name) for f in fields(bodies)}
    )
    place = {mechanism.joint_names.find(name): new for name, new in substitutes.items()}
    keep = np.array([place.get(j, 0) is not None for j in range(len(joints))], dtype=bool)
    types = [joints.types[k] for k in joints.type_index.tolist()]
    turns = np.tile(np.eye(3), (len(joints), 1, 1))
    for j, new in place.items():
        if new is not None:
            types[j], turns[j] = new
    kept = np.flatnonzero(keep).tolist()
    copy.add_joints(
        [mechanism.joint_names[j] for j in kept],
        [types[j] for j in kept],
        joints.predecessor[keep],
        joints.successor[keep],
        predecessor_frame=_turned(joints.predecessor_frame, turns, keep),
        successor_frame=_turned(joints.successor_frame, turns, keep),
        prescribed=[joints.prescribed.get(j) for j in kept],
        compliance=_row_matrices(joints.compliance, joints, kept),
        damping=_row_matrices(joints.damping, joints, kept),
    )
    copy.forces.update(mechanism.forces)
    return copy


def _row_matrices(
    matrices: FloatArray, joints: JointColumns, kept: list[int]
) -> list[FloatArray] | float:
    """Return the matrices on the rows of joints."""
    if not matrices.any():
        return 0.0
    sizes = [joints.types[joints.type_index[j]].n_constraints for j in kept]
    return [matrices[j, :n, :n] for j, n in zip(kept, sizes, strict=True)]


def _turned(frames: Frames, turns: FloatArray, keep: BoolArray) -> Frames:
    """Return the frames to keep; those that are not turned stay exactly as they are."""
    orientation = np.array(frames.quaternions)
    is_turned = np.any(turns != np.eye(3), axis=(1, 2))
    orientation[is_turned] = quaternion_from_rotation(
        frames.rotations[is_turned] @ turns[is_turned]
    )
    return Frames(frames.origins[keep], orientation[keep])


@dataclass(frozen=True)
class AdviceCheck:
    """The two mechanisms at some poses that the first one can take."""

    ranks: tuple[tuple[int, int], ...]  # of the first and of the second, at each pose
    redundant: tuple[int, ...]  # rows of the second, at each pose
    expected: int  # redundant rows for which there was no remedy
    certain: bool  # whether all rank decisions are
    violation: float  # of the first one's constraints by accelerations of the second, relative
    difference: float  # of the accelerations of both, by the largest one

    @property
    def is_same(self) -> bool:
        """Whether it moves as before, with no more redundancy than expected."""
        same_rank = all(first == second for first, second in self.ranks)
        return (
            self.certain
            and same_rank
            and min(self.redundant) <= self.expected
            and self.violation <= VIOLATION_TOLERANCE
        )

    def __str__(self) -> str:
        verdict = "verified" if self.is_same else "NOT verified"
        rows = " and ".join(f"{first}, then {second}" for first, second in self.ranks)
        return (
            f"{verdict} in {len(self.ranks)} poses: rank {rows}; redundant rows left "
            f"{min(self.redundant)}; accelerations differ by {self.difference:.1e}"
        )


def check_advice(
    system: System, advised: System, states: tuple[State, ...], expected: int, seed: int
) -> AdviceCheck:
    """Return how `advised` compares with `system` at states that are consistent for both.

    At random velocities and loads. Forces of the second one's joints are forces of the first one's,
    so accelerations of the second that obey the first one's constraints are the first one's. Where
    these are poorly conditioned both have errors, and the difference says less than the violation.
    """
    ranks, redundant, certain, violation, difference = [], [], True, 0.0, 0.0
    rng = np.random.default_rng(seed)
    for k, state in enumerate(states):
        first = ForwardDynamics(system, state, reactions="basic")
        second = ForwardDynamics(advised, state, reactions="basic")
        ranks.append((first.rank, second.rank))
        redundant.append(len(second.redundant_rows))
        for dynamics in (first, second):
            certain &= bool(dynamics.explain()["redundancy_certain"])
        moving = moving_state(first, state, seed + k)
        load = rng.normal(size=(system.n_bodies, 6))
        load[:, 3:] *= system.mass[:, None]
        load[:, :3] *= np.linalg.norm(system.inertia, axis=(1, 2))[:, None]
        one, other = (d.acceleration(moving, body_force=load) for d in (first, second))
        free = np.einsum("nij,nj->ni", system.inverse_inertia, load)
        violation = max(violation, _violation(first, moving, other, free))
        largest = float(max(np.abs(one).max(initial=0.0), np.abs(free).max(initial=0.0)))
        difference = max(difference, float(np.abs(one - other).max(initial=0.0)) / largest)
    return AdviceCheck(tuple(ranks), tuple(redundant), expected, certain, violation, difference)


def _violation(
    dynamics: ForwardDynamics, state: State, acceleration: FloatArray, free: FloatArray
) -> float:
    """Return the largest violation of a row, by the largest sum of what enters rows in size.

    That is what `acceleration` contributes, or those `free` of constraints.
    """
    system, constraint = dynamics.system, dynamics.evaluate(state).constraint
    terms, of_free = (_row_terms(system, constraint.rows, a) for a in (acceleration, free))
    scale = np.maximum(np.abs(terms), np.abs(of_free)).sum(axis=(1, 2))
    error = np.abs(terms.sum(axis=(1, 2)) - constraint.acceleration)
    largest = (scale + np.abs(constraint.acceleration)).max(initial=0.0)
    return float(error.max(initial=0.0) / max(largest, 1e-300))


def _row_terms(system: System, rows: FloatArray, acceleration: FloatArray) -> FloatArray:
    """Return (n_rows, 2, 6) the products that A a sums."""
    ends = np.stack([system.predecessor, system.successor], axis=1)[system.row_joint]
    return np.asarray(rows * np.where((ends >= 0)[:, :, None], acceleration[ends], 0.0))
