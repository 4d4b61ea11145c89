"""Replacements of joints, loop by loop, or together in loops that share their redundancy.

A joint type can stand in for another if it allows all its motions, and some more. Candidates come
from JOINT_TYPES, with joint frames turned by quarter turns, and are found by trying: whatever pose
the old type can take, the new one must be able to take.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from heapq import heappop, heappush
from itertools import combinations, permutations, product
from typing import Any, NamedTuple

import numpy as np

from sparsebody import spatial, tolerances
from sparsebody.analysis import reactions
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.kinematics.joint_motion import JointMotion, joint_frames, joint_motion
from sparsebody.model import JOINT_TYPES, JointType, State, System

N_POSES = 4  # random ones: what holds there holds at almost all poses, for motions are analytic


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


_SIGNED_AXES = (
    np.eye(3)[:, list(axes)] * signs + 0.0
    for axes in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
)
QUARTER_TURNS = [axes for axes in _SIGNED_AXES if np.linalg.det(axes) > 0.0]  # identity first


@cache
def relaxations(old: JointType) -> tuple[Relaxation, ...]:
    """Return what can stand in for a joint type, those that save most rows last.

    Types that need a number of their own (a pitch, a length) are left aside; those with fewest
    freedoms are tried first.
    """
    rng = np.random.default_rng(0)
    positions = rng.uniform(-1.0, 1.0, (N_POSES, old.n_positions))
    if old.n_positions >= 4:  # these start with a quaternion
        positions[:, :4] /= np.linalg.norm(positions[:, :4], axis=1, keepdims=True)
    poses = [spatial.plucker_parts(old.transform(q)) for q in positions]
    types = [kind() for name, kind in JOINT_TYPES.items() if name != "free" and not fields(kind)]
    types.sort(key=lambda joint_type: joint_type.n_velocities)
    replacements: list[Relaxation] = []
    spans: list[FloatArray] = []
    for new in (*types, None):
        if new is not None and new.n_constraints >= old.n_constraints:
            continue
        for turn in QUARTER_TURNS if new is not None else QUARTER_TURNS[:1]:
            projectors = []  # on the new freedoms in S axes, pose by pose
            for E, r in poses:
                S = _freedoms(new, turn, E, r)
                old_S = old.motion_subspace(old.coordinates(E, r))
                Q = None if S is None else np.linalg.qr(S)[0]
                if Q is None or not _is_same(Q @ (Q.T @ old_S), old_S):
                    break
                projectors.append(Q @ Q.T)
            motions = np.array(projectors)
            if len(motions) < N_POSES or any(_is_same(motions, span) for span in spans):
                continue
            spans.append(motions)
            E, r = poses[0]
            extra = _extra(new, turn, old.motion_subspace(old.coordinates(E, r)), E, r)
            is_constant = _is_same(motions, motions[0])
            if len(extra):
                replacements.append(
                    Relaxation(new, turn, len(extra), extra if is_constant else None)
                )
    return tuple(sorted(replacements, key=lambda relaxation: relaxation.n_removed))


def _is_same(one: FloatArray, other: FloatArray) -> bool:
    return np.allclose(one, other, atol=tolerances.RELAXATION_TOLERANCE)


def _freedoms(
    new: JointType | None, turn: FloatArray, E: FloatArray, r: FloatArray
) -> FloatArray | None:
    """Return S (6, n) of the new type in the old S axes; None where it cannot take the pose."""
    if new is None:
        return np.eye(6)
    turned, shifted = turn.T @ E @ turn, turn.T @ r
    q = new.coordinates(turned, shifted)
    if not _is_same(new.transform(q), spatial.plucker_transform(turned, shifted)):
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
    old_T = spatial.orthogonal_complement(old_S) if old_S.shape[1] else np.eye(6)
    Q, size, _ = np.linalg.svd(old_T @ (old_T.T @ S))
    Q = Q[:, : np.count_nonzero(size > 1e-6)]
    apart = []
    for k in (0, 3):
        share, basis = np.linalg.eigh(Q[k : k + 3] @ Q[k : k + 3].T)
        block = np.zeros((6, int(np.count_nonzero(share > 0.5))))
        block[k : k + 3] = basis[:, share > 0.5]
        apart.append(block)
    separated = np.concatenate(apart, axis=1)
    is_apart = separated.shape == Q.shape and _is_same(separated @ separated.T, Q @ Q.T)
    return np.asarray(separated.T if is_apart else Q.T)


@dataclass(frozen=True, eq=False)
class Replacement:
    """A joint of another type, or none, in the place of one."""

    joint: str
    old: JointType
    new: JointType | None  # None: take the joint away
    turn: FloatArray  # (3, 3) axes of both new joint frames in the old ones
    n_removed: int  # constraint rows that this saves

    def __str__(self) -> str:
        if self.new is None:
            return f"remove joint {self.joint!r} ({self.old.name})"
        signs, axis = self.turn.sum(axis=0), np.abs(self.turn).argmax(axis=0)
        axes = [f"{'-' * int(signs[k] < 0)}{'xyz'[axis[k]]}" for k in range(3)]
        turned = "" if axes == ["x", "y", "z"] else f", its axes along {', '.join(axes)} of the old"
        return f"joint {self.joint!r}: {self.new.name} instead of {self.old.name}{turned}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dicts."""
        return {
            "joint": self.joint,
            "old": self.old.name,
            "new": None if self.new is None else self.new.name,
            "turn": self.turn.tolist(),
            "rows_removed": self.n_removed,
        }


