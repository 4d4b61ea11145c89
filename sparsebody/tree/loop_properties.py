"""Properties of mechanisms with loops. Featherstone (2008), sec. 8.10 and fig. 8.2.

Mobility and redundancy in a pose, whether they are others nearby, and whether the independent
coordinates determine the configuration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.equations.initial_state import consistent_state, mechanism_size
from sparsebody.errors import AssemblyError, ModelError
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.model.system import State
from sparsebody.spatial import plucker_parts
from sparsebody.tolerances import CONFIGURATION_CLOSURE, POSE_TOLERANCE
from sparsebody.tree.joint_coordinates import joint_coordinates, tree_state
from sparsebody.tree.loop_constraints import LoopClusters, loop_clusters, loop_equations
from sparsebody.tree.loops_projection import LoopsProjection, explicit_at
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.recursions import body_accelerations, link_accelerations
from sparsebody.tree.spanning_tree import N_POSITIONS, N_SCALARS, N_VELOCITIES, SpanningTree


@dataclass(frozen=True)
class LoopProperties:
    """Counts of a mechanism at one pose; what drives prescribe is no freedom."""

    freedoms: int  # n, of the spanning tree
    loops: int  # N_L, loop joints with constraints
    constraints: int  # n^c, rows of K
    rank: int  # r of K

    @property
    def mobility(self) -> int:
        """N - r. Featherstone (2008), eq. (8.52)."""
        return self.freedoms - self.rank

    @property
    def overconstraint(self) -> int:
        """n^c - r: redundant constraints, and constraint forces that are not determined."""
        return self.constraints - self.rank

    @property
    def is_properly_constrained(self) -> bool:
        """Whether r = n^c."""
        return self.overconstraint == 0

    @property
    def counted_mobility(self) -> int:
        """n_tot - 6 N_L = n - n^c, the mobility were it properly constrained. (8.53)."""
        return self.freedoms - self.constraints


def loop_properties(clusters: LoopClusters, rank: int) -> LoopProperties:
    """Return the counts, given the rank of K; see loop_rank."""
    freedoms = clusters.tree.n_velocities - len(clusters.tree.prescribed.velocity)
    return LoopProperties(freedoms, len(clusters.loop), clusters.n_rows, rank)


def loop_rank(tree: SpanningTree, state: State, clusters: LoopClusters | None = None) -> int:
    """Return the rank of K at a state."""
    return int(explicit_at(TreeProblem(tree, state), clusters).rank.sum())


def rank_of_loops(tree: SpanningTree, rank_of_all: int) -> int:
    """Return the rank of K, given that of all constraint rows of the system.

    Those of tree joints, drives among them, are independent of each other and are as many as the
    freedoms that the tree takes from its bodies, so that K itself is not needed.
    """
    return rank_of_all - (tree.system.n_rows - len(tree.loop_rows))


def nearby_mobilities(
    tree: SpanningTree, state: State, *, step: float = 0.02, tries: int = 8, seed: int = 0
) -> tuple[int, ...]:
    """Return the mobilities found in poses close to one, in ascending order.

    The mechanism is moved along random instantaneous motions, and its loops are closed again.
    Poses whose mobility differs from the one at `state` make that a singular pose; which of them
    are found, of several branches, is a matter of chance.

    `state` is a consistent one, whose velocity plays no role; moves have length `step` [rad, or
    mean lengths of bodies].
    """
    clusters, rng, mobilities = loop_clusters(tree), np.random.default_rng(seed), set()
    explicit = explicit_at(TreeProblem(tree, state), clusters)
    size = explicit.weight / np.sqrt(np.mean(explicit.weight**2))
    for _ in range(tries):
        change = explicit.G @ rng.normal(size=len(explicit.independent))
        change[tree.prescribed.velocity] = 0.0
        largest = np.abs(change / size).max(initial=0.0)
        if largest == 0.0:
            break
        try:
            near = consistent_state(tree.system, moved(tree, state, step / largest * change))
        except AssemblyError:
            continue
        mobilities.add(loop_properties(clusters, loop_rank(tree, near, clusters)).mobility)
    return tuple(sorted(mobilities))


def moved(tree: SpanningTree, state: State, change: FloatArray) -> State:
    """Return the state with velocity coordinates (n_velocities,) acting for unit time.

    To first order, the velocity being zero then.
    """
    state = state.with_(velocity=np.zeros_like(state.velocity))
    motion = TreeProblem(tree, state).motion
    of_links = link_accelerations(tree, motion, change)  # at rest, J change
    return displaced(state, body_accelerations(tree, motion, of_links))


MOST_STEPS = 50
LONGEST_STEP = 0.5  # [rad]


def assemblies(
    tree: SpanningTree,
    state: State,
    *,
    independent: Iterable[str | tuple[str, int]] = (),
    tries: int = 20,
    seed: int = 0,
) -> list[State]:
    """Return configurations with the same independent coordinates, the given one first.

    From random values of the dependent coordinates, loops are closed by Gauss-Newton steps; what
    appears several times is listed once. A search, not a proof that there is no other.

    Parameters
    ----------
    tree : SpanningTree
        A spanning tree.
    state : State
        A consistent state; its velocity plays no role.
    independent : iterable of str or (str, int)
        As in LoopsProjection; default: those that Gaussian elimination chooses here.
    tries : int
        Number of starting points.
    seed : int
        Of the random numbers.

    Raises
    ------
    ModelError
        If the coordinates given depend on each other or leave freedoms open at this state, or if
        one is not a position by itself, such as those of a spherical joint.
    """
    clusters, rng = loop_clusters(tree), np.random.default_rng(seed)
    is_fixed = _independent(tree, state, list(independent))
    fixed = _fixed_positions(clusters, is_fixed)
    at_rest = state.with_(velocity=np.zeros_like(state.velocity))
    q = joint_coordinates(tree, at_rest)[0]
    states, length = [at_rest], mechanism_size(tree.system)
    for _ in range(tries if not is_fixed.all() else 0):
        start = _shuffled(tree, q, is_fixed, length, rng)
        trial = _closed(clusters, start, is_fixed, fixed, length)
        if trial is not None and not any(_is_same(trial, other, length) for other in states):
            states.append(trial)
    return states


def _independent(tree: SpanningTree, state: State, given: list[str | tuple[str, int]]) -> BoolArray:
    """Return which velocity coordinates (n_velocities,) are fixed."""
    chosen = LoopsProjection(tree.system, tree, independent=given)
    explicit = chosen.explicit_at(state)
    is_fixed = np.zeros(tree.n_velocities, dtype=bool)
    is_fixed[explicit.independent] = True
    in_loop = explicit.clusters.layout.local >= 0
    more = np.flatnonzero(is_fixed & in_loop & ~chosen.is_given)
    if given and len(more):
        names = ", ".join(tree.velocity_name(int(k)) for k in more)
        raise ModelError(f"the independent coordinates given leave {names} open; give more")
    return is_fixed


def _fixed_positions(clusters: LoopClusters, is_fixed: BoolArray) -> BoolArray:
    """Return which positions (n_positions,) are fixed, with those of all joints of no loop."""
    tree, in_loop = clusters.tree, clusters.layout.local >= 0
    position, is_scalar = _position_of_velocity(tree)
    own = np.flatnonzero(is_fixed & in_loop)
    if not is_scalar[own].all():
        raise ModelError(
            f"{tree.velocity_name(int(own[np.argmin(is_scalar[own])]))} is no position by itself; "
            "choose other independent coordinates"
        )
    fixed = np.repeat(clusters.joint_cluster < 0, np.diff(tree.first_position))
    fixed[position[own]] = True
    return fixed


def _position_of_velocity(tree: SpanningTree) -> tuple[IntArray, BoolArray]:
    """Return the position (n_velocities,) beside each velocity, and whether this is its rate."""
    joint = np.repeat(np.arange(tree.n_bodies), tree.freedoms)
    local, kind = np.arange(tree.n_velocities) - tree.first_velocity[joint], tree.kind[joint]
    position = tree.first_position[joint] + (N_POSITIONS - N_VELOCITIES)[kind] + local
    return position, local >= (N_VELOCITIES - N_SCALARS)[kind]


def _shuffled(
    tree: SpanningTree,
    q: FloatArray,
    is_fixed: BoolArray,
    length: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Return q with random values of all joints that are not fixed."""
    q, position, free = q.copy(), _position_of_velocity(tree)[0], np.flatnonzero(~is_fixed)
    joint = np.searchsorted(tree.first_velocity, free, side="right") - 1
    has_quaternion = (N_POSITIONS > N_VELOCITIES)[tree.kind[joint]]
    scalars = position[free[~has_quaternion]]
    q[scalars] += rng.uniform(-np.pi, np.pi, size=len(scalars))
    for i in np.unique(joint[has_quaternion]):
        first, last = tree.first_position[i : i + 2]
        turn = rng.normal(size=4)
        q[first : first + 4] = turn / np.linalg.norm(turn)
        q[first + 4 : last] += length * rng.normal(size=last - first - 4)
    return q


