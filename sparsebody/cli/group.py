"""The group of all commands, and how errors become messages and exit codes."""

import errno
import importlib
import os
import runpy
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from sparsebody import __version__, errors, ranks
from sparsebody.cli.completion import completion
from sparsebody.cli.doctor_command import doctor
from sparsebody.cli.export_command import export
from sparsebody.cli.growth_commands import certify, classical
from sparsebody.cli.mechanism_commands import gallery, inspect
from sparsebody.cli.motion_commands import modes, simulate
from sparsebody.cli.order_commands import algorithms, loop_bases, order
from sparsebody.cli.picture_commands import plot, view
from sparsebody.cli.study_commands import corpus, report, study

BAD_INPUTS: tuple[type[Exception], ...] = (errors.ModelError, errors.ShapeError, errors.StudyError)
BAD_INPUTS += (errors.SimulationOptionError, errors.UnknownNameError)
FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
COMMANDS = [simulate, modes, inspect, order, algorithms, loop_bases, certify, plot, view, gallery]
COMMANDS += [study, report, corpus, classical, export, doctor, completion]


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
            _share_work(arguments)
            code = super().main(arguments, prog_name, **extra)
        except (click.Abort, KeyboardInterrupt):
            _say("interrupted")
            sys.exit(INTERRUPTED)
        except (click.ClickException, errors.SparsebodyError, OSError, MemoryError) as error:
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
        is_usage = isinstance(error, click.ClickException)
        if "--debug" in arguments and not is_usage:
            raise error
        code = BAD_INPUT if isinstance(error, BAD_INPUTS) else FAILED
        if isinstance(error, click.ClickException):
            code = error.exit_code
        is_alone = ranks.fails_alone()
        if is_alone or ranks.rank() == 0:
            _say(f"error: {_message(error)}")
            if isinstance(error, click.UsageError) and error.ctx is not None:
                click.echo(f"Try '{error.ctx.command_path} --help'.", err=True)
        if is_alone:
            ranks.end_all(code)
        sys.exit(code)


BY_MUMPS = {"inspect", "simulate"}  # commands of which ranks share the work, if MUMPS does it


def _share_work(arguments: list[str]) -> None:
    """Under mpiexec let rank 0 alone print, and also work where there is nothing to share."""
    if ranks.n_ranks() == 1:
        return
    with_mumps = any(word.rpartition("=")[2] == "mumps" for word in arguments)
    if with_mumps and not BY_MUMPS & set(arguments):
        raise click.UsageError(f"under mpiexec, mumps is for {' and '.join(sorted(BY_MUMPS))}")
    if with_mumps or "study" in arguments:
        ranks.communicator()
    elif ranks.rank() > 0:
        sys.exit()
    if ranks.rank() > 0:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
        warnings.simplefilter("ignore")


def _say(message: str) -> None:
    click.echo(f"sparsebody: {message}", err=True)


def _message(error: Exception) -> str:
    match error:
        case click.ClickException():
            return error.format_message()
        case OSError(filename=name) if name:
            return f"{name}: {error.strerror}"
        case OSError(errno=errno.ENOSPC):
            return f"cannot write the output: {error.strerror}"
        case MemoryError():
            return f"not enough memory; {error}".rstrip("; ")
    return str(error)


@contextmanager
def _closed_pipes() -> Iterator[None]:
    """End as after SIGPIPE where nobody reads what is printed."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        # The interpreter's last flush must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(BROKEN_PIPE) from None


@click.group(
    "sparsebody",
    cls=Group,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
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
        try:
            if name.endswith(".py"):
                runpy.run_path(name)
            else:
                sys.path[:0] = [""] * ("" not in sys.path)  # modules of the working directory, too
                importlib.import_module(name)
        except (ModuleNotFoundError, FileNotFoundError) as error:
            message = f"{error}; give a module or a .py file"
            raise click.BadParameter(message, param_hint="--import") from error


for command in COMMANDS:
    main.add_command(command)
