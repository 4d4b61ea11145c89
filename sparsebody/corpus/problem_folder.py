"""The folder of one problem: everything in it is written before it gets its name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from sparsebody.corpus.corpus_problem import CorpusProblem, kept_rows
from sparsebody.corpus.forms import FORMS, Form
from sparsebody.corpus.graphs import body_joint_graph, write_graphml, write_metis
from sparsebody.corpus.records import Record, digests, header, matrix_record, problem_record
from sparsebody.sparse.matrix_files import write_array, write_matrix
from sparsebody.sparse.saddle import constraint_matrix
from sparsebody.writing import replaced, write_errors

FACTS = "problem.json"


def write_problem(problem: CorpusProblem, request: Record, folder: Path) -> Record:
    """Write all files of a problem into a new folder; return what its index says.

    Raises
    ------
    OutputError
        If something cannot be written.
    """
    draft = folder.with_name(f".{folder.name}.part")
    with write_errors(folder):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
    facts = problem_record(problem, request["seed"])
    facts |= {"folder": folder.name, "files": _write_mechanism(problem, facts, draft)}
    matrices = []
    for rows in ("all", "kept") if facts["redundant_rows"] else ("all",):
        for name in request["forms"]:
            form = FORMS[name].function(problem, rows)
            matrices.append(_write_form(problem, form, draft))
    facts["sha256"] = digests(draft, list(facts["files"].values()))
    document = {"request": request, "problem": facts, "matrices": matrices}
    write_json(document, draft / FACTS)
    with write_errors(folder):
        shutil.rmtree(folder, ignore_errors=True)
        draft.replace(folder)
    return document


def finished(folder: Path, request: Record) -> Record | None:
    """Return what `write_problem` returned for a folder; None if there is none of this request."""
    facts = problem_facts(folder)
    if facts is None or facts["request"] != request:
        return None
    records = [facts["problem"], *facts["matrices"]]
    is_whole = all(is_intact(folder, record) for record in records)
    return facts if is_whole else None


def problem_facts(folder: Path) -> Record | None:
    """Return what the folder says of itself; None if it is no problem's."""
    try:
        facts: Any = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    has_all = isinstance(facts, dict) and {"request", "problem", "matrices"} <= facts.keys()
    return facts if has_all else None


def is_intact(folder: Path, record: Record) -> bool:
    """Return whether the files of a record are as they were written."""
    try:
        return digests(folder, list(record["sha256"])) == record["sha256"]
    except OSError:
        return False


def write_json(document: Record, path: Path) -> None:
    """Write a JSON document, whole or not at all."""
    with replaced(path) as draft:
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        draft.write_text(text + "\n", encoding="utf-8", newline="\n")


def _write_mechanism(problem: CorpusProblem, facts: Record, folder: Path) -> dict[str, str]:
    """Write A, the kept rows and the graphs; return the names of the files."""
    kinds = {
        "constraints": "A.mtx",
        "kept_rows": "kept.mtx",
        "graph": "graph.graphml",
        "quotient_graph": "quotient.graph",
    }
    files = {kind: f"{problem.name}_{ending}" for kind, ending in kinds.items()}
    rows = constraint_matrix(problem.matrix("all"))
    what = header(facts, "constraint rows A on the bodies, all of them")
    write_matrix(rows, folder / files["constraints"], what)
    kept = kept_rows(problem) + 1
    what = header(
        facts, f"independent rows of A, counted from 1: {facts['rank']} of {rows.shape[0]}"
    )
    write_array(kept, folder / files["kept_rows"], what)
    write_graphml(body_joint_graph(problem), folder / files["graph"])
    write_metis(problem.structure("all").pattern, folder / files["quotient_graph"])
    return files


def _write_form(problem: CorpusProblem, form: Form, folder: Path) -> Record:
    """Write a matrix and what belongs to it; return its record."""
    name = f"{problem.name}_{form.name}" + ("" if form.rows == "all" else "_kept")
    endings = {
        "matrix": ".mtx",
        "right_hand_side": "_b.mtx",
        "solution": "_x.mtx",
        "blocks": "_blocks.json",
        "coordinates": "_coord.mtx",
    }
    files = {kind: name + ending for kind, ending in endings.items()}
    record = matrix_record(name, problem, form)
    record |= {"folder": problem.name, "files": files}
    titled = {
        "matrix": (FORMS[form.name].title, form.matrix),
        "right_hand_side": ("right-hand side b of the matrix of this name", form.right),
        "solution": (f"{form.reference.kind} solution x of K x = b", form.reference.x),
        "coordinates": ("places x, y, z of the blocks [m]", problem.positions()[form.blocks]),
    }
    for kind, (title, values) in titled.items():
        target, what = folder / files[kind], header(record, title)
        if isinstance(values, np.ndarray):
            write_array(values, target, what)
        else:
            write_matrix(values, target, what, symmetric=True)
    write_json(_block_structure(problem, form), folder / files["blocks"])
    return record | {"sha256": digests(folder, list(files.values()))}


def _block_structure(problem: CorpusProblem, form: Form) -> Record:
    """Return offsets, counted from 0, sizes, kinds and names of the blocks, in columns."""
    n, names = problem.system.n_bodies, [*problem.system.body_names, *problem.system.joint_names]
    return {
        "offsets": (np.cumsum(form.sizes) - form.sizes).tolist(),
        "sizes": form.sizes.tolist(),
        "kinds": ["body" if block < n else "joint" for block in form.blocks.tolist()],
        "names": [names[block] for block in form.blocks.tolist()],
    }
