"""sparsebody simulate, modes: a motion computed, recorded and summed up; vibrations."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import sparsebody as sb
from sparsebody import errors, plots, ranks
from sparsebody.cli import arguments as arg
from sparsebody.cli import output as out

_SIGNALS = {"by SIGTERM": 143}  # 128 and the number of the signal, as shells have it
_INTERRUPTED = 130


@click.command()
@arg.source_argument()
@click.option("--duration", type=arg.SECONDS, default=1.0)
@click.option("--step", type=arg.STEP, default=1e-3, help="auto: as long as rtol, atol allow.")
@click.option("--rtol", type=float, default=1e-6, help="Of local errors, with --step auto.")
@click.option("--atol", type=float, default=1e-9, help="Of local errors, with --step auto.")
@arg.name_option(
    "--method",
    ("simulation.integrators", "INTEGRATORS"),
    default="auto",
    help="Integrator: rk4, variational, variational-4, semi-implicit-euler, generalized-alpha, "
    "generalized-alpha-2, radau-iia, or auto: rk4 where it does.",
)
@arg.name_option(
    "--stabilization",
    ("simulation.stabilization", "STABILIZATIONS"),
    more=(),
    default="projection",
    help="projection, baumgarte or none.",
)
@click.option("--time-constant", type=float, help="Of baumgarte [s].  [default: ten steps]")
@click.option("--compliance", type=float, help="Of joints in generalized-alpha [m/N].")
@click.option(
    "--spectral-radius", type=float, default=0.7, help="Of generalized-alpha, at infinity."
)
@click.option("--output", type=arg.FILE, help="HDF5 file, written while the run goes on.")
@arg.flag("--resume", help="Go on with an output that was interrupted.")
@arg.context_flag("--overwrite", "Replace an existing output.")
@click.option("--record-step", type=arg.SECONDS, help="Default: every step, 0.01 with auto.")
@arg.flag("--record-reactions", help="Record the wrenches of the joints too.")
@arg.solver_options
@arg.reduction_option
@arg.context_flag("--quiet", "Print no summary and show no progress.")
@arg.json_option
def simulate(source: arg.Source, output: Path | None, resume: bool, **options: Any) -> None:
    """Simulate MECHANISM from its initial state; record the motion in an HDF5 file.

    Ctrl-C keeps what was computed; --resume goes on from there, as if it had not been interrupted.
    """
    overwrite, is_quiet = arg.is_given("overwrite"), arg.is_given("quiet")
    if resume and overwrite:
        raise click.UsageError("give --resume or --overwrite, not both")
    if output is not None and ranks.rank() == 0:
        if output.exists() and not (resume or overwrite):
            remedy = "give another --output, --resume or --overwrite"
            raise click.UsageError(f"{output} exists; {remedy}")
        arg.existing_parent(output)
    elif output is None and resume:
        raise click.UsageError("--resume needs the --output that was interrupted")
    mechanism = source.load()
    from sparsebody.model.files import mechanism_document
    from sparsebody.simulation import StoppedSimulationError

    def taken(*names: str) -> tuple[Any, ...]:
        return tuple(options.pop(name) for name in names)

    method = "method", "stabilization", "time_constant", "compliance", "spectral_radius"
    document = json.dumps(mechanism_document(mechanism))  # to draw the trajectory
    try:
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always", errors.EnergyWarning)
            warnings.simplefilter("always", errors.AccuracyWarning)
            warnings.simplefilter("ignore", errors.InterruptionWarning)
            trajectory = sb.simulate(
                mechanism.compile(),
                method=sb.Method(*taken(*method)),
                dynamics=sb.Solver(*taken("ordering", "factorization", "reduction")),
                record=sb.Recording(*taken("record_step", "record_reactions")),
                output=output and sb.Output(output, resume, overwrite, document),
                progress=not is_quiet and sys.stderr is not None and sys.stderr.isatty(),
                **options,
            )
    except StoppedSimulationError as error:
        remains = "" if output is None else f"; what was computed is in {output}"
        raise click.ClickException(f"{error}{remains}") from error
    if arg.is_given("json"):
        out.print_json(trajectory.summary() | {"output": output and str(output)})
    elif not is_quiet:
        click.echo(str(trajectory.summary()))
        if trajectory.path is not None:
            click.echo(f"written to      {trajectory.path}")
        for event in trajectory.events[:8]:
            click.echo(f"  {event}")
    for doubt in doubts:
        click.echo(f"sparsebody: {doubt.message}", err=True)
    if trajectory.interrupted:  # as a process that a signal ended
        remedy = "; go on with --resume" if trajectory.path is not None else ""
        click.echo(f"sparsebody: interrupted at t = {trajectory.time[-1]:.6g} s{remedy}", err=True)
        reason = trajectory.events[-1].message if trajectory.events else ""
        raise click.exceptions.Exit(_SIGNALS.get(reason, _INTERRUPTED))


# ---- modes ------------------------------------------------------------------------------------


if TYPE_CHECKING:
    from sparsebody.linearization import Modes


@click.command()
@arg.source_argument()
@click.option("--count", "-n", type=click.IntRange(1), default=6, help="How many modes.")
@click.option(
    "--near",
    type=click.FloatRange(0.0),
    default=0.0,
    help="Find those nearest to this frequency [Hz].",
)
@arg.file_option("--output", help="Directory for a trajectory (.h5) and a picture of each mode.")
@arg.overwrite_option
@arg.json_option
def modes(source: arg.Source, count: int, near: float, output: Path | None) -> None:
    """Find the natural frequencies of MECHANISM: at its pose if forces balance, or at equilibrium.

    Motions that nothing resists have the frequency zero and are counted apart.
    """
    mechanism = source.load()
    from sparsebody.model.files import mechanism_document

    paths = [] if output is None else _paths(output, count)
    with out.progress_bar(1, steady=False) as advance:
        advance("vibrations", 0)
        result = _modes(mechanism.compile(), count, near)
        advance("", 1)
    paths = paths[: len(result.eigenvalue)]
    if paths:
        paths[0].parent.mkdir(parents=True, exist_ok=True)
    with out.progress_bar(len(paths), quiet=not paths) as advance:
        for k, path in enumerate(paths):
            advance(f"mode {k + 1}: motion and picture", k)
            result.motion(k, output=path, source=json.dumps(mechanism_document(mechanism)))
            subject = plots.trajectory_subject(path, plots.Options())
            plots.save_figure(subject.figure("motion"), path.with_suffix(".png"))
        advance("", len(paths))
    if arg.is_given("json"):
        rows = zip(result.frequency.tolist(), result.damping_ratio.tolist(), strict=True)
        listed = [{"frequency": f, "damping_ratio": ratio} for f, ratio in rows]
        files = [str(path) for path in paths]
        out.print_json({"modes": listed, "mechanisms": result.n_mechanisms, "files": files})
        return
    if not len(result.eigenvalue):
        click.echo("no modes: the joints leave no freedom")
        return
    values = zip(result.eigenvalue, result.frequency, result.damping_ratio, strict=True)
    table = [
        (f"{k + 1}", *(("-", "-") if f != f else (f"{f:.6g}", f"{ratio:.4g}")), _kind(complex(s)))
        for k, (s, f, ratio) in enumerate(values)
    ]
    out.print_table(("mode", "frequency [Hz]", "damping ratio", "what it is"), table)
    out.echo_paths(*paths)


def _modes(system: sb.System, count: int, near: float) -> Modes:
    """Return the modes at the initial pose or, where forces do not balance there, below it."""
    try:
        return sb.modes(system, n=count, near=near)
    except errors.SimulationError as error:
        if "do not balance" not in str(error):
            raise
    return sb.modes(system, sb.equilibrium(system).state, n=count, near=near)


def _paths(directory: Path, n: int) -> list[Path]:
    """Return the files of trajectories, none of them there already."""
    paths = [directory / f"mode-{k + 1}.h5" for k in range(n)]
    for path in paths:
        arg.check_new(path)
        arg.check_new(path.with_suffix(".png"))
    return paths


def _kind(s: complex) -> str:
    if s == 0.0:
        return "mechanism: nothing resists it"
    if abs(s.imag) <= 1e-9 * abs(s):
        return "unstable" if s.real > 0.0 else "overdamped"
    return "vibration"
