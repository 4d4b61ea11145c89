"""Joint types that can stand in for another: they allow all its motions, and some more.

Candidates come from JOINT_TYPES, with joint frames turned by quarter turns, and are found by
trying: whatever pose the old type can take, the new one must be able to take.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from itertools import permutations, product

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.joints import JOINT_TYPES, JointType
from sparsebody.spatial import orthogonal_complement, plucker_parts, plucker_transform
from sparsebody.tolerances import RELAXATION_TOLERANCE

N_POSES = 4  # random ones: enough, for motions are analytic


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A joint type in place of another, with P and S both turned by `turn`; None: no joint."""

    new: JointType | None
    turn: FloatArray  # (3, 3) axes of the new frames in the old ones
    n_removed: int  # constraint rows that this saves
    extra: FloatArray | None  # (n_removed, 6) new freedoms in S axes; None where they vary

    @property
    def name(self) -> str:
        """Name of the new type."""
        return "no joint" if self.new is None else self.new.name

    def extra_at(self, old: JointType, E: FloatArray, r: FloatArray) -> FloatArray:
        """Return the freedoms (n_removed, 6) in S axes that the new type adds at a pose (E, r)."""
        if self.extra is not None:
            return self.extra
        return _extra(self.new, self.turn, old.motion_subspace(old.coordinates(E, r)), E, r)


@cache
def relaxations(old: JointType) -> tuple[Relaxation, ...]:
    """Return what can stand in for a joint type, those that save most rows last.

    Types that need a number of their own (a pitch, a length) are left aside.
    """
    rng = np.random.default_rng(0)
    poses = [old.transform(_random_position(rng, old)) for _ in range(N_POSES)]
    replacements: list[Relaxation] = []
    spans: list[FloatArray] = []
    for new in (*_types(), None):
        if new is not None and new.n_constraints >= old.n_constraints:
            continue
        for turn in QUARTER_TURNS if new is not None else QUARTER_TURNS[:1]:
            motions = _motions(old, new, turn, poses)
            if motions is None or any(
                np.allclose(motions, span, atol=RELAXATION_TOLERANCE) for span in spans
            ):
                continue
            spans.append(motions)
            relaxation = _relaxation(old, new, turn, poses, motions)
            if relaxation.n_removed:
                replacements.append(relaxation)
    return tuple(sorted(replacements, key=lambda relaxation: relaxation.n_removed))


def _relaxation(
    old: JointType,
    new: JointType | None,
    turn: FloatArray,
    poses: list[FloatArray],
    motions: FloatArray,
) -> Relaxation:
    E, r = plucker_parts(poses[0])
    extra = _extra(new, turn, old.motion_subspace(old.coordinates(E, r)), E, r)
    is_constant = np.allclose(motions, motions[0], atol=RELAXATION_TOLERANCE)
    return Relaxation(new, turn, len(extra), extra if is_constant else None)


def _types() -> list[JointType]:
    """Return one joint of every type that needs no number, those with fewest freedoms first."""
    types = [kind() for name, kind in JOINT_TYPES.items() if name != "free" and not fields(kind)]
    return sorted(types, key=lambda joint_type: joint_type.n_velocities)


def _quarter_turns() -> list[FloatArray]:
    """Return the 24 rotations of a cube, the identity first."""
    turns = []
    for axes in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            turn = np.zeros((3, 3))
            turn[list(axes), range(3)] = signs
            if np.linalg.det(turn) > 0.0:
                turns.append(turn)
    return turns


QUARTER_TURNS = _quarter_turns()


def _random_position(rng: np.random.Generator, joint_type: JointType) -> FloatArray:
    """Return a position q; four or more numbers start with a quaternion."""
    q = rng.uniform(-1.0, 1.0, joint_type.n_positions)
    if joint_type.n_positions >= 4:
        q[:4] /= np.linalg.norm(q[:4])
    return q


def _motions(
    old: JointType, new: JointType | None, turn: FloatArray, poses: list[FloatArray]
) -> FloatArray | None:
    """Return (n_poses, 6, 6) projectors on the new freedoms in S axes; None if a pose is barred."""
    projectors = []
    for pose in poses:
        S = _freedoms(new, turn, *plucker_parts(pose))
        if S is None:
            return None
        Q = np.linalg.qr(S)[0]
        old_S = old.motion_subspace(old.coordinates(*plucker_parts(pose)))
        if not np.allclose(Q @ (Q.T @ old_S), old_S, atol=RELAXATION_TOLERANCE):
            return None
        projectors.append(Q @ Q.T)
    return np.array(projectors)


def _freedoms(
    new: JointType | None, turn: FloatArray, E: FloatArray, r: FloatArray
) -> FloatArray | None:
    """Return S (6, n) of the new type in the old S axes; None where it cannot take the pose."""
    if new is None:
        return np.eye(6)
    turned, shifted = turn.T @ E @ turn, turn.T @ r
    q = new.coordinates(turned, shifted)
    if not np.allclose(
        new.transform(q), plucker_transform(turned, shifted), atol=RELAXATION_TOLERANCE
    ):
        return None
    S = new.motion_subspace(q)
    return np.concatenate([turn @ S[:3], turn @ S[3:]])


def _extra(
    new: JointType | None, turn: FloatArray, old_S: FloatArray, E: FloatArray, r: FloatArray
) -> FloatArray:
    """Return the freedoms (n, 6) of the new type, angular and linear apart, without the old."""
    S = _freedoms(new, turn, E, r)
    if S is None:
        S = old_S
    old_T = orthogonal_complement(old_S) if old_S.shape[1] else np.eye(6)
    Q, size, _ = np.linalg.svd(old_T @ (old_T.T @ S))
    Q = Q[:, : np.count_nonzero(size > 1e-6)]
    apart = []
    for k in (0, 3):
        share, basis = np.linalg.eigh(Q[k : k + 3] @ Q[k : k + 3].T)
        block = np.zeros((6, int(np.count_nonzero(share > 0.5))))
        block[k : k + 3] = basis[:, share > 0.5]
        apart.append(block)
    separated = np.concatenate(apart, axis=1)
    is_apart = separated.shape == Q.shape and np.allclose(
        separated @ separated.T, Q @ Q.T, atol=RELAXATION_TOLERANCE
    )
    return np.asarray(separated.T if is_apart else Q.T)
