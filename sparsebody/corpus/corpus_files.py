"""A corpus in a directory, written problem by problem, so that it goes on after an interruption.

A problem's folder gets its name when everything in it is written; corpus.json is the index, and
README.md explains. Graphs are GraphML (the mechanism) and METIS (its blocks).
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from sparsebody import schemas, writing
from sparsebody.corpus import corpus_problem as problems
from sparsebody.corpus.corpus_families import FORMAT, FORMS, GENERATOR, LICENSE, CorpusPlan
from sparsebody.corpus.corpus_problem import CorpusProblem, Form, Record
from sparsebody.errors import FileFormatError, StudyError
from sparsebody.model.mechanism import WORLD
from sparsebody.sparse import BlockPattern, constraint_matrix, write_array, write_matrix
from sparsebody.sparse.matrix_files import read_json

Report = Callable[[str, int, int], None]
"""report(name, done, all): called after every problem."""

INDEX, UNFINISHED, README, FACTS = "corpus.json", "corpus.part.json", "README.md", "problem.json"


def write_corpus(
    directory: writing.StrPath,
    plan: CorpusPlan | None = None,
    *,
    overwrite: bool = False,
    report: Report | None = None,
) -> Path:
    """Write a corpus, or the rest of one that was interrupted; return its index.

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
    with writing.write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        writing.check_writable(folder / UNFINISHED)
        write_json(_marker(plan), folder / UNFINISHED)
        (folder / INDEX).unlink(missing_ok=True)
        for other in folder.iterdir() if overwrite else ():
            is_draft = other.name.startswith(".") and other.suffix == ".part"
            if other.is_dir() and (is_draft or problem_facts(other)):
                shutil.rmtree(other)
    planned, documents = plan.problems, []
    for name, (entry, value) in planned.items():
        facts = finished(folder / name, plan.request)
        if facts is None:
            problem = problems.corpus_problem(entry, value, plan.seed)
            facts = write_problem(problem, plan.request, folder / name)
        documents.append(facts)
        if report is not None:
            report(name, len(documents), len(planned))
    index = {
        **{key: plan.request[key] for key in ("format", "version", "generator")},
        "license": LICENSE,
        "seed": plan.seed,
        "problems": [document["problem"] for document in documents],
        "matrices": [record for document in documents for record in document["matrices"]],
    }
    writing.write_text(folder / README, readme(index) + "\n")
    write_json(index, folder / INDEX)
    with writing.write_errors(folder):
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
    for name in plan.problems:
        target = folder / name
        is_ours = target.is_dir() and (problem_facts(target) or not any(target.iterdir()))
        if target.exists() and not is_ours:
            raise StudyError(f"{target} is no problem of a corpus; move it, or give a directory")
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


def _marker(plan: CorpusPlan) -> Record:
    """Return what an unfinished corpus says of itself."""
    return plan.request | {"families": list(plan.families), "sizes": list(plan.sizes)}


# ---- the folder of one problem -----------------------------------------------------------------


def write_problem(problem: CorpusProblem, request: Record, folder: Path) -> Record:
    """Write all files of a problem into a new folder; return its entry of the index."""
    draft = folder.with_name(f".{folder.name}.part")
    with writing.write_errors(folder):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
    facts = problems.problem_record(problem, request["seed"])
    facts |= {"folder": folder.name, "files": _write_mechanism(problem, facts, draft)}
    matrices = []
    for rows in ("all", "independent") if facts["redundant_rows"] else ("all",):
        for name in request["forms"]:
            form = problems.form_of(problem, name, rows)
            matrices.append(_write_form(problem, form, draft))
    facts["sha256"] = digests(draft, list(facts["files"].values()))
    document = {"request": request, "problem": facts, "matrices": matrices}
    write_json(document, draft / FACTS)
    with writing.write_errors(folder):
        shutil.rmtree(folder, ignore_errors=True)
        draft.replace(folder)
    return document


def finished(folder: Path, request: Record) -> Record | None:
    """Return what `write_problem` returned for a folder; None if there is none of this request."""
    facts = problem_facts(folder)
    if facts is None or facts["request"] != request:
        return None
    records = [facts["problem"], *facts["matrices"]]
    return facts if all(is_intact(folder, record) for record in records) else None


def problem_facts(folder: Path) -> Record | None:
    """Return the entry of the problem in a folder; None if it holds none."""
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
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    writing.write_text(path, text + "\n")


def _write_mechanism(problem: CorpusProblem, facts: Record, folder: Path) -> dict[str, str]:
    """Write A, the independent rows and the graphs; return the names of the files."""
    endings = {
        "constraints": "A.mtx",
        "independent_rows": "independent.mtx",
        "graph": "graph.graphml",
        "quotient_graph": "quotient.graph",
    }
    files = {kind: f"{problem.name}_{ending}" for kind, ending in endings.items()}
    rows, keep = constraint_matrix(problem.matrix("all")), problem.decision.keep
    what = header(facts, "constraint rows A on the bodies, all of them")
    write_matrix(rows, folder / files["constraints"], what)
    counted = f"independent rows of A, counted from 1: {facts['rank']} of {len(keep)}"
    of_rows = folder / files["independent_rows"]
    write_array(np.flatnonzero(keep) + 1, of_rows, header(facts, counted))
    text = "\n".join(nx.generate_graphml(body_joint_graph(problem), named_key_ids=True))
    writing.write_text(folder / files["graph"], text + "\n")
    write_metis(problem.structure("all").pattern, folder / files["quotient_graph"])
    return files


