"""The spatial operators of an arm or a tree as matrices. Rodriguez, Jain, Kreutz-Delgado (1992).

Bodies are numbered from the tip (1) to the base (n), and so are rows and columns of operators:
body k is link n - k of the arm, whose links count from 0 at the base. What belongs to joints is
taken and returned in the arm's own order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.classical.arm import Arm
from sparsebody.classical.arm_links import Links, Motion
from sparsebody.classical.counting import interpreted
from sparsebody.classical.kernels.operator_recursions import velocity_terms
from sparsebody.classical.operator_blocks import (
    STORAGES,
    ArticulatedBlocks,
    Matrix,
    articulated_blocks,
    assembled,
    body_masses,
    identity,
    series_times,
    shift_operators,
    summed_series,
    turn_operators,
)
from sparsebody.errors import ModelError
from sparsebody.model.columns import vector
from sparsebody.spatial import rotation_about


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
    def of(
        cls, arm: Arm, q: ArrayLike, *, tip: int | None = None, storage: str = "dense"
    ) -> SpatialOperators:
        """Return the operators of an arm at joint positions q (n,) [rad, m].

        Parameters
        ----------
        tip : int, optional
            The link, from 0, that has the tip: at its origin, but of the last link, which is the
            default, at the end of the table of Denavit-Hartenberg parameters.
        storage : str
            "dense", or "sparse": operators are sparse arrays of SciPy.

        Raises
        ------
        ModelError
            If q does not fit, or there is no such link or storage.
        """
        last = arm.n - 1
        link = last if tip is None else tip
        if not isinstance(link, int | np.integer) or link not in range(arm.n):
            raise ModelError(f"arm: tip is link {link!r}; give the index of a link, 0 to {last}")
        if storage not in STORAGES:
            raise ModelError(f"arm: storage is {storage!r}; give one of {STORAGES}")
        end = np.zeros((1, 3))
        turn = np.eye(3)
        if link == last:
            end[0, 0] = arm.tip_length
            turn = np.asarray(rotation_about([1.0, 0.0, 0.0], arm.tip_twist))
        shift = (shift_operators(end) @ turn_operators(turn[None]))[0]
        still = np.zeros(arm.n)
        return cls(arm.links, arm.motion(q, still, still), link, shift, storage)

    @property
    def n(self) -> int:
        """Number of bodies."""
        return self.links.parent.size

    @cached_property
    def parent(self) -> IntArray:
        """(n,) the body that each hangs on, both less one: they begin with 0 at the tip."""
        return (self.n - 1 - self.links.parent)[::-1]

    # --- the operators ---

    @cached_property
    def shifts(self) -> FloatArray:
        """(n, 6, 6) phi(k+1, k), from body k = 1, ... to the one that it hangs on."""
        motion = self.motion
        return (shift_operators(motion.translation) @ turn_operators(motion.rotation))[::-1]

    @cached_property
    def eps(self) -> Matrix:
        """(6n, 6n) phi(k+1, k) below the diagonal; eps^n = 0."""
        hung = np.flatnonzero(self.parent < self.n)
        return self._assembled(self.parent[hung], hung, self.shifts[hung], (self.n, self.n))

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
        return self._assembled(body, np.zeros_like(body), self.tip_shift[None], (self.n, 1))

    # --- the articulated-body operators ---

    @cached_property
    def articulated(self) -> ArticulatedBlocks:
        """Their blocks."""
        subspace = self.links.subspace[::-1]
        return articulated_blocks(self.parent, self.shifts, subspace, self.masses)

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
        """(n, n) = (1 - H psi K)* D^-1 (1 - H psi K); nothing is inverted but the diagonal D."""
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
        return identity(self.storage, size, self.masses.dtype)

    def _diagonal(self, blocks: FloatArray) -> Matrix:
        place = np.arange(self.n)
        return self._assembled(place, place, blocks, (self.n, self.n))

    def _assembled(
        self, rows: IntArray, columns: IntArray, blocks: FloatArray, shape: tuple[int, int]
    ) -> Matrix:
        return assembled(self.storage, rows, columns, blocks, shape)
