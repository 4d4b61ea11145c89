"""Equations of static equilibrium, on the arrays of an implicit step without inertia.

    A' lambda = f(q, p),  delta(q, p) = 0,  z(q) = mu,   q <- q exp(d),

with a load parameter p, the rows and forces of elastic elements among A and lambda. Newton's matrix
is that of a step, [K A'; A -C], where C of rigid rows is far below what anything else gives way by
and only keeps dependent rows apart; it takes no part in the equations that are solved.

By Sylvester's law of inertia the negative pivots beyond one a row count the unstable directions:
K is congruent to the pivots of [K + A'A / c, A'; A, -C], in any order that has bodies before rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import block_array, coo_array, csc_array, csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import lsqr, splu

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import ModelError, SimulationError
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.step_equations import StepEquations, uniform_compliance

_ZERO = 1e-13  # of the largest stiffness over inertia: what rounding leaves of zero
_RIGID = 1e-9  # compliance of rigid rows over that of the rest


@dataclass(frozen=True, eq=False)
class StaticPoint:
    """A pose at rest, the forces in it, and the load parameter."""

    state: State
    multiplier: FloatArray  # (n_rows,) of joints, then of elastic elements
    parameter: float


Setter = Callable[[float], None]


class StaticEquations:
    """Residuals of equilibrium at a point, and their linearization.

    Parameters
    ----------
    system : System
        The mechanism.
    parameter : str, optional
        What the load parameter scales or sets: the name of an external force, "gravity", or the
        name of a joint with a prescribed coordinate, whose value it is.
    state : State
        Near which the sizes of forces are taken.

    Raises
    ------
    ModelError
        If there is no such parameter.
    """

    def __init__(self, system: System, state: State, parameter: str | None = None) -> None:
        loads = system.external_forces
        system = replace(
            system,
            gravity=system.gravity.copy(),
            external_forces=replace(loads, wrench=loads.wrench.copy()),
        )
        self.system, self.length = system, system.typical_length
        self._equations = StepEquations(system, uniform_compliance(system, state, 1.0), None)
        self._set = self._setter(parameter)
        units = np.repeat([self.length**2, 1.0], 3)
        self.mass = (system.mass[:, None] * units).ravel()  # of spheres: what shifts are of
        self.rigid = self._equations.compliance.diagonal
        self.evaluate(StaticPoint(state, np.zeros(self._equations.n_rows), 1.0))
        across = np.abs(self.tangent_stiffness(self.matrix())[0].diagonal()).reshape(-1, 6)[:, 3:]
        load = np.linalg.norm(SystemMotion(system, state).applied[:, 3:], axis=1).sum()
        self.stiffness = float(across.max() + load / self.length) or 1.0  # [N/m] a typical one
        self.rigid = _RIGID / self.stiffness * self._equations.compliance.diagonal
        self._equations.compliance.entries[:] *= _RIGID / self.stiffness
        self._order: IntArray | None = None

    @property
    def n_elastic(self) -> int:
        """Rows of elastic elements."""
        return self._equations.n_rows - self.system.n_rows

    # ---- the equations ----------------------------------------------------------------------

    def start(self, state: State, parameter: float = 0.0) -> StaticPoint:
        """Return a point at rest, with the forces of its stretches."""
        at_rest = state.with_(velocity=np.zeros_like(state.velocity))
        point = StaticPoint(at_rest, np.zeros(self._equations.n_rows), parameter)
        n = 6 * self.system.n_bodies + self.system.n_rows
        stretch = self.evaluate(point)[n:]
        return replace(point, multiplier=np.append(np.zeros(self.system.n_rows), stretch))

    def with_reactions(self, point: StaticPoint) -> StaticPoint:
        """Return the point with the forces of rigid rows that balance best, in least squares."""
        n, m = 6 * self.system.n_bodies, self.system.n_rows
        if m == 0:
            return point
        residual = self.evaluate(point)
        rows = self.matrix()[n : n + m, :n]
        weight = diags_array(1.0 / np.sqrt(self.mass))
        balance = lsqr(weight @ rows.T, -(weight @ residual[:n]), atol=1e-14, btol=1e-14)[0]
        multiplier = point.multiplier.copy()
        multiplier[:m] += balance
        return replace(point, multiplier=multiplier)

    def evaluate(self, point: StaticPoint) -> FloatArray:
        """Return the residual (6 n_bodies + n_rows,) at a point, which later methods refer to."""
        equations = self._equations
        equations.start_from(point.state, point.state.time)
        if self._set is not None:
            self._set(point.parameter)
        for array in (equations.displacement, equations.velocity, equations.acceleration):
            array[:] = 0.0
        equations.multiplier[:] = point.multiplier
        equations.evaluate()
        rows, n = equations.row_residual.copy(), self.system.n_rows
        rows[:n] += self.rigid * equations.multiplier[:n]  # rigid without their compliance
        return np.concatenate([equations.force_residual.ravel(), rows])

    def parameter_rate(self, point: StaticPoint) -> FloatArray:
        """Return d(residual)/dp, of which the residual is a linear function."""
        ahead = self.evaluate(replace(point, parameter=point.parameter + 1.0))
        return ahead - self.evaluate(point)

    def matrix(self) -> csc_array:
        """Return [K A'; A -C] where the residual was evaluated last."""
        row, column, value, *_ = self._equations.native.assemble()
        n = 6 * self.system.n_bodies + self._equations.n_rows
        return coo_array((value, (row, column)), shape=(n, n)).tocsc()

    def moved(self, point: StaticPoint, change: FloatArray, rate: float = 0.0) -> StaticPoint:
        """Return the point after a change (6 n_bodies + n_rows,) of poses and forces, and of p."""
        equations, n = self._equations, 6 * self.system.n_bodies
        equations.start_from(point.state, point.state.time)
        if self._set is not None:
            self._set(point.parameter + rate)
        equations.displacement[:] = change[:n].reshape(-1, 6)
        equations.velocity[:] = equations.acceleration[:] = 0.0
        equations.evaluate()
        return StaticPoint(equations.state(), point.multiplier + change[n:], point.parameter + rate)

    def random_change(self, size: float) -> FloatArray:
        """Return a change of poses, the same at each call, of that many typical lengths."""
        twist = np.random.default_rng(0).uniform(-size, size, (self.system.n_bodies, 6))
        twist[:, 3:] *= self.length
        return np.concatenate([twist.ravel(), np.zeros(self._equations.n_rows)])

    def size(self, change: FloatArray) -> tuple[float, float]:
        """Return the largest rotation and translation [rad, m] in a change."""
        parts = change[: 6 * self.system.n_bodies].reshape(-1, 2, 3)
        turn, move = np.linalg.norm(parts, axis=2).max(axis=0)
        return float(turn), float(move)

    def scale(self, matrix: csc_array) -> FloatArray:
        """Return factors that bring rows and columns of [K A'; A -C] to similar sizes."""
        K, _ = self.tangent_stiffness(matrix)
        units = np.tile(np.repeat([self.length**2, 1.0], 3), self.system.n_bodies)
        diagonal = np.abs(K.diagonal()) + self.stiffness * units * 1e-3
        scale = np.ones(matrix.shape[0])
        scale[: len(diagonal)] = 1.0 / np.sqrt(diagonal)
        rows = matrix[len(diagonal) :, : len(diagonal)].multiply(scale[: len(diagonal)])
        size = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        scale[len(diagonal) :] = 1.0 / np.sqrt(np.where(size > 0.0, size, 1.0))
        return scale

    def acting(self, matrix: csc_array, point: StaticPoint) -> float:
        """Return the largest force on a body, weights included [N]."""
        n = len(self.mass)
        forces = abs(matrix[:n, n:]) @ np.abs(point.multiplier)
        weight = float(self.system.mass.max() * np.linalg.norm(self.system.gravity))
        return float(forces.reshape(-1, 6)[:, 3:].max(initial=0.0)) + weight

    def largest_rate(self, matrix: csc_array) -> float:
        """Return the largest diagonal entry of K over that of M [1/s^2]."""
        K, _ = self.tangent_stiffness(matrix)
        return float((np.abs(K.diagonal()) / self.mass).max()) or 1.0

    # ---- stability --------------------------------------------------------------------------

    def tangent_stiffness(self, matrix: csc_array) -> tuple[csc_array, csc_array]:
        """Return K with the stiffness of elastic elements (6n, 6n), symmetric, and rigid rows."""
        n, m = 6 * self.system.n_bodies, self.system.n_rows
        K, elastic = matrix[:n, :n], matrix[n + m :, :n]
        return ((K + K.T) / 2.0 + elastic.T @ elastic).tocsc(), matrix[n : n + m, :n].tocsc()

    def n_unstable(self, matrix: csc_array, inertia: float = 0.0) -> int:
        """Return how many eigenvalues of K + inertia M on free motions are negative.

        Raises SimulationError if a pivot is zero.
        """
        K, rows = self.tangent_stiffness(matrix)
        K = K + diags_array(inertia * self.mass)
        penalized = K + rows.T @ diags_array(_RIGID / self.rigid) @ rows
        least = _ZERO * max(1.0, float((np.abs(penalized.diagonal()) / self.mass).max()))
        for shift in (least, 1e2 * least, 1e4 * least):
            shifted = penalized + diags_array(shift * self.mass)
            signs = self._pivot_signs(
                block_array([[shifted, rows.T], [rows, diags_array(-self.rigid)]]).tocsr()
            )
            if signs is not None:
                return int(np.count_nonzero(signs < 0.0)) - rows.shape[0]
        raise SimulationError("pivots of the stiffness are zero; move the state a little")

    def _pivot_signs(self, bordered: csr_array) -> FloatArray | None:
        """Return the pivots of LDL', scaled, or None where one is zero."""
        scale = 1.0 / np.sqrt(np.abs(bordered.diagonal()))
        scale[len(self.mass) :] = 1.0
        order = self._elimination_order(bordered)
        scaled = (diags_array(scale) @ bordered @ diags_array(scale)).tocsr()[order][:, order]
        factors = splu(
            scaled.tocsc(),
            permc_spec="NATURAL",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        if (factors.perm_r != factors.perm_c).any():
            return None
        return np.asarray(factors.U.diagonal())

    def _elimination_order(self, bordered: csr_array) -> IntArray:
        """Return an order with each row after its bodies, of small bandwidth."""
        if self._order is None:
            n = len(self.mass)
            order = reverse_cuthill_mckee(bordered[:n, :n], symmetric_mode=True)
            place = np.empty(bordered.shape[0])
            place[order] = np.arange(n)
            rows = bordered[n:, :n].tocoo()
            place[n:] = -1.0
            np.maximum.at(place, n + rows.coords[0], place[rows.coords[1]] + 0.5)
            self._order = np.argsort(place, kind="stable")
        return self._order

    # ---- the parameter ----------------------------------------------------------------------

    def _setter(self, name: str | None) -> Setter | None:
        """Return what puts the parameter into the arrays of the equations."""
        if name is None:
            return None
        system, equations = self.system, self._equations
        loads, tracked = system.external_forces, system.coordinates
        if name == "gravity":
            return _multiple(system.gravity)
        if name in loads.names:
            return _multiple(loads.wrench[loads.names.index(name)])
        joints = [system.joint_names[tracked.joint[item]] for item in tracked.prescribed]
        if name in joints:
            return lambda p: equations.prescribe(joints.index(name), p)
        raise ModelError(
            f"there is no parameter {name!r}; give 'gravity', the name of an external force or of "
            "a joint with a prescribed coordinate"
        )


def _multiple(array: FloatArray) -> Setter:
    """Return what puts a multiple of its present values into an array."""
    unit = array.copy()

    def put(parameter: float) -> None:
        array[...] = parameter * unit

    return put
