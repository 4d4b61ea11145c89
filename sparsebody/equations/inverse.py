"""Inverse dynamics by any method: actuators, desired motions, forces and their checks.

Featherstone (2008), sec. 8.12.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from sparsebody.arrays import ArrayLike, FloatArray, IntArray, offsets
from sparsebody.assembly.constraint import kkt_structure, rows_on_bodies
from sparsebody.equations.accelerations import REACTIONS, minimum_norm
from sparsebody.equations.system_motion import SystemMotion, checked_vectors, padded
from sparsebody.errors import ModelError, MotionError, ShapeError, check_name
from sparsebody.kinematics.joint_motion import JointMotion
from sparsebody.model.columns import positive
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse import BlockPattern, SaddleMatrix, constraint_matrix
from sparsebody.tolerances import LEAST_DIVISOR, MOTION_TOLERANCE

Freedom: TypeAlias = str | tuple[str, int]  # a joint, or one of its velocity coordinates
MOST_FREEDOMS = 6  # of a joint


@dataclass(frozen=True, eq=False)
class Actuators:
    """Velocity coordinates of joints that actuators act on, of tree and of loop joints alike."""

    system: System
    joint: IntArray  # (p,) indices
    coordinate: IntArray  # (p,) index of the velocity coordinate in its joint

    def __len__(self) -> int:
        return len(self.joint)

    @property
    def keys(self) -> IntArray:
        """(p,) one for each coordinate of the system: six times the joint, plus the coordinate."""
        return MOST_FREEDOMS * self.joint + self.coordinate

    @cached_property
    def names(self) -> Sequence[str]:
        """(p,) "hip", or "hip 2" where the joint has several freedoms."""
        joint_names, types = self.system.joint_names, self.system.joint_types
        return [
            f"{joint_names[j]} {k}" if types[j].n_velocities > 1 else joint_names[j]
            for j, k in zip(self.joint.tolist(), self.coordinate.tolist(), strict=True)
        ]


class ActuatorRows(NamedTuple):
    """B = T_a' P' in body coordinates: T_a transmits the actuators' forces, T_a' S = 1."""

    active_force: FloatArray  # (p, 6) T_a' in S coordinates
    rows: FloatArray  # (p, 2, 6) B on the predecessor's and the successor's velocity
    rate: FloatArray  # (p,) B v, the rates of the coordinates
    velocity_product: FloatArray  # (p,) B a less the coordinates' accelerations


def actuators_of(system: System, actuated: Iterable[Freedom] | None = None) -> Actuators:
    """Return the actuated coordinates in their order, or every freedom of every joint.

    A joint stands for all of its freedoms, (joint, coordinate) for one of them. ModelError if one
    does not exist, or is named twice.
    """
    freedoms = np.array([kind.n_velocities for kind in system.joint_types], dtype=np.intp)
    if actuated is None:
        joint = np.repeat(np.arange(system.n_joints, dtype=np.intp), freedoms)
        first = offsets(freedoms)[:-1]
        coordinate = np.arange(len(joint)) - np.repeat(first, freedoms)
    else:
        named = [actuated] if isinstance(actuated, str) else actuated
        pairs = [pair for freedom in named for pair in _pairs(system, freedom)]
        joint, coordinate = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    actuators = Actuators(system, np.ascontiguousarray(joint), coordinate.astype(np.intp))
    first = np.unique(actuators.keys, return_index=True)[1]
    if len(first) < len(joint):
        k = np.setdiff1d(np.arange(len(joint)), first)[0]
        raise ModelError(
            f"coordinate {coordinate[k]} of joint {system.joint_names[int(joint[k])]!r} is named "
            "twice among the actuated ones; name it once"
        )
    return actuators


def _pairs(system: System, freedom: Freedom) -> list[tuple[int, int]]:
    """Joint and coordinate of what the user named."""
    name, *one = (freedom,) if isinstance(freedom, str) else freedom
    joint = system.joint(name)
    kind = system.joint_types[joint]
    if kind.n_velocities == 0:
        raise ModelError(
            f"joint {name!r} is {kind.name} and has no freedom to act on; name another"
        )
    if one and not (isinstance(one[0], int | np.integer) and 0 <= one[0] < kind.n_velocities):
        raise ModelError(
            f"joint {name!r} has no coordinate {one[0]!r}: it is {kind.name}, and its coordinates "
            f"count from 0 to {kind.n_velocities - 1}"
        )
    return [(joint, int(k)) for k in (one or range(kind.n_velocities))]


def actuator_rows(system: System, actuators: Actuators, motion: JointMotion) -> ActuatorRows:
    """Return the rows of the actuated coordinates at a pose."""
    joint = actuators.joint
    _, active_force, drift = motion.coordinates(system, joint, actuators.coordinate)
    return ActuatorRows(active_force, *rows_on_bodies(system, joint, motion, active_force, drift))


def released_coordinates(system: System, actuators: Actuators) -> tuple[IntArray, IntArray]:
    """Return the tracked coordinates that are prescribed and actuated, and their actuators.

    Indices into `system.coordinates` (k,) and into `actuators` (k,).
    """
    tracked, items = system.coordinates, system.coordinates.prescribed
    prescribed = MOST_FREEDOMS * tracked.joint[items] + tracked.index[items]
    _, of_prescribed, of_actuator = np.intersect1d(prescribed, actuators.keys, return_indices=True)
    return items[of_prescribed], of_actuator.astype(np.intp)


def without_prescribed(system: System, items: IntArray) -> System:
    """Return the system with some prescribed coordinates free; other rows keep their order."""
    if len(items) == 0:
        return system
    tracked = system.coordinates
    keep = np.ones(system.n_rows, dtype=np.bool_)
    keep[tracked.row[items]] = False
    before = offsets(keep)
    row = np.where(tracked.row >= 0, before[tracked.row], -1)
    row[items] = -1
    released = set(items.tolist())
    motion = tuple(None if k in released else f for k, f in enumerate(tracked.motion))
    return replace(
        system,
        first_row=before[system.first_row],
        subspace_index=system.subspace_index[keep],
        coordinates=replace(tracked, row=row, motion=motion),
    )


class DesiredMotion(SystemMotion):
    """A system at a state with the accelerations (n_bodies, 6) that the bodies shall have."""

    def __init__(
        self, system: System, state: State, body_force: FloatArray | None, acceleration: FloatArray
    ) -> None:
        super().__init__(system, state, body_force)
        self.acceleration = acceleration

    @cached_property
    def inertial(self) -> FloatArray:
        """(n_bodies, 6) I a."""
        a, system = self.acceleration, self.system
        moment = np.einsum("nij,nj->ni", system.inertia, a[:, :3])
        return np.concatenate([moment, system.mass[:, None] * a[:, 3:]], axis=1)

    @cached_property
    def required(self) -> FloatArray:
        """(n_bodies, 6) what actuators and constraints must exert on each body."""
        return self.inertial + self.bias - self.applied

    def row_residuals(
        self, joint: IntArray, A: FloatArray, gamma: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return A a - gamma (m,) of rows A at joints, and the largest of its terms, their scale.

        Terms also count as large as they would be if the bodies fell free, so that the scale is not
        zero for a mechanism at rest.
        """
        if len(A) == 0:
            return np.zeros(0), 1.0
        terms = A * padded(self.acceleration)[self.system.ends[joint]]
        free = self.applied / freedom_inertia(self.system)
        largest = max(np.abs(self.acceleration).max(), np.abs(free).max())
        sizes = np.abs(terms).max(), np.abs(gamma).max(), np.abs(A).max() * largest
        return np.asarray(terms.sum(axis=(1, 2)) - gamma), float(max(*sizes, LEAST_DIVISOR))

    def check_constraints(self, tolerance: float) -> float:
        """Return the violation; raise MotionError that names the worst joint if it is too large."""
        rows, system = self.constraint, self.system
        residual, scale = self.row_residuals(system.row_joint, rows.rows, rows.acceleration)
        if len(residual) == 0:
            return 0.0
        k = int(np.argmax(np.abs(residual)))
        violation = float(abs(residual[k]) / scale)
        if violation <= tolerance:
            return violation
        j, tracked = int(system.row_joint[k]), system.coordinates
        is_prescribed = k in tracked.row[tracked.prescribed]
        unit = "m/s^2" if rows.subspace[k, 3:].any() else "rad/s^2"
        raise MotionError(
            "the desired accelerations violate "
            f"{'the prescribed motion of ' if is_prescribed else ''}joint "
            f"{system.joint_names[j]!r} (row {k - int(system.first_row[j])}) by "
            f"{residual[k]:.4g} {unit}, {violation:.1e} of what is desired where "
            f"{tolerance:.1e} is allowed; ask for accelerations that all joints allow, as "
            "driven_accelerations returns"
        )


