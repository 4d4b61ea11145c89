"""Files of one table of a trajectory, to which blocks of records are appended."""

import csv
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import MissingDependencyError
from sparsebody.model.system import System
from sparsebody.simulation.trajectory import Trajectory
from sparsebody.simulation.trajectory_tables import (
    INSTALL,
    Columns,
    NameColumn,
    Units,
    table_columns,
)


class TableFile:
    """A table in a file, in some format; a context manager that closes it."""

    def __init__(self, path: Path, table: str, system: System | None, units: Units) -> None:
        self._path, self._table, self._system, self._units = path, table, system, units

    def append(self, block: Trajectory) -> None:
        """Write the rows of a block of records."""
        self._write(table_columns(block, self._table, self._system)[0])

    def _write(self, columns: Columns) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        raise NotImplementedError


class CsvFile(TableFile):
    """Comma-separated values below a line of names; numbers to the last bit, nothing for none."""

    def __enter__(self) -> Self:
        self._file = self._path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(self._units)
        return self

    def _write(self, columns: Columns) -> None:
        words = (
            column.words() if isinstance(column, NameColumn) else _cells(column)
            for column in columns.values()
        )
        self._writer.writerows(zip(*words, strict=True))

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _cells(column: FloatArray) -> list[Any]:
    """Return numbers, whose shortest exact digits are written, and None for NaN."""
    values = column.tolist()
    return [None if x != x else x for x in values] if np.isnan(column).any() else values


class ParquetFile(TableFile):
    """Apache Parquet: names as dictionaries, the unit of each column in its metadata."""

    def __enter__(self) -> Self:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise MissingDependencyError(
                f"Parquet files need the pyarrow package; install it with: {INSTALL}"
            ) from error
        self._pyarrow: Any = pyarrow
        self._writer: Any = None
        return self

    def _write(self, columns: Columns) -> None:
        arrow = self._pyarrow
        arrays = [
            arrow.DictionaryArray.from_arrays(
                arrow.array(column.index, arrow.int32()), arrow.array(column.names, arrow.string())
            )
            if isinstance(column, NameColumn)
            else arrow.array(column)
            for column in columns.values()
        ]
        fields = [
            arrow.field(name, array.type, metadata={"unit": self._units[name]})
            for name, array in zip(columns, arrays, strict=True)
        ]
        schema = arrow.schema(fields)
        if self._writer is None:
            self._writer = arrow.parquet.ParquetWriter(self._path, schema)
        self._writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
