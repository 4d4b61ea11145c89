"""README.md of a corpus: what it holds, and how to read it."""

from __future__ import annotations

from importlib import resources

from sparsebody.corpus.records import Record


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
