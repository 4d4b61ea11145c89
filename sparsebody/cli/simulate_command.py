"""sparsebody simulate: compute a motion, record it, and sum it up."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsebody.cli.arguments import (
    FILE,
    PositiveSeconds,
    StepSize,
    existing_parent,
    json_option,
    load,
    parameter_option,
    reduction_option,
    solver_options,
)
from sparsebody.cli.output import print_facts, print_json, seconds
from sparsebody.errors import InterruptionWarning

if TYPE_CHECKING:
    from sparsebody.model.mechanism import Mechanism
    from sparsebody.simulation import Trajectory

_SIGNALS = {"by SIGTERM": 143}  # 128 and the number of the signal, as shells have it
_INTERRUPTED = 130


@click.command()
@click.argument("mechanism")
@parameter_option
@click.option("--duration", type=PositiveSeconds(), default=1.0, show_default=True)
@click.option(
    "--step",
    type=StepSize(),
    default=1e-3,
    show_default=True,
    help="auto: as long as the tolerances of local errors allow.",
)
@click.option("--rtol", type=float, default=1e-6, show_default=True, help="Of --step auto.")
@click.option("--atol", type=float, default=1e-9, show_default=True, help="Of --step auto.")
@click.option(
    "--method",
    default="auto",
    metavar="NAME",
    show_default=True,
    help="Integrator: rk4, variational, variational-4, semi-implicit-euler, generalized-alpha, "
    "generalized-alpha-2, radau-iia, or auto: rk4 where it does.",
)
@click.option(
    "--compliance",
    type=float,
    help="Of joints in generalized-alpha [m/N]; default: so small that they hardly open.",
)
@click.option(
    "--spectral-radius",
    type=float,
    default=0.7,
    show_default=True,
    help="Of generalized-alpha: oscillations that steps do not resolve fade by it in every step.",
)
@click.option(
    "--stabilization",
    default="projection",
    metavar="NAME",
    show_default=True,
    help="Keeps joints closed: projection, baumgarte or none.",
)
@click.option(
    "--output",
    type=FILE,
    help="HDF5 file, written while the run goes on; its directory is made where missing.",
)
@click.option("--resume", is_flag=True, help="Go on with an output that was interrupted.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
@click.option(
    "--record-step",
    type=PositiveSeconds(),
    help="Time between records; default: every step, 0.01 with auto.",
)
@click.option("--record-reactions", is_flag=True, help="Record the wrenches of the joints too.")
@solver_options
@reduction_option
@click.option("--quiet", is_flag=True, help="Print no summary and show no progress.")
@json_option
def simulate(
    mechanism: str,
    parameters: tuple[tuple[str, str], ...],
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
    _check_output(output, resume, overwrite)
    if output is not None:
        existing_parent(output)
    model = load(mechanism, parameters)
    from sparsebody.simulation import StoppedSimulationError
    from sparsebody.simulation import simulate as run

    try:
        with warnings.catch_warnings(action="ignore", category=InterruptionWarning):
            trajectory = run(
                model.compile(),
                output=output,
                resume=resume,
                overwrite=overwrite,
                source=_source(model),
                progress=not quiet and sys.stderr is not None and sys.stderr.isatty(),
                **options,
            )
    except StoppedSimulationError as error:
        kept = "" if output is None else f"; what was computed is in {output}"
        raise click.ClickException(f"{error}{kept}") from error
    if as_json:
        print_json(trajectory.summary() | {"output": None if output is None else str(output)})
    elif not quiet:
        _print(trajectory)
    if trajectory.interrupted:
        _end_interrupted(trajectory)


def _check_output(output: Path | None, resume: bool, overwrite: bool) -> None:
    """Refuse, before anything is computed, what would lose something or makes no sense."""
    if resume and overwrite:
        raise click.UsageError("give --resume or --overwrite, not both")
    if resume and output is None:
        raise click.UsageError("--resume needs the --output that was interrupted")
    if output is not None and output.exists() and not (resume or overwrite):
        raise click.UsageError(f"{output} exists; give another --output, --resume or --overwrite")


def _source(model: Mechanism) -> str:
    """Return the mechanism as JSON text, so that the trajectory can be drawn."""
    from sparsebody.model.documents import mechanism_document

    return json.dumps(mechanism_document(model))


def _print(trajectory: Trajectory) -> None:
    summary = trajectory.summary()
    per_step = summary["wall_time"] / max(summary["steps"], 1)
    drift = summary["energy_error"]
    facts = {
        "mechanism": summary["mechanism"],
        "time": f"{summary['start']:.6g} to {summary['end']:.6g} s",
        "steps": f"{summary['steps']}, {summary['records']} recorded",
        "wall time": f"{seconds(summary['wall_time'])}, {seconds(per_step)} a step",
        "energy": f"{summary['energy_start']:.6g} J to {summary['energy_end']:.6g} J",
        "energy error": f"{drift:.1e}"
        if drift is not None
        else "not defined: energy is not constant",
        "position error": f"{summary['position_error']:.1e} at most [m, rad]",
        "velocity error": f"{summary['velocity_error']:.1e} at most [m/s, rad/s]",
    }
    if trajectory.events:
        facts["events"] = f"{len(trajectory.events)}"
    if trajectory.path is not None:
        facts["written to"] = str(trajectory.path)
    print_facts(facts)
    for event in trajectory.events[:8]:
        click.echo(f"  t = {event.time:.6g} s: {event.kind}: {event.message}")


def _end_interrupted(trajectory: Trajectory) -> None:
    """Say how to go on, and exit as a process does that a signal ended."""
    remedy = "; go on with --resume" if trajectory.path is not None else ""
    click.echo(f"sparsebody: interrupted at t = {trajectory.time[-1]:.6g} s{remedy}", err=True)
    reason = trajectory.events[-1].message if trajectory.events else ""
    raise click.exceptions.Exit(_SIGNALS.get(reason, _INTERRUPTED))
