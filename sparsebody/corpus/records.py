"""What the index says: one record for each problem, one for each matrix, all in plain JSON."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sparsebody
from sparsebody.corpus.corpus_problem import CorpusProblem
from sparsebody.corpus.forms import Form
from sparsebody.corpus.reference_solution import EPSILON
from sparsebody.corpus.spectrum import Condition, condition, row_spectrum

FORMAT, VERSION, LICENSE = "sparsebody-corpus", 1, "MIT"
_DIGITS = 3  # of estimates: more would differ from machine to machine

Record = dict[str, Any]


def generator() -> str:
    """Return the program that writes the corpus, with its version."""
    return f"sparsebody {sparsebody.__version__}"


def problem_record(problem: CorpusProblem, seed: int) -> Record:
    """Return what is known of a mechanism and of its constraint rows A."""
    system, decision, spectrum = problem.system, problem.decision, row_spectrum(problem)
    family = problem.entry.family
    return {
        "name": problem.name,
        "family": family.name,
        "summary": problem.entry.summary,
        "mechanism": family.mechanism,
        "parameters": {key: _plain(value) for key, value in problem.parameters.items()},
        "motion": family.motion,
        "seed": seed,
        "n_bodies": system.n_bodies,
        "n_joints": system.n_joints,
        "constraint_rows": system.n_rows,
        "rank": decision.rank,
        "redundant_rows": decision.n_dependent,
        "rank_certain": decision.certain,
        "rank_method": decision.method,
        "rank_doubt": decision.doubt,
        "rank_by_svd": spectrum.rank,
        "structural_rank": spectrum.structural_rank,
        "sigma_max": rounded(spectrum.sigma_max),
        "sigma_min": rounded(spectrum.sigma_min),
        "sigma_zero": _power_of_ten(spectrum.sigma_zero),
        "kappa": rounded(spectrum.kappa),
        "sigma_kind": spectrum.kind,
    }


def matrix_record(name: str, problem: CorpusProblem, form: Form) -> Record:
    """Return what is known of one matrix."""
    system, estimate, reference = problem.system, condition(form), form.reference
    positive, negative, zero = form.inertia
    return {
        "name": name,
        "problem": problem.name,
        "family": problem.entry.family.name,
        "n_bodies": system.n_bodies,
        "n_joints": system.n_joints,
        "form": form.name,
        "rows": form.rows,
        "n": form.matrix.shape[0],
        "nnz": int(form.matrix.count_nonzero()),
        "symmetric": True,
        "definiteness": form.definiteness,
        "inertia": {"positive": positive, "negative": negative, "zero": zero},
        "inertia_by": estimate.inertia_by,
        "rank": positive + negative,
        "redundant_rows": problem.decision.n_dependent if form.rows == "all" else 0,
        "rank_certain": problem.decision.certain,
        "kappa": rounded(estimate.kappa),
        "kappa_kind": estimate.kind,
        "delta": form.delta,
        "solution": reference.kind,
        "solution_error": rounded(_error(form, estimate)),
        "backward_error": rounded(reference.backward_error),
    }


def _error(form: Form, estimate: Condition) -> float:
    """Return the bound of the reference solution's relative error.

    A least-norm solution comes with a right-hand side that is rounded: kappa tells what of it.
    """
    if form.reference.kind == "unique":
        return form.reference.error
    return estimate.kappa * EPSILON


def rounded(value: float) -> float | None:
    """Return a number with few digits; None for what is not finite."""
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None


def _power_of_ten(value: float) -> float | None:
    """Return a bound of what is nothing but rounding, which has no digits."""
    if not math.isfinite(value):
        return None
    return float(f"1e{math.ceil(math.log10(value))}") if value > 0.0 else 0.0


def digests(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of files in a folder, by name."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def header(record: Mapping[str, Any], what: str) -> list[str]:
    """Return the comment at the head of a Matrix Market file, in the SuiteSparse collection's way.

    It has what tells the file; the index has the rest.
    """
    return [
        f"name: sparsebody/{record['name']}",
        f"title: {what}",
        f"family: {record['family']}, {record['n_bodies']} bodies, {record['n_joints']} joints",
        "kind: multibody dynamics problem",
        f"author: {generator()}; license: {LICENSE}",
        "notes: facts, block structure and digests are in corpus.json, explanations in README.md",
    ]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
