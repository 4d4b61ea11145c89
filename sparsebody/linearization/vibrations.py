"""Natural frequencies, damping and shapes of small vibrations; responses and buckling loads.

About a pose at rest small motions x exp(s t) obey

    [K + s D + s^2 M, A'; A, 0] [x; -lambda] = forces,

with the forces of compliant joints, bushings and beams as unknowns of their own, so that long soft
structures keep their lowest frequencies. Eigenvalues near a given one are found by Lanczos or
Arnoldi steps with the factors of this matrix. Parlett (1998), The Symmetric Eigenvalue Problem,
ch. 13; Tisseur and Meerbergen (2001), SIAM Review 43:235, on s D; Meirovitch (1997), ch. 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig, eigh
from scipy.sparse import block_array, csc_array, diags_array
from scipy.sparse.linalg import LinearOperator, eigs, eigsh

from sparsebody.arrays import BriefRepr, FloatArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError, SimulationError
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.linearization.linearize import Linearization, Port
from sparsebody.model.system import State, System
from sparsebody.simulation import Trajectory
from sparsebody.simulation.implicit.statics import StaticEquations
from sparsebody.simulation.implicit.step_equations import Solve, Values, scaled_solver
from sparsebody.simulation.trajectory_files import recorded

ComplexArray = NDArray[np.complex128]

_DENSE_SIZE = 400  # velocities of bodies up to which eigenvalues are found all at once
_BALANCE_TOLERANCE = 1e-6  # unbalanced forces over those that act
_REFINEMENTS = 2  # of each solution
_SHIFT = 1e-12  # below zero, of the largest rate squared
_ENERGY_TOLERANCE = 1e-20  # of the largest rate squared: what rounding leaves of stretches, squared
_STIFFNESS_TOLERANCE = 1e-13  # of the terms of x' K x, which cancel


@dataclass(frozen=True, eq=False, repr=False)
class Modes(BriefRepr):
    """Small vibrations x exp(s t) about a state, the nearest to the asked frequency first."""

    system: System = field(repr=False)
    state: State = field(repr=False)  # at rest
    eigenvalue: ComplexArray  # (n,) s [1/s], imaginary without damping
    shape: ComplexArray | FloatArray  # (n, n_bodies, 6) twists x in body coordinates, x' M x = 1
    n_mechanisms: int  # how many of them have s = 0: motions that nothing resists

    @property
    def frequency(self) -> FloatArray:
        """(n,) |s| / 2 pi [Hz], NaN where a motion grows; zero exactly for mechanisms."""
        frequency = np.abs(self.eigenvalue) / (2.0 * np.pi)
        return np.where(self.eigenvalue.real > 1e-9 * np.abs(self.eigenvalue), np.nan, frequency)

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
            The largest displacement, as a part of the mechanism's extent; rotations are small ones
            that are drawn large.
        n_frames : int
            Of the period, both ends among them. The period of a mechanism is one second.
        output : path-like, optional
            HDF5 file to write it to; default: in memory.
        source : str, optional
            The mechanism's document, for pictures of the file.

        Raises
        ------
        SimulationError
            If there is no such mode.
        """
        if not 0 <= index < len(self.eigenvalue):
            raise SimulationError(f"there is no mode {index}; give 0 to {len(self.eigenvalue) - 1}")
        shape, length = self.shape[index], self.system.typical_length
        extent = length + float(np.linalg.norm(np.ptp(self.state.position, axis=0)))
        turn, move = np.abs(shape.reshape(-1, 2, 3)).max(axis=(0, 2))
        shape = shape * (amplitude * extent / max(move, length * turn))
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
    """The linear equations about a state at rest, on motions that the joints allow.

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
        at = consistent_state(system) if state is None else state
        self.system = system
        self.state = at.with_(velocity=np.zeros_like(at.velocity))
        self.equations = equations = Linearization.at(system, self.state)
        multiplier = equations.multiplier
        inertial = (equations.mass @ equations.acceleration.ravel()).reshape(-1, 2, 3)
        acting = np.linalg.norm(equations.applied[:, 3:], axis=1).max(initial=0.0)
        acting += np.abs(multiplier).max(initial=0.0)
        unbalanced = float(np.linalg.norm(inertial[:, 1], axis=1).max(initial=0.0))
        stiff = np.abs(equations.stiffness.diagonal()).reshape(-1, 6)[:, 3:].max(initial=0.0)
        acting += 1e-5 * float(stiff) * system.typical_length  # rounding of stretches
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
    def largest_rate(self) -> float:
        """The largest diagonal entry of K over that of M [1/s^2], or 1."""
        K = np.abs(self.equations.stiffness.diagonal())
        return float((K / self.equations.mass.diagonal()).max(initial=0.0)) or 1.0

    @property
    def is_damped(self) -> bool:
        """Whether a force depends on velocities."""
        return bool(self.equations.damping.count_nonzero())

    def factors(self, s: complex, square: complex | None = None) -> Solve:
        """Return the solution of the equations for forces (6n,), of x (6n,); `square` is s^2.

        Residuals of the refinement are by stretches, without the matrix Z' Z.
        """
        of, n, n_rows = self.equations, 6 * self.system.n_bodies, self.rows.shape[0]
        square = s * s if square is None else square
        other = self.other_stiffness + s * of.other_damping + square * of.mass
        stretches = of.stretches + s * of.stretch_damping
        diagonal = np.abs(of.stiffness.diagonal()) + abs(square) * of.mass.diagonal()
        scale = 1.0 / np.sqrt(diagonal + 1e-6 * self.largest_rate * of.mass.diagonal())
        weighted = self.rows.multiply(scale)
        of_rows = 1.0 / np.sqrt(weighted.multiply(weighted).sum(axis=1))
        solve = scaled_solver(
            block_array(
                [
                    [other + of.on_stretches @ stretches, self.rows.T],
                    [self.rows, csc_array((n_rows, n_rows))],
                ]
            ),
            np.append(scale, of_rows),
            "the equations are singular at this frequency",
        )

        def solution(force: Values) -> Values:
            right = np.concatenate([force, np.zeros((n_rows, *force.shape[1:]))])
            x = solve(right)
            for _ in range(_REFINEMENTS):
                move, dual = x[:n], x[n:]
                force_left = force - other @ move - of.on_stretches @ (stretches @ move)
                x = x + solve(np.concatenate([force_left - self.rows.T @ dual, -self.rows @ move]))
            return np.asarray(x[:n])

        return solution

    def energies(self, x: FloatArray) -> FloatArray:
        """Return x' K x (k, k) of twists (6n, k), the stretches as squares."""
        stretch = self.equations.stretches @ x
        return np.asarray(x.T @ (self.other_stiffness @ x) + stretch.T @ stretch)

    def rounding(self, x: FloatArray) -> FloatArray:
        """Return what x' K x (k,) may be of twists (6n, k) for which it is zero.

        Positions are rounded at the mechanism's extent; of what stretches that makes the geometric
        stiffness is f (|u| + l |w|) |w| of a body that turns by w and moves by u.
        """
        system, size, position = self.system, np.abs(x), self.state.position
        terms = np.einsum("ik,ik->k", size, abs(self.other_stiffness) @ size)
        length = system.typical_length
        extent = length + float(np.linalg.norm(np.ptp(position, axis=0)))
        across = self.equations.stiffness.diagonal().reshape(-1, 6)[:, 3:].max(axis=1)
        turn, move = np.linalg.norm(x.reshape(-1, 2, 3, x.shape[1]), axis=2).swapaxes(0, 1)
        force = 4.0 * np.finfo(float).eps * extent * across
        geometric = np.einsum("n,nk->k", force, turn * (move + length * turn))
        own = _STIFFNESS_TOLERANCE * terms + _ENERGY_TOLERANCE * self.largest_rate
        return np.asarray(own + geometric)


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
        All of them if the joints leave fewer freedoms; conjugate eigenvalues count once.
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
        If n or near cannot be.
    """
    motions = SmallMotions(system, state)
    if n < 1:
        raise ModelError(f"n is {n}; ask for one mode or more")
    n = min(n, motions.n_freedoms)
    if not (np.isfinite(near) and near >= 0.0):
        raise ModelError(f"near is {near}; give a frequency [Hz] that is not negative")
    rate = 2.0 * np.pi * near
    return _damped(motions, n, rate) if motions.is_damped else _undamped(motions, n, rate)


def _undamped(motions: SmallMotions, n: int, rate: float) -> Modes:
    """Return modes by Lanczos steps or, of small mechanisms, all at once."""
    M, size = motions.equations.mass, 6 * motions.system.n_bodies
    if size <= _DENSE_SIZE or n >= motions.n_freedoms - 1:
        basis = motions.equations.allowed_motions()
    else:
        sigma = rate**2 - _SHIFT * motions.largest_rate
        inverse = LinearOperator((size, size), matvec=motions.factors(0.0, -sigma))
        start = inverse @ (M @ np.random.default_rng(0).standard_normal(size))
        options = {"M": M, "sigma": sigma, "OPinv": inverse, "v0": start}
        _, basis = eigsh(motions.equations.stiffness, n, **options)
    energy = motions.energies(basis)
    values, mixture = eigh((energy + energy.T) / 2.0, basis.T @ (M @ basis))
    shape = basis @ mixture
    values = np.diagonal(motions.energies(shape)).copy()  # as squares: no noise of large ones
    values[np.abs(values) < motions.rounding(shape)] = 0.0
    order = np.argsort(np.abs(values - rate**2), kind="stable")[:n]
    rates = np.sqrt(np.abs(values[order]))
    eigenvalue = np.where(values[order] >= 0.0, 1j * rates, rates)
    return _ordered(motions, eigenvalue, shape.T[order])


def _damped(motions: SmallMotions, n: int, rate: float) -> Modes:
    """Return modes by Arnoldi steps on (x, s x) or, of small mechanisms, all at once."""
    of, size = motions.equations, 6 * motions.system.n_bodies
    if size <= _DENSE_SIZE or 2 * n >= motions.n_freedoms - 2:
        N = motions.equations.allowed_motions()
        M, D, K = N.T @ (of.mass @ N), N.T @ (of.damping @ N), motions.energies(N)
        free = np.block([[np.zeros_like(M), np.eye(len(M))], [-K, -D]])
        eigenvalue, vector = eig(free, np.block([[np.eye(len(M)), 0 * M], [0 * M, M]]))
        x = N @ vector[: len(M)]
    else:
        s = complex(-_SHIFT * np.sqrt(motions.largest_rate), rate or _SHIFT)
        solve = motions.factors(s)

        def step(z: ComplexArray) -> ComplexArray:
            """(F - s E)^-1 z with v = x_1 + s x, -(K + s D + s^2 M) x = x_2 + (D + s M) x_1."""
            first, second = z[:size], z[size:]
            x = solve(-(second + of.damping @ first + s * (of.mass @ first)))
            return np.concatenate([x, first + s * x])

        inverse = LinearOperator((2 * size, 2 * size), matvec=step, dtype=complex)
        start = np.random.default_rng(0).standard_normal(2 * size).astype(complex)
        E = _first_order_mass(of.mass).astype(complex)  # else ARPACK takes real numbers
        eigenvalue, vector = eigs(E, 2 * n + 2, M=E, sigma=s, OPinv=inverse, v0=start)
        x = vector[:size]
    x = x / np.sqrt(np.einsum("ik,ik->k", x.conj(), of.mass @ x).real)
    resisted = np.sqrt(motions.rounding(x))  # |s| below which nothing resists but dampers
    damping = np.einsum("ik,ik->k", x.conj(), of.damping @ x).real
    eigenvalue[np.abs(eigenvalue) < np.maximum(resisted, 1e-9 * damping)] = 0.0
    keep = eigenvalue.imag >= -1e-9 * np.abs(eigenvalue)
    eigenvalue, x = eigenvalue[keep], x[:, keep]
    order = np.argsort(np.abs(eigenvalue - 1j * rate), kind="stable")[:n]
    return _ordered(motions, eigenvalue[order], x.T[order])


def _ordered(motions: SmallMotions, eigenvalue: ComplexArray, shape: FloatArray) -> Modes:
    shapes = shape.reshape(len(eigenvalue), -1, 6)
    return Modes(motions.system, motions.state, eigenvalue, shapes, int((eigenvalue == 0.0).sum()))


def _first_order_mass(mass: csc_array) -> csc_array:
    return block_array([[diags_array(np.ones(mass.shape[0])), None], [None, mass]]).tocsc()


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
        [Hz].

    Returns
    -------
    (n_frequencies, n_outputs, n_inputs) complex array
        Of outputs with the factor exp(2 pi i f t).

    Raises
    ------
    SimulationError
        If forces do not balance at the state, or a frequency is that of a mode without damping.
    """
    motions = SmallMotions(system, state)
    force = motions.equations.port_rows(inputs).T.toarray()
    seen = motions.equations.port_rows(outputs)
    frequencies = np.atleast_1d(np.asarray(frequency, dtype=float))
    response = np.empty((len(frequencies), len(outputs), len(inputs)), dtype=complex)
    for k, s in enumerate(2j * np.pi * frequencies):
        response[k] = seen @ motions.factors(s)(force.astype(complex))
    return response


