"""The least actuator forces that balance given forces, by one sparse factorization."""

from __future__ import annotations

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray
from sparsebody.errors import SingularSystemError

PROXIMAL = 1e-10  # of motions that no actuator resists, in units of the bodies' inertias
_MOST_STEPS = 60
_SETTLED = 1e-14


class Equilibrium:
    """Factors of the conditions for u' W u = min, subject to B' u + A' lambda = f.

    With a motion eta as the multiplier of the equations of equilibrium these are

        [ 0  B'  A' ] [  eta   ]   [ f ]
        [ B  -W  0  ] [   u    ] = [ 0 ]
        [ A  0   0  ] [ lambda ]   [ 0 ]

    regular if the rows of A are independent and no motion leaves all constraints and all actuators
    at rest. Where there are such motions, inertia resists them and proximal steps take its forces
    away again. Featherstone (2008), eq. (8.63), with eta = G z; Rockafellar (1976).

    Parameters
    ----------
    constraint : (r, n) sparse array
        A, independent rows.
    actuator : (p, n) sparse array
        B.
    inertia : (n,) float array
        Diagonal of the bodies' inertias, which makes the freedoms comparable.
    weights : (p,) float array
        Diagonal of W, positive.
    is_underactuated : bool
        Whether there are motions that neither constraints nor actuators resist.
    """

    def __init__(
        self,
        constraint: csr_array,
        actuator: csr_array,
        inertia: FloatArray,
        weights: FloatArray,
        is_underactuated: bool,
    ) -> None:
        self.scale = 1.0 / np.sqrt(inertia)
        A, self.row_scale = _scaled(constraint, self.scale)
        B, self.actuator_scale = _scaled(actuator, self.scale)
        compliance = weights * self.actuator_scale**2
        compliance /= np.median(compliance) if len(compliance) else 1.0
        self.mass = PROXIMAL if is_underactuated else 0.0
        n, p = B.shape[1], B.shape[0]
        first = self.mass * eye_array(n) if is_underactuated else csr_array((n, n))
        blocks = [
            [first, B.T, A.T],
            [B, -diags_array(compliance, shape=(p, p)), None],
            [A, None, csr_array((A.shape[0],) * 2)],
        ]
        self.matrix = block_array(blocks, format="csc")
        try:
            self.factor = splu(self.matrix, permc_spec="COLAMD")
        except RuntimeError as error:  # the only signal that SuperLU gives
            raise SingularSystemError(
                "constraint rows that were independent where the inverse dynamics was prepared "
                "depend on each other at this state; prepare it anew here"
            ) from error

    def solve(self, force: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return u (p,) and lambda (r,) that balance f (n,), what cannot be balanced aside."""
        n, p = len(self.scale), len(self.actuator_scale)
        right = np.zeros(self.matrix.shape[0])
        right[:n] = self.scale * force
        x = self._refined(right)
        for _ in range(_MOST_STEPS if self.mass else 0):
            right[:n] = self.scale * force + self.mass * x[:n]
            new = self._refined(right)
            change = np.abs(new[n:] - x[n:]).max(initial=0.0)
            x = new
            if change <= _SETTLED * np.abs(x[n:]).max(initial=0.0):
                break
        return self.actuator_scale * x[n : n + p], self.row_scale * x[n + p :]

    def _refined(self, right: FloatArray) -> FloatArray:
        x = self.factor.solve(right)
        return x + self.factor.solve(right - self.matrix @ x)


def _scaled(rows: csr_array, scale: FloatArray) -> tuple[csr_array, FloatArray]:
    """Return rows for freedoms in units of their inertias, of unit norm, and what did that."""
    rows = rows @ diags_array(scale)
    norm = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    row_scale = 1.0 / np.where(norm > 0.0, norm, 1.0)
    return (diags_array(row_scale) @ rows).tocsr(), row_scale
