"""The group of all commands, and how errors become messages and exit codes."""

from __future__ import annotations

import errno
import importlib
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from sparsebody import __version__
from sparsebody.cli.algorithms_command import algorithms, loop_bases
from sparsebody.cli.certify_command import certify
from sparsebody.cli.classical_command import classical
from sparsebody.cli.corpus_command import corpus
from sparsebody.cli.doctor_command import doctor
from sparsebody.cli.gallery_command import gallery
from sparsebody.cli.inspect_command import inspect
from sparsebody.cli.order_command import order
from sparsebody.cli.plot_command import plot
from sparsebody.cli.simulate_command import simulate
from sparsebody.cli.study_commands import report, study
from sparsebody.errors import (
    ModelError,
    ShapeError,
    SimulationOptionError,
    SparsebodyError,
    StudyError,
    UnknownNameError,
)


def import_module(name: str) -> None:
    """Import a module by name, also from the working directory, or run a .py file.

    Raises
    ------
    click.BadParameter
        If there is no such module or file.
    """
    try:
        if name.endswith(".py"):
            runpy.run_path(name)
            return
        if "" not in sys.path:
            sys.path.insert(0, "")
        importlib.import_module(name)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        message = f"{error}; give a module or a .py file"
        raise click.BadParameter(message, param_hint="--import") from error


BAD_INPUTS = (ModelError, ShapeError, SimulationOptionError, StudyError, UnknownNameError)
FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


class Group(click.Group):
    """A click group that ends every error with one line on stderr and an exit code.

    1: a computation failed or a file could not be written; 2: the command line or the mechanism
    does not make sense; 130: interrupted; 141: nobody reads the output.
    """

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str = "sparsebody", **extra: Any
    ) -> NoReturn:
        """Run one command and exit."""
        extra["standalone_mode"] = False
        arguments = sys.argv[1:] if args is None else list(args)
        try:
            code = super().main(arguments, prog_name, **extra)
        except (click.Abort, KeyboardInterrupt):
            _say("interrupted")
            sys.exit(INTERRUPTED)
        except (click.ClickException, SparsebodyError, OSError, MemoryError) as error:
            self._fail(arguments, error)
        sys.exit(code if isinstance(code, int) else 0)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the arguments, which may print help."""
        with _closed_pipes():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _closed_pipes():
            result = super().invoke(ctx)
            if sys.stdout is not None:  # a shell can close it
                sys.stdout.flush()
            return result

    def _fail(self, arguments: list[str], error: Exception) -> NoReturn:
        if "--debug" in arguments and not isinstance(error, click.ClickException):
            raise error
        _say(f"error: {_message(error)}")
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(f"Try '{error.ctx.command_path} --help'.", err=True)
        sys.exit(_exit_code(error))


def _say(message: str) -> None:
    click.echo(f"sparsebody: {message}", err=True)


def _message(error: Exception) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"cannot write the output: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory; {error}".rstrip("; ")
    return str(error)


def _exit_code(error: Exception) -> int:
    if isinstance(error, click.ClickException):
        return error.exit_code
    return BAD_INPUT if isinstance(error, BAD_INPUTS) else FAILED


@contextmanager
def _closed_pipes() -> Iterator[None]:
    """End as after SIGPIPE where nobody reads what is printed."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        _close_quietly()
        raise click.exceptions.Exit(BROKEN_PIPE) from None


def _close_quietly() -> None:
    """Point stdout nowhere, so that the interpreter's last flush does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    "sparsebody",
    cls=Group,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="sparsebody %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
@click.option(
    "--import",
    "modules",
    multiple=True,
    metavar="MODULE",
    help="Module or .py file to run first, which may register orderings; may be repeated.",
)
def main(modules: tuple[str, ...]) -> None:
    """Dynamics of rigid bodies by sparse factorization of the whole body-joint graph.

    MECHANISM is a file (.json; MJCF and URDF through mujoco) or a name from `sparsebody gallery`,
    with its parameters as -p key=value.

    \b
      sparsebody inspect scissor -p pairs=100
      sparsebody simulate four-bar --duration 5 --output out/four-bar.h5
      sparsebody plot out/four-bar.h5 --output out/
    """  # noqa: D301 (a backspace keeps click from filling the lines)
    for name in modules:
        import_module(name)


for command in (
    simulate,
    inspect,
    order,
    algorithms,
    loop_bases,
    certify,
    plot,
    gallery,
    study,
    report,
    corpus,
    classical,
    doctor,
):
    main.add_command(command)
