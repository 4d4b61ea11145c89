"""Small vibrations about an equilibrium: K x = omega^2 M x on free motions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import block_array, bsr_array, diags_array
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from sparsebody.arrays import BriefRepr, FloatArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import SimulationError
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.statics import StaticEquations

_BALANCED, _NOISE = 1e-6, 1e-11  # forces left over, of weights and of a stiffness times a length
_SHIFT = 1e-12  # below zero, of the largest rate squared, where free bodies have eigenvalues


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
    if force > _BALANCED * weight + _NOISE * equations.stiffness * equations.length:
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
