"""Trajectories written for other programs: VTK files for ParaView, tables as CSV and Parquet."""

import csv
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sparsebody import errors, writing
from sparsebody.arrays import FloatArray
from sparsebody.export.vtk_files import VtkFile
from sparsebody.model.mechanism import Mechanism
from sparsebody.simulation import trajectory_tables as tables
from sparsebody.simulation.trajectory import CHANNELS, Trajectory
from sparsebody.simulation.trajectory_reading import BLOCK_BYTES, opened_blocks

Write = Callable[[tables.Columns], None]  # appends rows to a file
Progress = Callable[[int, int], None]  # takes the numbers of records written and in all


@contextmanager
def csv_table(path: Path, units: tables.Units) -> Iterator[Write]:
    """Comma-separated values below a header of names: the shortest exact digits, NaN left empty."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(units)

        def write(columns: tables.Columns) -> None:
            words = (
                column.words() if isinstance(column, tables.NameColumn) else _cells(column)
                for column in columns.values()
            )
            writer.writerows(zip(*words, strict=True))

        yield write


def _cells(column: FloatArray) -> list[Any]:
    """Return numbers, whose shortest exact digits are written, and None for NaN."""
    values = column.tolist()
    return [None if x != x else x for x in values] if np.isnan(column).any() else values


@contextmanager
def parquet_table(path: Path, units: tables.Units) -> Iterator[Write]:
    """Apache Parquet: names as dictionaries, the unit of each column in its metadata."""
    packages, needs = ("pyarrow", "pyarrow.parquet"), "Parquet files need the pyarrow package"
    arrow, parquet = (errors.required_package(name, needs, "tables") for name in packages)
    with ExitStack() as stack:
        writers: list[Any] = []  # one, made with the first rows

        def write(columns: tables.Columns) -> None:
            arrays = [
                arrow.DictionaryArray.from_arrays(
                    arrow.array(column.index, arrow.int32()),
                    arrow.array(column.names, arrow.string()),
                )
                if isinstance(column, tables.NameColumn)
                else arrow.array(column)
                for column in columns.values()
            ]
            fields = [
                arrow.field(name, array.type, metadata={"unit": units[name]})
                for name, array in zip(columns, arrays, strict=True)
            ]
            schema = arrow.schema(fields)
            if not writers:
                writer = parquet.ParquetWriter(path, schema)
                writers.append(stack.enter_context(writer))
            writers[0].write_table(arrow.Table.from_arrays(arrays, schema=schema))

        yield write


TABLE_FILES = {".csv": csv_table, ".parquet": parquet_table}
VTK_SUFFIX = ".vtkhdf"
SUFFIXES = (VTK_SUFFIX, *TABLE_FILES)


def export_trajectory(
    trajectory: Trajectory | writing.StrPath,
    path: writing.StrPath,
    *,
    table: str | None = None,
    mechanism: Mechanism | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a trajectory as VTK file (.vtkhdf) or one of its tables as .csv or .parquet.

    A trajectory file is read in blocks, so that memory does not limit its length.

    Parameters
    ----------
    trajectory : Trajectory or path
        The motion, or the file that holds it.
    path : path
        The file, replaced as a whole or not at all; its suffix is the format.
    table : str, optional
        Which table, one of "energies", "bodies", "joints", "reactions"; for tables only.
    mechanism : Mechanism, optional
        The mechanism, if the trajectory has no `source`: without it VTK files have no outlines,
        sizes of bodies or joints, and there is no table "joints".
    progress : function, optional
        Called with the number of records written and the number of all.

    Raises
    ------
    SimulationError
        If the file is damaged or of another kind, or the trajectory lacks the reactions or the
        mechanism that the table needs.
    UnknownNameError
        If there is no such suffix or table.
    MissingDependencyError
        Without pyarrow, for .parquet.
    OutputError
        If the file cannot be written.
    """
    target = Path(path)
    errors.check_name(target.suffix.lower(), SUFFIXES, "the suffix of the file")
    is_table = target.suffix.lower() in TABLE_FILES
    if is_table:
        errors.check_name(table or "", tables.TABLES, "table")
    elif table is not None:
        raise errors.SimulationOptionError(f"table {table!r} is for {', '.join(TABLE_FILES)} files")
    writing.check_writable(target)
    with _opened(trajectory) as (n, blocks):
        first = next(blocks)
        if len(first) == 0:
            raise errors.SimulationOptionError(f"{str(first.path)!r} has no record yet")
        needs_system = not is_table or tables.TABLES[table or ""].needs_mechanism
        system = tables.system_of(first, mechanism) if needs_system else None
        with writing.replaced(target) as draft:
            if is_table:
                units = tables.table_columns(first, table or "", system)[1]
                file: Any = TABLE_FILES[target.suffix.lower()](draft, units)
            else:
                file = VtkFile(draft, first, n, mechanism, system, target)
            with file as write:
                done = 0
                for block in chain([first], blocks):
                    rows: Any = block
                    if is_table:
                        rows, _ = tables.table_columns(block, table or "", system)
                    write(rows)
                    done += len(block)
                    if progress is not None:
                        progress(done, n)


@contextmanager
def _opened(trajectory: Trajectory | writing.StrPath) -> Iterator[tuple[int, Iterator[Trajectory]]]:
    """Yield the number of records, and all of them in blocks."""
    if not isinstance(trajectory, Trajectory):
        with opened_blocks(Path(trajectory)) as (n, blocks):
            yield n, blocks
    else:
        yield len(trajectory), _parts(trajectory)


def _parts(run: Trajectory) -> Iterator[Trajectory]:
    """Yield the records of a trajectory in memory in blocks, views of its arrays."""
    channels = {name: getattr(run, name) for name in CHANNELS}
    present = {name: values for name, values in channels.items() if values is not None}
    row = sum(values[:1].nbytes for values in present.values())
    size = max(1, BLOCK_BYTES // max(row, 1))
    for first in range(0, max(len(run), 1), size):
        part = slice(first, first + size)
        yield replace(run, **{name: values[part] for name, values in present.items()})
