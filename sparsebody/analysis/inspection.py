"""Counts, redundancy and choice of solver of a mechanism before it moves."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from sparsebody.analysis.order_comparison import OrderingLine, ordering_lines
from sparsebody.analysis.reactions import ReactionReport, determined_reactions
from sparsebody.dynamics import Formulation, ForwardDynamics, count_mobility, generic_mobility
from sparsebody.dynamics.mobility import GenericMobility, generic_mobility_in_plane
from sparsebody.equations import SystemMotion, consistent_state
from sparsebody.errors import ModelError
from sparsebody.model import Mechanism, State, System
from sparsebody.model.subgroups import Subgroup
from sparsebody.progress import Report, no_report
from sparsebody.tree import LoopsProjection, assemblies, loop_clusters, spanning_tree
from sparsebody.tree.loop_properties import loop_properties, nearby_mobilities, rank_of_loops


@dataclass(frozen=True)
class Inspection:
    """Counts and choices at the consistent initial pose; `to_dict` is what --json prints."""

    name: str
    bodies: int
    joints: int
    joint_types: dict[str, int]
    prescribed: int  # joint coordinates that are given functions of time
    loops: int  # independent cycles of the graph, the world being one node
    mobility: int
    planar: bool  # all bodies move parallel to one plane, and have three freedoms there
    reduced_bodies: dict[str, int]  # with fewer freedoms, by the subgroup about the world
    subgroups: tuple[Subgroup, ...]  # with rows too many
    constraint_rows: int  # those of prescribed coordinates included
    rank: int
    redundant_rows: int
    redundant_joints: dict[str, int]  # left-out rows by joint
    generic: GenericMobility  # what counting alone says
    generic_in_plane: GenericMobility | None  # None unless planar
    certain: bool  # the rank decision shows a clear gap
    redundancy_gap: float | None  # as RankDecision.gap; None without a decision
    redundancy_method: str
    redundancy_doubt: str  # why it is not certain
    initial_error: float  # largest joint error of the pose as given [rad, m]
    initial_error_joint: str | None
    residual: float  # relative, of the accelerations at the start
    dropped_residual: float  # relative, of the rows left out
    condition_number: float  # of the independent rows, scaled to unit norm
    forward_error: float  # of the accelerations, relative, that rounding can cause
    ordering: str
    factorization: str
    predicted_seconds: float
    predicted_megabytes: float
    why: str
    orderings: tuple[OrderingLine, ...]
    closed_loops: ClosedLoops | None  # None for trees
    reactions: ReactionReport  # which reactions are determined
    megabytes: dict[str, list[int]]  # predicted and used by each rank, if ranks share the factors

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dicts; None for what is not finite."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


PARTS = (
    "consistent pose",
    "rank and elimination order",
    "accelerations and their condition",
    "determined reactions",
    "mobility and loops",
)


def inspect_mechanism(
    mechanism: Mechanism | System,
    *,
    ordering: str = "auto",
    factorization: str = "auto",
    reduction: str = "auto",
    report: Report = no_report,
) -> Inspection:
    """Return the counts of a mechanism, its redundancy, and how it would be solved.

    Parameters
    ----------
    mechanism : Mechanism or System
        Looked at in the consistent pose nearest to its initial one.
    ordering, factorization : str
        Names from ORDERINGS and FACTORIZATIONS, or "auto".
    reduction : {"auto", "none"}
        Whether displacement subgroups are looked for.
    report : callable, optional
        report(text, done, all), called before each part of the computation.

    Raises
    ------
    ModelError
        If the mechanism has no body.
    AssemblyError
        If its joints do not close.
    UnknownNameError, MissingDependencyError
        For an ordering or a factorization that is unknown or not installed.
    """
    parts = iter(range(len(PARTS)))

    def begin() -> None:
        report(PARTS[k := next(parts)], k, len(PARTS))

    begin()
    system = mechanism.compile() if isinstance(mechanism, Mechanism) else mechanism
    state = consistent_state(system)
    begin()
    prepare = partial(
        ForwardDynamics,
        system,
        state,
        ordering=ordering,
        reactions="basic",
        formulation=Formulation(reduction=reduction),
    )
    solver = prepare(factorization=factorization)
    dynamics = prepare() if solver.is_krylov else solver  # which decides the rank
    counts = count_mobility(system, dynamics)
    begin()
    solution, condition = solver(state), solver.condition(state)
    begin()
    reactions = determined_reactions(system, state, dynamics=dynamics)
    begin()
    explained: dict[str, Any] = dynamics.explain()
    error = np.abs(SystemMotion(system, system.initial_state).position_error)
    worst = int(np.argmax(error)) if len(error) else None
    redundant = np.sort(system.row_joint[dynamics.redundant_rows]).tolist()
    of_counts = ("bodies", "joints", "loops", "mobility", "constraint_rows", "redundant_rows")
    of_dynamics = ("reduced_bodies", "subgroups", "rank")
    of_choices = ("redundancy_gap", "redundancy_method", "redundancy_doubt")
    of_solver = ("ordering", "factorization", "predicted_seconds", "predicted_megabytes", "why")
    chosen: dict[str, Any] = solver.choice.explain()
    return Inspection(
        name=system.name,
        **{name: getattr(counts, name) for name in of_counts},
        **{name: getattr(dynamics, name) for name in of_dynamics},
        **{name: explained[name] for name in of_choices},
        **{name: chosen[name] for name in of_solver},
        joint_types=dict(Counter(joint_type.name for joint_type in system.joint_types)),
        prescribed=len(system.coordinates.prescribed),
        planar=dynamics.is_planar,
        redundant_joints=dict(Counter(system.joint_names[j] for j in redundant)),
        generic=generic_mobility(system),
        generic_in_plane=(generic_mobility_in_plane(system, state) if dynamics.is_planar else None),
        certain=bool(explained["redundancy_certain"]),
        initial_error=0.0 if worst is None else float(error[worst]),
        initial_error_joint=(
            None if worst is None else system.joint_names[system.row_joint[worst]]
        ),
        residual=float(solution.residual),
        dropped_residual=float(solution.dropped_residual),
        condition_number=condition.kappa,
        forward_error=condition.forward_error,
        orderings=ordering_lines(solver.choice),
        closed_loops=closed_loops(system, state, dynamics.rank),
        reactions=reactions,
        megabytes=explained.get("megabytes", {}),
    )


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, OrderingLine):
        own = value.to_dict()
        return _plain({"name": own["ordering"], "bandwidth": own["scalar_bandwidth"], **own})
    if isinstance(value, (ReactionReport, Subgroup)):
        return _plain(value.to_dict())
    if isinstance(value, (ClosedLoops, GenericMobility)):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


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
    configurations: int | None  # with these independent coordinates the same
    fixed_coordinates: tuple[str, ...]  # "coordinate 0 of joint 'crank-pivot'", for instance


def closed_loops(system: System, state: State, rank: int) -> ClosedLoops | None:
    """Return the properties of the loops at a consistent state, None for trees."""
    clusters = loop_clusters(spanning_tree(system, TREE))
    if len(clusters.loop) == 0:
        return None
    properties = loop_properties(clusters, rank_of_loops(clusters.tree, rank))
    is_small = system.n_bodies <= MOST_BODIES
    nearby = nearby_mobilities(clusters.tree, state) if is_small and properties.mobility else None
    configurations, tree = None, clusters.tree
    fixed_coordinates: tuple[str, ...] = ()
    with suppress(ModelError):  # spherical joints have no coordinates that could be fixed
        if is_small:
            configurations = len(assemblies(tree, state))
            explicit = LoopsProjection(tree.system, tree).explicit_at(state)
            in_loop = (int(k) for k in explicit.independent if clusters.layout.local[k] >= 0)
            fixed_coordinates = tuple(tree.velocity_name(k) for k in in_loop)
    names = ("freedoms", "loops", "constraints", "rank", "overconstraint")
    return ClosedLoops(
        tree=TREE,
        **{name: getattr(properties, name) for name in names},
        clusters=clusters.n_clusters,
        is_properly_constrained=properties.is_properly_constrained,
        nearby_mobilities=nearby,
        is_singular=None if nearby is None else any(n != properties.mobility for n in nearby),
        configurations=configurations,
        fixed_coordinates=fixed_coordinates,
    )
