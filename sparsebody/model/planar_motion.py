"""Mechanisms whose bodies all move parallel to one plane, the displacement subgroup SE(2).

Whether they do follows from the joint frames on the bodies alone, so it holds at every pose: going
out from the world, each joint hands the normal of the plane on from its predecessor to its
successor, or back.

References
----------
Herve (1999), Mech. Mach. Theory 34:719, on displacement subgroups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.system import System
from sparsebody.tolerances import ELEMENT_TOLERANCE

# Joints by the normals that they allow, z being their own axis: any, z, across z, any as well.
OTHER, ABOUT_Z, ALONG_Z, RIGID = 0, 1, 2, 3
KINDS = {"rotation": ABOUT_Z, "planar": ABOUT_Z, "translation": ALONG_Z, "rigid": RIGID}


@dataclass(frozen=True, eq=False)
class PlanarMotion:
    """A plane that all bodies move parallel to, and joints that see to it."""

    axes: FloatArray  # (3, 3) of the world: the normal, and two in the plane
    basis: FloatArray  # (n_bodies, 3, 3) the same of every body, in its own axes
    bodies: IntArray  # (n_bodies,) from the world outwards
    joint: IntArray  # (n_bodies,) that holds each body, in the user's order, in the plane
    is_out_of_plane: BoolArray  # (n_rows,) rows of these joints that keep bodies in the plane

    @cached_property
    def out_of_plane_rows(self) -> IntArray:
        """The rows of `joint` out of the plane, three for each body."""
        return np.flatnonzero(self.is_out_of_plane)


def planar_motion(system: System) -> PlanarMotion | None:
    """Return the plane that all bodies move parallel to; None if there is none, or no body.

    Every body has to be joined to the world through hinges with parallel axes, slides across these,
    planar and fixed joints; what other joints there are does not matter.
    """
    n = system.n_bodies
    kind = joint_kinds(system)
    if n == 0 or not np.any(kind == ABOUT_Z):
        return None
    basis, bodies, joint, is_out_of_plane, n_reached = model.planar_motion(
        n, system.joint_frames, kind, system.first_row, system.subspaces, ELEMENT_TOLERANCE
    )
    if n_reached < n:
        return None
    return PlanarMotion(basis[n], basis[:n], bodies, joint, is_out_of_plane)


def joint_kinds(system: System) -> IntArray:
    """Return (n_joints,) the kind of each joint, by the normals that it allows."""
    kind = np.full(system.n_joints, OTHER, dtype=np.intp)
    for group in system.groups:
        kind[group.joints] = KINDS.get(group.subgroup, OTHER)
    return kind
