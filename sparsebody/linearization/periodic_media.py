"""Plane waves in periodic media: dispersion of a unit cell by Bloch's theorem.

Bodies beyond the cut of a cell are images: of the body x in the cell, at the lattice vector r, the
image moves by x exp(i k . r). With x = T(k) u, u of the bodies of the cell alone,

    T^H (K - omega^2 M) T u = 0  on  A T u = 0,

where images have no mass of their own. Brillouin (1946), Wave Propagation in Periodic Structures;
Hussein, Leamy and Ruzzene (2014), Appl. Mech. Rev. 66:040802.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, null_space
from scipy.sparse import csr_array, kron

from sparsebody.arrays import BriefRepr, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.linearization.vibrations import SmallMotions
from sparsebody.model.system import State, System
from sparsebody.spatial import rotation_from_quaternion

Images = Mapping[str, tuple[str, ArrayLike]]

_PLACE_TOLERANCE = 1e-9  # of typical lengths, and of rotations
_RANK_TOLERANCE = 1e-10  # of singular values of A T, bodies of inertia one
_SQUARE_ROUNDING = 1e-13  # of omega^2, to the largest: rounding of K, some hundred eps
_SOFT_STIFFNESS = 1e-12  # singular values of K, to the largest, of motions that nothing resists
_UNIT_TOLERANCE = 1e-6  # of the length of a unit vector that a user types


@dataclass(frozen=True, eq=False, repr=False)
class Dispersion(BriefRepr):
    """Frequencies of plane waves at some wave vectors, the lowest first."""

    wave_vector: FloatArray  # (n, 3) k [rad/m]
    frequency: FloatArray  # (n, n_branches) [Hz], NaN where a motion grows

    def gaps(self, least: float = 0.01) -> list[tuple[float, float]]:
        """Return the ranges of frequencies [Hz] that no wave here has, from a relative width on."""
        low, high = (ends.reduce(self.frequency, axis=0) for ends in (np.fmin, np.fmax))
        top = np.fmax.accumulate(high)[:-1]  # NaN, a branch that grows everywhere, counts for none
        return [
            (float(a), float(b)) for a, b in zip(top, low[1:], strict=True) if b > (1.0 + least) * a
        ]

    @property
    def distance(self) -> FloatArray:
        """(n,) length of the path through the wave vectors [rad/m]."""
        steps = np.linalg.norm(np.diff(self.wave_vector, axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])


class UnitCell:
    """The small motions of a cell and of the images of its bodies.

    Parameters
    ----------
    system : System
        The bodies of a cell and, across its cut, the bodies of neighboring cells that its joints,
        springs and beams lead to.
    images : mapping
        Each of the latter by name: the body of the cell that it is an image of, and the lattice
        vector (3,) from that one to the image [m].
    state : State, optional
        At equilibrium; default: the consistent initial state.

    Raises
    ------
    ModelError
        If an image is not where its lattice vector says, or an image of an image.
    SimulationError
        If forces do not balance at the state.
    """

    def __init__(self, system: System, images: Images, state: State | None = None) -> None:
        self.motions = SmallMotions(system, state)
        n = system.n_bodies
        self._original, self._lattice = np.arange(n), np.zeros((n, 3))
        for name, (original, vector) in images.items():
            i = system.body(name)
            self._original[i] = system.body(original)
            self._lattice[i] = _vectors(vector, f"the lattice vector of the image {name!r}")[0]
            if original in images or name == original:
                raise ModelError(f"the image {name!r} is one of {original!r}, itself an image")
            self._check_image(i, name, original)
        self.bodies: IntArray = np.flatnonzero(self._original == np.arange(n))  # of the cell
        self._column = np.searchsorted(self.bodies, self._original)
        own = (6 * self.bodies[:, None] + np.arange(6)).ravel()
        self.mass = self.motions.equations.mass[own][:, own].toarray()

    def _check_image(self, i: int, name: str, original: str) -> None:
        """Raise ModelError unless the image is its original, moved by the lattice vector."""
        state, j, length = self.motions.state, self._original[i], self.motions.system.typical_length
        offset = state.position[i] - state.position[j] - self._lattice[i]
        turn = rotation_from_quaternion(state.orientation[[i, j]])
        if np.abs(offset).max() > _PLACE_TOLERANCE * length:
            raise ModelError(
                f"the image {name!r} is {np.linalg.norm(offset):.3g} m from where the lattice "
                f"vector {self._lattice[i]} from {original!r} leads"
            )
        if np.abs(turn[0] - turn[1]).max() > _PLACE_TOLERANCE:
            raise ModelError(
                f"the axes of the image {name!r} are not those of {original!r}: turn it"
            )

    def phases(self, wave_vector: FloatArray) -> csr_array:
        """Return T(k) (6 n_bodies, 6 n_cell)."""
        factor = np.exp(1j * (self._lattice @ wave_vector))
        n, rows = len(factor), np.arange(len(factor))
        blocks = csr_array((factor, (rows, self._column)), shape=(n, len(self.bodies)))
        return csr_array(kron(blocks, np.eye(6)))

    def frequencies(self, wave_vector: FloatArray) -> FloatArray:
        """Return the frequencies [Hz] of plane waves, the lowest first, NaN where one grows."""
        motions, T = self.motions, self.phases(wave_vector)
        root = 1.0 / np.sqrt(np.diagonal(self.mass))
        rows = (motions.equations.rows @ T).toarray() * root
        N = root[:, None] * null_space(rows, rcond=_RANK_TOLERANCE)
        x = T @ N
        K = motions.energies(x)
        K, M = (K + K.conj().T) / 2.0, N.conj().T @ (self.mass @ N)
        square = eigh(K, M, eigvals_only=True)
        rounding = _SQUARE_ROUNDING * np.abs(square).max(initial=0.0)
        square = np.where(np.abs(square) < rounding, 0.0, square)
        return np.where(square < 0.0, np.nan, np.sqrt(np.abs(square)) / (2.0 * np.pi))

    def sound_speeds(self, direction: ArrayLike, polarizations: ArrayLike) -> FloatArray:
        """Return the speeds (n,) [m/s] of infinitely long waves, the slowest first.

        From the work per cell of the displacements a (e . x) with the unit vector e `direction`
        (3,) and the vectors a in the span of `polarizations` (n, 3), the bodies of the cell free to
        follow: a generalized eigenvalue problem with the mass of the cell.

        Raises ModelError if the joints of the cell do not allow such a displacement, `direction` is
        no unit vector, or `polarizations` depend on each other.
        """
        motions, n = self.motions, len(self._column)
        unit, basis = _vectors(direction, "direction")[0], _vectors(polarizations, "polarizations")
        if abs(np.linalg.norm(unit) - 1.0) > _UNIT_TOLERANCE:
            raise ModelError(
                f"direction {unit} has the length {np.linalg.norm(unit):.6g}; give one"
            )
        if np.linalg.matrix_rank(basis) < len(basis):
            raise ModelError("polarizations depend on each other; give independent vectors")
        along = self._lattice @ unit
        to_body = rotation_from_quaternion(motions.state.orientation).swapaxes(1, 2)
        strain = np.zeros((n, 6, len(basis)))
        strain[:, 3:] = along[:, None, None] * (to_body @ basis.T)
        affine = strain.reshape(6 * n, -1)
        T, A = self.phases(np.zeros(3)).real, motions.equations.rows
        rows = (A @ T).toarray()
        follow = np.linalg.lstsq(rows, -(A @ affine), rcond=_RANK_TOLERANCE)[0]
        x = affine + T @ follow
        if len(rows) and np.abs(A @ x).max() > _PLACE_TOLERANCE * np.abs(affine).max():
            raise ModelError("the joints of the cell do not allow such displacements")
        N = T @ null_space(rows, rcond=_RANK_TOLERANCE) if len(rows) else T.toarray()
        K = motions.energies(np.hstack([x, N]))
        k = len(basis)
        response = np.linalg.lstsq(K[k:, k:], K[k:, :k], rcond=_SOFT_STIFFNESS)[0]
        relaxed = K[:k, :k] - K[:k, k:] @ response  # Schur complement: the bodies have followed
        mass = float(motions.system.mass[self.bodies].sum()) * (basis @ basis.T)
        return np.sqrt(np.maximum(0.0, eigh(relaxed, mass, eigvals_only=True)))


def dispersion(
    system: System,
    images: Images,
    wave_vectors: ArrayLike,
    state: State | None = None,
    *,
    n: int | None = None,
) -> Dispersion:
    """Return the frequencies of plane waves in a periodic medium.

    Parameters
    ----------
    system, images, state
        A cell and the images of its bodies; see `UnitCell`.
    wave_vectors : (n_vectors, 3) array
        k [rad/m], as `wave_path` makes them.
    n : int, optional
        Of branches, the lowest ones. Default: all.

    Raises
    ------
    ModelError
        If an image is not where its lattice vector says, a wave vector is not finite, or n is less
        than one.
    SimulationError
        If forces do not balance at the state.
    """
    vectors = _vectors(wave_vectors, "wave_vectors")
    if n is not None and n < 1:
        raise ModelError(f"n is {n}; ask for one branch or more")
    cell = UnitCell(system, images, state)
    branches = [cell.frequencies(vector) for vector in vectors]
    fewest = min(map(len, branches))
    return Dispersion(
        vectors, np.array([branch[: min(n or fewest, fewest)] for branch in branches])
    )


def wave_path(corners: Sequence[ArrayLike], n: int = 40) -> FloatArray:
    """Return wave vectors (about n a leg, 3) from corner to corner of a zone [rad/m].

    Raises ModelError if there is no corner, one is not a finite vector, or n is less than one.
    """
    points = _vectors(corners, "corners")
    if n < 1:
        raise ModelError(f"n is {n}; ask for one wave vector a leg or more")
    legs = [np.linspace(a, b, n, endpoint=False) for a, b in pairwise(points)]
    return np.concatenate([*legs, points[-1:]])


def _vectors(value: ArrayLike | Sequence[ArrayLike], name: str) -> FloatArray:
    """Return finite vectors (n, 3), of one vector n = 1; ModelError if they are not."""
    numbers = np.asarray(value, dtype=float)
    vectors = np.atleast_2d(numbers)
    if vectors.ndim != 2 or vectors.shape[1] != 3 or not len(vectors):
        raise ModelError(f"{name} has the shape {numbers.shape}; give (3,) or (n, 3)")
    if not np.isfinite(vectors).all():
        raise ModelError(f"{name} is {vectors[~np.isfinite(vectors).all(axis=1)][0]}; give numbers")
    return vectors
