"""Properties of mechanisms with loops: mobility, ways to close. Featherstone (2008), sec. 8.10.

Mobility and redundancy in a pose, whether they are others nearby, and whether the independent
coordinates determine the configuration.

Featherstone (2008), sec. 8.10 and fig. 8.2(b).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.equations.initial_state import consistent_state, mechanism_size
from sparsebody.errors import AssemblyError, ModelError
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State
from sparsebody.spatial import plucker_parts
from sparsebody.tolerances import CONFIGURATION_CLOSURE, POSE_TOLERANCE
from sparsebody.tree.crba import free_equations
from sparsebody.tree.joint_coordinates import joint_coordinates, tree_state
from sparsebody.tree.loops.loop_clusters import LoopClusters, loop_clusters
from sparsebody.tree.loops.loop_equations import loop_equations
from sparsebody.tree.loops.loops_projection import ExplicitBlocks, LoopsProjection, explicit_blocks
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.spanning_tree import SpanningTree
from sparsebody.tree.tree_motion import body_accelerations, link_accelerations


@dataclass(frozen=True)
class LoopProperties:
    """Counts of a mechanism at one pose; what drives prescribe is no freedom."""

    freedoms: int  # n, of the spanning tree
    loops: int  # N_L, loop joints with constraints
    constraints: int  # n^c, rows of K
    rank: int  # r of K
    loop_freedoms: int  # of the loop joints

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
        """n_tot - 6 N_L, the mobility if the mechanism were properly constrained. (8.53)."""
        return self.freedoms + self.loop_freedoms - 6 * self.loops


def loop_properties(clusters: LoopClusters, rank: int) -> LoopProperties:
    """Return the counts, given the rank of K; see loop_rank."""
    tree = clusters.tree
    loops = len(clusters.loop)
    return LoopProperties(
        freedoms=tree.n_velocities - len(tree.prescribed.velocity),
        loops=loops,
        constraints=clusters.n_rows,
        rank=rank,
        loop_freedoms=6 * loops - clusters.n_rows,
    )


def loop_rank(tree: SpanningTree, state: State, clusters: LoopClusters | None = None) -> int:
    """Return the rank of K at a state."""
    clusters = loop_clusters(tree) if clusters is None else clusters
    return int(_explicit(clusters, state).rank.sum())


def rank_of_loops(tree: SpanningTree, rank_of_all: int) -> int:
    """Return the rank of K, given that of all constraint rows of the system.

    Those of tree joints, drives among them, are independent of each other and are as many as the
    freedoms that the tree takes from its bodies, so that K itself is not needed.
    """
    return rank_of_all - (tree.system.n_rows - len(tree.loop_rows))


def _explicit(clusters: LoopClusters, state: State) -> ExplicitBlocks:
    problem = TreeProblem(clusters.tree, state)
    H, _ = free_equations(problem)
    weight = 1.0 / np.sqrt(H[clusters.tree.pattern.start[1:] - 1])
    return explicit_blocks(loop_equations(problem, clusters), weight)


def nearby_mobilities(
    tree: SpanningTree, state: State, *, step: float = 0.02, tries: int = 8, seed: int = 0
) -> tuple[int, ...]:
    """Return the mobilities found in poses close to one, in ascending order.

    The mechanism is moved along random instantaneous motions, and its loops are closed again.
    Poses whose mobility differs from the one at `state` make that a singular pose; which of them
    are found, of several branches, is a matter of chance.

    Parameters
    ----------
    tree : SpanningTree
        A spanning tree.
    state : State
        A consistent state; its velocity plays no role.
    step : float
        Length of the moves [rad, or mean lengths of bodies].
    tries : int
        How many are made.
    seed : int
        Of the random numbers.
    """
    clusters, rng, mobilities = loop_clusters(tree), np.random.default_rng(seed), set()
    explicit = _explicit(clusters, state)
    is_prescribed = TreeProblem(tree, state).is_prescribed
    size = explicit.weight / np.sqrt(np.mean(explicit.weight**2))
    for _ in range(tries):
        change = explicit.G @ rng.normal(size=len(explicit.independent))
        if len(is_prescribed):
            change[is_prescribed] = 0.0
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
    fixed = _fixed_positions(tree, clusters, is_fixed)
    at_rest = state.with_(velocity=np.zeros_like(state.velocity))
    q = joint_coordinates(tree, at_rest)[0]
    states, length = [at_rest], mechanism_size(tree.system)
    for _ in range(tries if not is_fixed.all() else 0):
        start = _shuffled(tree, q, is_fixed, length, rng)
        trial = _closed(tree, clusters, start, is_fixed, fixed, length)
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


def _fixed_positions(tree: SpanningTree, clusters: LoopClusters, is_fixed: BoolArray) -> IntArray:
    """Return the position coordinates that are fixed, with those of all joints of no loop."""
    fixed: list[int] = []
    for i in range(tree.n_bodies):
        first, own = int(tree.first_position[i]), tree.velocities(i)
        if clusters.joint_cluster[i] < 0:
            fixed.extend(range(*tree.positions(i).indices(tree.n_positions)))
            continue
        scalars = tree.system.joint_types[int(tree.joint[i])].scalar_positions
        shift = int(tree.first_position[i + 1]) - first - (own.stop - own.start)
        for k in np.flatnonzero(is_fixed[own]):
            if int(k) not in scalars:
                raise ModelError(
                    f"{tree.velocity_name(own.start + int(k))} is no position by itself; choose "
                    "other independent coordinates"
                )
            fixed.append(first + shift + int(k))
    return np.array(fixed, dtype=np.intp)


def _shuffled(
    tree: SpanningTree,
    q: FloatArray,
    is_fixed: BoolArray,
    length: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Return q with random values of all joints that are not fixed."""
    q = q.copy()
    for i in range(tree.n_bodies):
        own, first, last = tree.velocities(i), *tree.first_position[i : i + 2]
        free = np.flatnonzero(~is_fixed[own])
        shift = int(last - first) - (own.stop - own.start)
        if len(free) and shift:  # a quaternion comes first
            turn = rng.normal(size=4)
            q[first : first + 4] = turn / np.linalg.norm(turn)
            q[first + 4 : last] += length * rng.normal(size=last - first - 4)
        else:
            q[first + free] += rng.uniform(-np.pi, np.pi, size=len(free))
    return q


def _closed(
    tree: SpanningTree,
    clusters: LoopClusters,
    q: FloatArray,
    is_fixed: BoolArray,
    fixed: IntArray,
    length: float,
) -> State | None:
    """Return the state with closed loops that Gauss-Newton steps lead to, None if to none."""
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
