"""Derivatives of accelerations and multipliers, by the implicit function theorem.

With the residuals F and r of `linearize`, and p any of what they depend on,

    [M A'; A 0] [da; -dlambda] = -[dF/dp; dr/dp] dp,

so each direction is one more right-hand side for factors of one matrix, and each gradient as well,
for the matrix is symmetric. Griewank and Walther (2008), Evaluating Derivatives, sec. 15.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array

from sparsebody._core import dynamics as native_dynamics
from sparsebody._core import linearization as native
from sparsebody.arrays import BriefRepr, FloatArray, IntArray, check_finite, numbers
from sparsebody.assembly.constraint import rows_on_bodies
from sparsebody.dynamics import Evaluation, ForwardDynamics, preparation
from sparsebody.equations.initial_state import consistent_state
from sparsebody.equations.system_motion import SystemMotion, system_tables
from sparsebody.errors import ModelError, ShapeError, check_name
from sparsebody.linearization.spring_stretches import lines
from sparsebody.model.joints import ConstantDistance, Helical, JointType
from sparsebody.model.system import State, System, body_arrays
from sparsebody.tree import ForwardDynamicsDerivatives, TreeDerivatives
from sparsebody.tree.method import TreeProblem

_NO_ROWS, _NO_NUMBERS = np.zeros((0, 6)), np.zeros(0)
_INERTIAS = ("mass", "inertia", "gravity")
_SPRINGS = ("effort", "stiffness", "rest", "damping")
LINE_VARIABLES = ("point_effort", "point_stiffness", "point_rest_length", "point_damping")
POINT_VARIABLES = ("first_point", "second_point")
ELASTIC_VARIABLES = ("elastic_stiffness", "elastic_compliance", "elastic_damping")
FRAME_VARIABLES = ("predecessor_frame", "successor_frame")
ELASTIC_FRAME_VARIABLES = ("elastic_predecessor_frame", "elastic_successor_frame")
ALL_FRAMES = (*FRAME_VARIABLES, *ELASTIC_FRAME_VARIABLES)
GEOMETRY = (*ALL_FRAMES, "pitch", "length")


class Tangent(NamedTuple):
    """Changes of accelerations and multipliers along one direction, or k of them."""

    acceleration: FloatArray  # (n_bodies, 6) or (n_bodies, 6, k)
    multiplier: FloatArray  # (n_rows,) or (n_rows, k)


class PitchRows(NamedTuple):
    """The rows along the axes of helical joints, differentiated with respect to the pitch."""

    row: IntArray  # (n,)
    ends: IntArray  # (n, 2) bodies, -1 for the world
    on_ends: FloatArray  # (n, 2, 6) the row's derivative on both
    change: FloatArray  # (n,) of r
    angle: FloatArray  # (n,) of the joints, turns included [rad]


def joints_of(system: System, joint_type: type[JointType]) -> IntArray:
    """Return the indices of the joints of a type."""
    return np.flatnonzero(system.joint_kind == joint_type.kind)


class Residuals:
    """F and r of a motion: their changes along directions, and gradients.

    Gradients in the geometry of joints and elements are given on request.
    """

    def __init__(
        self,
        system: System,
        state: State,
        acceleration: FloatArray,
        multiplier: FloatArray,
        with_geometry: bool = False,
    ) -> None:
        self.system, self._state, springs = system, state, system.joint_forces
        self._acceleration, self._multiplier = acceleration, multiplier
        self.shapes, self.with_geometry = shapes_of(system), with_geometry
        on_joints = np.ascontiguousarray(springs.efforts(state.time))
        on_lines = np.ascontiguousarray(system.point_forces.efforts(state.time))
        self._value, self._rate = np.zeros((2, len(springs.item)))
        self._deformation = np.zeros((2, len(system.elastic), 6))  # e - e_0, and its rate
        mass, inertia, gravity = map(
            np.ascontiguousarray, (system.mass, system.inertia, system.gravity)
        )
        position, orientation, velocity = map(np.ascontiguousarray, body_arrays(system, state))
        bodies = position, orientation, velocity
        coordinate = np.ascontiguousarray(state.coordinate)
        self.native = native.MotionResiduals(
            (mass, inertia, gravity),
            system_tables(system),
            system.elastic.joint,
            (bodies, acceleration, multiplier, coordinate, on_joints, on_lines),
            (self._value, self._rate),
            (self._deformation[0], self._deformation[1]),
        )

    def jvp(self, along: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return the changes of F (n_bodies, 6) and r (n_rows,) along directions."""
        system = self.system
        force, row = np.empty((system.n_bodies, 6)), np.empty(system.n_rows)
        directions = (
            *(along.get("position", _NO_ROWS), along.get("velocity", _NO_ROWS)),
            *(along.get("mass", _NO_NUMBERS), along.get("inertia", _NO_ROWS)),
            *(along.get("gravity", _NO_NUMBERS), self._effort(along), self._resistance(along)),
            *(along.get("first_point", _NO_ROWS), along.get("second_point", _NO_ROWS)),
            *self._frames(along),
        )
        self.native.jvp(directions, force, row)
        for name in LINE_VARIABLES:
            if name in along:
                rates, of_lines = self._line_rates
                force -= (of_lines.T @ (rates[name] * along[name])).reshape(-1, 6)
        if "pitch" in along:
            of = self._pitches
            row[of.row] += along["pitch"] * of.change
            on_bodies = (-along["pitch"] * self._multiplier[of.row])[:, None, None] * of.on_ends
            np.add.at(force, of.ends[of.ends >= 0], on_bodies[of.ends >= 0])
        if "force" in along:
            force -= along["force"]
        if "prescribed_acceleration" in along:
            tracked = system.coordinates
            row[tracked.row[tracked.prescribed]] -= along["prescribed_acceleration"]
        return force, row

    def _frames(self, along: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return twists of predecessor and successor frames, of joints and then of elements."""
        if not any(name in along for name in ALL_FRAMES):
            return _NO_ROWS, _NO_ROWS
        sides = zip(FRAME_VARIABLES, ELASTIC_FRAME_VARIABLES, strict=True)
        first, second = (
            np.concatenate([along.get(name, np.zeros(self.shapes[name])) for name in of_side])
            for of_side in sides
        )
        return first, second

    def no_frames(self) -> FloatArray:
        """Return zeros (2, n_joints + n_elements, 6), or (2, 0, 6) without geometry."""
        n = self.system.n_joints + len(self.system.elastic) if self.with_geometry else 0
        return np.zeros((2, n, 6))

    def _of_frames(self, frames_bar: FloatArray) -> dict[str, FloatArray]:
        """Return gradients in frames (2, n_joints + n_elements, 6), by their names."""
        of_joints, of_elements = np.split(frames_bar, [self.system.n_joints], axis=1)
        return dict(zip(ALL_FRAMES, (*of_joints, *of_elements), strict=True))

    def _effort(self, along: Mapping[str, FloatArray]) -> FloatArray:
        """Return the changes (n_springs,) of u - k (q - q_0) - d dq/dt; (0,) for none."""
        total = _NO_NUMBERS
        for name, rate in self._spring_rates.items():
            if name in along:
                total = rate * along[name] + (total if len(total) else 0.0)
        return total

    def _resistance(self, along: Mapping[str, FloatArray]) -> FloatArray:
        """Return the changes (n_elements, 6) of K (e - e_0) + D de/dt; (0, 6) for none."""
        total = _NO_ROWS
        for name in ELASTIC_VARIABLES:
            if name not in along:
                continue
            matrix = 0.5 * (along[name] + np.swapaxes(along[name], 1, 2))
            if name == "elastic_compliance":
                matrix = -self._stiffness @ matrix @ self._stiffness
            motion = self._deformation[int(name == "elastic_damping")]
            change = np.einsum("nij,nj->ni", matrix, motion)
            total = change + (total if len(total) else 0.0)
        return total

    @cached_property
    def _stiffness(self) -> FloatArray:
        """(n_elements, 6, 6) K of the elastic elements."""
        root = self.system.elastic.root
        return np.asarray(np.swapaxes(root, 1, 2) @ root)

    def _of_resistance(self, forces_bar: FloatArray) -> dict[str, FloatArray]:
        """Return the gradients in the elements' matrices, symmetric, from those in forces."""
        if len(forces_bar) == 0:
            return {name: np.zeros((0, 6, 6)) for name in ELASTIC_VARIABLES}
        stiffness, damping = (
            0.5
            * (forces_bar[:, :, None] * motion[:, None] + motion[:, :, None] * forces_bar[:, None])
            for motion in self._deformation
        )
        compliance = -self._stiffness @ stiffness @ self._stiffness
        return dict(zip(ELASTIC_VARIABLES, (stiffness, compliance, damping), strict=True))

    @cached_property
    def _spring_rates(self) -> dict[str, FloatArray]:
        """The derivatives of these forces in each of the springs' constants."""
        springs = self.system.joint_forces
        rates = (
            np.ones_like(self._value),
            springs.rest - self._value,
            springs.stiffness,
            -self._rate,
        )
        return dict(zip(_SPRINGS, rates, strict=True))

    @cached_property
    def _pitches(self) -> PitchRows:
        """The rows of helical joints along their axes, differentiated in the pitch."""
        system, joint = self.system, joints_of(self.system, Helical)
        slope = Helical(2.0).neutral_rows - Helical(1.0).neutral_rows  # T is linear in the pitch
        (row,) = np.flatnonzero(slope.any(axis=1))
        subspace = np.tile(slope[row], (len(joint), 1))
        moving = SystemMotion(system, self._state)
        motion, rows = moving.joints, system.first_row[joint] + row
        on_ends, _, right = rows_on_bodies(system, joint, motion, subspace, np.zeros(len(joint)))
        ends = system.ends[joint]
        of_ends = np.where(ends[:, :, None] >= 0, self._acceleration[ends], 0.0)
        change = np.einsum("jsa,jsa->j", on_ends, of_ends) - right
        travel = motion.translation[joint, 2] - moving.position_error[rows]
        return PitchRows(rows, ends, on_ends, change, travel / system.parameter[joint])

    def _of_pitches(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Return the gradient of y . F + u . r in the pitches."""
        if self.shapes["pitch"] == (0,):
            return np.zeros(0)
        of = self._pitches
        along = np.where(of.ends[:, :, None] >= 0, y[of.ends], 0.0)
        by_forces = np.einsum("jsa,jsa->j", of.on_ends, along) * self._multiplier[of.row]
        return np.asarray(u[of.row] * of.change - by_forces)

    @cached_property
    def _line_rates(self) -> tuple[dict[str, FloatArray], csc_array]:
        """Derivatives of the forces along lines in each of their constants, and of dl/dt in v.

        u - k (l - l_0) - d dl/dt drives the points apart.
        """
        springs, (length, of_lines) = self.system.point_forces, lines(self.system, self._state)
        rate = of_lines @ self._state.velocity.ravel()
        rates = np.ones_like(length), springs.rest_length - length, springs.stiffness, -rate
        return dict(zip(LINE_VARIABLES, rates, strict=True)), of_lines

    def _of_lines(self, y: FloatArray) -> dict[str, FloatArray]:
        """Return the gradients of y . F in the constants of forces between points."""
        if len(self.system.point_forces.first) == 0:
            return {name: np.zeros(0) for name in LINE_VARIABLES}
        rates, of_lines = self._line_rates
        force_bar = -(of_lines @ y.ravel())
        return {name: force_bar * rate for name, rate in rates.items()}

    def vjp(self, y: FloatArray, u: FloatArray) -> dict[str, FloatArray]:
        """Return the gradients of y . F + u . r."""
        names = ("position", "velocity", "mass", "inertia", "gravity", "effort")
        position, velocity, mass, inertia, gravity, effort = (
            np.zeros(self.shapes[name]) for name in names
        )
        resistance = np.zeros((len(self.system.elastic), 6))
        points = {name: np.zeros(self.shapes[name]) for name in POINT_VARIABLES}
        frames = self.no_frames()
        outputs = position, velocity, mass, inertia, gravity, effort, resistance
        self.native.vjp(y, u, (*outputs, *points.values(), *frames))
        tracked, geometry = self.system.coordinates, dict[str, FloatArray]()
        if self.with_geometry:
            geometry = {**self._of_frames(frames), "pitch": self._of_pitches(y, u)}
            geometry["length"] = np.zeros(self.shapes["length"])
        return {
            **self._of_resistance(resistance),
            **self._of_lines(y),
            **points,
            **geometry,
            **{"position": position, "velocity": velocity, "force": -y},
            **{"mass": mass, "inertia": inertia, "gravity": gravity},
            **{name: effort * rate for name, rate in self._spring_rates.items()},
            "prescribed_acceleration": -u[tracked.row[tracked.prescribed]],
        }

    def error_vjp(self, u: FloatArray, frames: FloatArray | None = None) -> dict[str, FloatArray]:
        """Return the gradients of u . delta, position errors of joints, in their geometry.

        `frames` (2, n_joints + n_elements, 6) are those in frames; default: of closed joints.
        """
        frames_bar = self.no_frames() if frames is None else frames
        if frames is None:
            self.native.error_vjp(u, *frames_bar)
        pitch_bar = np.zeros(0)
        if self.shapes["pitch"] != (0,):  # delta = travel - pitch * angle
            pitch_bar = -u[self._pitches.row] * self._pitches.angle
        length_bar = -u[self.system.first_row[joints_of(self.system, ConstantDistance)]]
        return {**self._of_frames(frames_bar), "pitch": pitch_bar, "length": length_bar}


def shapes_of(system: System) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the variables of `Derivatives`."""
    n, n_springs = system.n_bodies, len(system.joint_forces.item)
    return {
        **dict.fromkeys(("position", "velocity", "force", "inertia"), (n, 6)),
        **{"mass": (n,), "gravity": (3,)},
        **dict.fromkeys(_SPRINGS, (n_springs,)),
        **dict.fromkeys(LINE_VARIABLES, (len(system.point_forces.first),)),
        **dict.fromkeys(POINT_VARIABLES, (len(system.point_forces.first), 3)),
        **dict.fromkeys(ELASTIC_VARIABLES, (len(system.elastic), 6, 6)),
        **dict.fromkeys(FRAME_VARIABLES, (system.n_joints, 6)),
        **dict.fromkeys(ELASTIC_FRAME_VARIABLES, (len(system.elastic), 6)),
        "pitch": (len(joints_of(system, Helical)),),
        "length": (len(joints_of(system, ConstantDistance)),),
        "prescribed_acceleration": (len(system.coordinates.prescribed),),
    }


@dataclass(frozen=True, eq=False, repr=False)
class Derivatives(BriefRepr):
    """Derivatives of accelerations and multipliers at a state; see `derivatives`.

    Variables and their shapes: "position" (n_bodies, 6), twists of the bodies in body coordinates
    [rad, m]; "velocity" (n_bodies, 6) [rad/s, m/s]; "force" (n_bodies, 6), wrenches about the
    centers of mass in body axes [N m, N]; "mass" (n_bodies,); "inertia" (n_bodies, 6): Ixx, Iyy,
    Izz, Ixy, Ixz, Iyz about the center of mass [kg m^2]; "gravity" (3,) [m/s^2]; "effort",
    "stiffness", "rest", "damping" (n,) of the springs on joint coordinates; "point_effort",
    "point_stiffness", "point_rest_length", "point_damping" (n,) of forces between points, and
    "first_point", "second_point" (n, 3) from the centers of mass in body axes [m];
    "elastic_stiffness" or "elastic_compliance", its inverse on compliant rows, and
    "elastic_damping" (n_elements, 6, 6) of compliant joints, bushings and beams, on the rows of
    `ElasticElements`, of which the symmetric parts count; "predecessor_frame" and
    "successor_frame" (n_joints, 6), twists of the joint frames in their own axes [rad, m], and
    "elastic_predecessor_frame" and "elastic_successor_frame" (n_elements, 6) of the frames of
    bushings and beams, whose rest deformations stay; an element of a compliant joint moves with the
    joint's frames, and not by these; "pitch" (n_helical,) of the helical joints in turn [m/rad];
    "length" (n,) of the constant-distance joints [m], which counts in simulations only;
    "prescribed_acceleration" (n_prescribed,).
    """

    acceleration: FloatArray  # (n_bodies, 6) at the state
    multiplier: FloatArray  # (n_rows,), zero in rows left out as dependent
    evaluation: Evaluation = field(repr=False)  # its factors are made again after another state

    @property
    def system(self) -> System:
        """The mechanism."""
        return self.evaluation.system

    @cached_property
    def _residuals(self) -> Residuals:
        at = self.evaluation.state, self.acceleration, self.multiplier
        return Residuals(self.system, *at, with_geometry=True)

    def shape(self, variable: str) -> tuple[int, ...]:
        """Return the shape of a variable; UnknownNameError if it is none."""
        check_name(variable, tuple(self._residuals.shapes), "variable")
        return self._residuals.shapes[variable]

    def jvp(self, **directions: FloatArray) -> Tangent:
        """Return the changes along directions of the variables given by name.

        All of the variables' shapes, or all with one more axis, of k directions. Raises
        UnknownNameError for a name that is none, ShapeError for a shape that does not fit,
        ModelError for a number that is not finite.
        """
        if not directions:
            raise ShapeError(
                f"no direction: give one or more of {', '.join(self._residuals.shapes)}"
            )
        along: dict[str, FloatArray] = {}
        tail = None
        for name, direction in directions.items():
            shape = self.shape(name)
            along[name] = direction = np.ascontiguousarray(numbers(direction, name))
            tail = _tail(name, direction, shape, tail)
            check_finite(direction, f"the direction of {name}")
        if not tail:
            return self._tangent(along)
        changes = Tangent(*(np.empty((*array.shape, *tail)) for array in self._solution))
        for i in range(tail[0]):
            of = {name: np.ascontiguousarray(value[..., i]) for name, value in along.items()}
            for change, column in zip(changes, self._tangent(of), strict=True):
                change[..., i] = column
        return changes

    def vjp(
        self, acceleration: FloatArray | None = None, multiplier: FloatArray | None = None
    ) -> dict[str, FloatArray]:
        """Return the gradients of acceleration . da + multiplier . dlambda in all variables.

        `acceleration` (n_bodies, 6[, k]), `multiplier` (n_rows[, k]); zero where none is given.
        Raises ShapeError for a shape that does not fit, ModelError for a number that is not finite.
        """
        names, tail = ("acceleration", "multiplier"), None
        weights = [
            None if w is None else numbers(w, f"the weight of {name}")
            for name, w in zip(names, (acceleration, multiplier), strict=True)
        ]
        for name, weight, of in zip(names, weights, self._solution, strict=True):
            if weight is not None:
                tail = _tail(name, weight, of.shape, tail)
                check_finite(weight, f"the weight of {name}")
        full = [
            np.zeros((*of.shape, *(tail or ()))) if weight is None else weight
            for weight, of in zip(weights, self._solution, strict=True)
        ]
        if not tail:
            return self._gradients(*full)
        gradients = {
            name: np.empty((*shape, *tail)) for name, shape in self._residuals.shapes.items()
        }
        for i in range(tail[0]):
            for name, gradient in self._gradients(*(weight[..., i] for weight in full)).items():
                gradients[name][..., i] = gradient
        return gradients

    def matrix(self, variable: str) -> FloatArray:
        """Return the dense derivative (n_bodies, 6, *shape) of the accelerations in a variable."""
        shape = self.shape(variable)
        size = int(np.prod(shape))
        change = self.jvp(**{variable: np.eye(size).reshape(*shape, size)}).acceleration
        return change.reshape(*self.acceleration.shape, *shape)

    @cached_property
    def joint_space(self) -> ForwardDynamicsDerivatives:
        """Those of a tree's joint accelerations in q, qd and tau; see `TreeDerivatives`.

        All forces are taken along; coordinates are in the order of `joint_space(...).names`. Raises
        ModelError if a joint closes a loop.
        """
        of, at = TreeDerivatives(self.system), self.evaluation
        problem = TreeProblem(of.tree, at.state, at.body_force)
        n = of.tree.n_velocities
        by_q, by_qd = np.zeros((2, n, n))
        if self.system.has_loads:
            J, v_q = of.body_rates(problem)
            # F of no masses, accelerations and multipliers: forces besides weights, negative
            nothing = {name: np.zeros_like(getattr(self.system, name)) for name in _INERTIAS}
            at_rest = np.zeros_like(self.acceleration), np.zeros_like(self.multiplier)
            loads = Residuals(replace(self.system, **nothing), at.state, *at_rest)
            for k in range(n):
                by_q[:, k] = np.tensordot(J, loads.jvp({"position": J[k], "velocity": v_q[k]})[0])
                by_qd[:, k] = np.tensordot(J, loads.jvp({"velocity": J[k]})[0])
        return of.with_loads(problem, by_q, by_qd)

    @property
    def _solution(self) -> tuple[FloatArray, FloatArray]:
        return self.acceleration, self.multiplier

    def _tangent(self, along: Mapping[str, FloatArray]) -> Tangent:
        motion, dual = self._solve(*self._residuals.jvp(along))
        return Tangent(-motion, dual)

    def _gradients(self, acceleration: FloatArray, multiplier: FloatArray) -> dict[str, FloatArray]:
        weights = -acceleration, np.ascontiguousarray(multiplier)
        return self._residuals.vjp(*self._solve(*weights))

    def _solve(self, force: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (n_bodies, 6) and (n_rows,), zero in dependent rows, of [M A'; A 0] x = right."""
        dynamics, time = self.evaluation.dynamics, self.evaluation.state.time
        assembler = self.evaluation.assembled().assembler
        right = np.empty_like(assembler.right)
        spatial = assembler.native
        assert isinstance(spatial, native_dynamics.SpatialEvaluation)
        spatial.from_user_order(force, row, right)
        dynamics.run(lambda evaluator: evaluator.solve(right, time))
        motion, dual = np.empty_like(force), np.zeros_like(row)
        spatial.to_user_order(motion, dual)
        return motion, np.negative(dual, out=dual)


Shape = tuple[int, ...]


def _tail(name: str, array: FloatArray, shape: Shape, other: Shape | None) -> Shape:
    """Return the axes after `shape`, none or one and those of others, or raise ShapeError."""
    tail = array.shape[len(shape) :]
    if array.shape[: len(shape)] != shape or len(tail) > 1:
        raise ShapeError(f"{name} has shape {array.shape}, not {shape} or (*{shape}, k)")
    if other is not None and tail != other:
        raise ShapeError(f"{name} has shape {array.shape}, not {(*shape, *other)} as others have")
    return tail


def derivatives(
    system: System,
    state: State | None = None,
    *,
    body_force: FloatArray | None = None,
    dynamics: ForwardDynamics | None = None,
) -> Derivatives:
    """Return the derivatives of forward dynamics with respect to state, forces and parameters.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Where; default: the consistent initial state.
    body_force : (n_bodies, 6) float array, optional
        Additional wrenches about the centers of mass in body axes, moment first [N m, N].
    dynamics : ForwardDynamics, optional
        Of the system, whose decisions on dependent rows and elimination order are taken; default:
        new ones at the state, which takes some fifty times as long as a product.

    Returns
    -------
    Derivatives
        Products with directions (`jvp`) and with weights (`vjp`), dense matrices. Where rows are
        dependent, those of `ForwardDynamics` are left out: along directions that the joints allow
        the accelerations do not depend on which.

    Raises
    ------
    SingularSystemError
        If the independent rows are dependent at the state.
    ModelError
        If state or dynamics belong to another system, or the dynamics takes Krylov steps.
    """
    at = consistent_state(system) if state is None else state
    if dynamics is None:
        dynamics = ForwardDynamics(system, at, reactions="basic", formulation=preparation.SPATIAL)
    if dynamics.system is not system:
        raise ModelError(
            f"dynamics was prepared for another system, {dynamics.system.name!r}; prepare it for "
            f"{system.name!r}"
        )
    if dynamics.is_krylov:
        raise ModelError(
            "the dynamics takes Krylov steps; give one with redundancy='remove' and a "
            "factorization other than 'iterative'"
        )
    # of bodies with six freedoms, without stabilization
    evaluation = dynamics.unreduced.evaluate(at, body_force=body_force)
    multiplier = np.zeros(system.n_rows)
    acceleration, _ = evaluation._solution(multiplier)
    return Derivatives(acceleration, multiplier, evaluation)
