"""Properties of mechanisms with loops. Featherstone (2008), sec. 8.10 and fig. 8.2.

Mobility and redundancy in a pose, whether they differ nearby, and whether the independent
coordinates determine the configuration.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.equations.inverse import Freedom
from sparsebody.errors import AssemblyError, ModelError
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.model.system import State
from sparsebody.tolerances import (
    CONFIGURATION_CLOSURE,
    DEPENDENT_DIRECTION,
    POSE_TOLERANCE,
    POSITION_ROUNDING,
)
from sparsebody.tree import loops_projection, recursions
from sparsebody.tree.loop_constraints import LoopClusters, loop_clusters, loop_equations
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.spanning_tree import FIRST_SCALAR, N_SURPLUS, SpanningTree


@dataclass(frozen=True)
class LoopProperties:
    """Counts of a mechanism at one pose; a prescribed motion is no freedom."""

    freedoms: int  # n, of the spanning tree
    loops: int  # N_L, loop joints with constraints
    constraints: int  # n^c, rows of K
    rank: int  # r of K

    @property
    def mobility(self) -> int:
        """Mobility n - r. Featherstone (2008), eq. (8.52)."""
        return self.freedoms - self.rank

    @property
    def overconstraint(self) -> int:
        """n^c - r: redundant constraints, and constraint forces that are not determined."""
        return self.constraints - self.rank

    @property
    def is_properly_constrained(self) -> bool:
        """Whether r = n^c."""
        return self.overconstraint == 0


def loop_properties(clusters: LoopClusters, rank: int) -> LoopProperties:
    """Return the counts, given the rank of K; see loop_rank."""
    freedoms = clusters.tree.n_velocities - len(clusters.tree.prescribed.velocity)
    return LoopProperties(freedoms, len(clusters.loop), clusters.n_rows, rank)


def loop_rank(tree: SpanningTree, state: State, clusters: LoopClusters | None = None) -> int:
    """Return the rank of K at a state."""
    return int(loops_projection.explicit_at(TreeProblem(tree, state), clusters).rank.sum())


def rank_of_loops(tree: SpanningTree, rank_of_all: int) -> int:
    """Return the rank of K, given that of all rows: those of tree joints are independent."""
    return rank_of_all - (tree.system.n_rows - len(tree.loop_rows))


def nearby_mobilities(
    tree: SpanningTree, state: State, *, step: float = 0.02, tries: int = 8, seed: int = 0
) -> tuple[int, ...]:
    """Return the mobilities found in poses close to a consistent one, in ascending order.

    The mechanism is moved `tries` times along random motions, by at most `step` per coordinate, in
    units 1/sqrt(H_kk) scaled to root mean square one, and its loops are closed again: a few degrees
    of a revolute joint, far beyond the tolerances and near enough to close. If a mobility found
    differs from that at `state`, the pose is singular; which of several branches are found is a
    matter of chance.
    """
    clusters, rng, mobilities = loop_clusters(tree), np.random.default_rng(seed), set()
    explicit = loops_projection.explicit_at(TreeProblem(tree, state), clusters)
    size = explicit.weight / np.sqrt(np.mean(explicit.weight**2))
    for _ in range(tries):
        change = explicit.G @ rng.normal(size=len(explicit.independent))
        change[tree.prescribed.velocity] = 0.0
        largest = np.abs(change / size).max(initial=0.0)
        if largest == 0.0:
            break
        try:
            near = consistent_state(tree.system, displaced_by(tree, state, step / largest * change))
        except AssemblyError:
            continue
        mobilities.add(loop_properties(clusters, loop_rank(tree, near, clusters)).mobility)
    return tuple(sorted(mobilities))


def displaced_by(tree: SpanningTree, state: State, change: FloatArray) -> State:
    """Return the state at rest after small changes (n_velocities,) of the tree's coordinates."""
    state = state.with_(velocity=np.zeros_like(state.velocity))
    motion = TreeProblem(tree, state).motion
    of_links = recursions.link_accelerations(tree, motion, change)  # at rest, J change
    return displaced(state, recursions.body_accelerations(tree, motion, of_links))


MOST_STEPS = 50  # of Gauss and Newton: a step halves the error at least, or the search is lost
LONGEST_STEP = 0.5  # [rad], or of the typical length: loops are nonlinear in sines of angles


def assemblies(
    tree: SpanningTree,
    state: State,
    *,
    independent: Iterable[Freedom] = (),
    tries: int = 20,
    seed: int = 0,
) -> list[State]:
    """Return configurations with the same independent coordinates, that of `state` first.

    `state` is consistent. From `tries` random values of the dependent coordinates, loops are closed
    by Gauss-Newton steps; no configuration is listed twice. A search, not a proof that there is no
    other. `independent`: as in LoopsProjection; default: those that Gaussian elimination chooses at
    this state. Lengths are compared with the mechanism's typical length.

    Raises ModelError if the coordinates given depend on each other or leave freedoms open at this
    state, or if one is not a position by itself, such as those of a spherical joint.
    """
    search, rng = _Configurations(tree, state, list(independent)), np.random.default_rng(seed)
    at_rest = state.with_(velocity=np.zeros_like(state.velocity))
    q, states = recursions.joint_coordinates(tree, at_rest)[0], [at_rest]
    for _ in range(tries if not search.is_fixed.all() else 0):
        trial = search.closed(search.shuffled(q, rng))
        if trial is not None and not any(search.is_same(trial, other) for other in states):
            states.append(trial)
    return states


