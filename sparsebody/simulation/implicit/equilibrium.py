"""Static equilibrium by damped Newton steps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from sparsebody.arrays import BriefRepr, FloatArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import SimulationError
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.statics import StaticEquations, StaticPoint

_LARGEST_TURN = 0.2  # [rad] of a Newton step
_LARGEST_MOVE = 0.2  # of the mechanism's extent
_BALANCED = 1e-13  # forces left over, of those that act: rounding
_KICK = 1e-2  # of typical lengths, away from an unstable equilibrium
_SHIFTS = 60  # by which the matrix is made positive, each twice the last


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(BriefRepr):
    """A pose in which all forces balance."""

    state: State = field(repr=False)  # at rest
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
    point, shift, has_moved = equations.start(start), 0.0, False
    for iteration in range(1, max_iterations + 1):
        residual = equations.evaluate(point)
        matrix = equations.matrix()
        shift = _shift(equations, matrix, shift) if stable else 0.0
        least = equations.least_shift(matrix, point)
        change = -static_solve(equations, matrix, residual, shift + least)
        turn, move = equations.size(change)
        size = equations.length * turn + move
        if not np.isfinite(size):
            break
        is_small = size < tolerance * equations.length
        if is_small or (iteration > 1 and _is_balanced(equations, matrix, point, residual)):
            if shift == 0.0 or has_moved or not _has_potential(system):
                last = equations.moved(point, change) if is_small else point
                return _report(equations, last, iteration)
            has_moved = True  # away from a maximum of the potential
            change = equations.random_change(_KICK)
        else:
            largest = max(turn / _LARGEST_TURN, move / (_LARGEST_MOVE * extent))
            change /= max(1.0, largest)
        point = equations.moved(point, change)
    raise SimulationError(
        f"no equilibrium after {max_iterations} iterations (the last correction was {move:.1e} m, "
        f"{turn:.1e} rad); begin nearer to it, hold what moves freely, or follow a load from where "
        "the equilibrium is known"
    )


def _shift(equations: StaticEquations, matrix: csc_array, last: float) -> float:
    """Return a b >= 0 with which K + b M is positive on free motions, the least of a sequence."""
    if equations.n_unstable(matrix) == 0:
        return 0.0
    shift = last / 4.0 if last > 0.0 else 1e-6 * equations.largest_rate(matrix)
    for _ in range(_SHIFTS):
        if equations.n_unstable(matrix, shift) == 0:
            return shift
        shift *= 2.0
    raise SimulationError("no inertia makes the equations positive: a stiffness is not finite")


def _is_balanced(
    equations: StaticEquations, matrix: csc_array, point: StaticPoint, residual: FloatArray
) -> bool:
    """Whether what is left is rounding, as where neutral motions let corrections not vanish."""
    n = len(equations.mass)
    moment, force = np.abs(residual[:n].reshape(-1, 2, 3)).max(axis=(0, 2))
    left = max(moment / equations.length, force) / (equations.acting(matrix, point) or 1.0)
    return max(left, np.abs(residual[n:]).max(initial=0.0)) < _BALANCED


def _has_potential(system: System) -> bool:
    """Whether all loads have one: neither moments fixed in space nor forces that turn with bodies.

    Otherwise the signs of K + K' do not tell of stability.
    """
    loads = system.external_forces
    return not (loads.wrench[loads.in_world, :3].any() or loads.wrench[~loads.in_world].any())


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
