"""Arguments that several commands share, and the objects that they stand for."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, wraps
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


class Words(click.ParamType):  # type: ignore[type-arg]
    """Words with commas in between."""

    name = "a,b,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        """Return the list."""
        words = value if isinstance(value, tuple) else value.split(",")
        return tuple(stripped for word in words if (stripped := word.strip()))


class Sizes(click.ParamType):  # type: ignore[type-arg]
    """Positive whole numbers with commas in between, in rising order."""

    name = "n,n,..."

    def __init__(self, counted: str, example: str) -> None:
        self.counted, self.example = counted, example

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, ...]:
        """Return the numbers, or fail with a message that names the value."""
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        if not all(part.isdecimal() and int(part) > 0 for part in parts):
            message = f"{value!r} is no list of numbers of {self.counted}, such as {self.example}"
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


# ---- mechanisms -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A mechanism on the command line: a file, or a name of the gallery with its parameters."""

    name: str
    parameters: dict[str, str]

    @property
    def is_file(self) -> bool:
        """Whether it means a file rather than a name of the gallery."""
        return Path(self.name).suffix.lower() in FILE_SUFFIXES or os.sep in self.name

    def load(self) -> Mechanism:
        """Return the mechanism."""
        if self.is_file:
            if self.parameters:
                raise click.UsageError(f"-p is for gallery mechanisms, but {self.name} is a file")
            from sparsebody.model.files import load_mechanism

            return load_mechanism(self.name)
        from sparsebody.model.gallery import build

        return build(self.name, **self.parameters)


def source_argument(name: str = "mechanism", **attributes: Any) -> Callable[[C], C]:
    """Return what adds an argument and -p key=value, and gives the command both as its Source."""

    def decorated(command: C) -> C:
        @click.argument("source", metavar=name.upper(), **attributes)
        @click.option(
            "-p",
            "--parameter",
            "parameters",
            multiple=True,
            type=Assignment(),
            help="Parameter of a gallery mechanism; may be repeated.",
        )
        @wraps(command)
        def wrapped(source: str, parameters: tuple[tuple[str, str], ...], **options: Any) -> Any:
            by_name = dict(parameters)
            for key in by_name:
                if [given for given, _ in parameters].count(key) > 1:
                    raise click.BadParameter(f"{key!r} is given twice", param_hint="'-p'")
            return command(source=Source(source, by_name), **options)

        return wrapped  # type: ignore[return-value]

    return decorated


# ---- options ----------------------------------------------------------------------------------

flag = partial(click.option, is_flag=True)
json_option = flag("--json", "as_json", help="Print JSON on stdout, and nothing else there.")
quiet_option = flag("--quiet", help="Show no progress.")


def names_option(option: str, text: str) -> Callable[[C], C]:
    """Return what adds an option that may be repeated, `names`."""
    return click.option(option, "names", multiple=True, metavar="NAME", help=text)


def file_option(option: str, text: str, **attributes: Any) -> Callable[[C], C]:
    """Return what adds an option that is a path."""
    return click.option(option, type=PATH, help=text, **attributes)


def picture_options(*others: str, **pictures: str) -> Callable[[C], C]:
    """Return what adds pictures by name and --overwrite, and checks that they can be written.

    So can files by options of `others`, whose names are those of the command's arguments.
    """

    def decorated(command: C) -> C:
        @flag("--overwrite", help="Replace existing files.")
        @wraps(command)
        def wrapped(overwrite: bool, **options: Any) -> Any:
            check_pictures([options[name] for name in pictures], overwrite)
            for path in filter(None, (options[name] for name in others)):
                check_new(path, overwrite)
            return command(**options)

        added: Any = wrapped
        for name, text in reversed(pictures.items()):
            added = file_option(f"--{name}", f"Picture (.png, .svg, .pdf) {text}")(added)
        return added

    return decorated


def sizes_option(counted: str, example: str, text: str) -> Callable[[C], C]:
    """Return what adds --sizes, a list of numbers of bodies, say."""
    return click.option("--sizes", type=Sizes(counted, example), help=text)


def solver_options(command: C) -> C:
    """Add --ordering and --factorization."""
    known = "auto: the least predicted time. An unknown name lists them."
    for name, what in (("factorization", "Factorization"), ("ordering", "Elimination order")):
        option = click.option(f"--{name}", default="auto", metavar="NAME", help=f"{what}; {known}")
        command = option(command)
    return command


reduction_option = click.option(
    "--reduction",
    default="auto",
    metavar="NAME",
    help="auto: use displacement subgroups; none: six freedoms a body, rank by numbers alone.",
)


# ---- files that are written -------------------------------------------------------------------


def existing_parent(path: Path) -> Path:
    """Make the directory that `path` will be in; raise OutputError unless it can be written."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path)
    return path


def check_new(path: Path, overwrite: bool) -> None:
    """Raise UsageError if a file would be lost, OutputError if it cannot be written."""
    if path.exists() and not overwrite:
        raise click.UsageError(f"{path} exists; give another --output, or --overwrite")
    existing_parent(path)


def check_pictures(paths: Iterable[Path | None], overwrite: bool) -> None:
    """Raise what writing pictures would raise, before anything is computed."""
    for path in filter(None, paths):
        from sparsebody.plots.style import check_format  # slow to import

        check_format(path)
        check_new(path, overwrite)