@dataclass(frozen=True, eq=False)
class LoopAdvice:
    """What to do about one redundant loop, or about several that share their redundancy."""

    joints: tuple[str, ...]
    loops: int  # how many loops these are
    redundant: int  # constraint rows
    choices: tuple[tuple[Replacement, ...], ...]  # any one of them will do; the first is taken
    tried: tuple[str, ...] = ()  # where they leave a rest: what each joint could be replaced by

    @property
    def remaining(self) -> int:
        """Redundant rows that the choice leaves."""
        taken = self.choices[0] if self.choices else ()
        return self.redundant - sum(replacement.n_removed for replacement in taken)

    def lines(self) -> Iterator[str]:
        """Say what there is to choose from."""
        where = reactions.listed(self.joints) if self.loops == 1 else f"{self.loops} loops together"
        yield f"{reactions.constraints(self.redundant)} in {where}"
        for k, choice in enumerate(self.choices):
            yield f"  {'or ' * bool(k)}{reactions.listed([str(r) for r in choice], 4, '; ')}"
        if self.remaining:
            yield f"  {self.remaining} left: every type removes more, or a drive or force uses it:"
            yield f"  {reactions.listed(self.tried, 4, '; ')}"


LEAST_SINGULAR_VALUE = 0.05  # of the work of new freedoms on wrenches, both of unit size
MOST_JOINTS = 12  # of a loop that are looked at
MOST_CHOICES = 4
EQUIVALENT_SHARE = 0.3  # of the best least singular value: from it on, choices count as equal
MOST_REDUNDANT = 1200  # rows, for the null space is dense
LEAST_WORK = 1e-3  # of new freedoms on orthonormal null vectors; below it they take none
MOST_REMOVAL_ROWS = 100  # redundant rows up to which joints are taken away without need, too
TOO_LARGE = f"nothing, for more than {MOST_REDUNDANT} redundant rows are not looked at together"


class Choice(NamedTuple):
    """A relaxation of one joint."""

    joint: int
    relaxation: Relaxation


Choices = list[Choice]  # of several joints, made together


@dataclass(frozen=True, eq=False)
class Pose:
    """A mechanism at one pose: what circulates in its loops."""

    dynamics: ForwardDynamics
    state: State
    motion: JointMotion
    axes: FloatArray  # (n_joints, 3, 3) S to world
    origin: FloatArray  # (n_joints, 3) of S
    circulations: reactions.Circulations

    def wrenches(self, loop: int) -> dict[int, FloatArray]:
        """Return (6, dimension) what circulates at each joint of a loop, moments / its length."""
        wrench = self.circulations.on_joints(loop, self.axes, self.origin)
        joints = self.circulations.cycles[loop].tolist()
        return dict(zip(joints, wrench, strict=True))

    def extra(self, system: System, choice: Choice, length: float) -> FloatArray:
        """Return the new freedoms (n_removed, 6), (length * angular, linear), of unit size."""
        j = choice.joint
        freedoms = choice.relaxation.extra_at(
            system.joint_types[j], self.motion.rotation[j], self.motion.translation[j]
        )
        scaled = freedoms * ([length] * 3 + [1.0] * 3)
        return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def pose_at(system: System, state: State, dynamics: ForwardDynamics | None = None) -> Pose:
    """Return what choices are made by at a consistent state."""
    dynamics = dynamics or ForwardDynamics(system, state, reactions="basic")
    subspace = dynamics.evaluate(state).constraint.subspace
    axes, origin = joint_frames(system, state)[1]
    motion = joint_motion(system, state)
    circulating = reactions.circulations(system, state, subspace)
    return Pose(dynamics, state, motion, axes, origin, circulating)


