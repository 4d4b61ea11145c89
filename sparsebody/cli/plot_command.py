"""sparsebody plot: pictures of a trajectory, or of a mechanism and its matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from sparsebody.cli.arguments import (
    PATH,
    json_option,
    load,
    new_file,
    parameter_option,
    solver_options,
)
from sparsebody.cli.output import print_json
from sparsebody.errors import SimulationError

_TRAJECTORY_SUFFIXES = (".h5", ".hdf5")
_PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


@click.command()
@click.argument("source", metavar="TRAJECTORY|MECHANISM")
@parameter_option
@click.option(
    "--output",
    type=PATH,
    default=Path("."),
    help="Picture (.png, .svg, .pdf) or directory, made where missing.  [default: here]",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="NAME",
    help="Of a trajectory: motion, trajectory, energy, drift, spy; default: motion, energy, spy. "
    "Of a mechanism: mechanism, spy; default: both. all: every one. May be repeated.",
)
@click.option("--body", "bodies", multiple=True, metavar="NAME", help="Body to trace; may repeat.")
@click.option(
    "--instants",
    type=click.IntRange(1, 24),
    default=6,
    show_default=True,
    help="Instants that a picture of the motion shows.",
)
@click.option(
    "--format",
    "suffix",
    type=click.Choice([suffix[1:] for suffix in _PICTURE_SUFFIXES]),
    default="png",
    show_default=True,
    help="Of the pictures in a directory.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing pictures.")
@click.option("--recover", is_flag=True, help="Draw what can be read of a damaged trajectory.")
@solver_options
@json_option
def plot(
    source: str,
    parameters: tuple[tuple[str, str], ...],
    output: Path,
    kinds: tuple[str, ...],
    bodies: tuple[str, ...],
    instants: int,
    suffix: str,
    overwrite: bool,
    recover: bool,
    ordering: str,
    factorization: str,
    as_json: bool,
) -> None:
    """Draw a trajectory (.h5) or a mechanism; one picture for each kind."""
    from sparsebody.plots import Options, mechanism_subject, trajectory_subject
    from sparsebody.plots.style import save_figure

    options = Options(bodies, instants, ordering, factorization)
    if Path(source).suffix.lower() in _TRAJECTORY_SUFFIXES:
        if parameters:
            raise click.UsageError(f"-p is for gallery mechanisms, but {source} is a trajectory")
        try:
            subject = trajectory_subject(Path(source), options, recover=recover)
        except SimulationError as error:  # a file or a body that is not there is bad input
            raise click.UsageError(str(error)) from error
    else:
        subject = mechanism_subject(load(source, parameters), options)
    chosen = subject.kinds(kinds)
    files = _files(output, Path(source).stem, chosen, suffix)
    for file in files:
        new_file(file, overwrite)
    figures = [subject.figure(kind) for kind in chosen]
    for figure, file in zip(figures, files, strict=True):
        save_figure(figure, file)
    if as_json:
        named = zip(chosen, files, strict=True)
        print_json({"files": [{"kind": kind, "path": str(file)} for kind, file in named]})
    else:
        for file in files:
            click.echo(str(file))


def _files(output: Path, stem: str, kinds: Sequence[str], suffix: str) -> list[Path]:
    """Return where each picture goes."""
    if output.suffix.lower() in _PICTURE_SUFFIXES and not output.is_dir():
        if len(kinds) != 1:
            raise click.UsageError(
                f"--output {output} is one picture, but there are {len(kinds)} kinds "
                f"({', '.join(kinds)}); choose one with --kind, or give a directory"
            )
        return [output]
    if output.suffix and not output.is_dir():
        known = ", ".join(_PICTURE_SUFFIXES)
        raise click.UsageError(f"{output}: no picture format {output.suffix!r}; give {known}")
    return [output / f"{stem}-{kind}.{suffix}" for kind in kinds]
