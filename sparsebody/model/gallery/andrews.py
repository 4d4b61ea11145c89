"""Andrews' squeezer."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.model.bodies import Polyline
from sparsebody.model.gallery.parameters import Vector, add_hinge
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.spatial import quaternion_exponential

Point = tuple[float, float]

# Fixed pivots A, B, the fixed end C of the spring, and the lengths of the test set [m].
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
D_LENGTH, DA, E_LENGTH, EA = 0.028, 0.0115, 0.02, 0.01421
RR, RA, SS, SA, SB, SC, SD = 0.007, 0.00092, 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB, ZF, ZT, FA = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421

STIFFNESS, REST_LENGTH = 4530.0, 0.07785  # of the spring from D to C [N/m, m]

BETA = -0.0617138900142764496358948458001
THETA = 0.0
GAMMA = 0.455279819163070380255912382449
PHI = 0.222668390165885884674473185609
DELTA = 0.487364979543842550225598953530
OMEGA = -0.222668390165885884674473185609
EPSILON = 1.23054744454982119249735015568

O: Point = (0.0, 0.0)
F = (RR * math.cos(BETA), RR * math.sin(BETA))
G = (A[0] + ZT * math.cos(DELTA), A[1] + ZT * math.sin(DELTA))
H = (A[0] + U * math.sin(EPSILON), A[1] - U * math.cos(EPSILON))

# Mass [kg], moment about z [kg m^2]; origin of the body's frame in the world [m], angle [rad]; and
# in the frame the mass center and the outline [m].
LINKS: dict[str, tuple[float, float, Point, float, Point, tuple[Point, ...]]] = {
    "K1": (0.04325, 2.194e-06, O, BETA, (RA, 0.0), (O, (RR, 0.0))),
    "K2": (0.00365, 4.41e-07, F, BETA + THETA, (-DA, 0.0), (O, (-D_LENGTH, 0.0))),
    "K3": (0.02373, 5.255e-06, B, GAMMA, (SB, -SA), (O, (0.0, -SS), (SD, -SC), O)),
    "K4": (0.00706, 5.667e-07, G, PHI + DELTA, (0.0, EA - E_LENGTH), (O, (0.0, -E_LENGTH))),
    "K5": (0.0705, 1.169e-05, A, DELTA, (TA, TB), (O, (TA, TB), (ZT, 0.0), O)),
    "K6": (0.00706, 5.667e-07, H, OMEGA + EPSILON, (ZF - FA, 0.0), (O, (ZF, 0.0))),
    "K7": (0.05498, 1.912e-05, A, EPSILON, (-UB, -UA), (O, (-UB, -UA), (0.0, -U), O)),
}
HINGES: tuple[tuple[str, str, str, Point, Point], ...] = (
    ("O", WORLD, "K1", O, O),
    ("F", "K1", "K2", (RR, 0.0), O),
    ("B", WORLD, "K3", B, O),
    ("A5", WORLD, "K5", A, O),
    ("A7", WORLD, "K7", A, O),
    ("G", "K5", "K4", (ZT, 0.0), O),
    ("H", "K7", "K6", (0.0, -U), O),
    ("E3", "K2", "K3", (-D_LENGTH, 0.0), (0.0, -SS)),
    ("E4", "K2", "K4", (-D_LENGTH, 0.0), (0.0, -E_LENGTH)),
    ("E6", "K2", "K6", (-D_LENGTH, 0.0), (ZF, 0.0)),
)


def andrews(torque: float = 0.033, gravity: Vector = (0.0, 0.0, 0.0)) -> Mechanism:
    """Andrews' squeezer (IVP Test Set): seven planar bodies in three loops, driven, at rest.

    Bodies "K1" ... "K7" and lengths as in the Test Set for IVP Solvers, its initial angles too
    (those of the IFToMM library are rounded and give another motion). All ten joints are revolutes
    about z: "O" (world, K1; its angle is beta), "F" (K1, K2), "B" (world, K3), "A5" and "A7"
    (world, K5 and K7), "G" (K5, K4), "H" (K7, K6), and "E3", "E4", "E6" between K2 and K3, K4, K6
    at the common point E. Mobility 1, 9 redundant rows. A spring joins D on K3 to the fixed point
    C; a constant torque acts on K1. The moments about x and y do not matter and equal that about z.

    The angles of the test set are those of the bodies' x axes: beta (K1), beta + Theta (K2),
    gamma (K3), Phi + delta (K4), delta (K5), Omega + epsilon (K6), epsilon (K7).

    `torque` is that on K1 [N m].

        Hairer and Wanner, Solving ODEs II, VII.7; Test Set for IVP Solvers, problem Andrews.
    """
    mechanism = Mechanism("andrews", gravity)
    for name, (mass, moment, origin, angle, center, outline) in LINKS.items():
        mechanism.add_body(
            name,
            mass=mass,
            inertia=np.full(3, moment),
            center_of_mass=(*center, 0.0),
            position=(*origin, 0.0),
            orientation=quaternion_exponential([0.0, 0.0, angle]),
            shape=Polyline(tuple((x, y, 0.0) for x, y in outline)),
        )
    for name, first, second, first_point, second_point in HINGES:
        add_hinge(mechanism, name, first, second, (*first_point, 0.0), (*second_point, 0.0))
    mechanism.add_joint_force("drive", "O", effort=torque)
    mechanism.add_point_force(
        "spring",
        WORLD,
        "K3",
        first_point=(*C, 0.0),
        second_point=(SD, -SC, 0.0),
        stiffness=STIFFNESS,
        rest_length=REST_LENGTH,
    )
    return mechanism