def _closed(
    clusters: LoopClusters, q: FloatArray, is_fixed: BoolArray, fixed: BoolArray, length: float
) -> State | None:
    """Return the state with closed loops that Gauss-Newton steps lead to, None if to none."""
    tree = clusters.tree
    fixed_q, nothing = q[fixed], np.zeros(tree.n_velocities)
    state = tree_state(tree, q, nothing)
    for _ in range(MOST_STEPS):
        problem = TreeProblem(tree, state)
        error = problem.position_error[clusters.row]
        if np.abs(error).max(initial=0.0) < CONFIGURATION_CLOSURE * max(length, 1.0):
            return state if _are_closed(problem) else None
        K = loop_equations(problem, clusters).matrix[:, ~is_fixed]
        change = nothing.copy()
        change[~is_fixed] = np.linalg.lstsq(K, -error, rcond=1e-8)[0]
        change *= min(1.0, LONGEST_STEP / np.abs(change).max())
        q = joint_coordinates(tree, moved(tree, state, change))[0]
        q[fixed] = fixed_q
        state = tree_state(tree, q, nothing)
    return None


def _are_closed(problem: TreeProblem) -> bool:
    """Return whether the poses at the loop joints are poses of such joints.

    A revolute joint turned upside down has no position error to first order, for example.
    """
    motion = problem.joints
    for j in problem.tree.loop_joint:
        joint_type = problem.system.joint_types[int(j)]
        E, r = motion.rotation[j], motion.translation[j]
        if joint_type.n_velocities < 6:
            own_E, own_r = plucker_parts(joint_type.transform(joint_type.coordinates(E, r)))
            if np.abs(own_E - E).max() > POSE_TOLERANCE or np.abs(own_r - r).max() > POSE_TOLERANCE:
                return False
    return True


def _is_same(one: State, other: State, length: float) -> bool:
    far = np.abs(one.position - other.position).max()
    turned = 1.0 - np.abs(np.einsum("na,na->n", one.orientation, other.orientation)).min()
    return bool(far < POSE_TOLERANCE * max(length, 1.0) and turned < POSE_TOLERANCE**2 + 1e-12)
