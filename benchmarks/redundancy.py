"""Redundant constraints and accuracy of overconstrained mechanisms, judged by closed forms.

Hooks of `redundancy.toml`: counts of redundant rows and mobility against closed forms, with six
freedoms a body and with fewer; and of `conditioning.toml`: errors of scissor lifts against what
their condition allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from operator import eq

import numpy as np

import sparsebody as sb
from benchmarks.cases import scissor_motion
from benchmarks.doubled import doubled
from benchmarks.oracle import Equations, Motion, extended_reference, reference
from sparsebody.dynamics.conditioning import MACHINE_EPSILON
from sparsebody.dynamics.preparation import EXTENDED, SPATIAL
from sparsebody.study.families import Family, Problem
from sparsebody.study.findings import Finding, families, judged
from sparsebody.study.measure import SparsePrepared
from sparsebody.study.rows import Row
from sparsebody.study.study_references import Reference

LARGEST_DENSE = 60  # bodies of a dense reference
LARGEST_EXTENDED = 2000  # bodies up to which lifts have 25 digits: a minute for ten times as many
ERROR = 1e-10  # what is promised, unless the condition number allows no better

# By mechanism: redundant rows in space and mobility at a value of the size parameter.
EXPECTED: dict[str, tuple[Callable[[int], int], Callable[[int], int]]] = {
    "scissor": (lambda pairs: 3 * (pairs - 1), lambda pairs: 1),
    "rotating-squares": (lambda k: 4 * k * k - 10 * k + 7, lambda k: 2),
    "n-four-bar": (lambda loops: 3 * loops, lambda loops: 1),
    "five-bar-array": (lambda loops: 3 * loops, lambda loops: loops + 1),
    "four-bar-torus": (lambda k: 3 * k * k + 2 * k + 1, lambda k: 2 * k - 4),
    "bricard": (lambda size: 1, lambda size: 1),
}


def bricard(size: int) -> sb.Mechanism:
    """Return the one size that there is of Bricard's mechanism."""
    return sb.build("bricard")


def six_freedoms(problem: Problem, formulation: str = SPATIAL) -> SparsePrepared:
    """Return the sparse method with six freedoms a body, rank by numbers alone."""
    options = {"formulation": formulation, "reactions": "basic"}
    return SparsePrepared(problem, sb.ForwardDynamics(problem.system, problem.state, **options))


extended_residuals = partial(six_freedoms, formulation=EXTENDED)  # of 31 digits


def truth(problem: Problem) -> Reference:
    """Return what the pseudo-inverse of all rows gives; for large ones, what six freedoms give."""
    if problem.mechanism == "scissor":
        return reference(problem)
    if problem.system.n_bodies <= LARGEST_DENSE:
        return dense_reference(problem)
    unreduced = sb.ForwardDynamics(problem.system, problem.state, formulation=SPATIAL)
    kappa = unreduced.condition(problem.state).kappa
    return Reference(unreduced.acceleration(problem.state), MACHINE_EPSILON * kappa, kappa)


def dense_reference(problem: Problem) -> Reference:
    """Return the accelerations of Gauss' principle by dense least squares."""
    equations = Equations(Motion(problem.system, problem.state))
    K, n = equations.matrix().toarray(), equations.n
    root = np.linalg.cholesky(K[:n, :n])
    free = np.linalg.solve(root, equations.force.high.ravel())  # L' a without constraints
    unit_rows = np.linalg.solve(root, K[:n, n:]).T
    size = np.linalg.norm(unit_rows, axis=1)
    unit_rows, rate = unit_rows / size[:, None], equations.rate.high / size
    change = np.linalg.lstsq(unit_rows, rate - unit_rows @ free, rcond=1e-10)[0]
    sigma = np.linalg.svd(unit_rows, compute_uv=False)
    sigma = sigma[sigma > 1e-10 * sigma[0]]
    world = np.linalg.solve(root.T, free + change).reshape(-1, 6)
    kappa = float(sigma[0] / sigma[-1])
    return Reference(equations.motion.spatial(doubled(world)), 1e-13, kappa)


def counts(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield whether redundant rows and mobility are what closed forms say."""
    columns = ("redundant_rows", 0), ("mobility", 1)
    for (column, which), of in product(columns, families(rows)):
        # Families are called by their mechanisms.
        own = Family(of.name, of.name if of.name != "bricard" else f"{__name__}:bricard")
        for label, members in of.rows.items():
            if label.endswith("iterative"):  # keeps all rows
                continue
            values = {}
            for n, row in ((row["n_bodies"], row) for row in members):
                expected = EXPECTED[of.name][which](own.parameter(n))
                values[n] = (row[column], float(expected), f" of {expected}")
            promise = f"{of.name}, {label}: {column.replace('_', ' ')}"
            yield judged(promise, values, "closed form", is_met=eq, form="g")


def consistent(system: sb.System, seed: int) -> sb.State:
    """Return the moving state of a lift; up to LARGEST_EXTENDED bodies closed to 1e-16."""
    state = scissor_motion(system, seed)
    is_small = system.n_bodies <= LARGEST_EXTENDED
    return extended_reference(system, state).state if is_small else state


def lift(problem: Problem) -> Reference:
    """Return the accelerations of a lift to 25 digits, or in closed form, and its condition."""
    closed_form = reference(problem)
    if problem.system.n_bodies > LARGEST_EXTENDED:
        return closed_form
    exact = extended_reference(problem.system, problem.state)
    return Reference(exact.acceleration, exact.change, closed_form.kappa)


def accuracy(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield whether lifts are as exact as is promised: error, residual of all rows, rank."""
    for label, members in (item for of in families(rows) for item in of.rows.items()):
        errors, violations = {}, {}
        for n, kappa, row in ((row["n_bodies"], row["kappa"], row) for row in members):
            limit = max(ERROR, 10.0 * kappa * MACHINE_EPSILON)
            errors[n] = (row["error"], limit, f" (kappa {kappa:.0e})")
            violations[n] = (row["violation"], ERROR, "")
        limit_text = "<= max(1e-10, 10 kappa eps)"
        yield judged(f"{label}: error of the accelerations", errors, limit_text, form=".0e")
        yield judged(f"{label}: residual of all rows", violations, "<= 1e-10", form=".0e")
    yield from counts(rows)