def least_singular_value(work: FloatArray) -> float:
    """Return the least singular value of a matrix with no more rows than columns; 0 without any.

    Rounding can leave a replacement without freedoms of its own, and what is infinite does no work.
    """
    if work.size == 0 or not np.isfinite(work).all():
        return 0.0
    return float(np.linalg.svd(work, compute_uv=False)[-1])


def choose_in_loop(system: System, loop: int, own: IntArray, poses: list[Pose]) -> list[Choices]:
    """Return choices, the best first; each takes all that circulates in the loop, at all poses.

    `own` (n,) are joints of the loop that may be replaced.
    """
    size = int(poses[-1].circulations.dimension[loop])
    if any(int(pose.circulations.dimension[loop]) != size for pose in poses):
        return []
    wrenches = [pose.wrenches(loop) for pose in poses]
    for n, varies in ((1, False), (1, True), (2, False), (2, True)):
        works = []
        for j in own[:MOST_JOINTS].tolist():
            for relaxation in relaxations(system.joint_types[j]):
                suits = relaxation.n_removed == size if n == 1 else relaxation.n_removed < size
                if suits and (varies or relaxation.extra is not None):
                    choice = Choice(j, relaxation)
                    work = [  # of new freedoms on what circulates (n_removed, dimension)
                        pose.extra(system, choice, float(pose.circulations.length[loop]))
                        @ wrench[j]
                        for pose, wrench in zip(poses, wrenches, strict=True)
                    ]
                    works.append((choice, work))
        choices = _together(works, n, size)
        if choices:
            return choices
    return []


def _together(works: list[tuple[Choice, list[FloatArray]]], n: int, size: int) -> list[Choices]:
    """Return the choices of n joints that take all that circulates, of dimension `size`."""
    ranked: list[tuple[float, Choices]] = []
    for group in combinations(works, n):
        choices = [choice for choice, _ in group]
        if sum(choice.relaxation.n_removed for choice in choices) != size:
            continue
        if len({choice.joint for choice in choices}) < n:
            continue
        at_poses = zip(*(work for _, work in group), strict=True)
        sigma = min(least_singular_value(np.concatenate(parts)) for parts in at_poses)
        if sigma > LEAST_SINGULAR_VALUE:
            ranked.append((sigma, choices))
    best = max((sigma for sigma, _ in ranked), default=0.0)
    ranked.sort(key=lambda item: item[0] < EQUIVALENT_SHARE * best)
    return [choices for _, choices in ranked[:MOST_CHOICES]]


def choose_in_cluster(
    system: System, joints: IntArray, free: BoolArray, size: int, pose: Pose
) -> list[Choices]:
    """Return one or two choices, which may leave a rest; none where it would take too long.

    Each replacement has to take wrenches that earlier ones have left. The second choice prefers the
    last joints among equal ones. `joints` (n,): of a biconnected component. `free` (n_joints,):
    joints that may be replaced. `size`: redundant rows of the component.
    """
    if size > MOST_REDUNDANT:
        return []
    constraint = pose.dynamics.evaluate(pose.state).constraint
    null = reactions.null_wrenches(pose.dynamics, constraint, joints, np.eye)
    n_vectors = null.shape[2]
    null = np.linalg.qr(null.reshape(-1, n_vectors))[0].reshape(null.shape)
    lengths = reactions.joint_sizes(system)

    def greedy(order: IntArray, may_remove: bool) -> Choices:
        """Choose until nothing is left; of those that save most rows, that of largest sigma first.

        sigma is the least singular value of a choice's work on the remaining wrenches. It can only
        decrease, so that it is computed again only for the choice that comes first: Minoux (1978),
        on accelerated greedy algorithms.
        """
        wrench, remaining, taken = null.copy(), size, dict[int, Choice]()
        flat = wrench.reshape(-1, n_vectors)  # the same memory
        for n_removed in range(6, 0, -1):
            waiting = [
                (-1.0, slot, k, Choice(j, relaxation))
                for slot, j in enumerate(joints[order].tolist())
                for k, relaxation in enumerate(relaxations(system.joint_types[j]))
                if free[j]
                and relaxation.n_removed == n_removed
                and (may_remove or relaxation.new is not None)
            ]
            while waiting and n_removed <= remaining:
                _, slot, k, choice = heappop(waiting)
                if choice.joint in taken:
                    continue
                work = (
                    pose.extra(system, choice, float(lengths[choice.joint])) @ wrench[order[slot]]
                )
                sigma = least_singular_value(work)
                if sigma < LEAST_WORK:
                    continue
                again = (-round(sigma, 2), slot, k, choice)
                if waiting and again[:3] > waiting[0][:3]:
                    heappush(waiting, again)
                    continue
                taken[choice.joint] = choice
                right = np.linalg.svd(work, full_matrices=False)[2]
                flat -= (flat @ right.T) @ right
                remaining -= n_removed
        return list(taken.values())

    def n_removed(choices: Choices) -> int:
        return sum(choice.relaxation.n_removed for choice in choices)

    order, best = np.arange(len(joints)), list[Choices]()
    for may_remove in (False, True):
        best += [greedy(sequence, may_remove) for sequence in (order, order[::-1])]
        best.sort(key=lambda choices: (size - n_removed(choices), len(choices)))
        if size > MOST_REMOVAL_ROWS and n_removed(best[0]) == size:
            break
    return best[:2]