def _write_form(problem: CorpusProblem, form: Form, folder: Path) -> Record:
    """Write a matrix and what belongs to it; return its record."""
    name = f"{problem.name}_{form.name}" + ("" if form.rows == "all" else "_independent")
    solution, positions = f"{form.reference.kind} solution x of K x = b", problem.positions()
    contents: dict[str, tuple[str, str, Any]] = {
        "matrix": (".mtx", FORMS[form.name], form.matrix),
        "right_hand_side": ("_b.mtx", "right-hand side b of the matrix of this name", form.right),
        "solution": ("_x.mtx", solution, form.reference.x),
        "coordinates": ("_coord.mtx", "centers x, y, z of the blocks [m]", positions[form.blocks]),
    }
    files = {kind: name + ending for kind, (ending, *_) in contents.items()}
    files["blocks"] = f"{name}_blocks.json"
    record = problems.matrix_record(name, problem, form)
    record |= {"folder": problem.name, "files": files}
    for kind, (_, title, values) in contents.items():
        target, what = folder / files[kind], header(record, title)
        if isinstance(values, np.ndarray):
            write_array(values, target, what)
        else:
            write_matrix(values, target, what, symmetric=True)
    n, names = problem.system.n_bodies, [*problem.system.body_names, *problem.system.joint_names]
    blocks = {  # offsets are counted from 0
        "offsets": (np.cumsum(form.sizes) - form.sizes).tolist(),
        "sizes": form.sizes.tolist(),
        "kinds": ["body" if block < n else "joint" for block in form.blocks.tolist()],
        "names": [names[block] for block in form.blocks.tolist()],
    }
    write_json(blocks, folder / files["blocks"])
    return record | {"sha256": digests(folder, list(files.values()))}


def digests(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of files in a folder, by name."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def header(record: Record, what: str) -> list[str]:
    """Return the comment at the head of a Matrix Market file, in the SuiteSparse collection's way.

    It identifies the file; the index has the rest.
    """
    return [
        f"name: sparsebody/{record['name']}",
        f"title: {what}",
        f"family: {record['family']}, {record['n_bodies']} bodies, {record['n_joints']} joints",
        "kind: multibody dynamics problem",
        f"author: {GENERATOR}; license: {LICENSE}",
        "notes: facts, block structure and digests are in corpus.json, explanations in README.md",
    ]


# ---- graphs for other programs -----------------------------------------------------------------


def body_joint_graph(problem: CorpusProblem) -> nx.MultiDiGraph:
    """Return bodies as nodes and joints as edges from predecessor to successor, all by name.

    A body weighs as many as it has freedoms, a joint as many as it has constraint rows; both have
    the number of their block, and a position x, y, z in the world [m]. The world weighs nothing.
    """
    system, position = problem.system, problem.positions().tolist()
    n = system.n_bodies
    graph = nx.MultiDiGraph(name=problem.name)
    graph.add_node(WORLD, weight=0, block=-1)
    for i, name in enumerate(system.body_names):
        x, y, z = position[i]
        graph.add_node(name, weight=6, block=i, x=x, y=y, z=z)
    names = [*system.body_names, WORLD]  # -1 is the last
    for j, name in enumerate(system.joint_names):
        x, y, z = position[n + j]
        rows = int(system.first_row[j + 1] - system.first_row[j])
        ends = names[system.predecessor[j]], names[system.successor[j]]
        graph.add_edge(*ends, key=name, weight=rows, block=n + j, x=x, y=y, z=z)
    return graph


def write_metis(pattern: BlockPattern, path: Path) -> None:
    """Save the quotient graph, bodies before joints, for METIS; vertices weigh their rows."""
    lines = [f"{pattern.n_blocks} {len(pattern.adjacency[1]) // 2} 010 1"]
    for i, size in enumerate(pattern.block_sizes.tolist()):
        lines.append(" ".join(map(str, [size, *(pattern.neighbours(i) + 1).tolist()])))
    writing.write_text(path, "\n".join(lines) + "\n")


# ---- the index ---------------------------------------------------------------------------------


def read_corpus(directory: writing.StrPath) -> Record:
    """Return the index of a corpus, with "problems" and "matrices" as lists of dicts.

    FileFormatError if there is none, or it is broken.
    """
    path = Path(directory) / INDEX
    index = read_json(path, "write the corpus again")
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise FileFormatError(f"{path}: not the index of a corpus; give the directory of one")
    fault = schemas.schema_fault(index, "sparsebody.corpus")
    if fault is not None:
        raise FileFormatError(f"{path}: {fault}, or write the corpus again")
    return index


def broken_files(directory: writing.StrPath, index: Record) -> Iterator[Path]:
    """Yield the files of a corpus that are missing, or not as they were written."""
    for record in [*index["problems"], *index["matrices"]]:
        folder = Path(directory) / record["folder"]
        for name, digest in record["sha256"].items():
            if not is_intact(folder, {"sha256": {name: digest}}):
                yield folder / name


def readme(index: Record) -> str:
    """Return the text for a corpus with this index."""
    example = index["matrices"][0]
    head = resources.files("sparsebody.corpus").joinpath("readme.md").read_text("utf-8")
    text = head.format(
        n_matrices=len(index["matrices"]),
        n_problems=len(index["problems"]),
        generator=index["generator"],
        license=index["license"],
        name=f"{example['folder']}/{example['name']}",
    )
    lines, counts = [], ("name", "n_bodies", "n_joints", "constraint_rows", "redundant_rows")
    for problem in index["problems"]:
        kappa = "" if problem["kappa"] is None else f"{problem['kappa']:.3g}"
        cells = [*(problem[key] for key in counts), kappa, problem["summary"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return text + "\n".join(lines)
