"""Forces that act besides gravity and the constraints."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.bodies import Frame
from sparsebody.model.columns import positive, put_checked, scalar, vector
from sparsebody.model.elasticity import semidefinite, square_root
from sparsebody.model.time_functions import TimeFunction, time_function

_ROUNDING = 1e-9  # of damping along motions without stiffness, relative


@dataclass(frozen=True, eq=False)
class JointForce:
    """Spring, damper and actuator on one coordinate of a joint.

    tau = -stiffness (q - rest) - damping qd + effort(t), a force [N] or torque [N m] on the
    successor along the coordinate, its opposite on the predecessor.
    """

    name: str
    joint: str
    coordinate: int = 0
    stiffness: float = 0.0  # [N/m] or [N m/rad]
    rest: float = 0.0  # [m] or [rad]
    damping: float = 0.0  # [N s/m] or [N m s/rad]
    effort: float | TimeFunction = 0.0  # [N] or [N m]

    def __post_init__(self) -> None:
        who = f"joint force {self.name!r}"
        put_checked(self, who, stiffness=scalar, rest=scalar, damping=scalar, effort=time_function)


@dataclass(frozen=True, eq=False)
class PointForce:
    """Spring, damper and actuator along the line between points of two bodies.

    The points attract each other with stiffness (l - rest_length) + damping dl/dt - effort(t):
    an effort pushes them apart.
    """

    name: str
    first: str
    second: str
    first_point: ArrayLike  # in the body frame [m]
    second_point: ArrayLike
    stiffness: float = 0.0  # [N/m]
    rest_length: float = 0.0  # [m]
    damping: float = 0.0  # [N s/m]
    effort: float | TimeFunction = 0.0  # [N]

    def __post_init__(self) -> None:
        who = f"point force {self.name!r}"
        put_checked(self, who, first_point=vector, second_point=vector, effort=time_function)
        put_checked(self, who, stiffness=scalar, rest_length=scalar, damping=scalar)


@dataclass(frozen=True, eq=False)
class ExternalForce:
    """A constant force and moment on a body, in world axes or turning with the body."""

    name: str
    body: str
    force: ArrayLike = (0.0, 0.0, 0.0)  # [N]
    moment: ArrayLike = (0.0, 0.0, 0.0)  # [N m]
    point: ArrayLike | None = None  # where the force acts, in the body frame; default: the com
    axes: str = "world"  # or "body"

    def __post_init__(self) -> None:
        who = f"external force {self.name!r}"
        put_checked(self, who, force=vector, moment=vector)
        if self.point is not None:
            put_checked(self, who, point=vector)
        if self.axes not in ("world", "body"):
            raise ModelError(f"{who}: axes is {self.axes!r}; give 'world' or 'body'")


@dataclass(frozen=True, eq=False)
class Bushing:
    """A spring and damper between two frames, of any stiffness and damping on their six freedoms.

    It stores e' K e / 2, e = (w, u) being the twist that takes the predecessor's frame to the
    successor's in unit time, the logarithm on SE(3): the same seen from either frame, and
    indifferent to how both move together. Relative rotations stay below half a turn. The frames
    coincide where there is no force.
    """

    name: str
    predecessor: str
    successor: str
    predecessor_frame: Frame = dataclasses.field(default_factory=Frame)
    successor_frame: Frame = dataclasses.field(default_factory=Frame)
    stiffness: ArrayLike = 0.0  # number, (6,) or (6, 6), angular first [N m/rad, N/m]
    damping: ArrayLike = 0.0  # likewise [N m s/rad, N s/m]; where there is stiffness

    def __post_init__(self) -> None:
        who = f"bushing {self.name!r}"
        for name in ("stiffness", "damping"):
            object.__setattr__(self, name, semidefinite(who, getattr(self, name), 6, name))
        root, damping = square_root(np.asarray(self.stiffness)), np.asarray(self.damping)
        if len(root) == 0:
            raise ModelError(f"{who}: stiffness is zero; give a number, six, or a 6 x 6 matrix")
        loose = np.eye(6) - np.linalg.pinv(root) @ root  # projects on motions without stiffness
        if np.abs(damping @ loose).max() > _ROUNDING * np.abs(damping).max():
            raise ModelError(
                f"{who}: damping is {damping.tolist()}, along motions without stiffness; give "
                "these a small stiffness"
            )

    @property
    def rest(self) -> FloatArray:
        """(6,) e without force."""
        return np.zeros(6)

    @property
    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """(6, 6) stiffness and damping."""
        return np.asarray(self.stiffness), np.asarray(self.damping)


@dataclass(frozen=True, eq=False)
class Beam:
    """A straight massless beam of Euler and Bernoulli between two frames, their x axes along it.

    Its strain is that of a helix through both frames, whose twist e is the logarithm on SE(3): the
    relative rotation e[:3], and e[3:] less (length, 0, 0). In it the exact stiffness of the linear
    beam is diagonal, (G J, E I_y, E I_z) / l, E A / l and 12 E (I_z, I_y) / l^3; so rotations of
    the whole may be large, and a row of n beams converges to the elastica as 1 / n^2.

    References
    ----------
    Sonneville, Cardona and Brüls (2014), Comput. Methods Appl. Mech. Eng. 268:451, on the helix;
    Przemieniecki (1968), Theory of Matrix Structural Analysis, sec. 5.6, on the stiffness.
    """

    name: str
    predecessor: str
    successor: str
    predecessor_frame: Frame
    successor_frame: Frame
    length: float  # [m]
    E: float  # Young's modulus [N/m^2]
    G: float  # shear modulus [N/m^2]
    A: float  # area [m^2]
    I_y: float  # second moments of area about y and z [m^4]
    I_z: float
    J: float  # torsion constant [m^4]
    damping: float = 0.0  # of all strains, over their stiffness [s]

    def __post_init__(self) -> None:
        who = f"beam {self.name!r}"
        for name in ("length", "E", "G", "A", "I_y", "I_z", "J"):
            object.__setattr__(self, name, positive(getattr(self, name), who, name))
        put_checked(self, who, damping=scalar)
        if self.damping < 0.0:
            raise ModelError(f"{who}: damping is {self.damping}; give a time [s], 0 for none")

    @property
    def rest(self) -> FloatArray:
        """(6,) e without force."""
        return np.array([0.0, 0.0, 0.0, self.length, 0.0, 0.0])

    @property
    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """(6, 6) stiffness and damping."""
        bending, shear = self.E / self.length, 12.0 * self.E / self.length**3
        angular = self.G * self.J / self.length, bending * self.I_y, bending * self.I_z
        linear = bending * self.A, shear * self.I_z, shear * self.I_y
        stiffness = np.diag([*angular, *linear])
        return stiffness, self.damping * stiffness


Force = JointForce | PointForce | ExternalForce | Bushing | Beam
