"""States of moving mechanisms, solved once for all methods and kept beside the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sparsebody.model.system import State, System
from sparsebody.study.families import Problem
from sparsebody.study.plan import Case, Study
from sparsebody.writing import replaced


def problem_of(study: Study, case: Case, system: System, folder: Path) -> Problem:
    """Return the compiled mechanism of a case at its state, from the folder if it is there."""
    family = study.families[case.series.family]
    file = state_file(case, folder)
    if not family.moves or not file.exists():
        return family.problem(system, case.series.seed)
    return Problem(family.mechanism, system, system.initial_state.with_(velocity=np.load(file)))


def store_state(study: Study, case: Case, state: State, folder: Path) -> None:
    """Keep the velocities of a moving case, whole or not at all."""
    target = state_file(case, folder)
    if not study.families[case.series.family].moves or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with replaced(target) as draft, draft.open("wb") as file:
        np.save(file, state.velocity)


def is_known(study: Study, case: Case, folder: Path) -> bool:
    """Tell whether a case is at rest, or its velocities are stored."""
    return not study.families[case.series.family].moves or state_file(case, folder).exists()


def state_file(case: Case, folder: Path) -> Path:
    """Return where the velocities (n_bodies, 6) of a case are stored."""
    family, size, seed = case.reference
    return folder / "states" / f"{family}-{size}-{seed}.npy"