def body_matrix(system: System, joint: IntArray, rows: FloatArray) -> csr_array:
    """Return rows (m, 2, 6) on the bodies of their joints as a matrix (m, 6 n_bodies)."""
    sizes = np.repeat([6, 1], [system.n_bodies, len(joint)]).astype(np.intp)
    pattern = BlockPattern(sizes, system.ends[joint])
    return constraint_matrix(SaddleMatrix.of_rows(pattern, rows)).tocsr()


def freedom_inertia(system: System) -> FloatArray:
    """Return (n_bodies, 6) the diagonals of the inertias [kg m^2, kg]."""
    rotational = np.diagonal(system.inertia, axis1=1, axis2=2)
    return np.concatenate([rotational, np.repeat(system.mass[:, None], 3, axis=1)], axis=1)


def inertial_norms(system: System, joint: IntArray, rows: FloatArray) -> FloatArray:
    """Return (m,) norms sqrt(A M^-1 A') of rows A (m, 2, 6) on their two bodies, M diagonal."""
    inverse_inertia = padded(1.0 / freedom_inertia(system))
    return np.sqrt(np.einsum("mea,mea->m", rows**2, inverse_inertia[system.ends[joint]]))


@dataclass(frozen=True)
class Actuation:
    """Numbers of actuators and freedoms. Featherstone (2008), sec. 8.12; G_u are rows of G."""

    n_actuators: int  # p
    rank: int  # of G_u: the freedoms that the actuators move
    mobility: int  # n - r: the freedoms that all constraints leave

    @property
    def is_underactuated(self) -> bool:
        """Whether some motions are beyond the actuators: rank G_u < n - r."""
        return self.rank < self.mobility

    @property
    def is_redundant(self) -> bool:
        """Whether many forces cause the same motion: p > rank G_u."""
        return self.n_actuators > self.rank

    @property
    def is_proper(self) -> bool:
        """Whether every motion has its own, unique forces: p = rank G_u = n - r."""
        return not (self.is_underactuated or self.is_redundant)

    def __str__(self) -> str:
        words = {
            "underactuated": self.is_underactuated,
            "redundantly actuated": self.is_redundant,
            "properly actuated": self.is_proper,
        }
        kinds = " and ".join(word for word, holds in words.items() if holds)
        moved = f"{self.n_actuators} actuators move {self.rank} of {self.mobility} freedoms"
        return f"{kinds}: {moved}"


