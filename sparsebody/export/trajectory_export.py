"""Trajectories written for other programs: VTK files for ParaView, tables as CSV and Parquet."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from sparsebody.errors import SimulationOptionError, check_name
from sparsebody.export.table_files import CsvFile, ParquetFile, TableFile
from sparsebody.export.vtk_files import VtkFile
from sparsebody.model.mechanism import Mechanism
from sparsebody.simulation.trajectory import CHANNELS, Trajectory
from sparsebody.simulation.trajectory_reading import BLOCK_BYTES, opened_blocks
from sparsebody.simulation.trajectory_tables import TABLES, system_of, table_columns
from sparsebody.writing import check_writable, replaced

TABLE_FILES: Final[dict[str, type[TableFile]]] = {".csv": CsvFile, ".parquet": ParquetFile}
VTK_SUFFIX: Final = ".vtkhdf"
SUFFIXES: Final = (VTK_SUFFIX, *TABLE_FILES)
Progress = Callable[[int, int], None]  # takes records that are written, and all


def export_trajectory(
    trajectory: Trajectory | str | os.PathLike[str],
    path: str | os.PathLike[str],
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
        What moves, where the trajectory has no `source`: a VTK file has outlines, sizes of bodies
        and joints only with it, and the table "joints" needs it.
    progress : function, optional
        Called with the number of records written, and that of all.

    Raises
    ------
    SimulationError
        If the trajectory file is none or damaged, or the trajectory has no reactions or no
        mechanism where they are needed.
    UnknownNameError
        If there is no such suffix or table.
    MissingDependencyError
        Without pyarrow, for .parquet.
    OutputError
        If the file cannot be written.
    """
    target = Path(path)
    check_name(target.suffix.lower(), SUFFIXES, "the suffix of the file")
    is_table = target.suffix.lower() in TABLE_FILES
    if is_table:
        check_name(table or "", TABLES, "table")
    elif table is not None:
        raise SimulationOptionError(f"table {table!r} is for {', '.join(TABLE_FILES)} files")
    check_writable(target)
    with _opened(trajectory) as (n, blocks):
        first = next(blocks)
        if len(first) == 0:
            raise SimulationOptionError(f"{str(first.path)!r} has no record yet")
        needs_system = not is_table or TABLES[table or ""].needs_mechanism
        system = system_of(first, mechanism) if needs_system else None
        with replaced(target) as draft:
            if is_table:
                kind = TABLE_FILES[target.suffix.lower()]
                units = table_columns(first, table or "", system)[1]
                file: TableFile | VtkFile = kind(draft, table or "", system, units)
            else:
                file = VtkFile(draft, first, n, mechanism, system, target)
            with file:
                done = 0
                for block in _chained(first, blocks):
                    file.append(block)
                    done += len(block)
                    if progress is not None:
                        progress(done, n)


def _chained(first: Trajectory, others: Iterator[Trajectory]) -> Iterator[Trajectory]:
    yield first
    yield from others


@contextmanager
def _opened(
    trajectory: Trajectory | str | os.PathLike[str],
) -> Iterator[tuple[int, Iterator[Trajectory]]]:
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