class _Configurations:
    """Coordinates that are fixed at a state, and configurations that have them."""

    def __init__(self, tree: SpanningTree, state: State, independent: list[Freedom]) -> None:
        chosen = loops_projection.LoopsProjection(tree.system, tree, independent=independent)
        self.tree, self.clusters, self.length = tree, chosen.clusters, tree.system.typical_length
        self.is_fixed = np.zeros(tree.n_velocities, dtype=bool)
        self.is_fixed[chosen.explicit_at(state).independent] = True
        in_loop = self.clusters.layout.local >= 0
        open_ones = np.flatnonzero(self.is_fixed & in_loop & ~chosen.is_required)
        if independent and len(open_ones):
            names = ", ".join(tree.velocity_name(int(k)) for k in open_ones)
            raise ModelError(f"the independent coordinates given leave {names} open; give more")
        joint = np.repeat(np.arange(tree.n_bodies), tree.freedoms)
        local, kind = np.arange(tree.n_velocities) - tree.first_velocity[joint], tree.kind[joint]
        # (n_velocities,) index in q of the scalar position whose rate is this velocity; meaningless
        # for rotations of a quaternion
        self.position = tree.first_position[joint] + N_SURPLUS[kind] + local
        fixed = np.flatnonzero(self.is_fixed & in_loop)
        is_scalar = (local >= FIRST_SCALAR[kind])[fixed]
        if not is_scalar.all():
            raise ModelError(
                f"{tree.velocity_name(int(fixed[np.argmin(is_scalar)]))} is no position by itself; "
                "choose other independent coordinates"
            )
        self.has_fixed_position = np.repeat(
            self.clusters.joint_cluster < 0, np.diff(tree.first_position)
        )
        self.has_fixed_position[self.position[fixed]] = True

    def shuffled(self, q: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return q with random values of all coordinates that are not fixed."""
        tree, original, q, free = self.tree, q, q.copy(), np.flatnonzero(~self.is_fixed)
        joint = np.searchsorted(tree.first_velocity, free, side="right") - 1
        has_quaternion = N_SURPLUS[tree.kind[joint]] > 0
        scalars = self.position[free[~has_quaternion]]
        q[scalars] += rng.uniform(-np.pi, np.pi, size=len(scalars))
        for i in np.unique(joint[has_quaternion]):
            first, last = tree.first_position[i : i + 2]
            turn = rng.normal(size=4)
            q[first : first + 4] = turn / np.linalg.norm(turn)
            q[first + 4 : last] += self.length * rng.normal(size=last - first - 4)
        q[self.has_fixed_position] = original[self.has_fixed_position]
        return q

    def closed(self, q: FloatArray) -> State | None:
        """Return the state with closed loops that Gauss-Newton steps lead to, None if to none.

        K dq = -delta in the sense of least squares, with lengths in units of the typical one.
        """
        tree, is_free, keep = self.tree, ~self.is_fixed, self.has_fixed_position
        fixed, at_rest = q[keep], np.zeros(tree.n_velocities)
        state = recursions.tree_state(tree, q, at_rest)
        for _ in range(MOST_STEPS):
            problem, row = TreeProblem(tree, state), self.clusters.row
            row_unit = _units(problem.constraint.subspace[row], self.length)
            error = problem.position_error[row] / row_unit
            rounding = POSITION_ROUNDING * np.abs(state.position).max() / self.length
            if np.abs(error).max(initial=0.0) < max(CONFIGURATION_CLOSURE, rounding):
                return state if self._is_closed(problem) else None
            unit = _units(problem.motion.subspace[is_free], self.length)
            K = loop_equations(problem, self.clusters).matrix[:, is_free]
            step = np.linalg.lstsq(K * unit / row_unit[:, None], -error, DEPENDENT_DIRECTION)[0]
            step *= LONGEST_STEP / max(np.abs(step).max(), LONGEST_STEP)
            change = at_rest.copy()
            change[is_free] = unit * step
            q = recursions.joint_coordinates(tree, displaced_by(tree, state, change))[0]
            q[keep] = fixed
            state = recursions.tree_state(tree, q, at_rest)
        return None

    def is_same(self, one: State, other: State) -> bool:
        """Tell whether two configurations differ by POSE_TOLERANCE at most."""
        distance = np.abs(one.position - other.position).max() / self.length
        sign = np.sign(np.einsum("na,na->n", one.orientation, other.orientation))
        chord = np.linalg.norm(one.orientation - sign[:, None] * other.orientation, axis=1).max()
        return bool(max(distance, 2.0 * chord) < POSE_TOLERANCE)  # quaternions turn by half angles

    def _is_closed(self, problem: TreeProblem) -> bool:
        """Return whether the relative pose at each loop joint is one that its type can take.

        Constraint equations also vanish at others, such as a revolute joint turned over.
        """
        motion = problem.joints
        for j in problem.tree.loop_joint:
            joint_type = problem.system.joint_types[int(j)]
            E, r = motion.rotation[j], motion.translation[j]
            if joint_type.n_velocities < 6:
                E_type, r_type = joint_type.pose(joint_type.coordinates(E, r))
                turned, moved = np.abs(E_type - E).max(), np.abs(r_type - r).max() / self.length
                if max(turned, moved) > POSE_TOLERANCE:
                    return False
        return True


def _units(vectors: FloatArray, length: float) -> FloatArray:
    """Return (m,) 1 for rows of S' or T' (m, 6) that are of rotations, a length for the others."""
    return np.where(vectors[:, :3].any(axis=1), 1.0, length)
