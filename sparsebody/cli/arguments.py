"""Arguments that several commands share, and what they stand for."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sparsebody.writing import check_writable, write_errors

if TYPE_CHECKING:
    from sparsebody.model.mechanism import Mechanism

C = TypeVar("C", bound=Callable[..., Any])
FILE_SUFFIXES = (".json", ".xml", ".mjcf", ".urdf")
PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


class PositiveSeconds(click.ParamType):  # type: ignore[type-arg]
    """A positive, finite number of seconds."""

    name = "seconds"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number, or fail with a message that names it."""
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not (math.isfinite(seconds) and seconds > 0.0):
            self.fail(f"{value!r} is not a positive number of seconds", param, ctx)
        return seconds


class StepSize(PositiveSeconds):
    """A positive, finite number of seconds, or "auto"."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number or the word, or fail with a message that names it."""
        return value if value == "auto" else super().convert(value, param, ctx)


class Sizes(click.ParamType):  # type: ignore[type-arg]
    """Positive whole numbers with commas in between, in rising order."""

    name = "n,n,..."

    def __init__(self, of: str, example: str) -> None:
        self.of, self.example = of, example

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, ...]:
        """Return the numbers, or fail with a message that names the value."""
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        if not all(part.isdecimal() and int(part) > 0 for part in parts):
            message = f"{value!r} is no list of numbers of {self.of}, such as {self.example}"
            self.fail(message, param, ctx)
        return tuple(sorted(set(map(int, parts))))


class Assignment(click.ParamType):  # type: ignore[type-arg]
    """A parameter of a gallery mechanism, key=value."""

    name = "key=value"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, str]:
        """Return key and value as strings; the gallery converts the value."""
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not (equals and key.strip() and text.strip()):
            self.fail(f"{value!r} is not of the form key=value, such as pairs=100", param, ctx)
        return key.strip(), text.strip()


def parameter_option(command: C) -> C:
    """Add -p key=value."""
    return click.option(
        "-p",
        "--parameter",
        "parameters",
        multiple=True,
        type=Assignment(),
        help="Parameter of a gallery mechanism; may be repeated.",
    )(command)


def solver_options(command: C) -> C:
    """Add --ordering and --factorization."""
    known = "default: auto, the least predicted time. An unknown name lists them."
    for name, what in (("factorization", "Factorization"), ("ordering", "Elimination order")):
        option = click.option(f"--{name}", default="auto", metavar="NAME", help=f"{what}; {known}")
        command = option(command)
    return command


def reduction_option(command: C) -> C:
    """Add --reduction."""
    return click.option(
        "--reduction",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="auto: use displacement subgroups; none: six freedoms a body, rank by numbers alone.",
    )(command)


def names_option(flag: str, says: str) -> Callable[[C], C]:
    """Return what adds an option that may be repeated, `names`."""
    return click.option(flag, "names", multiple=True, metavar="NAME", help=says)


def json_option(command: C) -> C:
    """Add --json."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print JSON on stdout, and nothing else there."
    )(command)


def unique_parameters(parameters: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the parameters by name; each may be given once."""
    by_name: dict[str, str] = {}
    for key, value in parameters:
        if key in by_name:
            raise click.BadParameter(f"{key!r} is given twice", param_hint="'-p'")
        by_name[key] = value
    return by_name


def is_file_name(mechanism: str) -> bool:
    """Return whether MECHANISM means a file rather than a name of the gallery."""
    path = Path(mechanism)
    return path.suffix.lower() in FILE_SUFFIXES or os.sep in mechanism


def load(mechanism: str, parameters: tuple[tuple[str, str], ...]) -> Mechanism:
    """Return the mechanism that a file or a name of the gallery stands for."""
    given = unique_parameters(parameters)
    if is_file_name(mechanism):
        if given:
            raise click.UsageError(f"-p is for gallery mechanisms, but {mechanism} is a file")
        from sparsebody.model.files import load_mechanism

        return load_mechanism(mechanism)
    from sparsebody.model.gallery import build

    return build(mechanism, **given)


def existing_parent(path: Path) -> Path:
    """Make the directory that `path` will be in; raise OutputError unless it can be written."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path)
    return path


def new_file(path: Path, overwrite: bool) -> Path:
    """Return a path that can be written, and where nothing is lost."""
    refuse_to_overwrite(path, overwrite)
    return existing_parent(path)


def refuse_to_overwrite(path: Path, overwrite: bool) -> None:
    """Raise UsageError if something would be lost."""
    if path.exists() and not overwrite:
        raise click.UsageError(f"{path} exists; give another --output, or --overwrite")


def check_picture(path: Path, overwrite: bool) -> None:
    """Raise what writing a picture would raise, before anything is computed."""
    from sparsebody.plots.style import check_format

    check_format(path)
    new_file(path, overwrite)