@dataclass(frozen=True, eq=False, repr=False)
class Buckling(BriefRepr):
    """Factors of a load at which the stiffness is zero along a shape, the smallest first."""

    factor: FloatArray  # (n,)
    shape: FloatArray  # (n, n_bodies, 6) twists in body coordinates, the largest entry one


def buckling_loads(
    system: System, state: State | None = None, *, load: str, n: int = 1
) -> Buckling:
    """Return the least factors of a load with which a structure buckles, by its linear response.

    The geometric stiffness G of the forces under the unit load grows with the factor p:
    (K + p G) x = 0 on what the joints allow. `follow` takes the path itself, if poses change much
    before.

    Parameters
    ----------
    system, state
        The structure, at equilibrium without the load.
    load : str
        Name of an external force, or "gravity".
    n : int
        Of factors, at most the freedoms less two.

    Raises
    ------
    ModelError
        If there is no such load.
    SimulationError
        If the structure moves freely, or has not so many factors.
    """
    at = consistent_state(system) if state is None else state
    static = StaticEquations(system, at.with_(velocity=np.zeros_like(at.velocity)), load)
    unloaded = static.with_reactions(static.start(at))
    residual = static.evaluate(unloaded)
    matrix = static.matrix()
    loaded = replace(unloaded, parameter=1.0)
    rate = static.evaluate(loaded) - residual
    failure = "the structure moves freely without the load: hold it"
    change = -scaled_solver(matrix, static.scale(matrix), failure)(rate).real
    size = len(static.mass)
    static.evaluate(replace(loaded, multiplier=loaded.multiplier + change[size:]))
    G = (static.matrix() - matrix)[:size, :size]
    K, rows = static.tangent_stiffness(matrix)
    bordered = block_array([[K, rows.T], [rows, -diags_array(static.rigid)]])
    scale = static.scale(matrix)[: bordered.shape[0]]
    solve = scaled_solver(bordered, scale, failure)
    padding = np.zeros(rows.shape[0])
    inverse = LinearOperator(
        (size, size), matvec=lambda x: solve(np.concatenate([x.ravel(), padding]))[:size].real
    )
    start = inverse @ (G @ np.random.default_rng(0).standard_normal(size))
    geometric = csc_array(-(G + G.T) / 2.0)
    flexibility, shape = eigsh(geometric, n, M=K, Minv=inverse, v0=start, which="LA")
    if not (flexibility > 0.0).all():
        raise SimulationError(f"there are no {n} positive factors of {load!r} that buckle it")
    order = np.argsort(-flexibility)
    shapes = shape.T[order] / np.abs(shape.T[order]).max(axis=1, keepdims=True)
    return Buckling(1.0 / flexibility[order], shapes.reshape(n, -1, 6))
