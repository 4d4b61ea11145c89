"""Bodies that move within subgroups about the world, and their possible twists.

An element of a class is fixed in each of its bodies, so that these twists are constant in body
coordinates: the accelerations lie in the same space as the velocities. Where all bodies move
parallel to one plane, SE(2), a search from the world outwards finds it in a tenth of the time that
the classes take: each joint hands the normal of the plane on to its other body.

Herve (1999), Mech. Mach. Theory 34:719, on displacement subgroups.
"""

from dataclasses import dataclass

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.subgroups.classes import (
    THROUGH_POINT,
    Classes,
    Members,
    displacement_classes,
    elements_on_bodies,
)
from sparsebody.model.subgroups.links import (
    TX,
    TY,
    Kind,
    count,
    joint_codes,
    may_have_loops_in_classes,
)
from sparsebody.model.system import System
from sparsebody.tolerances import ELEMENT_TOLERANCE

FREE = -1
KEEP_DIRECTIONS = (Kind.RIGID, Kind.SLIDE, Kind.SLIDES, Kind.TRANSLATION)
# Integrators of finite order lose these.


@dataclass(frozen=True, eq=False)
class GroundMotion:
    """Possible twists of bodies about the world, in their own axes about their centers of mass."""

    kind: IntArray  # (n_bodies,) the smallest subgroup that holds each, FREE for none
    axis: FloatArray  # (n_bodies, 3) direction that keeps its place in the world; 0 for none
    point: FloatArray  # (n_bodies, 3) on it, or the center [m]
    pitch: FloatArray  # (n_bodies,) of screws [m/rad]
    normal: FloatArray | None = None  # (3,) in the world, of the plane if all are in parallel ones
    classes: Classes | None = None  # that it follows from; None in a plane

    @property
    def is_planar(self) -> bool:
        """Whether all bodies move parallel to one plane."""
        return self.normal is not None

    @property
    def freedoms(self) -> IntArray:
        """(n_bodies,) dimension of each body's subgroup."""
        of_kind = np.array([*(kind.freedoms for kind in Kind), 6])
        return of_kind[self.kind]

    def counts(self) -> dict[str, int]:
        """Return the number of bodies by subgroup."""
        kinds, counts = np.unique(self.kind[self.kind != FREE], return_counts=True)
        return {Kind(k).title: int(n) for k, n in zip(kinds, counts, strict=True)}

    def basis(self) -> FloatArray:
        """Return (n_bodies, 6, 6) twists in the leading columns; the others are zero."""
        axes = model.triads(self.axis)
        turns = np.concatenate([axes, np.cross(self.point[:, None], axes)], axis=2)
        turns[:, 2, 3:] += self.pitch[:, None] * self.axis
        shifts = np.concatenate([np.zeros_like(axes), axes], axis=2)
        twists = np.concatenate([turns, shifts], axis=1)  # about and along x, y and z
        basis = np.zeros_like(twists)
        of_kind = {kind: kind.axes for kind in Kind} | {Kind.SLIDES: (TX, TY), FREE: range(6)}
        for kind, chosen in of_kind.items():
            same = np.flatnonzero(self.kind == kind)
            basis[same, :, : len(chosen)] = np.swapaxes(twists[same][:, list(chosen)], 1, 2)
        return basis


def plane_normals(system: System) -> FloatArray | None:
    """Return (n_bodies + 1, 3) normals, in body axes and last the world's, of the plane of motion.

    None unless every body is joined to the world by revolutes with parallel axes, prismatic joints
    across these, planar and fixed ones; other joints do not matter. The joint frames on the bodies
    decide alone, so it holds at every pose.
    """
    n, codes = system.n_bodies, joint_codes(system)
    normals, is_planar = model.plane_normals(n, system.joint_frames, codes, ELEMENT_TOLERANCE)
    return normals if n > 0 and is_planar else None


def ground_motion(system: System, keeps_points: bool = True) -> GroundMotion:
    """Return the motion of all bodies parallel to one plane, else of each in its smallest class.

    Without `keeps_points`, bodies that turn about points or lines have all freedoms, because their
    points would drift. So have all bodies of a mechanism in space without classes that close loops.
    """
    n, normals = system.n_bodies, plane_normals(system)
    zero = np.zeros((n, 3)), np.zeros(n)
    if normals is not None:
        kind = np.full(n, Kind.PLANE, dtype=np.intp)
        return GroundMotion(kind, normals[:n], *zero, normal=normals[n])
    if not may_have_loops_in_classes(system):
        return GroundMotion(np.full(n, FREE, dtype=np.intp), np.zeros((n, 3)), *zero)
    return _in_smallest_classes(displacement_classes(system), keeps_points)


def _in_smallest_classes(classes: Classes, keeps_points: bool) -> GroundMotion:
    """Return the motion of each body in the smallest class that holds it and the world."""
    g, n = classes.geometry, classes.system.n_bodies
    members = Members(classes)
    axis, point = np.zeros((n, 3)), np.zeros((n, 3))
    kind_of_body = np.full(n, FREE, dtype=np.intp)
    motion = GroundMotion(kind_of_body, axis, point, np.zeros(n), classes=classes)
    world = g.bodies.label[n]
    motion.kind[g.bodies.label[:n] == world] = Kind.RIGID
    grounded = members.parts.of(np.array([world]))
    for kind, forest in zip(Kind, classes.forests, strict=True):
        if kind == Kind.RIGID:
            continue
        links = forest.links
        at_rest = np.isin(links.part, grounded)
        has_world = np.zeros(count(forest.label), dtype=bool)
        has_world[forest.label[at_rest]] = True
        element = np.flatnonzero(has_world[forest.label] & ~at_rest)
        which, group = members.groups.pairs(links.part[element])
        then, body = members.bodies.pairs(group)
        element = element[which[then]]
        is_new = motion.kind[body] == FREE
        body, first = np.unique(body[is_new], return_index=True)
        if len(body):
            flat = np.zeros(len(links.part), dtype=np.intp)  # an end of a joint at each element
            flat[links.ends.ravel()] = np.arange(links.ends.size)
            side, edge = np.divmod(flat[element[is_new][first]], len(links.joint))
            shown = elements_on_bodies(classes, kind, side, edge, body)
            motion.axis[body], motion.point[body] = shown
            if kind == Kind.SCREW:
                motion.pitch[body] = classes.system.parameter[links.joint[edge]]
            motion.kind[body] = kind
    if not keeps_points:
        motion.kind[np.isin(motion.kind, THROUGH_POINT)] = FREE
    return motion
