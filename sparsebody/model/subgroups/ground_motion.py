"""Bodies that move within subgroups about the world: the twists that they are left with.

An element of a class is fixed in each of its bodies, so that these twists are constant in body
coordinates: the accelerations lie in the same space as the velocities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.subgroups.classes import Classes, Members
from sparsebody.model.subgroups.displacements import (
    CYLINDER,
    KINDS,
    PLANE,
    RIGID,
    SCHOENFLIES,
    SCREW,
    SLIDE,
    SLIDES,
    SPHERE,
    TRANSLATION,
    TURN,
    find,
    paired,
)

FREE = -1
KEEP_DIRECTIONS = (RIGID, SLIDE, SLIDES, TRANSLATION)
THROUGH_POINT = (TURN, SCREW, CYLINDER, SPHERE)  # integrators of finite order lose this


@dataclass(frozen=True, eq=False)
class GroundMotion:
    """What bodies about the world can do, in their own axes about their centers of mass."""

    kind: IntArray  # (n_bodies,) the smallest subgroup that holds each, FREE for none
    axis: FloatArray  # (n_bodies, 3) direction that keeps its place in the world; 0 for none
    point: FloatArray  # (n_bodies, 3) on it, or the center [m]
    pitch: FloatArray  # (n_bodies,) of screws [m/rad]

    @property
    def freedoms(self) -> IntArray:
        """(n_bodies,) dimension of what each body can do."""
        of_kind = np.array([*(kind.freedoms for kind in KINDS), 6])
        return of_kind[self.kind]

    def counts(self) -> dict[str, int]:
        """Return how many bodies move within each subgroup."""
        kinds, counts = np.unique(self.kind[self.kind != FREE], return_counts=True)
        return {KINDS[k].name: int(n) for k, n in zip(kinds, counts, strict=True)}

    def basis(self) -> FloatArray:
        """Return (n_bodies, 6, 6) twists in the leading columns; the others are zero."""
        basis = np.zeros((len(self.kind), 6, 6))
        z, x = self.axis, self.point
        across = _across(z)
        turn = np.concatenate([z, np.cross(x, z)], axis=1)
        along = np.concatenate([np.zeros_like(z), z], axis=1)
        in_plane = np.concatenate([np.zeros_like(across), across], axis=2)
        unit = np.broadcast_to(np.eye(3), (len(z), 3, 3))
        at_will = np.concatenate([np.zeros_like(unit), unit], axis=2)
        about = np.concatenate([unit, np.cross(x[:, None], unit)], axis=2)
        spin = np.concatenate([z, np.zeros_like(z)], axis=1)
        screw = turn + self.pitch[:, None] * along
        twists = {
            TURN: [turn],
            SLIDE: [along],
            SCREW: [screw],
            SLIDES: [in_plane[:, 0], in_plane[:, 1]],
            CYLINDER: [turn, along],
            SPHERE: [about[:, a] for a in range(3)],
            TRANSLATION: [at_will[:, a] for a in range(3)],
            PLANE: [spin, in_plane[:, 0], in_plane[:, 1]],
            SCHOENFLIES: [spin, *(at_will[:, a] for a in range(3))],
            FREE: [np.tile(row, (len(z), 1)) for row in np.eye(6)],
        }
        for kind, columns in twists.items():
            same = self.kind == kind
            for a, column in enumerate(columns):
                basis[same, :, a] = column[same]
        return basis


def ground_motion(classes: Classes) -> GroundMotion:
    """Return what bodies are left with by the smallest class each that holds the world as well."""
    g, n = classes.geometry, classes.system.n_bodies
    members = Members(classes)
    axis, point = np.zeros((n, 3)), np.zeros((n, 3))
    motion = GroundMotion(np.full(n, FREE, dtype=np.intp), axis, point, np.zeros(n))
    world = g.bodies.label[n]
    motion.kind[g.bodies.label[:n] == world] = RIGID
    grounded = members.parts.of(np.array([world]))
    for kind, forest in enumerate(classes.forests):
        if kind == RIGID:
            continue
        links = forest.links
        at_rest = np.isin(links.part, grounded)
        has_world = np.zeros(forest.n_classes, dtype=bool)
        has_world[forest.label[at_rest]] = True
        element = np.flatnonzero(has_world[forest.label] & ~at_rest)
        which, group = members.groups.pairs(links.part[element])
        element = element[which]
        which, body = members.bodies.pairs(group)
        element = element[which]
        is_new = motion.kind[body] == FREE
        body, first = np.unique(body[is_new], return_index=True)
        if len(body):
            _place(classes, kind, element[is_new][first], body, motion)
            motion.kind[body] = kind
    return motion


def _place(
    classes: Classes, kind: int, element: IntArray, body: IntArray, motion: GroundMotion
) -> None:
    """Fill where the elements of a class are on bodies, by a joint each that shows them."""
    g, s, links = classes.geometry, classes.sliding, classes.forests[kind].links
    flat = np.zeros(len(links.part), dtype=np.intp)
    flat[links.ends.ravel()] = np.arange(links.ends.size)
    side, edge = np.divmod(flat[element], len(links.joint))
    joint = links.joint[edge]
    shown, own = g.group[side, joint], g.bodies.label[body]
    turn = np.swapaxes(s.at_will.rotation[own], 1, 2) @ s.at_will.rotation[shown]
    to_body = np.swapaxes(g.bodies.rotation[body], 1, 2)
    axis = g.rotation[side, joint][:, :, 2]
    if kind in (SPHERE, TRANSLATION):
        direction = np.zeros_like(axis)
    elif kind == SLIDES:
        normal = s.normal[s.planes.keys[element] // s.n_groups]
        direction = np.einsum("kba,kb->ka", s.at_will.rotation[own], normal)
    else:
        direction = np.einsum("kab,kb->ka", turn, axis)
    motion.axis[body] = np.einsum("kab,kb->ka", to_body, direction)
    if kind not in THROUGH_POINT:
        return
    x = g.point[side, joint]
    if links.height is not None:
        x = x + links.height[edge][:, None] * axis
    if kind == CYLINDER and len(s.joint):
        x = _slid(classes, s.directions.label[side, joint], shown, own, x)
    x = np.einsum("kab,kb->ka", to_body, x - g.bodies.offset[body])
    motion.point[body] = x
    if kind == SCREW:
        motion.pitch[body] = classes.system.parameter[joint]


def _slid(
    classes: Classes, direction: IntArray, shown: IntArray, own: IntArray, x: FloatArray
) -> FloatArray:
    """Return points of lines in the frames of groups that slide along them."""
    s = classes.sliding
    n = s.directions.n
    near, far = (find(s.lines.keys, paired(group, direction, n)) for group in (shown, own))
    moved = (shown != own) & (near >= 0) & (far >= 0)
    near, far, x = near[moved], far[moved], x.copy()
    in_part = np.einsum("kab,kb->ka", s.placed.rotation[near], x[moved]) + s.placed.offset[near]
    x[moved] = np.einsum("kba,kb->ka", s.placed.rotation[far], in_part - s.placed.offset[far])
    return x


def _across(axis: FloatArray) -> FloatArray:
    """Return (n, 2, 3) two unit vectors across each axis."""
    other = np.where(np.abs(axis[:, 2:]) > 0.6, [[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]])
    x = np.cross(other, axis)
    x /= np.maximum(np.linalg.norm(x, axis=1), 1e-300)[:, None]
    return np.stack([x, np.cross(axis, x)], axis=1)
