"""A corpus in a directory: written problem by problem, so that it goes on where it was stopped."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from sparsebody.corpus.index import INDEX, corpus_index
from sparsebody.corpus.plan import CorpusPlan
from sparsebody.corpus.problem import corpus_problem
from sparsebody.corpus.problem_folder import finished, problem_facts, write_json, write_problem
from sparsebody.corpus.readme import readme
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
    marker = {"request": plan.request, "families": plan.families, "sizes": plan.sizes}
    marker = json.loads(json.dumps(marker))
    _check_directory(folder, marker, overwrite)
    names = [f"{entry.family.name}_{entry.n_bodies(value)}" for entry, value in plan.problems]
    _check_problems(folder, names)
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder / UNFINISHED)
        write_json(marker, folder / UNFINISHED)
        (folder / INDEX).unlink(missing_ok=True)
    documents = []
    for name, (entry, value) in zip(names, plan.problems, strict=True):
        found = finished(folder / name, plan.request)
        if found is None:
            problem = corpus_problem(entry, value, plan.seed)
            found = write_problem(problem, plan.request, folder / name)
        documents.append(found)
        if report is not None:
            report(name, len(documents), len(plan.problems))
    index = corpus_index(plan.request, documents)
    with replaced(folder / README) as draft:
        draft.write_text(readme(index), encoding="utf-8", newline="\n")
    write_json(index, folder / INDEX)
    _tidy(folder, documents)
    return folder / INDEX


def _check_directory(folder: Path, marker: Record, overwrite: bool) -> None:
    """Raise StudyError if something would be lost or mixed up."""
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder} is a file; give a directory")
    if overwrite or not folder.exists() or not any(folder.iterdir()):
        return
    if (folder / INDEX).exists():
        raise StudyError(f"{folder} holds a corpus; give another directory, or --overwrite")
    if not (folder / UNFINISHED).exists():
        raise StudyError(
            f"{folder} holds other things, such as {min(folder.iterdir()).name!r}; give an empty "
            "or a new directory"
        )
    try:
        before = json.loads((folder / UNFINISHED).read_text(encoding="utf-8"))
    except ValueError:
        before = None
    if before != marker:
        raise StudyError(
            f"{folder} holds an interrupted corpus of other families, sizes or forms; give those, "
            "another directory, or --overwrite"
        )


def _check_problems(folder: Path, names: list[str]) -> None:
    """Raise StudyError where something else stands in the place of a problem."""
    for name in names:
        target = folder / name
        is_ours = target.is_dir() and (problem_facts(target) or not any(target.iterdir()))
        if target.exists() and not is_ours:
            raise StudyError(f"{target} is no problem of a corpus; move it, or give a directory")


def _tidy(folder: Path, documents: list[Record]) -> None:
    """Remove problems of an earlier corpus, and the sign that this one is not finished."""
    current = {document["problem"]["folder"] for document in documents}
    with write_errors(folder):
        for other in sorted(folder.iterdir()):
            is_draft = other.name.startswith(".") and other.suffix == ".part"
            if other.is_dir() and other.name not in current and (is_draft or problem_facts(other)):
                shutil.rmtree(other)
        (folder / UNFINISHED).unlink(missing_ok=True)
