"""Counts of loops, constraint rows, rank and mobility."""

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import HtmlRepr, IntArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.reductions import Plane, rows_in_plane
from sparsebody.equations.initial_state import consistent_state
from sparsebody.model.subgroups.classes import plane_normals
from sparsebody.model.system import State, System
from sparsebody.sparse.row_choices import generic_bars


@dataclass(frozen=True)
class Mobility(HtmlRepr):
    """Counts of a mechanism at one pose. Featherstone (2008), sec. 8.10."""

    bodies: int
    joints: int
    loops: int  # independent cycles of the body-joint graph, the world being one node
    constraint_rows: int  # those of prescribed coordinates included
    redundant_rows: int
    mobility: int  # freedoms of the bodies less the rank of the constraints


def count_mobility(system: System, dynamics: ForwardDynamics | None = None) -> Mobility:
    """Return the counts with the rank decision of `dynamics`; prescribed rows count as rows.

    By default that is the decision at the initial pose.
    """
    if dynamics is None:
        dynamics = ForwardDynamics(system)
    return Mobility(
        bodies=system.n_bodies,
        joints=system.n_joints,
        loops=count_loops(system),
        constraint_rows=system.n_rows,
        redundant_rows=len(dynamics.redundant_rows),
        mobility=6 * system.n_bodies - dynamics.rank,
    )


def count_loops(system: System) -> int:
    """Return edges - nodes + components of the graph of bodies and joints that have rows."""
    return system.n_loops


@dataclass(frozen=True)
class GenericMobility(HtmlRepr):
    """Counts for joints in general position: a bound of the constraints' rank."""

    freedoms: int  # of a body: 6, or 3 in a plane
    rows: int  # those that act within the plane, where bodies have 3 freedoms
    rank: int
    mobility: int


def generic_mobility(system: System) -> GenericMobility:
    """Return the rank and mobility of the graph with joints in general position.

    A joint of c rows counts as c bars on different lines: exact for revolutes (Tay and Whiteley
    1984), but two spherical joints between the same bodies count as six, not as a revolute.
    Tay (1984), J. Comb. Theory B 36:95; Lee and Streinu (2008), Discrete Math. 308:1425.
    """
    return _generic(system, np.diff(system.first_row), 6)


def generic_mobility_in_plane(system: System, state: State | None = None) -> GenericMobility | None:
    """Return rank and mobility of the graph, in general position in its plane; None in space."""
    normals = plane_normals(system)
    if normals is None:
        return None
    at = consistent_state(system) if state is None else state
    rows = rows_in_plane(Plane(system, normals), at)
    if rows is None:
        return None
    bars = np.bincount(system.row_joint[rows[1] > 0.0], minlength=system.n_joints)
    return _generic(system, bars, 3)


def _generic(system: System, bars: IntArray, freedoms: int) -> GenericMobility:
    """Return the counts of `bars` (n_joints,) by the pebble game. Lee and Streinu (2008)."""
    rank = int(generic_bars(system.ends, bars, system.n_bodies, freedoms).sum())
    return GenericMobility(freedoms, int(bars.sum()), rank, freedoms * system.n_bodies - rank)
