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

import sparsebody as sb
from benchmarks.cases import scissor_motion
from benchmarks.oracle import extended_reference, reference
from sparsebody.dynamics.conditioning import MACHINE_EPSILON
from sparsebody.dynamics.preparation import EXTENDED, SPATIAL
from sparsebody.study.families import Family, Problem
from sparsebody.study.findings import Finding, families, judged
from sparsebody.study.measure import SparsePrepared
from sparsebody.study.rows import Row
from sparsebody.study.study_references import Reference

LARGEST_EXTENDED = 2100  # bodies up to which there are 25 digits: a minute for ten times as many
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
    """Return accelerations to 25 digits, and the condition of those of smaller precision.

    Large scissor lifts have the latter in closed form, others by six freedoms a body.
    """
    system, state = problem.system, problem.state
    if problem.mechanism == "scissor":
        rougher = reference(problem)
    else:
        unreduced = sb.ForwardDynamics(system, state, formulation=SPATIAL)
        kappa = unreduced.condition(state).kappa
        rougher = Reference(unreduced.acceleration(state), MACHINE_EPSILON * kappa, kappa)
    if system.n_bodies > LARGEST_EXTENDED:
        return rougher
    exact = extended_reference(system, state)  # a wrong choice of rows would violate others
    return Reference(exact.acceleration, max(exact.change, exact.violation), rougher.kappa)


def consistent(system: sb.System, seed: int) -> sb.State:
    """Return the moving state of a lift; up to LARGEST_EXTENDED bodies closed to 1e-16."""
    state = scissor_motion(system, seed)
    is_small = system.n_bodies <= LARGEST_EXTENDED
    return extended_reference(system, state).state if is_small else state


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
