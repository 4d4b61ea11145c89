"""Write figures to files whose suffix says the format."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from sparsebody.errors import UnknownNameError
from sparsebody.writing import write_errors

FORMATS = ("png", "svg", "pdf")


def check_format(path: Path) -> None:
    """Raise UnknownNameError unless the suffix is that of a format."""
    if path.suffix[1:].lower() not in FORMATS:
        known = ", ".join("." + name for name in FORMATS)
        raise UnknownNameError(f"{path}: no picture format {path.suffix!r}; give one of {known}")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write the figure, whole or not at all, without the date, so that equal figures are equal.

    Raises
    ------
    UnknownNameError
        If the suffix is not that of a format.
    OutputError
        If the file cannot be written.
    """
    check_format(path)
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    kind = path.suffix[1:].lower()
    partial = path.with_name(f".{path.name}.part")
    with write_errors(path):
        try:
            figure.savefig(partial, format=kind, metadata=metadata.get(kind))
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    return path
