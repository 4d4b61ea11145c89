"""Stewart platform."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.bodies import Polyline
from sparsebody.model.gallery.parameters import DOWN_Z, Vector, add_bar, check_between
from sparsebody.model.joints import Prismatic, Spherical, Universal
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.time_functions import Sinusoid
from sparsebody.spatial import cylinder_inertia

N_LEGS = 6
HALF_GAP = math.radians(15.0)  # of the pairs in which the legs meet base and platform
THICKNESS = 0.05  # of the platform [m]
PLATFORM_MASS, LOWER_MASS, UPPER_MASS = 10.0, 1.0, 0.5  # [kg]


def stewart(
    drive: bool = False,
    base_radius: float = 1.0,
    platform_radius: float = 0.6,
    height: float = 1.0,
    stiffness: float = 5000.0,
    damping: float = 100.0,
    amplitude: float = 0.1,
    frequency: float = 0.5,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Platform on six legs, each a universal, a prismatic and a spherical joint, at rest.

    Leg k = 0 ... 5: "universal-k" on the world in the plane z = 0, "lower-k", "slide-k" (its
    coordinate is the lengthening since the start), "upper-k", "ball-k" on "platform" in the plane
    z = height. The legs start in pairs 30 degrees apart, at 0, 120 and 240 degrees on the base and
    60, 180 and 300 on the platform, and join nearest neighbours. 13 bodies, 5 loops, 72 rows
    without redundancy: mobility 6, or 0 driven.

    Parameters
    ----------
    drive : bool
        Prescribe all legs' lengths instead of springs in them.
    base_radius, platform_radius, height : float
        [m].
    stiffness, damping : float
        Of the spring in each leg [N/m, N s/m], without force at the start.
    amplitude, frequency : float
        Of the drive: leg k lengthens by amplitude (cos(2 pi frequency t) - 1) cos(k pi / 3)
        [m, Hz].
    gravity : (3,) floats
        [m/s^2].
    """
    lengths = {"base_radius": base_radius, "platform_radius": platform_radius, "height": height}
    check_between(0.0, math.inf, **lengths)
    mechanism = Mechanism("stewart", gravity)
    center = np.array([0.0, 0.0, height])
    feet, heads = _ring(base_radius, 0.0), _ring(platform_radius, math.pi / 3)
    heads = np.roll(heads, 1, axis=0) + center  # the nearest to each foot
    outline = [*(heads - center), heads[0] - center]
    mechanism.add_body(
        "platform",
        mass=PLATFORM_MASS,
        inertia=cylinder_inertia(PLATFORM_MASS, platform_radius, THICKNESS),
        position=center,
        shape=Polyline(tuple((float(p[0]), float(p[1]), float(p[2])) for p in outline)),
    )
    rate = 2 * math.pi * frequency
    for k in range(N_LEGS):
        size = amplitude * math.cos(k * math.pi / 3)
        motion = Sinusoid(size, rate, math.pi / 2, -size) if drive else None  # starts at rest
        _add_leg(mechanism, k, feet[k], heads[k], motion)
        if not drive:
            mechanism.add_joint_force(
                f"spring-{k}", f"slide-{k}", stiffness=stiffness, damping=damping
            )
    return mechanism


def _ring(radius: float, first: float) -> FloatArray:
    """Three pairs of points about the angles first, first + 120 and first + 240 degrees."""
    angles = [
        first + pair * 2 * math.pi / 3 + side * HALF_GAP for pair in range(3) for side in (-1, 1)
    ]
    return np.array([(radius * math.cos(a), radius * math.sin(a), 0.0) for a in angles])


def _add_leg(
    mechanism: Mechanism, k: int, foot: FloatArray, head: FloatArray, motion: Sinusoid | None
) -> None:
    along = head - foot
    across = np.cross((0.0, 0.0, 1.0), along)
    lower, upper = f"lower-{k}", f"upper-{k}"
    add_bar(mechanism, lower, foot, foot + 0.6 * along, mass=LOWER_MASS, side=across)
    add_bar(mechanism, upper, head - 0.6 * along, head, mass=UPPER_MASS, width=0.03, side=across)
    mechanism.add_joint(
        f"universal-{k}", Universal(), WORLD, lower, point=foot, axis=along, x_axis=across
    )
    mechanism.add_joint(
        f"slide-{k}",
        Prismatic(),
        lower,
        upper,
        point=foot + 0.5 * along,
        axis=along,
        x_axis=across,
        prescribed=motion,
    )
    mechanism.add_joint(f"ball-{k}", Spherical(), upper, "platform", point=head)
