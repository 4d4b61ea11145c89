"""States and reference accelerations, solved once for all methods and stored beside the results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, linalg

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.system import State, System
from sparsebody.sparse.saddle import largest_row_sum, saddle_csc
from sparsebody.study.families import Problem
from sparsebody.study.plan import Case, Study
from sparsebody.writing import replaced, write_text

TRUSTED = 1e-6  # relative error of a reference beyond which it is none
_STATE = ("position", "orientation", "velocity")


@dataclass(frozen=True, eq=False)
class Reference:
    """Accelerations to compare with, and how far they can be trusted."""

    acceleration: FloatArray  # (n_bodies, 6) spatial, body coordinates, angular first
    error: float  # relative, estimated
    kappa: float  # estimated 1-norm condition number of the scaled matrix


def pivoted(problem: Problem) -> Reference:
    """Return the solution by LU with partial pivoting, whose error grows with kappa alone."""
    dynamics = ForwardDynamics(
        problem.system, problem.state, factorization="superlu", reactions="basic"
    )
    solution = dynamics(problem.state)
    kappa = condition(dynamics, problem)
    return Reference(solution.acceleration, kappa * float(np.finfo(float).eps), kappa)


def condition(dynamics: ForwardDynamics, problem: Problem) -> float:
    """Estimate the 1-norm condition number of [D A'; A 0], scaled."""
    constraint = dynamics.evaluate(problem.state).constraint
    K = saddle_csc(dynamics.structure.matrix(constraint))
    scaled = scaled_saddle(K, dynamics.structure.pattern.n_primal_rows)[1]
    return symmetric_condition(scaled, linalg.splu(scaled).solve)


def scaled_saddle(K: csc_array | csr_array, n_primal: int) -> tuple[FloatArray, csc_array]:
    """Return scales s, and s K s with ones on the diagonal of D and rows of A of unit norm."""
    inverse_root = 1.0 / np.sqrt(np.abs(K.diagonal()[:n_primal]))
    A = K[n_primal:, :n_primal] @ diags_array(inverse_root)
    norm = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
    scale = np.concatenate([inverse_root, 1.0 / norm])
    return scale, csc_array(diags_array(scale) @ K @ diags_array(scale))


def symmetric_condition(K: csc_array, solve: Callable[[FloatArray], FloatArray]) -> float:
    """Estimate the 1-norm condition number of a symmetric matrix with what solves it."""
    return float(abs(K).sum(axis=0).max()) * largest_row_sum(solve, solve, K.shape[0])


def relative_error(acceleration: FloatArray, reference: Reference) -> float:
    """Return max |a - a_ref| / max |a_ref|."""
    size = float(np.abs(reference.acceleration).max(initial=0.0)) or 1.0
    return float(np.abs(acceleration - reference.acceleration).max(initial=0.0)) / size


# ---- files beside the results -----------------------------------------------------------------


def store_reference(reference: Reference, case: Case, folder: Path) -> None:
    """Store the reference of a case, atomically."""
    numbers = np.array([reference.error, reference.kappa])
    _store(reference_file(case, folder), acceleration=reference.acceleration, numbers=numbers)


def load_reference(case: Case, folder: Path) -> Reference | None:
    """Return the stored reference, or None."""
    stored = _stored(reference_file(case, folder))
    if stored is None:
        return None
    return Reference(stored["acceleration"], *stored["numbers"].tolist())


def give_up_reference(case: Case, folder: Path, reason: str) -> None:
    """Store that there is none, and why."""
    target = reference_file(case, folder).with_suffix(".missing")
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, reason)


def forget_missing(folder: Path) -> None:
    """Let references that could not be solved be tried again."""
    for file in (folder / "references").glob("*.missing"):
        file.unlink()


def problem_of(study: Study, case: Case, system: System, folder: Path) -> Problem:
    """Return the compiled mechanism of a case at its state, from the folder if it is there."""
    family = study.families[case.series.family]
    stored = _stored(state_file(case, folder)) if family.moves else None
    if stored is None:
        return family.problem(system, case.series.seed)
    return Problem(family.mechanism, system, system.initial_state.with_(**stored))


def store_state(study: Study, case: Case, state: State, folder: Path) -> None:
    """Store the state of a moving case, atomically."""
    if not is_known(study, case, folder):
        _store(state_file(case, folder), **{name: getattr(state, name) for name in _STATE})


def is_known(study: Study, case: Case, folder: Path) -> bool:
    """Tell whether a case is at rest, or its state is stored."""
    return not study.families[case.series.family].moves or state_file(case, folder).exists()


def is_settled(study: Study, case: Case, folder: Path) -> bool:
    """Tell whether state and reference are stored, or the reference has failed."""
    reference = reference_file(case, folder)
    if reference.with_suffix(".missing").exists():
        return True
    is_solved = not study.has_reference(case) or reference.exists()
    return is_solved and is_known(study, case, folder)


def reference_file(case: Case, folder: Path) -> Path:
    """Return where the reference solution of a case is stored."""
    return folder / "references" / f"{'-'.join(map(str, case.reference))}.npz"


def state_file(case: Case, folder: Path) -> Path:
    """Return where the state of a case is stored."""
    return folder / "states" / reference_file(case, folder).name


def _store(target: Path, **arrays: FloatArray) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with replaced(target) as draft, draft.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _stored(target: Path) -> Mapping[str, FloatArray] | None:
    if not target.exists():
        return None
    with np.load(target) as stored:
        return dict(stored)
