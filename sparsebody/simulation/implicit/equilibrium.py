"""Static equilibrium by damped Newton steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import SimulationError
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.statics import StaticEquations, StaticPoint

_LARGEST_TURN = 0.2  # [rad] of a Newton step
_LARGEST_MOVE = 0.2  # of the mechanism's extent
_SHIFTS = 25  # by which the matrix is made positive, each four times the last
_DIVERGING = 4.0  # corrections that grow so much from one iteration to the next


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A pose in which all forces balance."""

    state: State  # at rest
    n_unstable: int  # directions in which the potential falls
    residual: float  # the largest force [N] or moment over a typical length left on a body
    iterations: int


def equilibrium(
    system: System,
    state: State | None = None,
    *,
    stable: bool = True,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
) -> Equilibrium:
    """Return the static equilibrium near a state, at its time.

    Newton's method on M dv/dt = 0, with the matrix of implicit steps without inertia, [K A'; A -C].
    Where K has negative directions b M is added, the least b that makes it positive, so that the
    potential falls, as along the path of a slow motion with friction.

    Parameters
    ----------
    system : System
        The compiled mechanism: rigid, compliant and redundant joints, springs, bushings, beams.
    state : State, optional
        Where to begin; velocities do not matter. Default: the initial state.
    stable : bool
        False: take the nearest equilibrium, even if the potential has no minimum there.
    tolerance : float
        Of the last correction, over a typical length of the mechanism.
    max_iterations : int
        At most.

    Raises
    ------
    SimulationError
        If there is none to be found: bodies fly or turn freely, or it is too far.

    References
    ----------
    Kelley and Keyes (1998), SIAM J. Numer. Anal. 35:508, on pseudo-transient continuation.
    """
    start = consistent_state(system, state)
    equations = StaticEquations(system, start)
    extent = equations.length + float(np.linalg.norm(np.ptp(start.position, axis=0)))
    point, last, shift = equations.start(start), np.inf, 0.0
    for iteration in range(1, max_iterations + 1):
        residual = equations.evaluate(point)
        matrix = equations.matrix()
        shift = _shift(equations, matrix, shift) if stable else 0.0
        change = -static_solve(equations, matrix, residual, shift)
        turn, move = equations.size(change)
        size = equations.length * turn + move
        if not np.isfinite(size):
            break
        change *= min(
            1.0, _LARGEST_TURN / max(turn, 1e-300), _LARGEST_MOVE * extent / max(move, 1e-300)
        )
        point = equations.moved(point, change)
        if shift == 0.0 and size < tolerance * equations.length:
            return _report(equations, point, iteration)
        last = size
    raise SimulationError(
        f"no equilibrium after {max_iterations} iterations (the last correction was {last:.1e} m, "
        f"{turn:.1e} rad); begin nearer to it, hold what moves freely, or follow a load from where "
        "the equilibrium is known"
    )


def _shift(equations: StaticEquations, matrix: csc_array, last: float) -> float:
    """Return a b >= 0 with which K + b M is positive on free motions, the least of a sequence."""
    if equations.n_unstable(matrix) == 0:
        return 0.0
    shift = last / 16.0 if last > 0.0 else 1e-6 * equations.largest_rate(matrix)
    for _ in range(_SHIFTS):
        if equations.n_unstable(matrix, shift) == 0:
            return 2.0 * shift
        shift *= 4.0
    raise SimulationError("no inertia makes the equations positive: a stiffness is not finite")


def _report(equations: StaticEquations, point: StaticPoint, iterations: int) -> Equilibrium:
    residual = equations.evaluate(point)
    force = residual[: 6 * equations.system.n_bodies].reshape(-1, 2, 3)
    largest = np.linalg.norm(force, axis=2).max(axis=0)
    return Equilibrium(
        point.state,
        equations.n_unstable(equations.matrix()),
        float(max(largest[0] / equations.length, largest[1])),
        iterations,
    )


def static_solve(
    equations: StaticEquations, matrix: csc_array, rhs: FloatArray, shift: float = 0.0
) -> FloatArray:
    """Return the solution of [K + shift M, A'; A -C], scaled, by LU factors."""
    if shift:
        mass = np.zeros(len(rhs))
        mass[: len(equations.mass)] = equations.mass
        matrix = matrix + diags_array(shift * mass)
    scale = equations.scale(matrix)
    try:
        factors = splu((diags_array(scale) @ matrix @ diags_array(scale)).tocsc())
    except RuntimeError as error:
        raise SimulationError(
            "the equations of equilibrium are singular: a body moves freely; hold it by a joint, "
            "a spring or a beam"
        ) from error
    return scale * factors.solve(scale * rhs)
