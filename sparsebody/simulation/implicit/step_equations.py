"""The equations at the end of an implicit step, on arrays that the native kernels fill.

Rigid joint rows have a compliance C, delta = C (lambda - lambda_0), a numerical means: one block a
joint. Methods of rigid joints have a good guess for lambda_0, others zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, diags_array
from scipy.sparse.linalg import splu

from sparsebody._core import simulation as native
from sparsebody.arrays import FloatArray, IntArray, offsets
from sparsebody.dynamics.energy import kinetic_energy
from sparsebody.equations.system_motion import SystemMotion, system_tables
from sparsebody.errors import SimulationError
from sparsebody.kinematics.joint_motion import prescribed_motion
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import is_constant
from sparsebody.simulation.callbacks import Control, ControlArguments

Values = NDArray[np.inexact[Any]]
Solve = Callable[[Values], Values]

# Position error of a joint under the sum of all loads, relative to the mechanism's extent
_POSITION_ERROR = 1e-8
NEGLIGIBLE_ERROR = 1e-7  # the same by the actual multipliers; if larger, joints are made stiffer
_DIAGONAL: dict[str, Any] = {
    **{"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}},
    "diag_pivot_thresh": 0.1,  # of a column's largest entry
}
_LEAST_COMPLIANCE = 1e-11  # C b m, in which rounding of the factors hides no dependent row


@dataclass(frozen=True, eq=False)
class Compliance:
    """The blocks of all joints, row by row, one after the other."""

    entries: FloatArray
    first_entry: IntArray  # (n_joints + 1,)
    diagonal: FloatArray  # (n_rows,)

    def set_to(self, other: Compliance, factor: float) -> None:
        """Become a multiple of another one in place, for equations hold views."""
        np.multiply(other.entries, factor, out=self.entries)
        np.multiply(other.diagonal, factor, out=self.diagonal)


def uniform_compliance(system: System, state: State, translation: float) -> Compliance:
    """Return a uniform compliance of all joints, [m/N] along rows that translate.

    Rows that only rotate have it divided by the square of the mechanism's size [rad/(N m)].
    """
    linear = np.abs(SystemMotion(system, state).subspace[:, 3:]).max(axis=1) > 0.0
    rotation = translation / system.typical_length**2
    diagonal = np.where(linear, translation, rotation)
    size = np.diff(system.first_row)
    first_entry = offsets(size**2)
    local = np.arange(system.n_rows) - system.first_row[system.row_joint]
    entries = np.zeros(first_entry[-1])
    entries[first_entry[system.row_joint] + local * (size[system.row_joint] + 1)] = diagonal
    return Compliance(entries, first_entry, diagonal)


def extent_of(system: System, state: State) -> float:
    """Return how far a mechanism reaches [m]."""
    return system.typical_length + float(np.linalg.norm(np.ptp(state.position, axis=0)))


def least_compliance(system: System, b: float) -> float:
    """Return the least compliance [m/N] that factors of b M + A' C^-1 A bear."""
    return _LEAST_COMPLIANCE / (b * float(system.mass.max()))


def all_loads(system: System, state: State) -> float:
    """Return the sum of all loads, and of the forces that the motion needs [N]; positive."""
    extent = extent_of(system, state)
    load = float(np.linalg.norm(SystemMotion(system, state).applied[:, 3:], axis=1).sum())
    load += 2.0 * kinetic_energy(system, state) / extent
    return load if load > 0.0 else float(system.mass.sum()) * extent


def negligible_compliance(system: System, state: State) -> float:
    """Return a compliance [m/N] by which position errors are negligible, whatever the loads do."""
    return _POSITION_ERROR * extent_of(system, state) / all_loads(system, state)