def choices_by_loop(
    system: System, report: reactions.ReactionReport, poses: list[Pose]
) -> Iterator[LoopAdvice]:
    """Yield the choices of all loops, then those of clusters of loops.

    Biconnected components become clusters where loops share redundancy, or where a loop finds no
    choice by itself; those too large for that keep what their loops have found.
    """
    cycles, dimension = report.circulations.cycles, report.circulations.dimension
    is_small = report.component_dimension <= MOST_REDUNDANT
    is_cluster = (report.shared_dimension > 0) & is_small
    choices_of = {}
    free = np.ones(system.n_joints, dtype=bool)
    free[system.coordinates.joint] = False  # drives and forces use them
    in_earlier = np.zeros(system.n_joints, dtype=bool)
    is_redundant = dimension[cycles.cycle] > 0
    n_loops = np.bincount(cycles.edge[is_redundant], minlength=system.n_joints)
    for loop in report.redundant_loops.tolist():
        joints = cycles[loop]
        own = joints[free[joints] & ~in_earlier[joints]]
        own = own[np.argsort(n_loops[own], kind="stable")]  # those in no other loop first
        in_earlier[joints] = True
        component = report.component[joints[0]]
        if not is_cluster[component]:
            choices_of[loop] = choose_in_loop(system, loop, own, poses)
            is_cluster[component] = is_small[component] and not choices_of[loop]
    for loop, choices in choices_of.items():
        if not is_cluster[report.component[cycles[loop][0]]]:
            yield _loop_advice(system, cycles[loop], 1, int(dimension[loop]), choices)
    of_loop = report.component[cycles.edge[cycles.start[:-1]]]
    for c in np.flatnonzero(is_cluster | (report.shared_dimension > 0)):
        joints, n = np.flatnonzero(report.component == c), int(np.count_nonzero(of_loop == c))
        if is_cluster[c]:
            size = int(report.component_dimension[c])
            choices = choose_in_cluster(system, joints, free, size, poses[-1])
            yield _loop_advice(system, joints, n, size, choices)
        else:
            yield _loop_advice(system, joints, n, int(report.shared_dimension[c]), None)


def _loop_advice(
    system: System, joints: IntArray, loops: int, redundant: int, choices: list[Choices] | None
) -> LoopAdvice:
    """Return choices by the names of joints; None where they are too many to be looked at."""
    names, types = system.joint_names, system.joint_types
    replacements = tuple(
        tuple(Replacement(names[j], types[j], r.new, r.turn, r.n_removed) for j, r in together)
        for together in choices or ()
        if together
    )
    advice = LoopAdvice(tuple(names[int(j)] for j in joints), loops, redundant, replacements)
    if not advice.remaining:
        return advice
    if choices is None:
        return replace(advice, tried=(TOO_LARGE,))
    tried = []
    for j in joints.tolist():
        others = {f"{r.name} (-{r.n_removed})": None for r in relaxations(types[j])}
        tried.append(f"{types[j].name} {names[j]!r}: {', '.join(others)}")
    return replace(advice, tried=tuple(tried))
