"""The displacement subgroups, and which rows of a joint act within one.

References
----------
Herve (1999), Mech. Mach. Theory 34:719, on displacement subgroups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.model.joints import JointType

RX, RY, RZ, TX, TY, TZ = range(6)


@dataclass(frozen=True)
class Kind:
    """A displacement subgroup, the z axis of a joint in it being its axis or normal."""

    name: str
    axes: tuple[int, ...]  # twists that span it, in the frame of a joint

    @property
    def freedoms(self) -> int:
        """Its dimension."""
        return len(self.axes)


# By dimension: a loop within a smaller subgroup has more redundant rows.
RIGID, TURN, SLIDE, SCREW, SLIDES, CYLINDER, SPHERE, TRANSLATION, PLANE, SCHOENFLIES = range(10)
KINDS = (
    Kind("rigid", ()),
    Kind("rotation about a line", (RZ,)),
    Kind("translation along a line", (TZ,)),
    Kind("helical", (RZ,)),  # and the pitch times TZ
    Kind("planar translations", (TZ, TY)),  # TY or TX, with a slide along z
    Kind("cylindrical", (RZ, TZ)),
    Kind("spherical", (RX, RY, RZ)),
    Kind("translational", (TX, TY, TZ)),
    Kind("planar", (RZ, TX, TY)),
    Kind("Schoenflies", (RZ, TX, TY, TZ)),
)

# Joints by the smallest subgroups that they move in.
OTHER, FIXED, REVOLUTE, PRISMATIC, HELICAL, CYLINDRICAL, PLANAR, BALL = range(8)
CODES = {
    "rigid": FIXED,
    "rotation": REVOLUTE,
    "translation": PRISMATIC,
    "screw": HELICAL,
    "cylindrical": CYLINDRICAL,
    "planar": PLANAR,
    "spherical": BALL,
}
IN_KIND = {  # joints that link bodies of a class, slides within it and fixed joints left aside
    TURN: (REVOLUTE,),
    SCREW: (HELICAL,),
    CYLINDER: (REVOLUTE, HELICAL, CYLINDRICAL),
    PLANE: (REVOLUTE, PLANAR),
    SCHOENFLIES: (REVOLUTE, HELICAL, CYLINDRICAL, PLANAR),
}


def rows_within(joint_type: JointType, kinds: int) -> BoolArray:
    """Return (n_constraints,) which rows of a joint to keep where subgroups see to the rest.

    Parameters
    ----------
    joint_type : JointType
        Its motion lies within all of the subgroups.
    kinds : int
        One bit for each kind: the motion of the bodies lies in the intersection of these.
    """
    axes = set(range(6))
    for number, kind in enumerate(KINDS):
        if kinds >> number & 1:
            axes &= set(kind.axes)
    keep = np.zeros(joint_type.n_constraints, dtype=bool)
    if axes and not kinds >> SCREW & 1:
        keep[_independent(_subspace(joint_type)[:, sorted(axes)])] = True
    return keep


def _subspace(joint_type: JointType) -> FloatArray:
    """Return T' (n_constraints, 6) in the neutral pose."""
    neutral = joint_type.coordinates(np.eye(3), np.zeros(3))
    return joint_type.constraint_force_subspace(neutral).T


def _independent(rows: FloatArray) -> list[int]:
    """Return as many rows as are independent, by a pivoted QR."""
    if rows.size == 0:
        return []
    r, order = qr(rows.T, mode="r", pivoting=True)
    n = int(np.count_nonzero(np.abs(np.diagonal(r)) > 1e-9))
    return [int(row) for row in order[:n]]
