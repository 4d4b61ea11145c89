"""Explicit constraints q = gamma(y), and dynamics in independent variables.

Loop-closure functions: Featherstone (2008), sec. 8.11. Forms of constraints on H qdd + C = tau:
sec. 3.2. Implicit: K qdd = k, with constraint forces K' lambda. Explicit: qdd = G ydd + g, with
constraint forces tau_c that do no work, G' tau_c = 0. Both describe the same motions if K G = 0,
K g = k and rank K + rank G = n. All matrices are dense; `right` is tau - C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partialmethod, total_ordering, wraps
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sparsebody import errors, tolerances
from sparsebody.arrays import FloatArray
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.model.system import State
from sparsebody.tree import recursions
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.spanning_tree import SpanningTree

Equations: TypeAlias = tuple[FloatArray, FloatArray]  # matrix and right-hand side
Numbers: TypeAlias = FloatArray | Sequence[Any] | Mapping[str, Any]  # by joints, or in a row


class ExplicitMotion(NamedTuple):
    """The motions that the loops allow: qd = G v, qdd = G dv/dt + g."""

    q: FloatArray  # (n_positions,)
    G: FloatArray  # (n_velocities, m)
    g: FloatArray  # (n_velocities,)
    qd: FloatArray  # (n_velocities,) G v


@dataclass(frozen=True, eq=False)
class LoopClosure:
    """Positions of the tree as a function of independent variables, differentiated for the user.

    Parameters
    ----------
    tree : SpanningTree
        The tree whose joint positions are q.
    gamma : callable
        From y (n,) to q (tree.n_positions,), or to a mapping from the names of all tree joints to
        their positions, the loops closed.
    jacobian, bias : callable, optional
        From y to G (tree.n_velocities, m), and from y and v to g = (dG/dt) v, or to rows of them by
        joints, (8.58), (8.60); both or none. Default: of gamma by forward differentiation, exact to
        rounding: write it with NumPy's functions (np.sin, np.arctan2, ...), not those of math.
    rates : callable, optional
        From y and v (m,) to dy/dt (n,), linear in v: for velocities that are not derivatives of
        y, such as the angular velocity of a platform; default: v = dy/dt. (3.6).
    """

    tree: SpanningTree
    gamma: Callable[[Any], Numbers]
    _: KW_ONLY
    jacobian: Callable[[FloatArray], Numbers] | None = None
    bias: Callable[[FloatArray, FloatArray], Numbers] | None = None
    rates: Callable[[Any, FloatArray], Numbers] | None = None

    def __post_init__(self) -> None:
        if (self.jacobian is None) != (self.bias is None):
            alone = "jacobian" if self.jacobian else "bias"
            raise errors.ModelError(f"{alone} is given alone; give both, or neither")
        system = self.tree.system
        prescribed = system.coordinates.prescribed
        if len(prescribed):
            joint = int(system.coordinates.joint[prescribed[0]])
            raise errors.ModelError(
                f"joint {system.joint_names[joint]!r} has a prescribed motion; leave it "
                "out where independent variables determine the motion"
            )

    def position(self, y: FloatArray) -> FloatArray:
        """Return q = gamma(y)."""
        q = self._in_order(self.gamma(np.asarray(y, dtype=float))).astype(float)
        return recursions.checked_coordinates(self.tree, q, "gamma(y)", self.tree.n_positions)

    def _in_order(self, values: Numbers, columns: int = 1) -> Any:
        """Return an array, or the values of a mapping by joints in the order of the tree."""
        if not isinstance(values, Mapping):
            return np.asarray(values)
        tree = self.tree
        names = [tree.system.joint_names[int(j)] for j in tree.joint if j >= 0]
        if sorted(names) != sorted(values) or len(names) < tree.n_bodies:
            raise errors.ModelError(
                f"the loop-closure function gives {', '.join(sorted(values))}; the tree has the "
                f"joints {', '.join(names)}"
            )
        stacked = np.concatenate([np.asarray(values[name]).reshape(-1, columns) for name in names])
        return stacked if columns > 1 else stacked[:, 0]

    def position_rate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        """Return dy/dt."""
        v = np.asarray(v, dtype=float)
        return v if self.rates is None else np.asarray(self.rates(y, v), dtype=float)

    def __call__(self, y: FloatArray, v: FloatArray) -> ExplicitMotion:
        """Return q, G and g at independent positions y (n,) and velocities v (m,)."""
        y, v = np.asarray(y, dtype=float), np.asarray(v, dtype=float)
        if self.jacobian is None or self.bias is None:
            return self._differentiated(y, v)
        nv = self.tree.n_velocities
        G, g = self._in_order(self.jacobian(y), len(v)), self._in_order(self.bias(y, v))
        if G.shape != (nv, len(v)) or g.shape != (nv,):
            raise errors.ShapeError(
                f"jacobian and bias give {G.shape} and {g.shape}; the tree has {nv} velocities, "
                f"and there are {len(v)} independent ones"
            )
        return ExplicitMotion(self.position(y), G, g, G @ v)

    def _differentiated(self, y: FloatArray, v: FloatArray) -> ExplicitMotion:
        tree, m, rates = self.tree, len(v), self.rates
        rate, acceleration = self.position_rate(y, v), np.zeros(len(y))  # of y, dv/dt = 0
        unit_rates = np.eye(m)  # dy/dt for unit velocities
        try:
            if rates is not None:
                unit_rates = np.stack([self.position_rate(y, unit) for unit in np.eye(m)], axis=1)
                acceleration = differentiate(lambda z: rates(z, v), y, rate)[1] @ rate
            q, slope, second = differentiate(
                lambda z: self._in_order(self.gamma(z)), y, rate, acceleration
            )
        except (AttributeError, TypeError) as error:  # NumPy calls methods of the first argument
            raise errors.ModelError(
                f"the loop-closure function cannot be differentiated ({error}); write it with "
                "NumPy's functions instead of those of math, in which the first of two arguments "
                "depends on y (0.5 + 0 * y[0] instead of 0.5), or give jacobian and bias"
            ) from error
        q = recursions.checked_coordinates(tree, q, "gamma(y)", tree.n_positions)
        qd, g = recursions.velocities_of_rates(tree, q, slope @ rate, second)
        columns = slope @ unit_rates
        no_curvature = np.zeros(tree.n_positions)
        G = [
            recursions.velocities_of_rates(tree, q, columns[:, k].copy(), no_curvature)[0]
            for k in range(m)
        ]
        return ExplicitMotion(q, np.stack(G, axis=1), g, qd)

    def state(self, y: FloatArray, v: FloatArray, *, time: float = 0.0) -> State:
        """Return poses and velocities of the bodies; raise ModelError where a loop stays open."""
        return self.closed_state(self(y, v), time)

    def closed_state(self, motion: ExplicitMotion, time: float = 0.0) -> State:
        """Return poses and velocities at q and qd; raise ModelError where a loop stays open."""
        tree, system = self.tree, self.tree.system
        state = recursions.tree_state(tree, motion.q, motion.qd, time=time)
        error = SystemMotion(system, state).position_error
        size = 1.0 + np.abs(state.position).max(initial=0.0)
        if np.abs(error).max(initial=0.0) > tolerances.FUNCTION_CLOSURE * size:
            k = int(np.argmax(np.abs(error)))
            raise errors.ModelError(
                f"gamma(y) leaves joint {system.joint_names[int(system.row_joint[k])]!r} open by "
                f"{abs(error[k]):.3g} rad or m; return q of the tree's joints that closes it"
            )
        return state


def implicit_system(H: FloatArray, K: FloatArray, right: FloatArray, k: FloatArray) -> Equations:
    """Return matrix and right-hand side of (3.17), whose solution is [qdd; -lambda]."""
    m = len(K)
    return np.block([[H, K.T], [K, np.zeros((m, m))]]), np.concatenate([right, k])


def explicit_system(H: FloatArray, G: FloatArray, right: FloatArray, g: FloatArray) -> Equations:
    """Return matrix and right-hand side of (3.18), whose solution is [qdd; tau_c; ydd]."""
    n, m = G.shape
    one, none = np.eye(n), np.zeros((n, m))
    matrix = np.block(
        [[H, -one, none], [-one, np.zeros((n, n)), G], [none.T, G.T, np.zeros((m, m))]]
    )
    return matrix, np.concatenate([right, -g, np.zeros(m)])


def dual_system(H: FloatArray, G: FloatArray, right: FloatArray, g: FloatArray) -> Equations:
    """Return matrix and right-hand side of (3.19), whose solution is [tau_c; -ydd].

    The dual of (3.17), motions and forces having changed places, symmetric with qdd = G ydd + g.
    """
    n, m = G.shape
    factor = cho_factor(H)
    matrix = np.block([[cho_solve(factor, np.eye(n)), G], [G.T, np.zeros((m, m))]])
    return matrix, np.concatenate([g - cho_solve(factor, right), np.zeros(m)])


def projected_system(H: FloatArray, C: FloatArray, G: FloatArray, g: FloatArray) -> Equations:
    """Return H_G = G' H G and C_G = G' (C + H g) of H_G ydd + C_G = u = G' tau. (3.20), (3.21).

    The projection method: G' takes the constraint forces away. H_G is positive definite, the
    kinetic energy is yd' H_G yd / 2, and u' yd is the power of tau.
    """
    return G.T @ H @ G, G.T @ (C + H @ g)


class ProjectedEquations(NamedTuple):
    """H_G dv/dt + C_G = u, the equations of motion at a state."""

    inertia: FloatArray  # H_G (m, m)
    bias_force: FloatArray  # C_G (m,) gravity, springs and loads in it
    force: FloatArray  # u (m,) = G' tau
    motion: ExplicitMotion
    problem: TreeProblem

    def acceleration(self) -> FloatArray:
        """Return dv/dt (m,)."""
        return cho_solve(cho_factor(self.inertia), self.force - self.bias_force)


class ExplicitDynamics:
    """Forward dynamics of a mechanism whose loops are closed by a function q = gamma(y).

    Loops stay closed whatever is integrated, so nothing needs stabilization.
    """

    def __init__(self, closure: LoopClosure) -> None:
        self.closure = closure
        self.tree = closure.tree

    def equations(
        self,
        y: FloatArray,
        v: FloatArray,
        *,
        time: float = 0.0,
        tau: FloatArray | None = None,
        body_force: FloatArray | None = None,
    ) -> ProjectedEquations:
        """Return H_G, C_G and u at independent positions y (n,) and velocities v (m,).

        `tau` (n_velocities,) are forces of the tree's joints besides those of the model [N m, N],
        `body_force` (n_bodies, 6) additional wrenches about the centers of mass in body axes [N m,
        N]. Raises ModelError if gamma(y) leaves a loop open.
        """
        tree, motion = self.tree, self.closure(y, v)
        problem = TreeProblem(tree, self.closure.closed_state(motion, time), body_force)
        H = recursions.dense_inertia(tree, problem.motion)
        C = recursions.joint_space_bias_force(tree, problem.motion, problem.force)
        inertia, bias = projected_system(H, C, motion.G, motion.g)
        tau = np.zeros(tree.n_velocities) if tau is None else tau
        tau = recursions.checked_coordinates(tree, tau, "tau", tree.n_velocities)
        return ProjectedEquations(inertia, bias, motion.G.T @ tau, motion, problem)

    def acceleration(self, y: FloatArray, v: FloatArray, **at: Any) -> FloatArray:
        """Return dv/dt (m,); arguments as in `equations`."""
        return self.equations(y, v, **at).acceleration()

    def body_accelerations(
        self, equations: ProjectedEquations, acceleration: FloatArray
    ) -> FloatArray:
        """Return accelerations of the bodies (n_bodies, 6) that belong to a given dv/dt (m,)."""
        qdd = equations.motion.G @ acceleration + equations.motion.g
        of_links = recursions.recursive_newton_euler(self.tree, equations.problem.motion, qdd)[1]
        return recursions.body_accelerations(self.tree, equations.problem.motion, of_links)

    def rate(self, time: float, x: FloatArray, n_velocities: int | None = None) -> FloatArray:
        """Return dx/dt of x = (y, v), half of it velocities unless their number is given. (3.9)."""
        m = len(x) // 2 if n_velocities is None else n_velocities
        y, v = x[: len(x) - m], x[len(x) - m :]
        vd = self.acceleration(y, v, time=time)
        return np.concatenate([self.closure.position_rate(y, v), vd])


# ---- forward differentiation ---------------------------------------------------------------------

# A Jet carries a value, its slopes in several directions, and its second derivative along the last
# of them; arrays of jets go through NumPy's arithmetic and elementary functions, which call the
# methods here. Derivatives are exact to rounding, as no differences are taken.
# Griewank and Walther (2008), chs. 3 and 13.

_DERIVATIVES: dict[str, Callable[[float, float], tuple[float, float]]] = {  # f', f'' of x, f
    "sin": lambda x, f: (math.cos(x), -f),
    "cos": lambda x, f: (-math.sin(x), -f),
    "tan": lambda x, f: (1.0 + f * f, 2.0 * f * (1.0 + f * f)),
    "arcsin": lambda x, f: ((1.0 - x * x) ** -0.5, x * (1.0 - x * x) ** -1.5),
    "arccos": lambda x, f: (-((1.0 - x * x) ** -0.5), -x * (1.0 - x * x) ** -1.5),
    "arctan": lambda x, f: (1.0 / (1.0 + x * x), -2.0 * x / (1.0 + x * x) ** 2),
    "exp": lambda x, f: (f, f),
    "log": lambda x, f: (1.0 / x, -1.0 / x**2),
    "sqrt": lambda x, f: (0.5 / f, -0.25 / f**3),
    "sinh": lambda x, f: (math.cosh(x), f),
    "cosh": lambda x, f: (math.sinh(x), f),
    "tanh": lambda x, f: (1.0 - f * f, -2.0 * f * (1.0 - f * f)),
    "reciprocal": lambda x, f: (-f * f, 2.0 * f**3),
}


def _by_elements(operation: Callable[[Jet, Any], Any]) -> Callable[[Jet, Any], Any]:
    """Leave arrays to NumPy, which comes back with their elements."""

    @wraps(operation)
    def operate(jet: Jet, other: Any) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return NotImplemented
        return operation(jet, other)

    return operate


@total_ordering
class Jet:
    """A number, its `slope` (m + 1,) in m directions and along a curve, its `curvature` there."""

    __slots__ = ("curvature", "slope", "value")

    def __init__(self, value: float, slope: FloatArray, curvature: float) -> None:
        self.value, self.slope, self.curvature = float(value), slope, float(curvature)

    def _through(self, value: float, first: float, second: float) -> Jet:
        """A function of this jet, by its value and its two derivatives: the chain rule."""
        along = self.slope[-1]
        return Jet(value, first * self.slope, first * self.curvature + second * along * along)

    def through(self, name: str) -> Jet:
        """The function of this name in NumPy, which calls it as a method of that name."""
        value = float(getattr(np, name)(self.value))
        return self._through(value, *_DERIVATIVES[name](self.value, value))

    def _like(self, other: Any) -> Jet:
        return other if isinstance(other, Jet) else Jet(other, np.zeros_like(self.slope), 0.0)

    def __repr__(self) -> str:
        return f"Jet({self.value!r}, {self.slope!r}, {self.curvature!r})"

    @_by_elements
    def __add__(self, other: Any) -> Jet:
        b = self._like(other)
        return Jet(self.value + b.value, self.slope + b.slope, self.curvature + b.curvature)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.slope, -self.curvature)

    def __pos__(self) -> Jet:
        return self

    def __sub__(self, other: Any) -> Jet:
        return self + (-other)

    def __rsub__(self, other: Any) -> Jet:
        return -self + other

    @_by_elements
    def __mul__(self, other: Any) -> Jet:
        b = self._like(other)
        twice = 2.0 * self.slope[-1] * b.slope[-1]
        curvature = self.value * b.curvature + twice + b.value * self.curvature
        return Jet(self.value * b.value, self.value * b.slope + b.value * self.slope, curvature)

    __rmul__ = __mul__

    @_by_elements
    def __truediv__(self, other: Any) -> Jet:
        return self * self._like(other).through("reciprocal")

    @_by_elements
    def __rtruediv__(self, other: Any) -> Jet:
        return self.through("reciprocal") * other

    @_by_elements
    def __pow__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return (self.through("log") * other).through("exp")
        x, n = self.value, float(other)
        first = n * x ** (n - 1.0) if n != 0.0 else 0.0
        second = n * (n - 1.0) * x ** (n - 2.0) if n not in (0.0, 1.0) else 0.0
        return self._through(x**n, first, second)

    def __rpow__(self, other: Any) -> Jet:
        return (self * math.log(other)).through("exp")

    def __abs__(self) -> Jet:
        return -self if self.value < 0.0 else self

    def __eq__(self, other: object) -> bool:
        return self.value == self._like(other).value

    def __lt__(self, other: Any) -> bool:
        return self.value < self._like(other).value

    def conjugate(self) -> Jet:
        """Return the jet itself, which is real."""
        return self

    def arctan2(self, other: Any) -> Jet:
        """Angle of the point (other, self), in its quadrant."""
        x = self._like(other)
        angle = math.atan2(self.value, x.value)
        s, c = math.sin(angle), math.cos(angle)
        return ((self * c - x * s) / (self * s + x * c)).through("arctan") + angle

    def hypot(self, other: Any) -> Jet:
        """Root of the sum of squares."""
        return (self * self + self._like(other) * other).through("sqrt")


for _name in _DERIVATIVES:
    setattr(Jet, _name, partialmethod(Jet.through, _name))


def differentiate(
    function: Callable[[Any], Any],
    y: FloatArray,
    rate: FloatArray,
    acceleration: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a function's value (n,), its Jacobian (n, m), and its second derivative (n,).

    The last is along y + rate t + acceleration t^2 / 2 at t = 0; `function` takes an
    object array (m,) of jets.
    """
    m = len(y)
    slopes = np.concatenate([np.eye(m), np.asarray(rate)[:, None]], axis=1)
    acceleration = np.zeros(m) if acceleration is None else acceleration
    jets = np.empty(m, dtype=object)
    jets[:] = [Jet(*parts) for parts in zip(y, slopes, acceleration, strict=True)]
    zero = Jet(0.0, np.zeros(m + 1), 0.0)
    results = [zero + part for part in np.asarray(function(jets), dtype=object).ravel()]
    value = np.array([jet.value for jet in results])  # constants have become jets
    jacobian = np.array([jet.slope[:-1] for jet in results]).reshape(len(results), m)
    return value, jacobian, np.array([jet.curvature for jet in results])