def scaled_solver(
    matrix: Any, scale: FloatArray, failure: str, *, is_refined: bool = False
) -> Solve:
    """Return a solver by LU factors, rows and columns scaled; SimulationError if singular.

    Where solutions are refined, pivots may be small ones on the diagonal, in an order of minimum
    degree: a matrix with a symmetric pattern has three fifths of the fill-in of one that is not.
    """
    scaling = diags_array(scale)
    try:
        factors = splu((scaling @ matrix @ scaling).tocsc(), **(_DIAGONAL if is_refined else {}))
    except RuntimeError as error:
        raise SimulationError(failure) from error
    return lambda rhs: scaling @ factors.solve(scaling @ rhs)


def n_rows(system: System) -> int:
    """Return the rows of joints and of elastic elements."""
    return system.n_rows + int(system.elastic.n_rows.sum())


@dataclass(frozen=True, eq=False)
class Newest:
    """The end of a step, with what the next one starts from; methods add what they need."""

    state: State
    acceleration: FloatArray  # (n_bodies, 6) dv/dt
    multiplier: FloatArray  # (n_rows,)


class StepEquations:
    """M dv/dt + v x* M v - f + A' lambda = 0 and delta = C (lambda - lambda_0) at q = q_0 exp(y).

    The unknowns at the end of the step are the arrays `displacement` y, `velocity`, `acceleration`
    dv/dt (n_bodies, 6) and `multiplier` (n_rows,); `evaluate` fills the pose and the residuals.
    The rows are those of the joints, then those of elastic elements, on the forces of their
    stretches.

    References
    ----------
    Brüls, Cardona and Arnold (2012), Mech. Mach. Theory 48:121.
    """

    def __init__(self, system: System, compliance: Compliance, control: Control | None) -> None:
        n, tracked = system.n_bodies, system.coordinates
        self.system, self.compliance = system, compliance
        self.start_position, self.start_orientation = np.zeros((n, 3)), np.zeros((n, 4))
        self.start_coordinate = np.zeros(len(tracked.joint))
        self.displacement, self.velocity = np.zeros((n, 6)), np.zeros((n, 6))
        self.n_rows = n_rows(system)
        self.acceleration, self.multiplier = np.zeros((n, 6)), np.zeros(self.n_rows)
        self.reference = np.zeros(system.n_rows)  # lambda_0
        self.position, self.orientation = np.zeros((n, 3)), np.zeros((n, 4))
        self.coordinate = np.zeros(len(tracked.joint))
        self.prescribed_rate = np.zeros(len(tracked.prescribed))  # at the end
        sizes = (
            *(len(tracked.prescribed), len(system.joint_forces.item)),
            *(len(system.point_forces.first), 6 * n if control is not None else 0),
        )
        self.inputs = np.zeros(
            sum(sizes)
        )  # at the end: prescribed coordinates, efforts, wrenches of the control
        parts = np.split(self.inputs, np.cumsum(sizes)[:-1])
        self._prescribed, self._joint_effort, self._point_effort, controlled = parts
        self._control, body_force = None, np.zeros((n, 6))
        if control is not None:
            body_force = controlled.reshape(n, 6)
            self._control = ControlArguments(control, system, body_force)
        self.force_residual, self.row_residual = np.zeros((n, 6)), np.zeros(self.n_rows)
        self.start = self.start_position, self.start_orientation, self.start_coordinate
        self.unknowns = self.displacement, self.velocity, self.acceleration, self.multiplier
        self.residual = self.force_residual, self.row_residual
        self.end = *self.unknowns, self.position, self.orientation, self.coordinate
        inertias = system.mass, system.inertia, system.gravity
        mass, inertia, gravity = map(np.ascontiguousarray, inertias)
        self.native = native.ImplicitEquations(
            (mass, inertia, gravity),
            system_tables(system),
            (compliance.entries, compliance.first_entry, self.reference),
            self.start,
            self.end,
            (self._prescribed, self._joint_effort, self._point_effort, body_force),
            self.residual,
        )
        if self._control is not None:
            self.native.set_control(self._control.native)
        efforts = *system.joint_forces.effort, *system.point_forces.effort
        self.has_constant_inputs = self.prescribed_rate.size == 0 and all(map(is_constant, efforts))
        if self.has_constant_inputs:
            self._set_inputs(0.0)
        self._failure: BaseException | None = None  # of `set_inputs`

    @property
    def spring_ends(self) -> IntArray:
        """(n_springs, 2) bodies of the springs on coordinates, then of those between points."""
        system = self.system
        joint = system.coordinates.joint[system.joint_forces.item]
        on_joints = system.ends[joint]
        lines = np.stack([system.point_forces.first, system.point_forces.second], axis=1)
        return np.concatenate([on_joints, lines]).astype(np.intp)

    def start_from(self, state: State, time: float) -> None:
        """Begin a step at a state that ends at `time`."""
        self.start_position[:], self.start_orientation[:] = state.position, state.orientation
        self.start_coordinate[:] = state.coordinate
        self.native.time = time
        if not self.has_constant_inputs:
            self._set_inputs(time)

    def set_inputs(self, time: float) -> bool:
        """Set the inputs that are functions of time; False if they fail, by an error of `check`."""
        try:
            self._set_inputs(time)
        except BaseException as error:
            self._failure = error
            return False
        return True

    def _set_inputs(self, time: float) -> None:
        system = self.system
        if len(self._prescribed):
            self._prescribed[:], self.prescribed_rate[:], _ = prescribed_motion(system, time).T
        if len(self._joint_effort):
            self._joint_effort[:] = system.joint_forces.efforts(time)
        if len(self._point_effort):
            self._point_effort[:] = system.point_forces.efforts(time)

    def begin(
        self,
        state: State,
        time: float | None = None,
        *,
        displacement: FloatArray | float = 0.0,
        velocity: FloatArray | float | None = None,
        multiplier: FloatArray | float = 0.0,
    ) -> None:
        """Start from a state, with unknowns at the end that are by default those at rest there."""
        self.start_from(state, state.time if time is None else time)
        self.displacement[:], self.acceleration[:] = displacement, 0.0
        self.velocity[:] = state.velocity if velocity is None else velocity
        self.multiplier[:] = multiplier

    def prescribe(self, index: int, value: float) -> None:
        """Set a prescribed coordinate, by its number among these, to another value."""
        self._prescribed[index] = value

    def evaluate(self) -> None:
        """Fill the poses and the residuals; raises the errors of `check`."""
        self.native.evaluate_with_control()
        self.check()

    def check(self) -> None:
        """Raise the error of a user's function, or ModelError if points of a spring coincide."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if self.native.status == self.native.STOPPED and self._control is not None:
            self._control.raise_failure(self.native.time)
        self.system.point_forces.check_directions(self.native.status)

    def matrix(self, *weights: float) -> csc_array:
        """Return the sum of K, with all rows, D and M at the present unknowns, as weighted."""
        entries = self.native.assemble(False)
        values = zip(weights, entries[2:], strict=False)
        return self._matrix(entries, sum(w * np.asarray(v) for w, v in values))

    def parts(self, exact_rows: bool = False) -> tuple[csc_array, csc_array, csc_array]:
        """Return K, with all rows, D and M at the present unknowns.

        Rows of joints are A, or the exact derivatives of their errors: others where they are open.
        """
        entries = self.native.assemble(exact_rows)
        K, D, M = (self._matrix(entries, value) for value in entries[2:])
        return K, D, M

    def _matrix(self, entries: Any, value: Any) -> csc_array:
        n = self.displacement.size + self.n_rows
        return coo_array((value, (entries[0], entries[1])), shape=(n, n)).tocsc()

    def state(self) -> State:
        """Return a copy of the state at the end of the step."""
        return State(
            self.position.copy(),
            self.orientation.copy(),
            self.velocity.copy(),
            self.coordinate.copy(),
            self.native.time,
        )
