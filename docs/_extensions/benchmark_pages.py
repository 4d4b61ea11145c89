"""Pages of the recorded benchmarks, made from the files in benchmarks/results.

Each folder there has a report in Markdown (`report.md` or `README.md`) with its figures. The first
page tells the headline figures from the same CSV files; no number is copied by hand.
"""

import csv
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx

FOLDERS = {
    "forward_dynamics": "one evaluation of all accelerations, beside other engines, with promises",
    "headline": "growth on trees, ladders, rings and lattices: whole graph or spanning tree",
    "motion": "work and precision of simulations, beside other engines",
}
FAMILIES = {  # of the table of times
    "ladder": "ladder of bars with spherical joints",
    "scissor": "scissor lift, in its plane",
    "chain": "open chain of revolute joints",
    "lattice": "square lattice of plates",
}
SIZES = (8, 128, 2048, 131072)


def times(rows: Iterable[dict[str, str]]) -> list[str]:
    """Return the table of microseconds a body, by the automatic choice."""
    least: dict[tuple[str, int], float] = {}
    for row in rows:
        if row["method"] == "sparse" and row["status"] == "ok" and row["seconds_min"]:
            if row["ordering"] not in ("", "auto") or row["factorization"] not in ("", "auto"):
                continue
            key = row["family"], int(row["n_bodies"])
            value = 1e6 * float(row["seconds_min"]) / key[1]
            least[key] = min(value, least.get(key, value))
    lines = [
        "| bodies | " + " | ".join(str(size) for size in SIZES) + " |",
        "| --- |" + " --- |" * len(SIZES),
    ]
    for family, name in FAMILIES.items():
        cells = []
        for size in SIZES:
            near = [n for f, n in least if f == family and 0.85 < n / size < 1.15]
            cells.append(f"{least[family, near[0]]:.2f}" if near else "")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def first_page(results: Path) -> str:
    """Return the page that opens the benchmarks."""
    with (results / "forward_dynamics" / "results.csv").open() as file:
        table = times(csv.DictReader(file))
    machine, *_ = json.loads((results / "forward_dynamics" / "environment.json").read_text())
    lines = [
        "# Benchmarks",
        "",
        "One evaluation of all accelerations (kinematics, assembly, factorization, solution,",
        "correction) on one thread, in microseconds a body, by the automatic choice:",
        "",
        *table,
        "",
        f"Measured on {machine['processor']}; an empty cell was not measured.",
        "`make bench` measures such a table beside the engines that install as wheels.",
        "",
        "A speed is a ratio against a named engine on the same mechanism in the same run, with the",
        "accuracy of both beside it. An order of growth is a slope with its confidence interval.",
        "The reports below are those of whole runs, with the promises that were not met:",
        "",
        *(f"- [{text}](results/{name}.md)" for name, text in FOLDERS.items()),
        "",
        "![Time of one evaluation, by family](results/headline/overview.png)",
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *(f"results/{name}" for name in FOLDERS),
        "```",
        "",
    ]
    return "\n".join(lines)


def write_pages(app: Sphinx) -> None:
    """Copy reports and figures, and write the first page, before the pages are read."""
    results = Path(app.srcdir).parent / "benchmarks" / "results"
    target = Path(app.srcdir, "benchmarks")
    shutil.rmtree(target, ignore_errors=True)
    for name in FOLDERS:
        folder = target / "results" / name
        folder.mkdir(parents=True)
        for picture in (results / name).glob("*.png"):
            shutil.copy2(picture, folder)
        (report,) = (results / name).glob("*.md")
        text = report.read_text().replace("](", f"]({name}/")
        (target / "results" / f"{name}.md").write_text(text)
    (target / "index.md").write_text(first_page(results))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages."""
    app.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
