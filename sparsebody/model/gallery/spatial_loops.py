"""Spatial mechanisms: slider-crank, Bricard's six hinges, flyball governor, Stewart platform."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.bodies import Box, Polyline
from sparsebody.model.frames import axes
from sparsebody.model.gallery.parameters import DOWN_Y, DOWN_Z, Positive, Vector, add_bar, between
from sparsebody.model.joints import Prismatic, Revolute, Spherical, Universal
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.time_functions import Sinusoid
from sparsebody.spatial import box_inertia, cylinder_inertia, quaternion_from_rotation

PIVOT = np.array([0.0, 0.1, 0.12])  # of the crank [m]
PIN = np.array([0.0, 0.1, 0.20])  # crank and rod, at the start
SLIDER = np.array([0.2, 0.0, 0.0])  # at the start; the rod is 0.3 m long
X = np.array([1.0, 0.0, 0.0])  # axis of the crank and line of the slider


def slider_crank(speed: float = 6.0, gravity: Vector = DOWN_Z) -> Mechanism:
    """Spatial rigid slider-crank (IFToMM benchmark): mobility 1, no redundant row.

    "crank" (0.08 m, 0.12 kg) turns about x at (0, 0.1, 0.12) by "pivot" and starts along z;
    "pin" is a ball between it and "rod" (0.3 m, 0.5 kg); "wrist" is a universal joint between
    "slider" (2 kg) and rod, whose cross has one arm along the slide, fixed in the slider, and one
    fixed in the rod, perpendicular to it; "slide" is a prismatic joint along the x axis. Its
    coordinate is 0 at the start, where the slider is at x = 0.2 m. Published moments of inertia;
    centers of mass half way.

    `speed` is the initial rate of the crank about x [rad/s].

        IFToMM Library of Computational Benchmark Problems; Gonzalez et al. (2006).
    """
    rod = SLIDER - PIN
    arm = np.cross(X, rod)  # of the cross, fixed in the rod: across the slide and across the rod
    pin_velocity = np.cross(speed * X, PIN - PIVOT)
    # velocity of the pin = v x + (a x + b arm) x (pin - slider)
    motions = np.column_stack([X, np.cross(X, -rod), np.cross(arm, -rod)])
    v, a, b = np.linalg.solve(motions, pin_velocity)
    mechanism = Mechanism("slider-crank", gravity)
    add_bar(
        mechanism,
        "crank",
        PIVOT,
        PIN,
        mass=0.12,
        inertia=(1e-5, 1e-4, 1e-4),
        side=X,
        linear_velocity=pin_velocity / 2,
        angular_velocity=speed * X,
    )
    add_bar(
        mechanism,
        "rod",
        PIN,
        SLIDER,
        mass=0.5,
        inertia=(4e-4, 4e-3, 4e-3),
        linear_velocity=(pin_velocity + v * X) / 2,
        angular_velocity=a * X + b * arm,
    )
    mechanism.add_body(
        "slider",
        mass=2.0,
        inertia=(1e-4, 1e-4, 1e-4),
        position=SLIDER,
        linear_velocity=v * X,
        shape=Box((0.04, 0.02, 0.02)),
    )
    mechanism.add_joint("pivot", Revolute(), WORLD, "crank", point=PIVOT, axis=X)
    mechanism.add_joint("pin", Spherical(), "crank", "rod", point=PIN)
    mechanism.add_joint(
        "wrist", Universal(), "slider", "rod", point=SLIDER, axis=np.cross(X, arm), x_axis=X
    )
    mechanism.add_joint("slide", Prismatic(), WORLD, "slider", point=SLIDER, axis=X)
    return mechanism


CORNERS = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
AXES = ((0, 1, 0), (0, 0, 1), (1, 0, 0)) * 2


def bricard(
    width: Annotated[float, between(0.0, 1.0)] = 0.1, gravity: Vector = DOWN_Y
) -> Mechanism:
    """Bricard's six-hinge loop, movable by its special directions only (IFToMM benchmark A04).

    "rod-i", i = 0 ... 4, of 1 m and 1 kg, goes from corner P_i to P_{i+1} of a path along the
    edges of the unit cube; "hinge-i" sits at P_i, about y, z, x, y, z, x in turn; hinges 0 and 5
    are on the world. Mobility 1 with one redundant row, which no structural count shows. The
    tracked point P3 is the end of "rod-2". At rest.

    `width` is the side of the rods' square section [m]; 0.1 on the published pages.

        IFToMM Library of Computational Benchmark Problems, A04.
    """
    mechanism = Mechanism("bricard", gravity)
    before = WORLD
    for i in range(5):
        rod = f"rod-{i}"
        # axis i lies across rod i
        add_bar(mechanism, rod, CORNERS[i], CORNERS[i + 1], width=width, side=AXES[i])
        mechanism.add_joint(f"hinge-{i}", Revolute(), before, rod, point=CORNERS[i], axis=AXES[i])
        before = rod
    mechanism.add_joint("hinge-5", Revolute(), WORLD, before, point=CORNERS[5], axis=AXES[5])
    return mechanism


LENGTH, WIDTH, DENSITY = 1.0, 0.01, 3000.0  # of shaft and rods [m, m, kg/m^3]
BAR_MASS = DENSITY * LENGTH * WIDTH**2  # 0.3 kg
BALL_MASS, SLIDER_MASS, SLIDER_SIDE = 5.0, 3.0, 0.1  # [kg, kg, m]
REACH, HEIGHT = 0.05, 1.0  # of the rods' pivots [m]
STIFFNESS, DAMPING, REST_LENGTH = 8e5, 4e4, 0.5  # [N/m, N s/m, m]


def governor(
    height: Annotated[float, between(0.0, HEIGHT)] = 0.5,
    angle: float = math.pi / 6,
    speed: float = 2.0 * math.pi,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Flyball governor (IFToMM benchmark A05); its loops close through stiff springs only.

    "shaft" turns about z ("bearing"), "slider" slides on it ("slide", 0 at the start), "right" and
    "left" are the rods, hinged to the shaft at (+-0.05, 0, 1) ("pivot-right", "pivot-left", about
    y); the ball of 5 kg, a point mass, at the end of each is part of it. Spring-dampers go from
    the sides (+-0.05, 0, s) of the slider to the middles of the rods. All turn together at the
    start: mobility 4, no loop of joints.

    `height` is the initial height s of the slider [m], `angle` that of the rods below the
    horizontal [rad], `speed` the initial rate about z [rad/s].

        IFToMM Library of Computational Benchmark Problems, A05.
    """
    spin = np.array([0.0, 0.0, speed])
    mechanism = Mechanism("governor", gravity)
    foot, top = (0, 0, 0), (0, 0, LENGTH)
    add_bar(
        mechanism,
        "shaft",
        foot,
        top,
        mass=BAR_MASS,
        width=WIDTH,
        side=(1, 0, 0),
        angular_velocity=spin,
    )
    mechanism.add_body(
        "slider",
        mass=SLIDER_MASS,
        inertia=box_inertia(SLIDER_MASS, [SLIDER_SIDE] * 3),
        position=(0.0, 0.0, height),
        angular_velocity=spin,
        shape=Box((SLIDER_SIDE,) * 3),
    )
    mechanism.add_joint("bearing", Revolute(), WORLD, "shaft", point=foot)
    mechanism.add_joint("slide", Prismatic(), "shaft", "slider", point=(0, 0, height))
    # a rod with its ball is one body; its frame is at the pivot, x along it
    mass = BAR_MASS + BALL_MASS
    center = (BAR_MASS * LENGTH / 2 + BALL_MASS * LENGTH) / mass
    spread = BAR_MASS * (center - LENGTH / 2) ** 2 + BALL_MASS * (LENGTH - center) ** 2
    inertia = box_inertia(BAR_MASS, [LENGTH, WIDTH, WIDTH]) + np.diag([0.0, spread, spread])
    for name, side in (("right", 1.0), ("left", -1.0)):
        pivot = np.array([side * REACH, 0.0, HEIGHT])
        along = np.array([side * math.cos(angle), 0.0, -math.sin(angle)])
        mechanism.add_body(
            name,
            mass=mass,
            inertia=inertia,
            center_of_mass=(center, 0.0, 0.0),
            position=pivot,
            orientation=quaternion_from_rotation(axes((0, 1, 0), along, f"body {name!r}")),
            linear_velocity=np.cross(spin, pivot),
            angular_velocity=spin,
            shape=Polyline(((0.0, 0.0, 0.0), (LENGTH, 0.0, 0.0))),
        )
        mechanism.add_joint(f"pivot-{name}", Revolute(), "shaft", name, point=pivot, axis=(0, 1, 0))
        mechanism.add_point_force(
            f"spring-{name}",
            "slider",
            name,
            first_point=(side * REACH, 0.0, 0.0),
            second_point=(LENGTH / 2, 0.0, 0.0),
            stiffness=STIFFNESS,
            rest_length=REST_LENGTH,
            damping=DAMPING,
        )
    return mechanism


