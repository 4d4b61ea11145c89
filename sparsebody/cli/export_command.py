"""sparsebody export: trajectories and mechanisms written for other programs."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import click

import sparsebody as sb
from sparsebody.cli import arguments as arg
from sparsebody.cli import output as out
from sparsebody.errors import ModelWarning, check_name

OF_TRAJECTORIES = {"vtk": (".vtkhdf",), "csv": (".csv",), "parquet": (".parquet",)}
OF_MECHANISMS = {"mjcf": (".xml", ".mjcf"), "urdf": (".urdf",), "json": (".json",)}


@click.command()
@arg.source_argument("trajectory|mechanism")
@click.option(
    "--format",
    "kind",
    metavar="NAME",
    required=True,
    help="Of a trajectory: vtk (.vtkhdf for ParaView), csv, parquet. Of a mechanism: mjcf (.xml), "
    "urdf, json.",
)
@click.option(
    "--table",
    default="all",
    metavar="NAME",
    help="For csv and parquet: energies, bodies, joints, reactions, or all that there are.",
)
@arg.file_option("--output", default=Path("."), help="File, or directory for several.")
@arg.overwrite_option
@arg.quiet_option
@arg.json_option
def export(source: arg.Source, kind: str, table: str, output: Path) -> None:
    """Write a trajectory (.h5) or a mechanism for other programs.

    Warnings name what the format cannot express.
    """
    motion = source.trajectory
    suffixes = OF_MECHANISMS if motion is None else OF_TRAJECTORIES
    check_name(kind, suffixes, f"--format of a {'mechanism' if motion is None else 'trajectory'}")
    tables = _tables(motion, table) if motion and kind in ("csv", "parquet") else []
    if output.suffix and not output.is_dir() and output.suffix.lower() not in suffixes[kind]:
        raise click.UsageError(f"--output {output} must end in {' or '.join(suffixes[kind])}")
    files = arg.output_files(output, Path(source.name).stem, "table", tables, suffixes[kind][0])
    for file in files:
        arg.check_new(file)
    with warnings.catch_warnings(record=True) as left_out:
        warnings.simplefilter("always", ModelWarning)
        if motion is not None:
            _write_trajectory(motion, files, tables)
        else:
            write = sb.write_mechanism if kind == "json" else sb.write_robot
            write(source.load(), files[0])
    messages = [str(warning.message) for warning in left_out]
    if arg.is_given("json"):
        out.print_json({"files": [str(file) for file in files], "left_out": messages})
    else:
        out.echo_paths(*files)
    for text in messages:
        click.echo(f"sparsebody: {text}", err=True)


def _tables(path: Path, table: str) -> list[str]:
    """Return the tables to write, all that the trajectory has or the one asked for."""
    from sparsebody.simulation.trajectory_reading import open_trajectory
    from sparsebody.simulation.trajectory_tables import TABLES

    check_name(table, (*TABLES, "all"), "--table")
    if table != "all":
        return [table]
    with open_trajectory(path) as file:  # joints need the mechanism's file, the source
        absent = {"reactions": "joint_wrench" not in file, "joints": not file["source"].asstr()[()]}
    return [name for name in TABLES if not absent.get(name, False)]


def _write_trajectory(path: Path, files: list[Path], tables: list[str]) -> None:
    from sparsebody.simulation.trajectory_reading import opened_blocks

    with opened_blocks(path) as (n_records, _):
        total = n_records * len(files)
    with out.progress_bar(total) as advance:
        chosen: Sequence[str | None] = tables or [None]
        for k, (file, table) in enumerate(zip(files, chosen, strict=True)):

            def show(done: int, n: int, k: int = k, name: str = file.name) -> None:
                advance(name, k * n + done)

            sb.export_trajectory(path, file, table=table, progress=show)
