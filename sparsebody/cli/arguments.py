"""Arguments that several commands share, and the objects that they name."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

import sparsebody as sb
from sparsebody.cli import completion
from sparsebody.writing import check_writable, write_errors

C = TypeVar("C", bound=Callable[..., Any])
FILE_SUFFIXES = (".json", ".xml", ".mjcf", ".urdf")
TRAJECTORY_SUFFIXES = (".h5", ".hdf5")
PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


@dataclass(eq=False)
class Parsed(click.ParamType):  # type: ignore[type-arg]
    """A type that a function parses; its ValueError becomes a message: the value and `fault`."""

    name: str
    read: Callable[[str], Any]
    fault: str = ""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return what was read, or fail; defaults are no words."""
        if not isinstance(value, str):
            return value
        with suppress(ValueError):
            return self.read(value)
        self.fail(f"{value!r} {self.fault}", param, ctx)


def _seconds(word: str) -> float:
    seconds = float(word)
    if not 0.0 < seconds < math.inf:
        raise ValueError
    return seconds


def _sizes(word: str) -> tuple[int, ...]:
    sizes = sorted(set(map(int, word.split(","))))
    if sizes[0] < 1:
        raise ValueError
    return tuple(sizes)


def _assignment(word: str) -> tuple[str, str]:
    key, value = map(str.strip, word.split("=", 1))
    if not (key and value):
        raise ValueError
    return key, value


NO_SECONDS = "is not a positive number of seconds"
SECONDS = Parsed("seconds", _seconds, NO_SECONDS)
STEP = Parsed("seconds", lambda word: word if word == "auto" else _seconds(word), NO_SECONDS)
WORDS = Parsed("a,b,...", lambda word: tuple(filter(None, map(str.strip, word.split(",")))))
ASSIGNMENT = Parsed("key=value", _assignment, "is not of the form key=value, such as pairs=100")


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

    @property
    def trajectory(self) -> Path | None:
        """The file of a trajectory that it means, None for a mechanism; UsageError with -p."""
        path = Path(self.name)
        if path.suffix.lower() not in TRAJECTORY_SUFFIXES:
            return None
        if self.parameters:
            raise click.UsageError(f"-p is for gallery mechanisms, but {path} is a trajectory")
        return path

    def load(self) -> sb.Mechanism:
        """Return the mechanism."""
        if not self.is_file:
            return sb.build(self.name, **self.parameters)
        if self.parameters:
            raise click.UsageError(f"-p is for gallery mechanisms, but {self.name} is a file")
        return sb.load_mechanism(self.name)


def _source(ctx: click.Context, _: click.Parameter, name: str) -> Source:
    pairs = ctx.meta["parameter"]
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            raise click.BadParameter(f"{key!r} is given twice", param_hint="'-p'")
    return Source(name, dict(pairs))


def source_argument(
    name: str = "mechanism", suffixes: tuple[str, ...] = FILE_SUFFIXES, **attributes: Any
) -> Callable[[C], C]:
    """Return a decorator that adds an argument and -p key=value, both passed on as a Source.

    Files with one of the suffixes are completed.
    """
    attributes |= {"callback": _source, "shell_complete": completion.sources(suffixes)}
    argument = click.argument("source", metavar=name.upper(), **attributes)
    text = "Parameter of a gallery mechanism; may be repeated."
    option = eager_option(
        "-p",
        "--parameter",
        multiple=True,
        type=ASSIGNMENT,
        help=text,
        shell_complete=completion.assignments,
    )
    return lambda command: argument(option(command))


# ---- options ----------------------------------------------------------------------------------

eager_option = partial(  # in the context, where options that are read later find it
    click.option,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, option, value: ctx.meta.update({option.name: value}),
)
flag = partial(click.option, is_flag=True)
file_option = partial(click.option, type=PATH)


def context_flag(option: str, text: str) -> Callable[[C], C]:
    """Return a decorator that adds a flag for `is_given`, anywhere in a command."""
    return eager_option(option, is_flag=True, help=text)


def is_given(name: str) -> bool:
    """Whether a context flag, such as "json", was given to the command that runs, if any."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(name))


json_option = context_flag("--json", "Print JSON on stdout, and nothing else there.")
quiet_option = context_flag("--quiet", "Show no progress.")
overwrite_option = context_flag("--overwrite", "Replace existing files.")


def name_option(
    option: str, *tables: tuple[str, str], more: tuple[str, ...] = ("auto",), **attributes: Any
) -> Callable[[C], C]:
    """Return a decorator that adds an option: a name in tables, each a module and a name."""
    complete = completion.names(*tables, more=more)
    return click.option(option, metavar="NAME", shell_complete=complete, **attributes)


def names_option(option: str, *tables: tuple[str, str], text: str) -> Callable[[C], C]:
    """Return a decorator that adds `names`, any number of those in tables."""
    complete = completion.names(*tables)
    several: dict[str, Any] = {"multiple": True, "metavar": "NAME", "shell_complete": complete}
    return click.option(option, "names", help=text, **several)


reduction_option = name_option(
    "--reduction",
    more=("auto", "none"),
    default="auto",
    help="auto: use displacement subgroups; none: six freedoms a body, rank by numbers alone.",
)


def solver_options(command: C) -> C:
    """Add --ordering and --factorization."""
    known = "auto: the least predicted time. An unknown name lists them."
    for name, what in (("factorization", "Factorization"), ("ordering", "Elimination order")):
        table, text = (name, f"{name.upper()}S"), f"{what}; {known}"
        command = name_option(f"--{name}", table, default="auto", help=text)(command)
    return command


# ---- files that are written -------------------------------------------------------------------


def existing_parent(path: Path) -> Path:
    """Make the directory that `path` will be in; raise OutputError unless it can be written."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path)
    return path


def check_new(path: Path) -> None:
    """Raise UsageError if a file would be lost, OutputError if it cannot be written."""
    if path.exists() and not is_given("overwrite"):
        raise click.UsageError(f"{path} exists; give another --output, or --overwrite")
    existing_parent(path)


def output_files(output: Path, stem: str, kind: str, names: list[str], suffix: str) -> list[Path]:
    """Return a file for each name of a kind in a directory, or one; UsageError if one is too few.

    Without names there is one file in any case.
    """
    if not output.suffix or output.is_dir():
        return [output / f"{name}{suffix}" for name in [f"{stem}-{x}" for x in names] or [stem]]
    if len(names) > 1:
        raise click.UsageError(
            f"--output {output} is one file, but there are {len(names)} {kind}s "
            f"({', '.join(names)}); choose one with --{kind}, or give a directory"
        )
    return [output]


def _new_file(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        check_new(path)
    return path


def _new_picture(ctx: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        from sparsebody.plots.style import check_format  # slow to import

        check_format(path)
    return _new_file(ctx, option, path)


# With overwrite_option; what cannot be written is found before anything is computed.
new_file_option = partial(file_option, callback=_new_file)


def sizes_option(counted: str, example: str, text: str) -> Callable[[C], C]:
    """Return a decorator that adds --sizes, such as numbers of bodies."""
    fault = f"is no list of numbers of {counted}, such as {example}"
    return click.option("--sizes", type=Parsed("n,n,...", _sizes, fault), help=text)


def picture_option(name: str, text: str) -> Callable[[C], C]:
    """Return a decorator that adds an option for a picture, a new file."""
    return file_option(
        f"--{name}", help=f"Picture (.png, .svg, .pdf) {text}", callback=_new_picture
    )
