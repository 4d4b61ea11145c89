"""How exact the accelerations of scissor lifts are, at every length and with every backend.

    python -m benchmarks.conditioning [most_pairs]

Of each lift: the rank decision, the residual of *all* constraints, dependent ones included, in
extended precision; the error against the reference (with 25 digits up to `EXTENDED` pairs, and in
closed form beyond); the condition number, the error it implies by ten of its roundings, and what
`ForwardDynamics.condition` foretells. Ends with status 1 where a limit is not kept.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import oracle
from benchmarks.cases import Problem, problem
from benchmarks.extended import extended_reference
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.conditioning import ROUNDING
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.solver_options import RESIDUALS
from sparsebody.errors import SparsebodyError
from sparsebody.factorization import available_factorizations

PAIRS = (3, 10, 100, 1000, 10_000, 100_000)
EXTENDED = 1000  # pairs up to which the reference has 25 digits: a minute for ten times as many
ALL_BACKENDS = 1000  # pairs up to which every backend is tried
LEFT = ERROR = 1e-10  # what is promised
HEADER = (
    " pairs  dependent  backend      residuals  freedoms  residual    error    kappa  "
    "10 kappa eps  foretold"
)


@dataclass(frozen=True)
class Line:
    """What one backend makes of one lift."""

    pairs: int
    backend: str
    residuals: str
    freedoms: int  # of a body
    n_dependent: int
    residual: float  # of all constraints, relative to their terms
    error: float  # of the accelerations, relative to the largest
    kappa: float
    foretold: float

    @property
    def limit(self) -> float:
        """The largest error that is allowed."""
        return max(ERROR, 10.0 * self.kappa * ROUNDING)

    @property
    def is_kept(self) -> bool:
        """Whether all that is promised is so."""
        right = self.n_dependent == 3 * (self.pairs - 1)
        return right and self.residual <= LEFT and self.error <= self.limit

    def __str__(self) -> str:
        return (
            f"{self.pairs:6d}  {self.n_dependent:9d}  {self.backend:11s}  {self.residuals:9s}  "
            f"{self.freedoms:8d}  {self.residual:8.1e}  {self.error:7.1e}  "
            f"{self.kappa:7.1e}  {10.0 * self.kappa * ROUNDING:12.1e}  {self.foretold:8.1e}"
            f"{'' if self.is_kept else '  BROKEN'}"
        )


def lines(pairs: int) -> list[Line]:
    """Return what every backend makes of a lift."""
    given = problem("scissor", 2 * pairs)
    if pairs <= EXTENDED:
        exact = extended_reference(given.system, given.state)
        given, acceleration = Problem("scissor", given.system, exact.state), exact.acceleration
    else:
        acceleration = oracle.scissor_reference(given)
    backends = available_factorizations() if pairs <= ALL_BACKENDS else ["block-ldl"]
    found = [line(given, acceleration, pairs, residuals=kind) for kind in RESIDUALS]
    for backend in backends:
        try:
            found.append(line(given, acceleration, pairs, factorization=backend, reduction="none"))
        except SparsebodyError as error:
            print(f"{pairs:6d}  {backend}: {error}")
    return found


def line(given: Problem, acceleration: FloatArray, pairs: int, **options: str) -> Line:
    """Return what ForwardDynamics with some options makes of a lift."""
    dynamics = ForwardDynamics(given.system, given.state, **options)
    found = dynamics.acceleration(given.state)
    condition = dynamics.condition(given.state)
    return Line(
        pairs,
        dynamics.factorization,
        "31 digits" if dynamics.residuals == "extended" else "double",
        3 if dynamics.is_planar else 6,
        len(dynamics.redundant_rows),
        oracle.relative_violation(given, found),
        float(np.abs(found - acceleration).max() / np.abs(acceleration).max()),
        condition.kappa,
        condition.forward_error,
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table; return 1 where a limit is not kept."""
    most = int(arguments[0]) if arguments else PAIRS[-1]
    print(HEADER)
    all_kept = True
    for pairs in (count for count in PAIRS if count <= most):
        for one in lines(pairs):
            print(one, flush=True)
            all_kept &= one.is_kept
    return 0 if all_kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