N_LEGS = 6
HALF_GAP = math.radians(15.0)  # of the pairs in which the legs meet base and platform
THICKNESS = 0.05  # of the platform [m]
PLATFORM_MASS, LOWER_MASS, UPPER_MASS = 10.0, 1.0, 0.5  # [kg]


def stewart(
    drive: bool = False,
    base_radius: Positive = 1.0,
    platform_radius: Positive = 0.6,
    height: Positive = 1.0,
    stiffness: float = 5000.0,
    damping: float = 100.0,
    amplitude: float = 0.1,
    frequency: float = 0.5,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Platform on six legs of universal, prismatic and spherical joints, on springs or driven.

    Leg k = 0 ... 5: "universal-k" on the world in the plane z = 0, "lower-k", "slide-k" (its
    coordinate is the lengthening since the start), "upper-k", "ball-k" on "platform" in the plane
    z = height. The legs start in pairs 30 degrees apart, at 0, 120 and 240 degrees on the base and
    60, 180 and 300 on the platform, and join nearest neighbours. 13 bodies, 5 loops, 72 rows
    without redundancy: mobility 6, or 0 driven.

    `drive` prescribes all legs' lengths instead of springs in them: leg k lengthens by `amplitude`
    [m] (cos(2 pi `frequency` [Hz] t) - 1) cos(k pi / 3). `base_radius`, `platform_radius` and
    `height` [m]; `stiffness` and `damping` are those of the spring in each leg [N/m, N s/m],
    without force at the start.
    """
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
        shape=Polyline(tuple((float(x), float(y), float(z)) for x, y, z in outline)),
    )
    rate = 2 * math.pi * frequency
    for k in range(N_LEGS):
        size = amplitude * math.cos(k * math.pi / 3)
        motion = Sinusoid(size, rate, math.pi / 2, -size) if drive else None  # starts at rest
        foot, head, lower, upper = feet[k], heads[k], f"lower-{k}", f"upper-{k}"
        along = head - foot
        across = np.cross((0.0, 0.0, 1.0), along)
        add_bar(mechanism, lower, foot, foot + 0.6 * along, mass=LOWER_MASS, side=across)
        short = {"mass": UPPER_MASS, "width": 0.03, "side": across}
        add_bar(mechanism, upper, head - 0.6 * along, head, **short)
        in_leg = {"axis": along, "x_axis": across}
        mechanism.add_joint(f"universal-{k}", Universal(), WORLD, lower, point=foot, **in_leg)
        middle = foot + 0.5 * along
        mechanism.add_joint(
            f"slide-{k}", Prismatic(), lower, upper, point=middle, prescribed=motion, **in_leg
        )
        mechanism.add_joint(f"ball-{k}", Spherical(), upper, "platform", point=head)
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
