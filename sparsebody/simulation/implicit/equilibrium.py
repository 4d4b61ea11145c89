"""Static equilibrium by damped Newton steps, and small vibrations about it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import block_array, bsr_array, csc_array, diags_array
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from sparsebody.arrays import BriefRepr, FloatArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import SimulationError
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.statics import StaticEquations

_LARGEST_TURN = 0.2  # [rad] of a Newton step
_LARGEST_MOVE = 0.2  # of the mechanism's extent
_BALANCED = 1e-13  # forces left over, of those that act: rounding
_KICK = 1e-2  # of typical lengths, away from an unstable equilibrium
_SHIFTS = 60  # by which the matrix is made positive, each twice the last
_NEUTRAL = 1e-6  # of forces over a length, as a stiffness: well above rounding of it
_AT_REST, _NOISE = 1e-6, 1e-11  # forces left over, of weights and of a stiffness times a length
_SHIFT = 1e-12  # below zero, of the largest rate squared, where free bodies have eigenvalues


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
    n = 6 * system.n_bodies
    for iteration in range(1, max_iterations + 1):
        residual = equations.evaluate(point)
        matrix = equations.matrix()
        shift = _shift(equations, matrix, shift) if stable else 0.0
        acting = equations.acting(matrix, point)
        least = _NEUTRAL * acting / (system.mass.mean() * equations.length)
        change = -_solution(equations, matrix, residual, shift + least)
        turn, move = equations.size(change)
        size = equations.length * turn + move
        if not np.isfinite(size):
            break
        is_small = size < tolerance * equations.length
        moment, force = np.abs(residual[:n].reshape(-1, 2, 3)).max(axis=(0, 2))
        unbalanced = max(moment / equations.length, force) / (acting or 1.0)
        unbalanced = max(unbalanced, np.abs(residual[n:]).max(initial=0.0))
        if is_small or (iteration > 1 and unbalanced < _BALANCED):  # the rest is rounding
            if shift == 0.0 or has_moved or not _has_potential(system):
                last = equations.moved(point, change) if is_small else point
                parts = equations.evaluate(last)[:n].reshape(-1, 2, 3)
                largest = np.linalg.norm(parts, axis=2).max(axis=0)
                unbalanced = float(max(largest[0] / equations.length, largest[1]))
                n_unstable = equations.n_unstable(equations.matrix())
                return Equilibrium(last.state, n_unstable, unbalanced, iteration)
            has_moved = True  # away from a maximum of the potential
            change = equations.random_change(_KICK)
        else:
            change /= max(1.0, turn / _LARGEST_TURN, move / (_LARGEST_MOVE * extent))
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


def _has_potential(system: System) -> bool:
    """Whether all loads have one: neither moments fixed in space nor forces that turn with bodies.

    Otherwise the signs of K + K' do not tell of stability.
    """
    loads = system.external_forces
    return not (loads.wrench[loads.in_world, :3].any() or loads.wrench[~loads.in_world].any())


def _solution(
    equations: StaticEquations, matrix: csc_array, rhs: FloatArray, shift: float
) -> FloatArray:
    """Return the solution of [K + shift M, A'; A -C], scaled, by LU factors."""
    n_rows = len(rhs) - len(equations.mass)
    matrix = matrix + diags_array(np.append(shift * equations.mass, np.zeros(n_rows)))
    scale = equations.scale(matrix)
    try:
        factors = splu((diags_array(scale) @ matrix @ diags_array(scale)).tocsc())
    except RuntimeError as error:
        raise SimulationError(
            "the equations of equilibrium are singular: a body moves freely; hold it by a joint, "
            "a spring or a beam"
        ) from error
    return scale * factors.solve(scale * rhs)


# ---- vibrations ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Vibrations(BriefRepr):
    """Natural frequencies without damping, the lowest first."""

    square: FloatArray  # (n,) omega^2 [1/s^2], negative where the equilibrium is unstable
    mode: FloatArray  # (n, n_bodies, 6) twists in body coordinates, of unit M-norm

    @property
    def frequency(self) -> FloatArray:
        """(n,) omega / 2 pi [Hz], NaN where unstable; rounding about zero is zero."""
        noise = 1e-9 * float(np.abs(self.square).max())
        square = np.where(np.abs(self.square) < noise, 0.0, self.square)
        return np.where(square < 0.0, np.nan, np.sqrt(np.abs(square)) / (2.0 * np.pi))


def natural_frequencies(system: System, state: State | None = None, count: int = 6) -> Vibrations:
    """Return the lowest natural frequencies about a state of equilibrium.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        At equilibrium, as `equilibrium` finds it; default: the consistent initial state.
    count : int
        Of frequencies.

    Raises
    ------
    SimulationError
        If there are not so many, or forces do not balance at the state.
    """
    state = consistent_state(system) if state is None else state
    equations = StaticEquations(system, state)
    residual = equations.evaluate(equations.with_reactions(equations.start(state)))
    force = np.abs(residual[: 6 * system.n_bodies].reshape(-1, 6)[:, 3:]).max()
    weight = float(system.mass.max() * np.abs(system.gravity).max())
    if force > _AT_REST * weight + _NOISE * equations.stiffness * equations.length:
        raise SimulationError(
            f"forces of up to {force:.3g} N do not balance at this state; give one that "
            "`equilibrium` returns"
        )
    return vibrations(equations, count)


def vibrations(equations: StaticEquations, count: int) -> Vibrations:
    """Return the eigenvalues nearest to zero at the point evaluated last, by Lanczos steps.

    Those of the inverse of [K - sigma M, A'; A, -C] in the metric of M, sigma just below zero.
    """
    matrix = equations.matrix()
    K, rows = equations.tangent_stiffness(matrix)
    n = K.shape[0]
    if not 0 < count < n - rows.shape[0]:
        raise SimulationError(f"count is {count}; give 1 to {n - rows.shape[0] - 1}")
    inertia = equations.system.spatial_inertia
    index = np.arange(len(inertia) + 1)
    M = bsr_array((inertia, index[:-1], index), shape=(n, n)).tocsc()
    sigma = -_SHIFT * equations.largest_rate(matrix)
    bordered = block_array([[K - sigma * M, rows.T], [rows, diags_array(-equations.rigid)]])
    factors = splu(bordered.tocsc())
    padding = np.zeros(rows.shape[0])
    inverse = LinearOperator(
        (n, n), matvec=lambda x: factors.solve(np.concatenate([x.ravel(), padding]))[:n]
    )
    start = np.random.default_rng(0).standard_normal(n)
    _, basis = eigsh(K, count, M=M, sigma=sigma, OPinv=inverse, v0=start, which="LM")
    values, mixture = eigh(basis.T @ (K @ basis), basis.T @ (M @ basis))  # Ritz: no noise of sigma
    return Vibrations(values, (basis @ mixture).T.reshape(count, -1, 6))
