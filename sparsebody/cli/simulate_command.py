"""sparsebody simulate: a motion computed, recorded, and summed up."""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import click

import sparsebody as sb
from sparsebody import ranks
from sparsebody.cli import arguments as arg
from sparsebody.cli import output as out
from sparsebody.cli.completion import names
from sparsebody.errors import EnergyWarning, InterruptionWarning

_SIGNALS = {"by SIGTERM": 143}  # 128 and the number of the signal, as shells have it
_INTERRUPTED = 130


@click.command()
@arg.source_argument()
@click.option("--duration", type=arg.SECONDS, default=1.0)
@click.option("--step", type=arg.STEP, default=1e-3, help="auto: as long as rtol, atol allow.")
@click.option("--rtol", type=float, default=1e-6, help="Of local errors, with --step auto.")
@click.option("--atol", type=float, default=1e-9, help="Of local errors, with --step auto.")
@click.option(
    "--method",
    default="auto",
    metavar="NAME",
    shell_complete=names(("simulation.integrators", "INTEGRATORS"), more=("auto",)),
    help="Integrator: rk4, variational, variational-4, semi-implicit-euler, generalized-alpha, "
    "generalized-alpha-2, radau-iia, or auto: rk4 where it does.",
)
@click.option(
    "--stabilization",
    default="projection",
    shell_complete=names(("simulation.stabilization", "STABILIZATIONS")),
    help="projection, baumgarte or none.",
)
@click.option("--time-constant", type=float, help="Of baumgarte [s].  [default: ten steps]")
@click.option("--compliance", type=float, help="Of joints in generalized-alpha [m/N].")
@click.option(
    "--spectral-radius", type=float, default=0.7, help="Of generalized-alpha, at infinity."
)
@click.option("--output", type=arg.FILE, help="HDF5 file, written while the run goes on.")
@arg.flag("--resume", help="Go on with an output that was interrupted.")
@arg.flag("--overwrite", help="Replace an existing output.")
@click.option("--record-step", type=arg.SECONDS, help="Default: every step, 0.01 with auto.")
@arg.flag("--record-reactions", help="Record the wrenches of the joints too.")
@arg.solver_options
@arg.reduction_option
@arg.flag("--quiet", help="Print no summary and show no progress.")
@arg.json_option
def simulate(
    source: arg.Source,
    output: Path | None,
    resume: bool,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate MECHANISM from its initial state; record the motion in an HDF5 file.

    Ctrl-C keeps what was computed; --resume goes on from there, as if it had not been interrupted.
    """
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
            warnings.simplefilter("always", EnergyWarning)
            warnings.simplefilter("ignore", InterruptionWarning)
            trajectory = sb.simulate(
                mechanism.compile(),
                method=sb.Method(*taken(*method)),
                dynamics=sb.Solver(*taken("ordering", "factorization", "reduction")),
                record=sb.Recording(*taken("record_step", "record_reactions")),
                output=output and sb.Output(output, resume, overwrite, document),
                progress=not quiet and sys.stderr is not None and sys.stderr.isatty(),
                **options,
            )
    except StoppedSimulationError as error:
        remains = "" if output is None else f"; what was computed is in {output}"
        raise click.ClickException(f"{error}{remains}") from error
    if as_json:
        out.print_json(trajectory.summary() | {"output": output and str(output)})
    elif not quiet:
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