@dataclass(frozen=True, eq=False)
class ActuatorForces:
    """Forces that cause a desired motion, and the constraint forces that come with it."""

    force: FloatArray  # (n_actuators,) u, dual to the velocity coordinates [N m, N]
    multiplier: FloatArray  # (n_rows,) lambda; u on the row of a motion that an actuator replaces
    joint_wrench: FloatArray  # (n_joints, 6) T lambda, on the successor, in S coordinates
    actuation: Actuation
    residual: float  # largest unbalanced force on a body, relative to the largest of any
    violation: float  # largest error of a constraint row by the desired accelerations, relative


class Balance(NamedTuple):
    """Forces of actuators and constraints in balance with a desired motion."""

    force: FloatArray  # (n_actuators,)
    multiplier: FloatArray  # (n_rows,) of the system with the actuated coordinates free
    is_unique: bool  # whether the multipliers are
    actuation: Actuation


class InverseMethod(ABC):
    """Inverse dynamics: prepared once, called for many states and motions.

    A method derives from this class, gives its `name` and implements `solve`; its constructor
    prepares what is the same at all states.

    Parameters
    ----------
    system : System
        The mechanism.
    actuated : iterable of str or (str, int), optional
        Joints, all of whose freedoms have actuators, or joints with one of their velocity
        coordinates; default: every freedom of every joint. An actuator on a prescribed coordinate
        replaces its motion; other prescribed motions are constraints.
    weights : (n_actuators,) floats, optional
        Where many forces cause the motion, sum(weights * u**2) is least; default 1. Positive.
    reactions : {"minimum-norm", "basic"}
        Which multipliers to return where they are not unique.
    tolerance : float
        Largest relative error of the desired accelerations that is accepted, in the constraints of
        joints and in the balance of forces on bodies.

    Raises
    ------
    ModelError, ShapeError
        If a joint has no such freedom, or the weights do not fit the actuators.
    """

    name: ClassVar[str]

    def __init__(
        self,
        system: System,
        *,
        actuated: Iterable[Freedom] | None = None,
        weights: ArrayLike | None = None,
        reactions: str = "minimum-norm",
        tolerance: float = MOTION_TOLERANCE,
    ) -> None:
        check_name(reactions, REACTIONS, "reactions")
        self._unreleased = system
        self.actuators = actuators_of(system, actuated)
        self._released, self._replaced_by = released_coordinates(system, self.actuators)
        self.system = without_prescribed(system, self._released)
        self.reactions, self.tolerance = reactions, tolerance
        p = len(self.actuators)
        w = np.ones(p) if weights is None else np.array(weights, dtype=float)
        if w.shape != (p,):
            raise ShapeError(f"weights has shape {w.shape}; there are {p} actuated coordinates")
        for name, weight in zip(self.actuators.names, w, strict=True):
            positive(weight, f"actuator {name!r}", "weight")
        self.weights = w

    @abstractmethod
    def solve(self, desired: DesiredMotion, actuators: ActuatorRows) -> Balance:
        """Return forces of the actuators and constraints in balance with `desired.required`."""

    def __call__(
        self, state: State, acceleration: FloatArray, *, body_force: FloatArray | None = None
    ) -> ActuatorForces:
        """Return the actuators' forces for a motion from a consistent state.

        `acceleration` (n_bodies, 6) are the desired spatial accelerations in body coordinates,
        angular first, as forward dynamics and `driven_accelerations` return them [rad/s^2, m/s^2];
        `body_force` (n_bodies, 6) additional wrenches about the centers of mass in body axes,
        moment first [N m, N]. MotionError if a joint forbids the accelerations or the actuators
        cannot cause them, SingularSystemError if the rank of the constraints has changed.
        """
        system = self.system
        check_state(system, state)
        acceleration = checked_vectors(system, acceleration, "the acceleration")
        if body_force is not None:
            body_force = checked_vectors(system, body_force, "body_force")
        desired = DesiredMotion(system, state, body_force, acceleration)
        violation = desired.check_constraints(self.tolerance)
        rows = actuator_rows(system, self.actuators, desired.joints)
        balance = self.solve(desired, rows)
        n = system.n_bodies
        A = body_matrix(system, system.row_joint, desired.constraint.rows)
        B = body_matrix(system, self.actuators.joint, rows.rows)
        exerted = (A.T @ balance.multiplier).reshape(n, 6), (B.T @ balance.force).reshape(n, 6)
        scale = 1.0 / np.sqrt(freedom_inertia(system))
        unbalanced = (desired.required - exerted[0] - exerted[1]) * scale
        terms = desired.inertial, desired.bias, desired.applied, *exerted
        size = max(LEAST_DIVISOR, *(float(np.abs(term * scale).max(initial=0.0)) for term in terms))
        residual = float(np.abs(unbalanced).max(initial=0.0)) / size
        if not residual <= self.tolerance:
            raise self._unbalanced(desired, balance.actuation, unbalanced / scale, residual)
        return self._forces(desired, balance, residual, violation)

    def _unbalanced(
        self, desired: DesiredMotion, actuation: Actuation, unbalanced: FloatArray, residual: float
    ) -> MotionError:
        system = self.system
        acceleration = unbalanced / freedom_inertia(system)
        worst = int(np.argmax(np.abs(unbalanced / np.sqrt(freedom_inertia(system))).max(axis=1)))
        moment, force = np.linalg.norm(unbalanced[worst, :3]), np.linalg.norm(unbalanced[worst, 3:])
        text = (
            f"no forces of the actuators cause the desired accelerations ({actuation}): on body "
            f"{system.body_names[worst]!r} a moment of {moment:.4g} N m and a force of "
            f"{force:.4g} N, {residual:.1e} of the largest, stay unbalanced"
        )
        everything = actuators_of(system)
        rows = actuator_rows(system, everything, desired.joints)
        ends = padded(acceleration)[system.ends[everything.joint]]
        missing = np.abs(np.einsum("mea,mea->m", rows.rows, ends))
        missing[np.isin(everything.keys, self.actuators.keys)] = 0.0
        if actuation.is_underactuated and missing.any():
            text += f"; actuate {everything.names[int(np.argmax(missing))]!r} too"
        else:
            text += "; prepare the inverse dynamics at this state"
        return MotionError(f"{text}, or ask for accelerations as driven_accelerations returns them")

    def _forces(
        self, desired: DesiredMotion, balance: Balance, residual: float, violation: float
    ) -> ActuatorForces:
        multiplier, system = balance.multiplier, self.system
        if not balance.is_unique and self.reactions == "minimum-norm":
            matrix = kkt_structure(system).matrix(desired.constraint)
            multiplier = minimum_norm(matrix, multiplier)
        wrench = desired.joint_wrenches(multiplier)
        if len(self._released):
            tracked, force = self._unreleased.coordinates, balance.force[self._replaced_by]
            of_released = np.argsort(tracked.row[self._released])
            # rows of the system with all motions prescribed
            rows = tracked.row[self._released][of_released]
            multiplier = np.insert(multiplier, rows - np.arange(len(rows)), force[of_released])
            active_force = desired.coordinates.active_force[self._released]
            np.add.at(wrench, tracked.joint[self._released], active_force * force[:, None])
        return ActuatorForces(
            balance.force, multiplier, wrench, balance.actuation, residual, violation
        )
