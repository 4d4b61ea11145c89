"""Properties of mechanisms with loops. Featherstone (2008), sec. 8.10.

Mobility and redundancy in a pose, whether they are others nearby, and whether the independent
coordinates determine the configuration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.equations.initial import consistent_state
from sparsebody.errors import AssemblyError
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State
from sparsebody.tree.crba import free_equations
from sparsebody.tree.loops.elimination import ExplicitBlocks, explicit_blocks
from sparsebody.tree.loops.loop_clusters import LoopClusters, loop_clusters
from sparsebody.tree.loops.loop_equations import loop_equations
from sparsebody.tree.motion import body_accelerations, link_accelerations
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.spanning_tree import SpanningTree


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
