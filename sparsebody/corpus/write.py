"""A corpus in a directory: written problem by problem, so that it goes on where it was stopped."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from sparsebody.corpus.corpus_families import CorpusFamily
from sparsebody.corpus.corpus_plan import CorpusPlan
from sparsebody.corpus.corpus_problem import corpus_problem
from sparsebody.corpus.index import INDEX, corpus_index, readme
from sparsebody.corpus.problem_folder import finished, problem_facts, write_json, write_problem
from sparsebody.corpus.records import Record
from sparsebody.errors import StudyError
from sparsebody.writing import check_writable, replaced, write_errors

Report = Callable[[str, int, int], None]
"""report(name, done, all): called after every problem."""

UNFINISHED, README = "corpus.part.json", "README.md"


def write_corpus(
    directory: str | os.PathLike[str],
    plan: CorpusPlan | None = None,
    *,
    overwrite: bool = False,
    report: Report | None = None,
) -> Path:
    """Write a corpus, or go on with one that was interrupted; return its index.

    The same plan gives the same bytes.

    Parameters
    ----------
    directory : path-like
        A new or empty one, or that of an interrupted corpus of the same plan.
    plan : CorpusPlan, optional
        Default: all families and forms, small sizes.
    overwrite : bool
        Replace another corpus there; files that belong to none are left alone.
    report : callable, optional
        See Report.

    Raises
    ------
    StudyError
        If the directory holds anything else and `overwrite` is not given.
    OutputError
        If it cannot be written.
    """
    plan, folder = plan or CorpusPlan(), Path(directory)
    check_directory(folder, plan, overwrite)
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder / UNFINISHED)
        write_json(_marker(plan), folder / UNFINISHED)
        (folder / INDEX).unlink(missing_ok=True)
        if overwrite:
            _remove_problems(folder)
    documents = []
    for name, (entry, value) in _named(plan).items():
        facts = finished(folder / name, plan.request)
        if facts is None:
            problem = corpus_problem(entry, value, plan.seed)
            facts = write_problem(problem, plan.request, folder / name)
        documents.append(facts)
        if report is not None:
            report(name, len(documents), len(_named(plan)))
    index = corpus_index(plan.request, documents)
    with replaced(folder / README) as draft:
        draft.write_text(readme(index), encoding="utf-8", newline="\n")
    write_json(index, folder / INDEX)
    with write_errors(folder):
        (folder / UNFINISHED).unlink(missing_ok=True)
    return folder / INDEX


def check_directory(folder: Path, plan: CorpusPlan, overwrite: bool = False) -> None:
    """Raise StudyError if something would be lost or mixed up by a corpus in a directory."""
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder} is a file; give a directory")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / INDEX).exists() and not (folder / UNFINISHED).exists():
        raise StudyError(
            f"{folder} holds other things, such as {min(folder.iterdir()).name!r}; give an empty "
            "or a new directory"
        )
    _check_problems(folder, plan)
    if overwrite:
        return
    if (folder / INDEX).exists():
        raise StudyError(f"{folder} holds a corpus; give another directory, or --overwrite")
    try:
        before = json.loads((folder / UNFINISHED).read_text(encoding="utf-8"))
    except ValueError:
        before = None
    if before != _marker(plan):
        raise StudyError(
            f"{folder} holds an interrupted corpus of other families, sizes or forms; give those, "
            "another directory, or --overwrite"
        )


def _check_problems(folder: Path, plan: CorpusPlan) -> None:
    """Raise StudyError where something else stands in the place of a problem."""
    for name in _named(plan):
        target = folder / name
        is_ours = target.is_dir() and (problem_facts(target) or not any(target.iterdir()))
        if target.exists() and not is_ours:
            raise StudyError(f"{target} is no problem of a corpus; move it, or give a directory")


def _marker(plan: CorpusPlan) -> Record:
    """Return what an unfinished corpus says of itself."""
    return plan.request | {"families": list(plan.families), "sizes": list(plan.sizes)}


def _named(plan: CorpusPlan) -> dict[str, tuple[CorpusFamily, int]]:
    """Return the problems by name."""
    return {
        f"{entry.family.name}_{entry.n_bodies(value)}": (entry, value)
        for entry, value in plan.problems
    }


def _remove_problems(folder: Path) -> None:
    """Remove the problems of an earlier corpus, and what was being written of one."""
    for other in folder.iterdir():
        is_draft = other.name.startswith(".") and other.suffix == ".part"
        if other.is_dir() and (is_draft or problem_facts(other)):
            shutil.rmtree(other)
