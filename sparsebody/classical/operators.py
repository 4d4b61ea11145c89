"""The spatial operators of an arm or a tree as matrices. Rodriguez, Jain, Kreutz-Delgado (1992).

Bodies are numbered from the tip (1) to the base (n), and so are rows and columns of operators:
body k is link n - k of the arm, whose links count from 0 at the base. What belongs to joints is
taken and returned in the arm's own order. Blocks are 6x6, of any kind of number.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve_triangular

from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.classical.arm import Arm
from sparsebody.classical.arm_links import Links, Motion
from sparsebody.classical.counting import interpreted
from sparsebody.classical.kernels.operator_recursions import velocity_terms
from sparsebody.errors import ModelError, SingularSystemError
from sparsebody.model.columns import vector
from sparsebody.spatial import rotation_about

Matrix = Any  # a NumPy array, of floats or of objects, or a SciPy sparse array
STORAGES = ("dense", "sparse")
_CANCELLED = 1e-13  # relative


@dataclass(frozen=True, eq=False)
class SpatialOperators:
    """Operators at one pose; make them with `SpatialOperators.of`.

    phi carries forces to the base and phi* velocities to the tips: V = phi* H* qd, and
    tau = H phi [M phi* (H* qdd + a) + b + B f] with f the wrench that the tip exerts. Everything is
    in link axes about joint origins, moments and angular parts first.

    Examples
    --------
    >>> arm = Arm.from_dh([[0, 0, 1, 0]] * 3, [2] * 3, [[0, 0, 0]] * 3, [[0, 0, 0]] * 3)
    >>> on = SpatialOperators.of(arm, [0.1, 0.2, 0.3])
    >>> on.phi.shape, on.H.shape
    ((18, 18), (3, 18))
    >>> product = on.H @ on.phi @ on.M @ on.phi.T @ on.H.T  # joints from the tip to the base
    >>> bool(np.allclose(product[::-1, ::-1] @ on.inverse_mass_matrix(), np.eye(3)))
    True
    """

    links: Links
    motion: Motion  # at q, and gravity; rates are given to the methods
    tip: int  # link
    tip_shift: FloatArray  # (6, 6) phi(k, 0) from the tip to that link
    storage: str = "dense"

    @classmethod
    def of(cls, arm: Arm, q: ArrayLike, *, tip: int | None = None, storage: str = "dense") -> Self:
        """Return the operators of an arm at joint positions q (n,) [rad, m].

        `tip`: the link, from 0, that has the tip: at its origin, except on the last link, which is
        the default, at the end of the Denavit-Hartenberg parameters. `storage`: "dense", or
        "sparse": arrays of SciPy. Raises ModelError if q does not fit, or there is no such link or
        storage.
        """
        last = arm.n - 1
        link = last if tip is None else tip
        if not isinstance(link, int | np.integer) or link not in range(arm.n):
            raise ModelError(f"arm: tip is link {link!r}; give the index of a link, 0 to {last}")
        if storage not in STORAGES:
            raise ModelError(f"arm: storage is {storage!r}; give one of {STORAGES}")
        end, turn = np.zeros((1, 3)), np.eye(3)
        if link == last:
            end[0, 0] = arm.tip_length
            turn = np.asarray(rotation_about([1.0, 0.0, 0.0], arm.tip_twist))
        motion, shift = arm.motion(q, *np.zeros((2, arm.n))), _shifts(end, turn[None])[0]
        return cls(arm.links, motion, link, shift, storage)

    @property
    def n(self) -> int:
        """Number of bodies."""
        return self.links.parent.size

    @cached_property
    def parent(self) -> IntArray:
        """(n,) the parent of each body; bodies counted from 0 at the tip, n is the base."""
        return (self.n - 1 - self.links.parent)[::-1]

    # --- the operators ---

    @cached_property
    def shifts(self) -> FloatArray:
        """(n, 6, 6) phi(k+1, k), from body k = 1, ... to its parent."""
        return _shifts(self.motion.translation, self.motion.rotation)[::-1]

    @cached_property
    def eps(self) -> Matrix:
        """(6n, 6n) phi(k+1, k) below the diagonal; eps^n = 0."""
        child = np.flatnonzero(self.parent < self.n)
        return assembled(
            self.storage, self.parent[child], child, self.shifts[child], (self.n, self.n)
        )

    @cached_property
    def phi(self) -> Matrix:
        """(6n, 6n) = (1 - eps)^-1 = 1 + eps + ... + eps^(n-1), phi(j, k) below a diagonal of 1."""
        return summed_series(self.eps, self._one(6 * self.n), self.n)

    @cached_property
    def H(self) -> Matrix:
        """(n, 6n) rows that take of each force the part along the joint."""
        return self._diagonal(self.links.subspace[::-1, None, :])

    @cached_property
    def masses(self) -> FloatArray:
        """(n, 6, 6) M(k), from body k = 1 on."""
        return body_masses(self.links.mass, self.links.com, self.links.inertia)[::-1]

    @cached_property
    def M(self) -> Matrix:
        """(6n, 6n) the masses of the bodies on the diagonal."""
        return self._diagonal(self.masses)

    @cached_property
    def B(self) -> Matrix:
        """(6n, 6) phi(k, 0) at the body that has the tip."""
        body = np.array([self.n - 1 - self.tip])
        return assembled(self.storage, body, 0 * body, self.tip_shift[None], (self.n, 1))

    # --- the articulated-body operators ---

    @cached_property
    def articulated(self) -> "ArticulatedBlocks":
        """Blocks of these operators, of P = M + eps (1 - G H) P eps*, from the tips to the base.

        Raises SingularSystemError, naming the joint, if D is not positive beyond rounding.
        """
        n, shifts, H, masses = self.n, self.shifts, self.links.subspace[::-1], self.masses
        P, unprojected, is_rounded = masses.copy(), masses.copy(), self._is_float
        D, G = np.empty((n, 1, 1), P.dtype), np.empty((n, 6, 1), P.dtype)
        for k, p in enumerate(self.parent):
            U = P[k] @ H[k]
            D[k] = H[k] @ U
            least = _CANCELLED * (H[k] @ unprojected[k] @ H[k]) if is_rounded else 0
            if D[k, 0, 0] == 0 or (is_rounded and not D[k, 0, 0] > least):
                raise SingularSystemError(
                    f"joint {n - k}: nothing resists its motion, H P H* is {D[k, 0, 0]}; give the "
                    "links that it carries an inertia about its axis, or mass along it"
                )
            G[k, :, 0] = U / D[k, 0, 0]
            if p < n:
                if is_rounded:
                    unprojected[p] += shifts[k] @ P[k] @ shifts[k].T
                P[p] += shifts[k] @ (P[k] - G[k] * U) @ shifts[k].T
        return ArticulatedBlocks(P, D, G)

    @property
    def P(self) -> Matrix:
        """(6n, 6n) articulated inertias on the diagonal."""
        return self._diagonal(self.articulated.P)

    @property
    def D(self) -> Matrix:
        """(n, n) = H P H*, diagonal."""
        return self._diagonal(self.articulated.D)

    @property
    def G(self) -> Matrix:
        """(6n, n) = P H* D^-1."""
        return self._diagonal(self.articulated.G)

    @cached_property
    def K(self) -> Matrix:
        """(6n, n) = eps G."""
        return self.eps @ self.G

    @cached_property
    def eps_psi(self) -> Matrix:
        """(6n, 6n) psi(k+1, k) = phi(k+1, k) (1 - G H) below the diagonal: eps - K H."""
        return self.eps - self.K @ self.H

    @cached_property
    def psi(self) -> Matrix:
        """(6n, 6n) = (1 - eps_psi)^-1."""
        return summed_series(self.eps_psi, self._one(6 * self.n), self.n)

    # --- factors, from the tip to the base ---

    @cached_property
    def factor(self) -> Matrix:
        """(n, n) 1 + H phi K, lower triangular: the mass matrix is (1 + H phi K) D (...)*."""
        return self._one(self.n) + self.H @ self.phi @ self.K

    @cached_property
    def inverse_factor(self) -> Matrix:
        """(n, n) 1 - H psi K, the inverse of that."""
        return self._one(self.n) - self.H @ self.psi @ self.K

    # --- of the arm, joints in its own order ---

    def mass_matrix(self) -> Matrix:
        """(n, n) = H phi M phi* H*. Liu (2011), (2)."""
        carried = self.H @ self.phi
        return (carried @ self.M @ carried.T)[::-1, ::-1]

    def inverse_mass_matrix(self) -> Matrix:
        """(n, n) = (1 - H psi K)* D^-1 (1 - H psi K); only the diagonal D is inverted."""
        L = self.inverse_factor
        return (L.T @ self._diagonal(1 / self.articulated.D) @ L)[::-1, ::-1]

    # --- the same on vectors, in O(n) where they are sparse ---

    def jacobian(self) -> FloatArray:
        """(6, n) = B* phi* H*: the tip's velocity in its own axes, angular part first, from qd."""
        B = self.B if self.storage == "dense" else self.B.toarray()
        return (self.H @ series_times(self.eps, B, self.n)).T[:, ::-1]

    def velocities(self, qd: ArrayLike) -> FloatArray:
        """V = phi* H* qd (n, 6) of the links, in the arm's order."""
        return self._outwards(self._joint_values(qd, "qd"), 0).reshape(-1, 6)[::-1]

    def inverse_dynamics(
        self, qd: ArrayLike, qdd: ArrayLike, tip_wrench: ArrayLike | None = None
    ) -> FloatArray:
        """Return tau (n,) = H phi [M phi* (H* qdd + a) + b + B f]. Liu (2011), (1) and (6).

        `tip_wrench` f (6,) is what the tip exerts on its surroundings, in its axes, moment first.
        """
        a, b = self._biases(qd, tip_wrench)
        alpha = self._outwards(self._joint_values(qdd, "qdd"), a)
        return (self.H @ series_times(self.eps, self.M @ alpha + b, self.n))[::-1]

    def forward_dynamics(
        self, qd: ArrayLike, tau: ArrayLike, tip_wrench: ArrayLike | None = None
    ) -> FloatArray:
        """Return qdd (n,) = (1 - H psi K)* nu - K* psi* a = nu - K* psi* (H* nu + a).

        Here nu = D^-1 [tau - H psi (K tau + P a + b + B f)].
        """
        a, b = self._biases(qd, tip_wrench)
        forces = self._joint_values(tau, "tau")
        z = series_times(self.eps_psi, self.K @ forces + self.P @ a + b, self.n)
        nu = (forces - self.H @ z) / self.articulated.D.ravel()
        carried = series_times(self.eps_psi, self.H.T @ nu + a, self.n, transposed=True)
        return (nu - self.K.T @ carried)[::-1]

    def _outwards(self, rates: FloatArray, a: FloatArray | int) -> FloatArray:
        """phi* (H* rates + a) (6n,)."""
        return series_times(self.eps, self.H.T @ rates + a, self.n, transposed=True)

    def _biases(self, qd: ArrayLike, tip_wrench: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
        """Return a, with -g in those of the bodies on the base, and b + B f (6n,)."""
        kernel = velocity_terms if self._is_float else interpreted(velocity_terms)
        rates = self._joint_values(qd, "qd")[::-1].copy()
        a, b = kernel(self.links, self.motion._replace(qd=rates))
        a, b = a[::-1].copy(), b[::-1].ravel()
        based = self.parent == self.n
        a[based, 3:] -= np.swapaxes(self.shifts[based, 3:, 3:], 1, 2) @ self.motion.gravity
        if tip_wrench is not None:
            b = b + self.B @ self._values(tip_wrench, "tip_wrench", 6)
        return a.ravel(), b

    # --- numbers of the kind in use ---

    @property
    def _is_float(self) -> bool:
        return bool(self.motion.rotation.dtype == float)

    def _joint_values(self, value: ArrayLike, what: str) -> FloatArray:
        """(n,) from the tip to the base."""
        return self._values(value, what, self.n)[::-1]

    def _values(self, value: ArrayLike, what: str, size: int) -> FloatArray:
        return vector(value, "arm", what, size) if self._is_float else np.asarray(value)

    def _one(self, size: int) -> Matrix:
        is_dense = self.storage == "dense"
        return np.eye(size, dtype=self.masses.dtype) if is_dense else sparse.eye_array(size).tocsr()

    def _diagonal(self, blocks: FloatArray) -> Matrix:
        index = np.arange(self.n)
        return assembled(self.storage, index, index, blocks, (self.n, self.n))


class ArticulatedBlocks(NamedTuple):
    """Blocks of the articulated-body operators, bodies from the tip to the base."""

    P: FloatArray  # (n, 6, 6) articulated inertias
    D: FloatArray  # (n, 1, 1) H P H*
    G: FloatArray  # (n, 6, 1) P H* D^-1


def cross_matrix(vectors: FloatArray) -> FloatArray:
    """Return l~ (n, 3, 3) of vectors l (n, 3): l~ x = l × x."""
    matrix = np.zeros((len(vectors), 3, 3), vectors.dtype)
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        matrix[:, c, b], matrix[:, b, c] = vectors[:, a], -vectors[:, a]
    return matrix


def shift_operators(vectors: FloatArray) -> FloatArray:
    """Return [1, l~; 0, 1] (n, 6, 6), forces from the end of l to its start. Liu (2011), phi(2)."""
    operators = np.zeros((len(vectors), 6, 6), vectors.dtype)
    operators[:, range(6), range(6)] = 1
    operators[:, :3, 3:] = cross_matrix(vectors)
    return operators


def _shifts(vectors: FloatArray, rotations: FloatArray) -> FloatArray:
    """Return these times [R, 0; 0, R] (n, 6, 6) of rotations (n, 3, 3)."""
    turns = np.zeros((len(rotations), 6, 6), rotations.dtype)
    turns[:, :3, :3] = turns[:, 3:, 3:] = rotations
    return np.asarray(shift_operators(vectors) @ turns)


def body_masses(mass: FloatArray, com: FloatArray, inertia: FloatArray) -> FloatArray:
    """Return M(k) = [J, m p~; -m p~, m 1] (n, 6, 6), J about the joint. Liu (2011), (5)."""
    p, m = cross_matrix(com), mass[:, None, None]
    masses = np.zeros((len(mass), 6, 6), mass.dtype)
    masses[:, :3, :3] = inertia - m * (p @ p)
    masses[:, :3, 3:], masses[:, 3:, :3] = m * p, -m * p
    masses[:, range(3, 6), range(3, 6)] = mass[:, None]
    return masses


def assembled(
    storage: str, rows: IntArray, columns: IntArray, blocks: FloatArray, shape: tuple[int, int]
) -> Matrix:
    """Return a matrix of `shape` blocks of which these (m, r, c) are not zero."""
    _, r, c = blocks.shape
    size = (shape[0] * r, shape[1] * c)
    if storage == "dense":
        matrix = np.zeros((shape[0], r, shape[1], c), blocks.dtype)
        matrix[rows, :, columns, :] = blocks
        return matrix.reshape(size)
    i = np.broadcast_to(r * rows[:, None, None] + np.arange(r)[:, None], blocks.shape)
    j = np.broadcast_to(c * columns[:, None, None] + np.arange(c), blocks.shape)
    is_nonzero = blocks != 0
    return sparse.csr_array((blocks[is_nonzero], (i[is_nonzero], j[is_nonzero])), shape=size)


def summed_series(eps: Matrix, one: Matrix, n: int) -> Matrix:
    """Return 1 + eps + ... + eps^(n-1) = (1 + eps) (1 + eps^2) (1 + eps^4) ... = (1 - eps)^-1."""
    total, power, reached = one + eps, eps, 2
    while reached < n:
        power = power @ power
        total, reached = total + total @ power, 2 * reached
    return total


def series_times(eps: Matrix, x: FloatArray, n: int, *, transposed: bool = False) -> FloatArray:
    """Return (1 - eps)^-1 x, or (1 - eps*)^-1 x, without the inverse; eps is below the diagonal."""
    step = eps.T if transposed else eps
    if sparse.issparse(step):
        matrix = sparse.eye_array(step.shape[0], format="csr") - step
        return spsolve_triangular(matrix.tocsr(), x, lower=not transposed, unit_diagonal=True)
    total = x
    for _ in range(n - 1):
        total = x + step @ total
    return total
