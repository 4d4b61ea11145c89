"""corpus.json and README.md: everything known of every matrix, checked when it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema

from sparsebody.corpus.problem_folder import is_intact
from sparsebody.corpus.records import FORMAT, LICENSE, Record
from sparsebody.errors import FileFormatError
from sparsebody.sparse.matrix_files import lines_of

INDEX = "corpus.json"


def corpus_index(request: Record, documents: Sequence[Record]) -> Record:
    """Return the index of the problems that folders hold."""
    return {
        "format": request["format"],
        "version": request["version"],
        "generator": request["generator"],
        "license": LICENSE,
        "seed": request["seed"],
        "problems": [document["problem"] for document in documents],
        "matrices": [record for document in documents for record in document["matrices"]],
    }


def read_corpus(directory: str | os.PathLike[str]) -> Record:
    """Return the index of a corpus, with "problems" and "matrices" as lists of dicts.

    Raises
    ------
    FileFormatError
        If there is none, or it is broken.
    """
    path = Path(directory) / INDEX
    try:
        index = json.loads("\n".join(lines_of(path)))
    except json.JSONDecodeError as error:
        raise FileFormatError(f"{path}: not JSON: {error}; write the corpus again") from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise FileFormatError(f"{path}: not the index of a corpus; give the directory of one")
    fault = next(_validator().iter_errors(index), None)
    if fault is not None:
        place = "".join(f"[{part!r}]" for part in fault.absolute_path)
        raise FileFormatError(f"{path}: {place}: {fault.message[:120]}; write the corpus again")
    return index


def broken_files(directory: str | os.PathLike[str], index: Record) -> Iterator[Path]:
    """Yield the files of a corpus that are missing, or not as they were written."""
    for record in [*index["problems"], *index["matrices"]]:
        folder = Path(directory) / record["folder"]
        for name, digest in record["sha256"].items():
            if not is_intact(folder, {"sha256": {name: digest}}):
                yield folder / name


@cache
def _validator() -> Any:
    schema = resources.files("sparsebody.corpus").joinpath("schema.json").read_text("utf-8")
    return jsonschema.Draft202012Validator(json.loads(schema))


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
    return text + "\n".join(map(_line, index["problems"])) + "\n"


def _line(problem: Record) -> str:
    cells = [
        problem["name"],
        problem["n_bodies"],
        problem["n_joints"],
        problem["constraint_rows"],
        problem["redundant_rows"],
        "" if problem["kappa"] is None else f"{problem['kappa']:.3g}",
        problem["summary"],
    ]
    return f"| {' | '.join(map(str, cells))} |"
