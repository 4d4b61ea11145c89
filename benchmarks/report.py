"""Figures, orders of growth and promises, from the CSV alone: `python -m benchmarks.report`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import criteria
from benchmarks.criteria import OURS
from benchmarks.results import FOLDER, FORWARD_DYNAMICS, read_rows

TWO_DECADES = 100.0
COLOURS = {
    "sparsebody": "#c1121f",
    "pinocchio-aba": "#3a5a98",
    "pinocchio-lcaba": "#1d7874",
    "pinocchio-lcaba-accurate": "#71b095",
    "pinocchio-constraint-dynamics": "#7a9cc6",
    "mujoco": "#e09f3e",
    "exudyn": "#6d597a",
    "drake": "#8d99ae",
    "linear-superlu": "#b5a27a",
    "linear-cholmod": "#6b705c",
}
FADED = "#e8a0a4"  # other factorizations of ours
TITLES = {
    "ladder": "A: ladder, ball joints",
    "scissor": "B: scissor lift, spatial hinges",
    "lattice": "C50: lattice, half of its loops",
    "chain": "D: open chain of hinges",
}


@dataclass(frozen=True, eq=False)
class Series:
    """One method on one mechanism, in order of size."""

    mechanism: str
    method: str
    relabelled: bool
    n_bodies: np.ndarray
    values: dict[str, np.ndarray]  # the numeric columns

    def exponent(self, low: float = 0.0, high: float = math.inf) -> tuple[float, float]:
        """Return the slope of log time over log size from `low` to `high`, and the span of sizes.

        A slope over less than two decades says little; the span tells.
        """
        time = self.values["cpu_us"]
        use = (self.n_bodies >= low) & (self.n_bodies <= high) & (time > 0)
        if use.sum() < 2:
            return math.nan, 1.0
        n = self.n_bodies[use]
        slope = np.polyfit(np.log(n), np.log(time[use]), 1)[0]
        return float(slope), float(n.max() / n.min())


NUMBERS = (
    "cpu_us",
    "cpu_us_per_body",
    "kinematics_us",
    "factorize_us",
    "solve_us",
    "forces_us",
    "flops",
    "build_ms",
    "compile_ms",
    "analyze_ms",
    "acceleration_error",
    "kappa",
    "system_mb",
    "memory_mb",
)


def series(rows: list[dict[str, str]]) -> list[Series]:
    """Return the measured rows, grouped."""
    groups: dict[tuple[str, str, bool], list[dict[str, str]]] = {}
    for row in rows:
        if row["status"] == "ok":
            key = (row["mechanism"], row["method"], row["relabelled"] == "True")
            groups.setdefault(key, []).append(row)
    found = []
    for (mechanism, method, relabelled), members in groups.items():
        members.sort(key=lambda row: int(row["n_bodies"]))
        n = np.array([int(row["n_bodies"]) for row in members], dtype=float)
        values = {name: np.array([_number(row[name]) for row in members]) for name in NUMBERS}
        found.append(Series(mechanism, method, relabelled, n, values))
    return found


def _number(text: str) -> float:
    return float(text) if text else math.nan


# ---- tables ----------------------------------------------------------------------------------


def exponents(found: list[Series], low: float) -> list[str]:
    """Return a Markdown table of the orders of growth from `low` bodies on."""
    lines = ["| mechanism | method | bodies | exponent |", "|---|---|---|---|"]
    for one in found:
        slope, span = one.exponent(low)
        if one.relabelled or math.isnan(slope):
            continue
        sizes = one.n_bodies[one.n_bodies >= low]
        mark = "" if span >= TWO_DECADES else " (less than two decades)"
        extent = f"{sizes.min():.0f} to {sizes.max():.0f}"
        lines.append(f"| {one.mechanism} | {one.method} | {extent} | {slope:.2f}{mark} |")
    return lines


def speeds(found: list[Series]) -> list[str]:
    """Return a Markdown table: time, error, and our speed as a ratio to each peer."""
    lines = [
        "| mechanism | bodies | method | us | us per body | error | kappa | peer / sparsebody |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ours = {
        (one.mechanism, n): time
        for one in found
        if one.method == OURS and not one.relabelled
        for n, time in zip(one.n_bodies, one.values["cpu_us"], strict=True)
    }
    for one in sorted(found, key=lambda one: one.mechanism):
        for i, n in enumerate(one.n_bodies):
            if one.relabelled:
                continue
            at = {name: value[i] for name, value in one.values.items()}
            ratio = at["cpu_us"] / ours.get((one.mechanism, n), math.nan)
            lines.append(
                f"| {one.mechanism} | {n:.0f} | {one.method} | {at['cpu_us']:.4g} | "
                f"{at['cpu_us_per_body']:.3g} | {at['acceleration_error']:.0e} | "
                f"{at['kappa']:.0e} | {ratio:.2f} |"
            )
    return lines


def relabelling(found: list[Series]) -> list[str]:
    """Return a Markdown table: how many times slower with bodies and joints shuffled."""
    lines = ["| mechanism | method | bodies | shuffled / ordered |", "|---|---|---|---|"]
    ordered = {(one.mechanism, one.method): one for one in found if not one.relabelled}
    for one in found:
        base = ordered.get((one.mechanism, one.method))
        if not one.relabelled or base is None:
            continue
        times = dict(zip(base.n_bodies, base.values["cpu_us"], strict=True))
        for n, time in zip(one.n_bodies, one.values["cpu_us"], strict=True):
            if n in times:
                ratio = time / times[n]
                lines.append(f"| {one.mechanism} | {one.method} | {n:.0f} | {ratio:.2f} |")
    return lines


def profile(found: list[Series]) -> list[str]:
    """Return a Markdown table: where our time goes, everything for each body but GFLOP/s."""
    lines = [
        "| mechanism | bodies | kinematics and assembly | factorize | solve | all | with joint "
        "forces | flops | GFLOP/s of factorize | kB | build | compile | analyze |",
        "|" + 13 * "---|",
    ]
    times = ("kinematics_us", "factorize_us", "solve_us", "cpu_us", "forces_us")
    once = ("build_ms", "compile_ms", "analyze_ms")
    for one in found:
        if one.method != OURS or one.relabelled:
            continue
        for i, n in enumerate(one.n_bodies):
            at = {name: value[i] for name, value in one.values.items()}
            rate = 1e-3 * at["flops"] / at["factorize_us"]
            cells = [
                *(f"{at[name] / n:.3f}" for name in times),
                f"{at['flops'] / n:.0f}",
                f"{rate:.2f}",
                f"{1e3 * (at['system_mb'] + at['memory_mb']) / n:.2f}",
                *(f"{1e3 * at[name] / n:.3g}" for name in once),
            ]
            lines.append("| " + " | ".join([one.mechanism, f"{n:.0f}", *cells]) + " |")
    return lines


def failures(rows: list[dict[str, str]]) -> list[str]:
    """Return a Markdown table of what could not be measured."""
    lines = ["| mechanism | method | bodies | status | message |", "|---|---|---|---|---|"]
    for row in rows:
        if row["status"] not in ("ok", "skipped"):
            what = (row["mechanism"], row["method"], row["n_bodies"], row["status"])
            lines.append("| " + " | ".join([*what, row["message"].replace("|", "/")]) + " |")
    return lines


# ---- figures ---------------------------------------------------------------------------------


def draw(found: list[Series], column: str, label: str) -> Figure:
    """Return one panel for each mechanism: a column over the number of bodies, log-log."""
    names = [name for name in TITLES if any(one.mechanism == name for one in found)]
    figure = Figure(figsize=(11.0, 4.2 * math.ceil(len(names) / 2)), layout="constrained")
    panels = figure.subplots(math.ceil(len(names) / 2), 2, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        members = [one for one in found if one.mechanism == name and not one.relabelled]
        _panel(panel, members, column)
        panel.set(title=TITLES[name], xlabel="bodies", ylabel=label)
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    return figure


def _panel(panel: Axes, members: list[Series], column: str) -> None:
    for one in sorted(members, key=lambda one: one.method == OURS):
        values = one.values[column]
        if not np.any(values > 0):
            continue
        slope, span = one.exponent(128.0)
        growth = f"  n^{slope:.2f}" if column == "cpu_us" and span > 3.0 else ""
        best = one.method == OURS
        panel.loglog(
            one.n_bodies,
            np.where(values > 0, values, np.nan),
            marker="o",
            markersize=3.5,
            linewidth=2.4 if best else 1.3,
            color=COLOURS.get(one.method.replace("-lean", ""), FADED),
            linestyle="--" if "-lean" in one.method else "-",
            label=one.method + growth,
        )
    panel.grid(True, which="major", linewidth=0.4, alpha=0.6)
    panel.spines[["top", "right"]].set_visible(False)
    if panel.lines:
        panel.legend(fontsize=7, frameon=False)


FIGURES = {
    "time": ("cpu_us", "CPU time of one evaluation [us]"),
    "time_per_body": ("cpu_us_per_body", "CPU time per body [us]"),
    "error": ("acceleration_error", "relative acceleration error"),
    "memory": ("memory_mb", "memory above the model's [MB]"),
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--results", default=FORWARD_DYNAMICS, type=click.Path(path_type=Path, exists=True))
@click.option("--output", default=FOLDER, type=click.Path(path_type=Path))
@click.option("--run", help="When it began, as in the file; the newest by default.")
@click.option("--low", default=512.0, show_default=True, help="Exponents are fitted from here on.")
def main(results: Path, output: Path, low: float, run: str | None) -> None:
    """Write figures (PNG) and forward_dynamics.md."""
    everything = read_rows(results)
    newest = run or max((row["run"] for row in everything), default="")
    rows = [row for row in everything if row["run"] == newest]
    if not rows:
        raise click.ClickException(f"no rows of a run {newest!r} in {results}")
    found = series(rows)
    output.mkdir(parents=True, exist_ok=True)
    for name, (column, label) in FIGURES.items():
        draw(found, column, label).savefig(output / f"forward_dynamics_{name}.png", dpi=150)
    promises = criteria.table(rows)
    text = [
        "# Forward dynamics",
        f"Run {newest} ({rows[0]['scope']}), {len(rows)} cases; CPU times are medians.\n",
        *environments(rows),
        "\n## Promises",
        *promises,
        f"\n## Order of growth, from {low:.0f} bodies on",
        *exponents(found, low),
        "\n## Where our time goes, us per body",
        *profile(found),
        "\n## Time and error",
        *speeds(found),
        "\n## Shuffled numbering",
        *relabelling(found),
        "\n## Not measured",
        *failures(rows),
    ]
    (output / "forward_dynamics.md").write_text("\n".join(text) + "\n")
    click.echo("\n".join(promises))
    click.echo(f"figures and tables in {output}")


def environments(rows: list[dict[str, str]]) -> list[str]:
    """Return a list of machines, libraries and versions."""
    own = next((row for row in rows if row["method"] == OURS), rows[0])
    peers = sorted({row["peer_version"] for row in rows if row["peer_version"]})
    return [
        f"- machine: {', '.join(sorted({row['machine'] for row in rows}))}",
        f"- Python {own['python']}, {own['packages']}",
        f"- BLAS: {own['blas']}",
        f"- methods: {'; '.join(peers)}",
    ]


if __name__ == "__main__":
    main()
