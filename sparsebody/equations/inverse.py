"""What inverse dynamics is, whatever the method. Featherstone (2008), sec. 8.12."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.equations.accelerations import REACTIONS, joint_wrenches, minimum_norm
from sparsebody.equations.actuators import (
    ActuatorRows,
    Freedom,
    actuator_rows,
    actuators_of,
    released_drives,
    without_drives,
)
from sparsebody.equations.desired_motion import (
    TINY,
    DesiredMotion,
    body_matrix,
    freedom_inertia,
)
from sparsebody.equations.system_motion import checked_vectors, joint_ends, padded
from sparsebody.errors import ModelError, MotionError, ShapeError, UnknownNameError
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse.saddle import constraint_matrix
from sparsebody.tolerances import MOTION_TOLERANCE


@dataclass(frozen=True)
class Actuation:
    """How actuators and freedoms match. Featherstone (2008), sec. 8.12; G_u are rows of G."""

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
        kinds = [
            word
            for word, holds in (
                ("underactuated", self.is_underactuated),
                ("redundantly actuated", self.is_redundant),
                ("properly actuated", self.is_proper),
            )
            if holds
        ]
        return (
            f"{' and '.join(kinds)}: {self.n_actuators} actuators move {self.rank} of "
            f"{self.mobility} freedoms"
        )


@dataclass(frozen=True, eq=False)
class ActuatorForces:
    """Forces that cause a wanted motion, and the constraint forces that come with it."""

    force: FloatArray  # (n_actuators,) u, dual to the velocity coordinates [N m, N]
    multiplier: FloatArray  # (n_rows,) lambda; u on the row of a drive that an actuator replaces
    joint_wrench: FloatArray  # (n_joints, 6) T lambda, on the successor, in S coordinates
    actuation: Actuation
    residual: float  # what stays unbalanced on a body, relative to the forces on the bodies
    violation: float  # of the constraint rows by the wanted accelerations, relative


@dataclass(frozen=True, eq=False)
class Balance:
    """What a method finds."""

    force: FloatArray  # (n_actuators,)
    multiplier: FloatArray  # (n_rows,) of the system without the replaced drives
    is_unique: bool  # whether the multipliers are
    actuation: Actuation


class InverseMethod(ABC):
    """Inverse dynamics: prepared once, called for many states and motions.

    A method derives from it, states its name, and solves; what it prepares once it makes in its
    constructor.

    Parameters
    ----------
    system : System
        The mechanism.
    actuated : iterable of str or (str, int), optional
        Joints, all of whose freedoms have actuators, or joints with one of their velocity
        coordinates; default: every freedom of every joint. An actuator on a prescribed coordinate
        replaces its drive; other drives are constraints.
    weights : (n_actuators,) floats, optional
        Where many forces cause the motion, sum(weights * u**2) is least; default 1. Positive.
    reactions : {"minimum-norm", "basic"}
        Which multipliers to return where they are not unique.
    tolerance : float
        Relative error of the wanted accelerations, on joints and on bodies, that is an error.

    Raises
    ------
    ModelError, ShapeError
        For joints without such freedoms, and weights that do not fit.
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
        if reactions not in REACTIONS:
            raise UnknownNameError(
                f"reactions is {reactions!r}; give one of {', '.join(REACTIONS)}"
            )
        self.given_system = system
        self.actuators = actuators_of(system, actuated)
        self._released, self._replaced_by = released_drives(system, self.actuators)
        self.system = without_drives(system, self._released)
        self.weights = self._checked_weights(weights)
        self.reactions = reactions
        self.tolerance = tolerance

    def _checked_weights(self, weights: ArrayLike | None) -> FloatArray:
        p = len(self.actuators)
        if weights is None:
            return np.ones(p)
        w = np.array(weights, dtype=float)
        if w.shape != (p,):
            raise ShapeError(f"weights has shape {w.shape}; there are {p} actuated coordinates")
        is_valid = np.isfinite(w) & (w > 0.0)
        if not is_valid.all():
            bad = int(np.argmin(is_valid))
            raise ModelError(
                f"the weight of {self.actuators.names[bad]!r} is {w[bad]}; it must be positive"
            )
        return w

    @abstractmethod
    def solve(self, desired: DesiredMotion, actuators: ActuatorRows) -> Balance:
        """Return forces of the actuators and constraints in balance with `desired.required`."""

    def __call__(
        self, state: State, acceleration: FloatArray, *, body_force: FloatArray | None = None
    ) -> ActuatorForces:
        """Return the actuators' forces for a motion.

        Parameters
        ----------
        state : State
            Poses and velocities; they should be consistent.
        acceleration : (n_bodies, 6) array
            Wanted spatial accelerations in body coordinates, angular first, as forward dynamics
            and `driven_accelerations` return them [rad/s^2, m/s^2].
        body_force : (n_bodies, 6) array, optional
            Additional wrenches about the centers of mass in body axes, moment first [N m, N].

        Raises
        ------
        MotionError
            If a joint forbids the accelerations, or the actuators cannot cause them.
        SingularSystemError
            If the rank of the constraints has changed since the preparation.
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
        residual = self._check_balance(desired, rows, balance)
        return self._forces(desired, balance, residual, violation)

    def _check_balance(self, desired: DesiredMotion, rows: ActuatorRows, balance: Balance) -> float:
        """Return the residual; raise MotionError where a body's forces do not balance."""
        system, n = self.system, self.system.n_bodies
        A = body_matrix(system, system.row_joint, desired.constraint.rows)
        B = body_matrix(system, self.actuators.joint, rows.rows)
        exerted = (A.T @ balance.multiplier).reshape(n, 6), (B.T @ balance.force).reshape(n, 6)
        scale = 1.0 / np.sqrt(freedom_inertia(system))
        unbalanced = (desired.required - exerted[0] - exerted[1]) * scale
        terms = desired.inertial, desired.bias, desired.applied, *exerted
        size = max(TINY, *(float(np.abs(term * scale).max(initial=0.0)) for term in terms))
        residual = float(np.abs(unbalanced).max(initial=0.0)) / size
        if not residual <= self.tolerance:
            raise self._unbalanced(desired, balance.actuation, unbalanced / scale, residual)
        return residual

    def _unbalanced(
        self, desired: DesiredMotion, actuation: Actuation, unbalanced: FloatArray, residual: float
    ) -> MotionError:
        system = self.system
        acceleration = unbalanced / freedom_inertia(system)
        worst = int(np.argmax(np.abs(unbalanced / np.sqrt(freedom_inertia(system))).max(axis=1)))
        moment, push = np.linalg.norm(unbalanced[worst, :3]), np.linalg.norm(unbalanced[worst, 3:])
        text = (
            f"no forces of the actuators cause the wanted accelerations ({actuation}): on body "
            f"{system.body_names[worst]!r} a moment of {moment:.4g} N m and a force of "
            f"{push:.4g} N, {residual:.1e} of all, stay unbalanced"
        )
        everything = actuators_of(system)
        rows = actuator_rows(system, everything, desired.joints)
        ends = padded(acceleration)[joint_ends(system, everything.joint)]
        missing = np.abs(np.einsum("mea,mea->m", rows.rows, ends))
        most = 6
        acted = most * self.actuators.joint + self.actuators.coordinate
        missing[np.isin(most * everything.joint + everything.coordinate, acted)] = 0.0
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
            multiplier = minimum_norm(constraint_matrix(matrix), multiplier)
        system_with_drives = self.given_system
        wrench = joint_wrenches(system, desired.constraint.subspace, multiplier)
        if len(self._released):
            tracked, force = system_with_drives.coordinates, balance.force[self._replaced_by]
            of_drives = tracked.row[self._released]
            is_constraint = np.ones(system_with_drives.n_rows, dtype=np.bool_)
            is_constraint[of_drives] = False
            everything = np.empty(system_with_drives.n_rows)
            everything[is_constraint], everything[of_drives] = multiplier, force
            multiplier = everything
            dual = desired.coordinates.dual[self._released]
            np.add.at(wrench, tracked.joint[self._released], dual * force[:, None])
        return ActuatorForces(
            balance.force, multiplier, wrench, balance.actuation, residual, violation
        )
