"""Outlines of mechanisms: lines, solids and joints, each point fixed in a body."""

from dataclasses import dataclass
from itertools import pairwise, product
from math import comb

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model import ConstantDistance, Mechanism, State, System
from sparsebody.model.bodies import Box, Cylinder, Mesh, Polyline, Solid, solids_of

_ALONG = np.linspace(0.0, 1.0, 17)[:, None]
_BERNSTEIN = np.hstack([comb(3, k) * _ALONG**k * (1.0 - _ALONG) ** (3 - k) for k in range(4)])
_CIRCLE = np.linspace(0.0, 2.0 * np.pi, 25)
_BOX_EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if (a ^ b) in (1, 2, 4)]


@dataclass(frozen=True, eq=False)
class Points:
    """Points fixed in bodies: from the center of mass in body axes, in the world for body -1."""

    body: IntArray  # (n,)
    local: FloatArray  # (n, 3) [m]

    def at(self, state: State) -> FloatArray:
        """Return where the points are in the world (n, 3) [m]."""
        fixed = self.body < 0
        rotated = np.einsum("nij,nj->ni", body_rotations(state)[self.body], self.local)
        return np.where(fixed[:, None], self.local, state.position[self.body] + rotated)


@dataclass(frozen=True, eq=False)
class Outline:
    """The picture of a mechanism, to be placed at any state."""

    lines: Points  # (2 n_lines) ends of straight lines
    is_edge: BoolArray  # (n_lines,) an edge of a solid, drawn only in three dimensions
    solids: tuple[Points, ...]  # corners of solids, drawn as their hull in the plane
    joints: Points  # (n_joints,) origins on the successors
    grounded: BoolArray  # (n_joints,) connects to the world
    links: Points  # (2 n_links) ends of rods and springs between bodies
    beams: Points  # (4 n_beams) control points of Bezier curves
    centers: Points  # (n_bodies,)

    def beam_curves(self, state: State) -> FloatArray:
        """Return points (n_beams, k, 3) along the bent beams, cubics of Euler-Bernoulli theory."""
        return np.asarray(_BERNSTEIN @ self.beams.at(state).reshape(-1, 4, 3))


def mechanism_outline(mechanism: Mechanism, system: System) -> Outline:
    """Return the outline: the shapes that bodies carry, or lines between their joints."""
    lines: list[tuple[int, FloatArray, bool]] = []
    solids: list[Points] = []
    ends_on, points = system.attachments
    last = np.cumsum(np.bincount(ends_on, minlength=system.n_bodies))
    on_body = np.split(points[np.argsort(ends_on, kind="stable")], last[:-1])
    for i, body in enumerate(map(mechanism.body, system.body_names)):
        if body.shape is None:
            joints = list(on_body[i])  # a line from joint to joint, or from the center to each
            stars = [joints] if len(joints) == 2 else [[np.zeros(3), point] for point in joints]
            lines += [(i, np.stack(ends), False) for ends in stars]
            continue
        if isinstance(body.shape, Polyline):
            points = np.asarray(body.shape.points) - system.center_of_mass[i]
            lines += [(i, np.stack(pair), False) for pair in pairwise(points)]
        for solid in solids_of(body.shape):
            ends = _edges(solid) - system.center_of_mass[i]
            lines += [(i, pair, True) for pair in ends]
            corners = ends.reshape(-1, 3)
            solids.append(Points(np.full(len(corners), i, dtype=np.intp), corners))
    beam_bodies, beam_points, _ = system.elastic.beam_curves
    body_of = np.repeat(np.array([i for i, _, _ in lines], dtype=np.intp), 2)
    return Outline(
        lines=Points(body_of, np.concatenate([np.zeros((0, 3)), *(ends for _, ends, _ in lines)])),
        is_edge=np.array([edge for _, _, edge in lines], dtype=bool),
        solids=tuple(solids),
        joints=joint_points(system),
        grounded=(system.predecessor < 0) | (system.successor < 0),
        links=_links(system),
        beams=Points(np.repeat(beam_bodies.ravel(), 2), beam_points.reshape(-1, 3)),
        centers=Points(np.arange(system.n_bodies, dtype=np.intp), np.zeros((system.n_bodies, 3))),
    )


def _edges(shape: Solid) -> FloatArray:
    """Return the edges (n, 2, 3) of a solid, or of a mesh's box, in the user's body frame."""
    if isinstance(shape, Box | Mesh):
        low, high = shape.bounds if isinstance(shape, Mesh) else np.outer([-0.5, 0.5], shape.sides)
        corners = np.where(np.array(list(product((False, True), repeat=3))), high, low)
        local = np.array([[corners[a], corners[b]] for a, b in _BOX_EDGES])
    elif isinstance(shape, Cylinder):
        below, above = (_ring(shape.radius, 2, half * shape.length) for half in (-0.5, 0.5))
        sides = np.stack([below[::6, 0], above[::6, 0]], axis=1)
        local = np.concatenate([below, above, sides])
    else:
        local = np.concatenate([_ring(shape.radius, axis) for axis in range(3)])
    return np.asarray(local @ shape.frame.rotation.T + shape.frame.origin)


def _ring(radius: float, axis: int, height: float = 0.0) -> FloatArray:
    """Return the edges of a circle about a coordinate axis."""
    points = np.zeros((len(_CIRCLE), 3))
    points[:, (axis + 1) % 3] = radius * np.cos(_CIRCLE)
    points[:, (axis + 2) % 3] = radius * np.sin(_CIRCLE)
    points[:, axis] = height
    return np.stack(list(pairwise(points)))


def joint_points(system: System) -> Points:
    """Return the origins on the successors, or on the predecessor where that is the world."""
    on_world = system.successor < 0
    local = np.where(on_world[:, None], system.predecessor_point, system.successor_point)
    return Points(np.where(on_world, system.predecessor, system.successor), local)


def _links(system: System) -> Points:
    """Return the two ends of every massless rod and every point force."""
    is_rod = [isinstance(joint_type, ConstantDistance) for joint_type in system.joint_types]
    rods, forces = np.flatnonzero(is_rod), system.point_forces
    bodies = np.r_[
        np.c_[system.predecessor, system.successor][rods], np.c_[forces.first, forces.second]
    ]
    points = np.r_[
        np.c_[system.predecessor_point, system.successor_point][rods],
        np.c_[forces.first_point, forces.second_point],
    ]
    return Points(bodies.ravel(), points.reshape(-1, 3))
