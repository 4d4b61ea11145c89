"""Natural frequencies, damping and shapes of small vibrations; responses and buckling loads.

About a pose at rest small motions x exp(s t) obey

    [K + s D + s^2 M, A'; A, 0] [x; -lambda] = forces,

with K = K_other + Z' Z, Z the stretches of springs (Z' with their stiffness), compliant joints,
bushings and beams: residuals and energies use Z and Z' one after the other, so that long soft
structures keep their lowest frequencies. Eigenvalues near a given one are found by Lanczos or
Arnoldi steps with the factors of this matrix. Parlett (1998), The Symmetric Eigenvalue Problem,
ch. 13; Tisseur and Meerbergen (2001), SIAM Review 43:235, on s D; Meirovitch (1997), ch. 7.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig, eigh, null_space
from scipy.sparse import block_array, csc_array, diags_array, eye_array, linalg

from sparsebody.arrays import FEW, BriefRepr, FloatArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError, SimulationError
from sparsebody.html_tables import html_table
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.linearization.linearize import Linearization, Port
from sparsebody.model.system import State, System
from sparsebody.simulation import Trajectory
from sparsebody.simulation.implicit.statics import StaticEquations
from sparsebody.simulation.implicit.step_equations import Solve, Values, extent_of, scaled_solver
from sparsebody.simulation.trajectory_files import recorded

ComplexArray = NDArray[np.complex128]

_DENSE_SIZE = 400  # 6 n_bodies up to which all eigenvalues are computed, by dense matrices
_BALANCE_TOLERANCE = 1e-6  # unbalanced forces over those that act
# Part of the typical length by which the stiffest spring is stretched for a force that acts: with
# _BALANCE_TOLERANCE, 1e-11 of the length is rounding of its stretch, and not out of balance
_ACTING_STRETCH = 1e-5
_REFINEMENTS = 2  # of each solution, at most
_CONVERGED_CHANGE = 1e-8  # relative: refinement squares it, so that the next change is rounding
_SHIFT = 1e-12  # sigma over the largest rate squared: K + sigma M is regular where K x = 0, too
_HIGHEST_FREQUENCY = 1e100  # [Hz], whose square does not overflow
_MOST_RESTARTS = 300  # of Arnoldi steps
_SLOWEST = 1e-9  # |s| counts as zero below this part of x'D x and of the least undamped rate
_REAL = 1e-9  # |Re s| and |Im s| count as zero below this part of |s|, |Im 1 / p| of |1 / p|
_SOFT = 1e-6  # of the largest rate squared: eigenvalues below have lost half their digits
_DAMPED_SHIFT = 0.1  # Re s of the shift over the least nonzero rate: away from eigenvalues zero
_ENERGY_TOLERANCE = 1e-20  # of the largest rate squared: rounding of stretches, 1e-10, squared
_PERTURBATION = 1e-10  # of loads, relative
_CERTAIN_CHANGE = 1e-3  # relative change of 1 / p by it up to which p is a buckling load
_STIFFNESS_TOLERANCE = 1e-13  # of the terms of x' K x, which cancel
_SINGULAR_STIFFNESS = 1e-14  # eigenvalues of K, to the largest, that are zero ...
_UNSTABLE_STIFFNESS = 1e-10  # ... and below minus this negative, beyond their rounding
_SYMMETRY_TOLERANCE = 1e-8  # of G, relative: asymmetry that is rounding


@dataclass(frozen=True, eq=False, repr=False)
class Modes(BriefRepr):
    """Small vibrations x exp(s t) about a state, the nearest to the frequency `near` first."""

    system: System = field(repr=False)
    state: State = field(repr=False)  # at rest
    eigenvalue: ComplexArray  # (n,) s [1/s], imaginary without damping
    shape: ComplexArray | FloatArray  # (n, n_bodies, 6) twists x in body coordinates, x' M x = 1
    n_mechanisms: int  # how many of them have s = 0: motions that nothing resists

    def _html_facts(self) -> Mapping[str, object]:
        listed = enumerate(zip(self.frequency, self.damping_ratio, strict=True))
        rows = [(k + 1, f"{f:.6g}", f"{ratio:.4g}") for k, (f, ratio) in islice(listed, FEW)]
        table = html_table(("mode", "frequency [Hz]", "damping ratio"), rows)
        count = f"{len(self.eigenvalue)}, {self.n_mechanisms} of them with s = 0"
        return {"mechanism": self.system.name, "modes": count, "the first": table}

    @property
    def frequency(self) -> FloatArray:
        """(n,) |s| / 2 pi [Hz], NaN where a motion grows; zero exactly for mechanisms."""
        frequency = np.abs(self.eigenvalue) / (2.0 * np.pi)
        return np.where(self.eigenvalue.real > _REAL * np.abs(self.eigenvalue), np.nan, frequency)

    @property
    def damping_ratio(self) -> FloatArray:
        """(n,) -Re s / |s|: 0 without damping, 1 and more where nothing oscillates."""
        size = np.abs(self.eigenvalue)
        return 0.0 - self.eigenvalue.real / np.where(size > 0.0, size, 1.0)

    def motion(
        self,
        index: int = 0,
        *,
        amplitude: float = 0.1,
        n_frames: int = 41,
        output: str | Path | None = None,
        source: str | None = None,
    ) -> Trajectory:
        """Return one period of a mode without its damping, as a motion that can be played.

        Parameters
        ----------
        index : int
            Which mode.
        amplitude : float
            The largest displacement over the mechanism's extent, rotations times the typical
            length included.
        n_frames : int
            Number of frames of a period, its two ends included; a mode that does not oscillate
            takes one second.
        output : path-like, optional
            HDF5 file to write it to; default: in memory.
        source : str, optional
            The mechanism's JSON document, from which a picture of the file is made.

        Raises
        ------
        SimulationError
            If there is no such mode.
        ModelError
            If the amplitude is not positive, or there are fewer than two frames.
        """
        if not 0 <= index < len(self.eigenvalue):
            n = len(self.eigenvalue)
            remedy = f"give 0 to {n - 1}" if n > 0 else "there are no modes: nothing can move"
            raise SimulationError(f"there is no mode {index}; {remedy}")
        if n_frames < 2 or not (np.isfinite(amplitude) and amplitude > 0.0):
            raise ModelError(
                f"amplitude is {amplitude} and n_frames is {n_frames}; give a positive amplitude "
                "and two frames or more"
            )
        shape, length = self.shape[index], self.system.typical_length
        extent = extent_of(self.system, self.state)
        rotation, translation = np.abs(shape.reshape(-1, 2, 3)).max(axis=(0, 2))
        shape = shape * (amplitude * extent / max(translation, length * rotation))
        rate = float(np.abs(self.eigenvalue[index].imag)) or 2.0 * np.pi
        phase = np.exp(2j * np.pi * np.linspace(0.0, 1.0, n_frames))
        states = [
            displaced(self.state, np.real(z * shape)).with_(
                velocity=np.real(1j * rate * z * shape), time=float(t)
            )
            for z, t in zip(phase, np.linspace(0.0, 2.0 * np.pi / rate, n_frames), strict=True)
        ]
        return recorded(self.system, states, None if output is None else Path(output), source)


class SmallMotions:
    """The linearized equations of motion at a state at rest, for motions that the joints allow.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        At equilibrium, as `equilibrium` returns it; default: the consistent initial state.

    Raises
    ------
    SimulationError
        If forces do not balance at the state.
    """

    def __init__(self, system: System, state: State | None = None) -> None:
        state = consistent_state(system) if state is None else state
        self.system = system
        self.state = state.with_(velocity=np.zeros_like(state.velocity))
        self.equations = equations = Linearization.at(system, self.state)
        multiplier = equations.multiplier
        inertial = (equations.mass @ equations.acceleration.ravel()).reshape(-1, 2, 3)
        self.unbalanced = np.linalg.norm(inertial, axis=2)  # (n_bodies, 2) moments and forces
        length = system.typical_length  # [m], that makes a moment a force
        reactions = (abs(equations.rows.T) @ np.abs(multiplier)).reshape(-1, 2, 3)
        applied = equations.applied.reshape(-1, 2, 3)
        acting = _largest_force(applied, length) + _largest_force(reactions, length)
        stiffness = np.abs(equations.stiffness.diagonal()).reshape(-1, 2, 3)
        rotational, linear = stiffness.max(initial=0.0, axis=0).max(axis=1)
        acting += _ACTING_STRETCH * float(linear * length + rotational / length)
        unbalanced = _largest_force(inertial, length)
        if unbalanced > _BALANCE_TOLERANCE * acting:
            raise SimulationError(
                f"forces of up to {unbalanced:.3g} N do not balance at this state; give one that "
                "`equilibrium` returns"
            )
        self.rows = equations.rows[equations.independent_rows]
        self.n_freedoms = 6 * system.n_bodies - self.rows.shape[0]
        K = equations.other_stiffness  # symmetric on what the joints allow
        self.other_stiffness = csc_array((K + K.T) / 2.0)

    @cached_property
    def largest_rate_squared(self) -> float:
        """The largest entry of R K R, R = diag(M)^(-1/2) [1/s^2]; 1 where K is zero."""
        root = diags_array(1.0 / np.sqrt(self.equations.mass.diagonal()))
        return float(abs(root @ self.equations.stiffness @ root).max()) or 1.0

    def factors(self, s: complex, square: complex | None = None) -> Solve:
        """Return the function from forces (6n,) or (6n, k) to x: the module's equations at s.

        `square` takes the place of s^2 in s^2 M: with s = 0 the damping is left out. The refinement
        computes residuals with Z and Z' one after the other, in place of the matrix Z' Z.
        """
        equations, n, n_rows = self.equations, 6 * self.system.n_bodies, self.rows.shape[0]
        square = s * s if square is None else square
        other = self.other_stiffness + s * equations.other_damping + square * equations.mass
        stretches = equations.stretches + s * equations.stretch_damping
        diagonal = np.abs(equations.stiffness.diagonal()) + abs(square) * equations.mass.diagonal()
        soft = _SOFT * self.largest_rate_squared * equations.mass.diagonal()  # keeps scales finite
        scale = 1.0 / np.sqrt(diagonal + soft)
        weighted = self.rows.multiply(scale)
        row_scale = 1.0 / np.sqrt(weighted.multiply(weighted).sum(axis=1))
        solve = scaled_solver(
            block_array(
                [
                    [other + equations.on_stretches @ stretches, self.rows.T],
                    [self.rows, csc_array((n_rows, n_rows))],
                ]
            ),
            np.append(scale, row_scale),
            f"the equations are singular at {abs(s.imag) / (2.0 * np.pi):.6g} Hz, the frequency of "
            "an undamped mode: give another frequency, or add dampers",
            is_refined=True,
        )

        def solution(force: Values) -> Values:
            right = np.concatenate([force, np.zeros((n_rows, *force.shape[1:]))])
            x = solve(right)
            for _ in range(_REFINEMENTS):
                motion, dual = x[:n], x[n:]
                residual = force - other @ motion - equations.on_stretches @ (stretches @ motion)
                residual -= self.rows.T @ dual
                change = solve(np.concatenate([residual, -self.rows @ motion]))
                x = x + change
                change_norm, norm = (np.linalg.norm(part[:n], axis=0) for part in (change, x))
                if np.all(change_norm <= _CONVERGED_CHANGE * norm):
                    break
            return np.asarray(x[:n])

        return solution

    def energies(self, x: Values) -> Any:
        """Return x* K x (k, k) = x* K_other x + (Z x)* (Z x) of twists (6n, k), * the adjoint."""
        equations, conjugate = self.equations, x.conj().T
        elastic = (conjugate @ equations.on_stretches) @ (equations.stretches @ x)
        return np.asarray(conjugate @ (self.other_stiffness @ x) + elastic)

    def rounding(self, x: FloatArray) -> FloatArray:
        """Return (k,) a bound of the rounding errors of x' K x for twists x (6n, k).

        A force f at a typical length l from the center of mass has the geometric stiffness
        f (|u| + l |w|) |w| for a body that rotates by w and translates by u. Three parts of f are
        errors: rounding of constraint forces; forces of stretches by rounding of positions, eps
        times the mechanism's extent; and whatever the state leaves unbalanced.
        """
        system, equations, size = self.system, self.equations, np.abs(x)
        terms = np.einsum("ik,ik->k", size, abs(self.other_stiffness) @ size)
        length = system.typical_length
        extent = extent_of(system, self.state)
        linear = equations.stiffness.diagonal().reshape(-1, 6)[:, 3:].max(axis=1)
        stretched = 4.0 * np.finfo(float).eps * extent * linear[:, None] * [0.0, 1.0]
        reactions = (abs(equations.rows.T) @ np.abs(equations.multiplier)).reshape(-1, 2, 3)
        constrained = _STIFFNESS_TOLERANCE * np.linalg.norm(reactions, axis=2)
        moment, force = (stretched + constrained + self.unbalanced).T[:, :, None]
        w, u = np.linalg.norm(x.reshape(-1, 2, 3, x.shape[1]), axis=2).swapaxes(0, 1)
        geometric = np.sum(w * (force * (u + length * w) + moment * w), axis=0)
        own = _STIFFNESS_TOLERANCE * terms + _ENERGY_TOLERANCE * self.largest_rate_squared
        return np.asarray(own + geometric)


def _largest_force(wrench: FloatArray, length: float) -> float:
    """Return the largest force of wrenches (n, 2, 3), moments over a length among them [N]."""
    moment, force = np.linalg.norm(wrench, axis=2).max(axis=0, initial=0.0)
    return float(force + moment / length)


def modes(system: System, state: State | None = None, n: int = 6, *, near: float = 0.0) -> Modes:
    """Return the n modes with frequencies nearest to `near`, of a mechanism at equilibrium.

    Parameters
    ----------
    system : System
        The compiled mechanism: closed loops, dependent rows, springs, dampers, compliant joints,
        bushings, beams.
    state : State, optional
        At equilibrium, as `equilibrium` returns it; default: the consistent initial state.
        Velocities do not matter.
    n : int
        Number of modes, at most that of the freedoms that the joints leave; a pair of conjugate
        eigenvalues is one mode.
    near : float
        Frequency [Hz].

    Returns
    -------
    Modes
        Motions that nothing resists have the eigenvalue zero exactly.

    Raises
    ------
    SimulationError
        If forces do not balance at the state.
    ModelError
        If n is less than one, or near is negative.
    """
    motions = SmallMotions(system, state)
    if n < 1:
        raise ModelError(f"n is {n}; ask for one mode or more")
    if not 0.0 <= near < _HIGHEST_FREQUENCY:
        raise ModelError(f"near is {near}; give a frequency [Hz] that is not negative")
    n, rate = min(n, motions.n_freedoms), 2.0 * np.pi * near
    if n == 0:
        return _ordered(motions, np.zeros(0, dtype=complex), np.zeros((0, 6 * system.n_bodies)))
    is_damped = motions.equations.damping.count_nonzero() > 0
    return _damped(motions, n, rate) if is_damped else _undamped(motions, n, rate)


def _undamped(motions: SmallMotions, n: int, rate: float) -> Modes:
    """Return modes by Lanczos steps or, of small mechanisms, all at once."""
    M, size = motions.equations.mass, 6 * motions.system.n_bodies
    if size <= _DENSE_SIZE or n >= motions.n_freedoms - 1:
        basis = motions.equations.allowed_motions()
    else:
        sigma = rate**2 - _SHIFT * motions.largest_rate_squared
        inverse = linalg.LinearOperator((size, size), matvec=motions.factors(0.0, -sigma))
        start = inverse @ (M @ np.random.default_rng(0).standard_normal(size))
        options = {"M": M, "sigma": sigma, "OPinv": inverse, "v0": start}
        _, basis = linalg.eigsh(motions.equations.stiffness, n, **options)
    shape = _stationary(motions, basis)
    values = np.diagonal(motions.energies(shape)).copy()  # by (Z x)^2: small ones keep their digits
    values[np.abs(values) < motions.rounding(shape)] = 0.0
    order = np.argsort(np.abs(values - rate**2), kind="stable")[:n]
    rates = np.sqrt(np.abs(values[order]))
    eigenvalue = np.where(values[order] >= 0.0, 1j * rates, rates)
    return _ordered(motions, eigenvalue, shape.T[order])


def _stationary(motions: SmallMotions, basis: FloatArray) -> FloatArray:
    """Return the combinations of motions (6n, k) along which x' K x is stationary, x' M x = 1.

    The method of Rayleigh and Ritz, applied again to the soft ones alone, which rounding errors of
    the stiff ones have mixed.
    """
    energy = motions.energies(basis)
    mass = basis.T @ (motions.equations.mass @ basis)
    values, mixture = eigh((energy + energy.T) / 2.0, mass)
    shape = np.asarray(basis @ mixture)
    size = np.abs(values)
    is_soft = size < _SOFT * size.max(initial=0.0)
    if is_soft.any():
        shape[:, is_soft] = _stationary(motions, shape[:, is_soft])
    return shape


def _damped(motions: SmallMotions, n: int, rate: float) -> Modes:
    """Return modes by Arnoldi steps on (x, s x) or, of small mechanisms, all at once.

    If K x = 0, s = 0 is an eigenvalue for any D, so that such x are those of the undamped problem.
    """
    equations, is_small = motions.equations, 6 * motions.system.n_bodies <= _DENSE_SIZE
    all_at_once = is_small or 2 * n >= motions.n_freedoms - 2
    undamped = _undamped(motions, motions.n_freedoms if all_at_once else n, rate)
    rates = np.abs(undamped.eigenvalue)
    least = float(rates.min(initial=np.inf, where=rates > 0.0))
    least = least if np.isfinite(least) else float(np.sqrt(_SHIFT * motions.largest_rate_squared))
    if all_at_once:
        eigenvalue, x = _all_damped(motions, undamped)
    else:
        eigenvalue, x = _nearest_damped(motions, n, complex(_DAMPED_SHIFT * least, rate))
    x = x / np.sqrt(np.einsum("ik,ik->k", x.conj(), equations.mass @ x).real)
    damping = np.einsum("ik,ik->k", x.conj(), equations.damping @ x).real
    stiffness = np.abs(eigenvalue * (eigenvalue + damping))  # x' K x
    is_zero = stiffness < motions.rounding(x)
    is_zero |= np.abs(eigenvalue) < _SLOWEST * np.minimum(damping, least)
    keep = ~is_zero & (eigenvalue.imag >= -_REAL * np.abs(eigenvalue))
    mechanisms = undamped.shape[rates == 0.0].reshape(-1, len(x))
    eigenvalue = np.concatenate([np.zeros(len(mechanisms)), eigenvalue[keep]])
    shape = np.concatenate([mechanisms, x.T[keep]])
    order = np.argsort(np.abs(eigenvalue - 1j * rate), kind="stable")[:n]
    return _ordered(motions, eigenvalue[order], shape[order])


def _all_damped(motions: SmallMotions, undamped: Modes) -> tuple[ComplexArray, ComplexArray]:
    """Return all eigenvalues and shapes except those of mechanisms, from all modes without damping.

    With x = X z, y = omega z of the modes X that are resisted, and v = s z of all,

        s [y; v] = [0, omega; -omega, -X'D X] [y; v]  (+omega below where x'K x < 0).

    Rounding errors are eps times the largest omega, not its square as with K itself.
    """
    X = undamped.shape.reshape(motions.n_freedoms, -1).T
    resisted = np.flatnonzero(undamped.eigenvalue)
    rates = np.zeros((len(resisted), X.shape[1]))
    rates[np.arange(len(resisted)), resisted] = np.abs(undamped.eigenvalue[resisted])
    grows = undamped.eigenvalue[resisted].real > 0.0
    D = X.T @ (motions.equations.damping @ X)
    zero = np.zeros((len(resisted), len(resisted)))
    lower = [rates.T * np.where(grows, 1.0, -1.0), -D]
    eigenvalue, vector = eig(np.block([[zero, rates], lower]))
    return eigenvalue, X @ vector[len(resisted) :]


def _nearest_damped(motions: SmallMotions, n: int, s: complex) -> tuple[ComplexArray, ComplexArray]:
    """Return the 2 n + 2 eigenvalues nearest to s, and their shapes, by Arnoldi steps.

    If s is much nearer to zero than the least rate, they are the zeros of mechanisms alone.
    """
    equations, size = motions.equations, 6 * motions.system.n_bodies
    solve = motions.factors(s)

    def step(z: ComplexArray) -> ComplexArray:
        """(F - s E)^-1 z = (x, v), F = [0, 1; -K, -D], E = [1, 0; 0, M], z = (z_1, z_2).

        -(K + s D + s^2 M) x = z_2 + (D + s M) z_1, v = z_1 + s x.
        """
        first, second = z[:size], z[size:]
        x = solve(-(second + equations.damping @ first + s * (equations.mass @ first)))
        return np.concatenate([x, first + s * x])

    inverse = linalg.LinearOperator((2 * size, 2 * size), matvec=step, dtype=complex)
    start = np.random.default_rng(0).standard_normal(2 * size).astype(complex)
    E = block_array([[eye_array(size), None], [None, equations.mass]], format="csc")
    E = E.astype(complex)  # else ARPACK takes real numbers
    # the first argument gives size and type only: OPinv stands for F
    eigenvalue, vector = linalg.eigs(E, 2 * n + 2, M=E, sigma=s, OPinv=inverse, v0=start)
    return eigenvalue, vector[:size]


def _ordered(motions: SmallMotions, eigenvalue: ComplexArray, shape: FloatArray) -> Modes:
    shapes = shape.reshape(len(eigenvalue), motions.system.n_bodies, 6)
    return Modes(motions.system, motions.state, eigenvalue, shapes, int((eigenvalue == 0.0).sum()))


# ---- responses and buckling ---------------------------------------------------------------------


def frequency_response(
    system: System,
    state: State | None = None,
    *,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    frequency: FloatArray,
) -> ComplexArray:
    """Return complex amplitudes of outputs under unit inputs that oscillate.

    Parameters
    ----------
    system, state
        The mechanism, at equilibrium; as for `modes`.
    inputs, outputs : sequence of JointCoordinate, BodyPoint or str
        Efforts [N m, N] and forces [N]; coordinates [rad, m] and displacements [m].
    frequency : (n_frequencies,) float array
        Of the inputs [Hz].

    Returns
    -------
    (n_frequencies, n_outputs, n_inputs) complex array
        Amplitudes of outputs that vary with exp(2 pi i f t).

    Raises
    ------
    ModelError
        If a joint, coordinate or body does not exist, or a frequency is not finite.
    SimulationError
        If forces do not balance at the state, or a frequency is that of an undamped mode.
    """
    frequencies = np.atleast_1d(np.asarray(frequency, dtype=float))
    if frequencies.ndim != 1 or not np.isfinite(frequencies).all():
        raise ModelError(f"frequency has shape {frequencies.shape}; give finite ones (n,) in Hz")
    motions = SmallMotions(system, state)
    force = motions.equations.port_rows(inputs).T.toarray()
    output_rows = motions.equations.port_rows(outputs)
    response = np.empty((len(frequencies), len(outputs), len(inputs)), dtype=complex)
    for k, s in enumerate(2j * np.pi * frequencies):
        response[k] = output_rows @ motions.factors(s)(force.astype(complex))
    return response


@dataclass(frozen=True, eq=False, repr=False)
class Buckling(BriefRepr):
    """Factors of a load at which the stiffness is zero along a shape, the smallest first."""

    factor: FloatArray  # (n,)
    shape: FloatArray  # (n, n_bodies, 6) twists in body coordinates, the largest entry one


def buckling_loads(
    system: System, state: State | None = None, *, load: str, n: int = 1
) -> Buckling:
    """Return the least factors p of a load with which a structure buckles: (K + p G) x = 0.

    x are motions that the joints allow, G the geometric stiffness of the forces that the unit load
    causes in the unloaded pose. If poses change much before it buckles, use `follow`.

    Parameters
    ----------
    system, state
        The structure, at equilibrium without the load.
    load : str
        Name of an external force, or "gravity".
    n : int
        Number of factors.

    Raises
    ------
    ModelError
        If there is no such load, or n is less than one.
    SimulationError
        If the structure moves freely or is unstable without the load, or has fewer factors.
    """
    if n < 1:
        raise ModelError(f"n is {n}; ask for one factor or more")
    state = consistent_state(system) if state is None else state
    static = StaticEquations(system, state.with_(velocity=np.zeros_like(state.velocity)), load)
    unloaded = static.with_reactions(static.start(state))
    residual = static.evaluate(unloaded)
    matrix = static.matrix()
    loaded = replace(unloaded, parameter=1.0)
    load_residual = static.evaluate(loaded) - residual
    change = -scaled_solver(matrix, static.scale(matrix), _MOVES_FREELY)(load_residual).real
    size = len(static.mass)
    static.evaluate(replace(loaded, multiplier=loaded.multiplier + change[size:]))
    G = csc_array((static.matrix() - matrix)[:size, :size])
    K, rows = static.tangent_stiffness(matrix)
    if size <= _DENSE_SIZE or n >= size - rows.shape[0] - 2:  # ARPACK needs two more
        inverse_factor, shape, perturbed = _all_inverse_factors(static, K, rows, G)
    else:
        inverse_factor, shape, perturbed = _largest_inverse_factors(static, K, rows, G, n)
    change = np.abs(inverse_factor[:, None] - perturbed).min(axis=1, initial=np.inf)
    magnitude = np.abs(inverse_factor)
    least = _STIFFNESS_TOLERANCE * magnitude.max(initial=0.0)
    buckles = (inverse_factor.real > least) & (np.abs(inverse_factor.imag) <= _REAL * magnitude)
    buckles &= change <= _CERTAIN_CHANGE * magnitude
    order = np.flatnonzero(buckles)[np.argsort(-inverse_factor[buckles].real)][:n]
    if len(order) < n:
        available = f"only {len(order)} of" if len(order) else "none of"
        raise SimulationError(
            f"{available} {n} positive factors of {load!r} exist: a load that only pulls does not "
            "buckle; reverse it"
        )
    shapes = shape.real.T[order]
    shapes = shapes / np.abs(shapes).max(axis=1, keepdims=True)
    return Buckling(1.0 / inverse_factor[order].real, shapes.reshape(n, -1, 6))


_MOVES_FREELY = "the structure moves freely without the load: fix it to the world by joints"


def _perturbation(size: int) -> FloatArray:
    """Return w (size,) of F (1 + w w'), a perturbation of F = -K^-1 G by 1e-10.

    Where a load that follows its body has no factor, all eigenvalues of F are zero, in one Jordan
    block of n rows; rounding by eps changes them by eps^(1/n), and this perturbation by far more.
    True eigenvalues it changes by 1e-10 times their condition.
    """
    w = np.random.default_rng(1).standard_normal(size)
    return np.asarray(_PERTURBATION**0.5 * w / np.linalg.norm(w))


def _all_inverse_factors(
    static: StaticEquations, K: csc_array, rows: csc_array, G: csc_array
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return all 1 / p of (K + p G) x = 0, x, and 1 / p of perturbed loads, by a dense basis."""
    root = 1.0 / np.sqrt(static.mass)
    N = root[:, None] * null_space((rows * root).toarray())
    stiffness, load = N.T @ (K @ N), -N.T @ (G @ N)
    rates = eigh(stiffness, eigvals_only=True)
    if len(rates) and rates[0] <= _SINGULAR_STIFFNESS * rates[-1]:
        unstable = rates[0] < -_UNSTABLE_STIFFNESS * rates[-1]
        raise SimulationError(
            "the structure is unstable without the load: give a stable equilibrium"
            if unstable
            else _MOVES_FREELY
        )
    asymmetry = np.abs(load - load.T).max(initial=0.0)  # of loads that turn with bodies
    if asymmetry <= _SYMMETRY_TOLERANCE * np.abs(load).max(initial=0.0):
        inverse_factor, z = eigh((load + load.T) / 2.0, stiffness)
        return inverse_factor, N @ z, inverse_factor
    inverse_factor, z = eig(load, stiffness)
    w = _perturbation(len(load))
    return inverse_factor, N @ z, eig(load + np.outer(load @ w, w), stiffness, right=False)


def _largest_inverse_factors(
    static: StaticEquations, K: csc_array, rows: csc_array, G: csc_array, n: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return n of the largest 1 / p of (K + p G) x = 0, x, and 1 / p of perturbed loads."""
    size, padding = K.shape[0], np.zeros(rows.shape[0])
    bordered = block_array([[K, rows.T], [rows, -diags_array(static.rigid)]])
    solve = scaled_solver(bordered, static.scale(bordered), _MOVES_FREELY)

    def step(x: FloatArray) -> FloatArray:
        """-K^-1 G x on what the joints allow."""
        return np.asarray(-solve(np.concatenate([G @ x.ravel(), padding]))[:size].real)

    start, w = step(np.random.default_rng(0).standard_normal(size)), _perturbation(size)
    if not start.any():
        return np.zeros(0), np.zeros((size, 0)), np.zeros(0)

    def largest(matvec: Callable[[FloatArray], FloatArray]) -> tuple[NDArray[Any], NDArray[Any]]:
        operator = linalg.LinearOperator((size, size), matvec=matvec, dtype=float)
        try:
            return linalg.eigs(operator, n, v0=start, which="LR", maxiter=_MOST_RESTARTS)
        except linalg.ArpackNoConvergence as error:
            return error.eigenvalues, error.eigenvectors

    return *largest(step), largest(lambda x: step(x.ravel() + w * (w @ x.ravel())))[0]
