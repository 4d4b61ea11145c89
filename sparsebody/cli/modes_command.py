"""sparsebody modes: natural frequencies, damping and shapes about a pose in balance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

import sparsebody as sb
from sparsebody import plots
from sparsebody.cli import arguments as arg
from sparsebody.cli.output import echo_paths, print_json, print_table, progress_bar
from sparsebody.errors import SimulationError

if TYPE_CHECKING:
    from sparsebody.linearization import Modes


@click.command()
@arg.source_argument()
@click.option("--count", "-n", type=click.IntRange(1), default=6, help="How many modes.")
@click.option("--near", type=click.FloatRange(0.0), default=0.0, help="A frequency [Hz].")
@arg.file_option("--output", help="Directory for a trajectory (.h5) and a picture of each mode.")
@arg.flag("--overwrite", help="Replace existing files.")
@arg.json_option
def modes(
    source: arg.Source, count: int, near: float, output: Path | None, overwrite: bool, as_json: bool
) -> None:
    """Find the natural frequencies of MECHANISM: at its pose if forces balance, or at equilibrium.

    Motions that nothing resists have the frequency zero and are counted apart.
    """
    mechanism = source.load()
    from sparsebody.model.files import mechanism_document

    paths = [] if output is None else _paths(output, count, overwrite)
    with progress_bar(1, as_json, steady=False) as moved:
        moved("vibrations", 0)
        result = _modes(mechanism.compile(), count, near)
        moved("", 1)
    paths = paths[: len(result.eigenvalue)]
    if paths:
        paths[0].parent.mkdir(parents=True, exist_ok=True)
    with progress_bar(len(paths), as_json or not paths) as moved:
        for k, path in enumerate(paths):
            moved(f"mode {k + 1}: motion and picture", k)
            result.motion(k, output=path, source=json.dumps(mechanism_document(mechanism)))
            subject = plots.trajectory_subject(path, plots.Options())
            plots.save_figure(subject.figure("motion"), path.with_suffix(".png"))
        moved("", len(paths))
    if as_json:
        rows = zip(result.frequency.tolist(), result.damping_ratio.tolist(), strict=True)
        listed = [{"frequency": f, "damping_ratio": ratio} for f, ratio in rows]
        files = [str(path) for path in paths]
        print_json({"modes": listed, "mechanisms": result.n_mechanisms, "files": files})
        return
    if not len(result.eigenvalue):
        click.echo("no modes: the joints leave no freedom")
        return
    values = zip(result.eigenvalue, result.frequency, result.damping_ratio, strict=True)
    table = [
        (f"{k + 1}", *(("-", "-") if f != f else (f"{f:.6g}", f"{ratio:.4g}")), _kind(complex(s)))
        for k, (s, f, ratio) in enumerate(values)
    ]
    print_table(("mode", "frequency [Hz]", "damping ratio", "what it is"), table)
    echo_paths(*paths)


def _modes(system: sb.System, count: int, near: float) -> Modes:
    """Return the modes at the initial pose or, where forces do not balance there, below it."""
    try:
        return sb.modes(system, n=count, near=near)
    except SimulationError as error:
        if "do not balance" not in str(error):
            raise
    return sb.modes(system, sb.equilibrium(system).state, n=count, near=near)


def _paths(directory: Path, n: int, overwrite: bool) -> list[Path]:
    """Return the files of trajectories, none of them there already."""
    paths = [directory / f"mode-{k + 1}.h5" for k in range(n)]
    for path in paths:
        arg.check_new(path, overwrite)
        arg.check_new(path.with_suffix(".png"), overwrite)
    return paths


def _kind(s: complex) -> str:
    if s == 0.0:
        return "mechanism: nothing resists it"
    if abs(s.imag) <= 1e-9 * abs(s):
        return "grows" if s.real > 0.0 else "creeps back without oscillating"
    return "vibration"
