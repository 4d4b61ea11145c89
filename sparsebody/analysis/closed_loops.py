"""What closed loops do to a mechanism: redundancy, variable mobility, ambiguity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.analysis.null_space import joint_sizes
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError
from sparsebody.kinematics.joint_motion import joint_motion
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State, System
from sparsebody.tolerances import JOINT_SPEED_TOLERANCE, NEARBY_CLOSURE
from sparsebody.tree.loop_constraints import LoopClusters, loop_clusters
from sparsebody.tree.loop_properties import (
    assemblies,
    loop_properties,
    nearby_mobilities,
    rank_of_loops,
)
from sparsebody.tree.loops_projection import LoopsProjection
from sparsebody.tree.tree_choice import spanning_tree

TURN = 0.1  # [rad], and as a share of the sizes of the joints
MOST_STEPS = 10


def moving_state(dynamics: ForwardDynamics, state: State, seed: int = 0) -> State:
    """Return the state with a random velocity that the joints allow, of size one in the joints.

    Largest of relative angular velocities [rad/s] and of linear ones by the joints' sizes.
    """
    system = dynamics.system
    drawn = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    sizes = joint_sizes(system)
    drawn[:, 3:] *= float(np.median(sizes)) if len(sizes) else 1.0
    moving = state.with_(velocity=drawn)
    for _ in range(2):
        change = dynamics.evaluate(moving).velocity_correction()
        moving = moving.with_(velocity=moving.velocity + change)
    before = _joint_speed(dynamics, state.with_(velocity=drawn))
    after = _joint_speed(dynamics, moving)
    if after <= JOINT_SPEED_TOLERANCE * before:
        return state.with_(velocity=np.zeros_like(state.velocity))
    return moving.with_(velocity=moving.velocity / after)


def nearby_state(dynamics: ForwardDynamics, state: State, seed: int = 0) -> State:
    """Return a state some way along a random motion, with joints closed and no velocity."""
    moving = moving_state(dynamics, state, seed)
    there = displaced(moving, TURN * moving.velocity)
    there = there.with_(velocity=np.zeros_like(there.velocity))
    goal = NEARBY_CLOSURE * min(1.0, float(joint_sizes(dynamics.system).min(initial=1.0)))
    for _ in range(MOST_STEPS):
        evaluation = dynamics.evaluate(there)
        if float(np.abs(evaluation.position_error).max(initial=0.0)) <= goal:
            return there
        there = displaced(there, evaluation.position_correction())
    return consistent_state(dynamics.system, there)


def _joint_speed(dynamics: ForwardDynamics, state: State) -> float:
    """Return the largest relative velocity at a joint, or of a body without joints."""
    system = dynamics.system
    if not system.n_joints:
        return float(np.abs(state.velocity).max(initial=0.0))
    velocity = joint_motion(system, state).velocity.copy()
    velocity[:, 3:] /= joint_sizes(system)[:, None]
    return float(np.abs(velocity).max(initial=0.0))


TREE = "breadth-first"  # takes linear time
MOST_BODIES = 60  # for which neighbouring and other configurations are looked for


@dataclass(frozen=True)
class ClosedLoops:
    """Properties of Featherstone (2008), sec. 8.10; None for what was not looked for."""

    tree: str  # how the spanning tree was chosen
    freedoms: int  # n, of the tree, without what drives prescribe
    loops: int  # loop joints with constraints
    clusters: int  # minimal clusters of loops that share joints
    constraints: int  # n^c, of the loop joints
    rank: int  # r of these constraints
    overconstraint: int  # n^c - r
    is_properly_constrained: bool
    nearby_mobilities: tuple[int, ...] | None
    is_singular: bool | None  # mobility is another nearby
    configurations: int | None  # found with the same independent coordinates
    held: tuple[str, ...]  # the joints of these


def closed_loops(system: System, state: State, rank: int) -> ClosedLoops | None:
    """Return the properties of the loops at a consistent state, None for trees.

    Parameters
    ----------
    system : System
        The mechanism.
    state : State
        A consistent state.
    rank : int
        Of all its constraint rows.
    """
    clusters = loop_clusters(spanning_tree(system, TREE))
    if len(clusters.loop) == 0:
        return None
    properties = loop_properties(clusters, rank_of_loops(clusters.tree, rank))
    is_small = system.n_bodies <= MOST_BODIES
    nearby = nearby_mobilities(clusters.tree, state) if is_small and properties.mobility else None
    configurations, held = _configurations(clusters, state) if is_small else (None, ())
    return ClosedLoops(
        tree=TREE,
        freedoms=properties.freedoms,
        loops=properties.loops,
        clusters=clusters.n_clusters,
        constraints=properties.constraints,
        rank=properties.rank,
        overconstraint=properties.overconstraint,
        is_properly_constrained=properties.is_properly_constrained,
        nearby_mobilities=nearby,
        is_singular=None if nearby is None else any(n != properties.mobility for n in nearby),
        configurations=configurations,
        held=held,
    )


def _configurations(clusters: LoopClusters, state: State) -> tuple[int | None, tuple[str, ...]]:
    """Return how many there are, and which joints of loops are held; None for those of balls."""
    tree = clusters.tree
    explicit = LoopsProjection(tree.system, tree).explicit_at(state)
    in_loop = [int(k) for k in explicit.independent if clusters.layout.local[k] >= 0]
    try:
        return len(assemblies(tree, state)), tuple(tree.velocity_name(k) for k in in_loop)
    except ModelError:
        return None, ()
