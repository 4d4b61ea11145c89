"""sparsebody gallery, inspect, plot: mechanisms made, counted and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsebody.cli.arguments import (
    FILE,
    PATH,
    Source,
    check_new,
    existing_parent,
    flag,
    json_option,
    reduction_option,
    solver_options,
    source_argument,
)
from sparsebody.cli.output import (
    listed,
    print_facts,
    print_json,
    print_orderings,
    print_table,
    seconds,
)
from sparsebody.errors import SimulationError

if TYPE_CHECKING:
    from sparsebody.analysis.advice import Advice
    from sparsebody.analysis.inspection import Inspection
    from sparsebody.dynamics.mobility import GenericMobility
    from sparsebody.model.mechanism import Mechanism

MOST_LINES = 8  # of subgroups, reactions and advice
FEW_BODIES = 60  # for which advice is given by default
_TRAJECTORY_SUFFIXES = (".h5", ".hdf5")
_FORMATS = ("png", "svg", "pdf")
_PICTURE_SUFFIXES = tuple(f".{name}" for name in _FORMATS)


@click.command()
@source_argument("name", required=False, default="")
@click.option("--output", type=PATH, help="File (.json) to write it to; its directory is made.")
@flag("--overwrite", help="Replace an existing file.")
@json_option
def gallery(source: Source, output: Path | None, overwrite: bool, as_json: bool) -> None:
    """List the mechanisms that can be made, or write mechanism NAME to a file."""
    from sparsebody.model.gallery import GALLERY

    if source.name:
        _describe(source, output, overwrite, as_json)
        return
    if source.parameters or output:
        raise click.UsageError("give the NAME of the mechanism to write")
    if as_json:
        print_json([_entry(name) for name in GALLERY])
        return
    rows = [(name, _assignments(one.defaults), one.summary) for name, one in GALLERY.items()]
    print_table(("name", "parameters", "what it is"), rows, folded="parameters")


def _entry(name: str) -> dict[str, Any]:
    from sparsebody.model.gallery import GALLERY

    entry = GALLERY[name]
    return {
        "name": name,
        "summary": entry.summary,
        "size_parameters": list(entry.size_parameters),
        "parameters": entry.defaults,
    }


def _assignments(parameters: dict[str, Any]) -> str:
    return " ".join(f"{key}={_word(value)}" for key, value in parameters.items())


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(f"{part:g}" for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe(source: Source, output: Path | None, overwrite: bool, as_json: bool) -> None:
    """Print what a mechanism of the gallery is, or write it to a file."""
    import inspect

    from sparsebody.model.files import write_mechanism
    from sparsebody.model.gallery import GALLERY, build

    if output is not None:
        if output.suffix.lower() != ".json":
            raise click.UsageError(f"mechanisms are written as .json, not as {output.name}")
        check_new(output, overwrite)
    mechanism = build(source.name, **source.parameters)
    sizes = {"bodies": mechanism.n_bodies, "joints": mechanism.n_joints}
    counts = f"{mechanism.n_bodies} bodies, {mechanism.n_joints} joints"
    if output is not None:
        write_mechanism(mechanism, output)
        facts = {"name": mechanism.name, "output": str(output)} | sizes
        text = f"{output}: {counts}"
    else:
        facts = _entry(source.name) | sizes | {"given": source.parameters}
        defaults = _assignments(GALLERY[source.name].defaults)
        described = inspect.getdoc(GALLERY[source.name].function)
        text = f"{source.name}: {counts}\ndefaults: {defaults}\n\n{described}"
    if as_json:
        print_json(facts)
    else:
        click.echo(text)


# ---- inspect ----------------------------------------------------------------------------------


@click.command()
@source_argument()
@solver_options
@reduction_option
@flag("--advice", help="Find joints to replace, so that nothing is redundant.")
@click.option("--save-advised", type=FILE, help="Write the mechanism with these joints as JSON.")
@json_option
def inspect(
    source: Source, advice: bool, save_advised: Path | None, as_json: bool, **options: str
) -> None:
    """Count bodies, joints, loops and mobility; show redundancy, ordering and factorization."""
    from sparsebody.analysis.inspection import inspect_mechanism

    mechanism = source.load()
    inspection = inspect_mechanism(mechanism, **options)
    is_small = inspection.redundant_rows > 0 and inspection.bodies <= FEW_BODIES
    advised = _advised(mechanism, save_advised) if advice or save_advised or is_small else None
    if as_json:
        print_json(
            inspection.to_dict() | ({} if advised is None else {"advice": advised.to_dict()})
        )
        return
    _print_inspection(inspection)
    _print_reactions(inspection, {} if advised is None else advised.remedies)
    if advised is not None:
        click.echo("\nadvice")
        for line in advised.lines(MOST_LINES):
            click.echo(f"  {line}")


def _advised(mechanism: Mechanism, target: Path | None) -> Advice:
    """Return what to replace, and write the mechanism with it."""
    from sparsebody.analysis.advice import advise, apply_advice
    from sparsebody.model.files import write_mechanism

    advice = advise(mechanism)
    if target is not None:
        write_mechanism(apply_advice(mechanism, advice), existing_parent(target))
    return advice


def _print_reactions(inspection: Inspection, remedies: dict[str, tuple[str, int]]) -> None:
    """Say joint by joint which reactions are not determined."""
    lines = list(islice(inspection.reactions.lines(remedies), MOST_LINES))
    if lines:
        click.echo("\nreactions of rigid joints")
    for line in lines:
        click.echo(f"  {line}")
    if n_more := int((inspection.reactions.freedom > 0).sum()) - len(lines):
        click.echo(f"  and {n_more} joints more; --json lists all")


def _print_inspection(inspection: Inspection) -> None:
    types = ", ".join(f"{count} {name}" for name, count in inspection.joint_types.items())
    worst = f" at {inspection.initial_error_joint!r}" if inspection.initial_error > 1e-12 else ""
    n = inspection.prescribed
    prescribed = f"  (with {n} prescribed coordinate{'s' * (n > 1)})" if n else ""
    dropped = (
        f", {inspection.dropped_residual:.1e} in the rows left out"
        if inspection.redundant_rows
        else ""
    )
    facts = {
        "mechanism": inspection.name,
        "bodies": f"{inspection.bodies}",
        "joints": f"{inspection.joints}  ({types})" if types else "0",
        "loops": f"{inspection.loops}",
        "mobility": f"{inspection.mobility}{prescribed}",
        "freedoms": _freedoms(inspection),
        **_subgroups(inspection),
        "constraint rows": f"{inspection.constraint_rows}, of rank {inspection.rank}",
        "redundant rows": _redundancy(inspection),
        **_generic(inspection),
        **_closed_loops(inspection),
        "error as given": f"{inspection.initial_error:.2g}{worst}",
        "reactions": str(inspection.reactions),
        "residual": f"{inspection.residual:.1e}{dropped}",
        "condition number": f"{inspection.condition_number:.2g}; rounding moves accelerations by "
        f"up to {inspection.forward_error:.0e} of the largest",
        "ordering": inspection.ordering,
        "factorization": f"{inspection.factorization}, "
        f"{seconds(inspection.predicted_seconds)} predicted",
    }
    print_facts(facts)
    if len(inspection.orderings) > 0:
        print_orderings(inspection.orderings)


def _freedoms(inspection: Inspection) -> str:
    if inspection.planar:
        return "3 a body: all move parallel to a plane"
    if not inspection.reduced_bodies:
        return "6 a body"
    kinds = [f"{name} ({count})" for name, count in inspection.reduced_bodies.items()]
    return f"6 a body, but fewer about the world: {listed(kinds)}"


def _subgroups(inspection: Inspection) -> dict[str, str]:
    """Return a line for every subgroup, those about moving bodies that are alike in one."""
    from sparsebody.model.subgroups import describe

    lines = describe(inspection.subgroups)
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"and {len(lines) - MOST_LINES} more"]
    return {f"subgroup {k + 1}" if len(lines) > 1 else "subgroup": s for k, s in enumerate(lines)}


def _redundancy(inspection: Inspection) -> str:
    if not inspection.redundant_rows:
        return "0"
    joints = [f"{name} ({count})" for name, count in inspection.redundant_joints.items()]
    certainty = "certain" if inspection.certain else f"NOT certain: {inspection.redundancy_doubt}"
    return f"{inspection.redundant_rows}, {certainty}; left out at {listed(joints)}"


def _generic(inspection: Inspection) -> dict[str, str]:
    """Return what counting alone says, and what special geometry adds to it."""
    facts = {"generic": _generic_line(inspection, inspection.generic, inspection.generic.rank)}
    in_plane = inspection.generic_in_plane
    if in_plane is not None:
        out_of_plane = 3 * inspection.bodies
        rank = in_plane.rank + out_of_plane
        facts["generic in plane"] = _generic_line(inspection, in_plane, rank)
    return facts


def _generic_line(inspection: Inspection, generic: GenericMobility, rank: int) -> str:
    line = f"rank {generic.rank} of {generic.rows}, mobility {generic.mobility}"
    n = rank - inspection.rank
    if n == 0:
        return f"{line}; nothing is due to special geometry"
    return f"{line}; special geometry adds {n} redundant row{'s' * (n > 1)} and as many freedoms"


def _closed_loops(inspection: Inspection) -> dict[str, str]:
    """Return what a spanning tree and its loop joints show. Featherstone (2008), sec. 8.10."""
    loops = inspection.closed_loops
    if loops is None:
        return {}
    verdict = f"overconstrained by {loops.overconstraint}" if loops.overconstraint else "proper"
    facts = {
        "spanning tree": f"{loops.freedoms} freedoms, {loops.tree}; "
        f"{loops.loops} loop{'s' * (loops.loops > 1)} in "
        f"{loops.clusters} cluster{'s' * (loops.clusters > 1)}",
        "loop constraints": f"{loops.constraints}, of rank {loops.rank}: {verdict}",
    }
    if loops.nearby_mobilities is not None:
        others = " or ".join(map(str, loops.nearby_mobilities))
        facts["pose"] = f"singular: mobility {others} nearby" if loops.is_singular else "regular"
    if loops.configurations is not None:
        ambiguity = "found ambiguous" if loops.configurations > 1 else "no other found"
        facts["configurations"] = f"{loops.configurations} with the same {listed(loops.held)}"
        facts["configurations"] += f": {ambiguity}"
    return facts


# ---- plot -------------------------------------------------------------------------------------


@click.command()
@source_argument("trajectory|mechanism")
@click.option("--output", type=PATH, default=Path("."), help="Picture, or directory for several.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="NAME",
    help="Of a trajectory: motion, trajectory, energy, drift, spy; default: motion, energy, spy. "
    "Of a mechanism: mechanism, spy; default: both. all: every one. May be repeated.",
)
@click.option("--body", "bodies", multiple=True, metavar="NAME", help="Body to trace; may repeat.")
@click.option("--instants", type=click.IntRange(1, 24), default=6, help="In pictures of a motion.")
@click.option("--format", "suffix", type=click.Choice(_FORMATS), default="png")
@flag("--overwrite", help="Replace existing pictures.")
@flag("--recover", help="Draw what can be read of a damaged trajectory.")
@solver_options
@json_option
def plot(
    source: Source,
    output: Path,
    kinds: tuple[str, ...],
    suffix: str,
    overwrite: bool,
    recover: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Draw a trajectory (.h5) or a mechanism; one picture for each kind."""
    from sparsebody.plots import Options, mechanism_subject, trajectory_subject
    from sparsebody.plots.style import save_figure

    path = Path(source.name)
    if path.suffix.lower() in _TRAJECTORY_SUFFIXES:
        if source.parameters:
            raise click.UsageError(f"-p is for gallery mechanisms, but {path} is a trajectory")
        try:
            subject = trajectory_subject(path, Options(**options), recover=recover)
        except SimulationError as error:  # a missing file or an unknown body is bad input
            raise click.UsageError(str(error)) from error
    else:
        subject = mechanism_subject(source.load(), Options(**options))
    chosen = subject.kinds(kinds)
    files = _files(output, path.stem, chosen, suffix)
    for file in files:
        check_new(file, overwrite)
    figures = [subject.figure(kind) for kind in chosen]
    for figure, file in zip(figures, files, strict=True):
        save_figure(figure, file)
    if as_json:
        named = zip(chosen, files, strict=True)
        print_json({"files": [{"kind": kind, "path": str(file)} for kind, file in named]})
    else:
        click.echo("\n".join(map(str, files)))


def _files(output: Path, stem: str, kinds: Sequence[str], suffix: str) -> list[Path]:
    """Return where each picture goes."""
    if output.suffix.lower() in _PICTURE_SUFFIXES and not output.is_dir():
        if len(kinds) != 1:
            raise click.UsageError(
                f"--output {output} is one picture, but there are {len(kinds)} kinds "
                f"({', '.join(kinds)}); choose one with --kind, or give a directory"
            )
        return [output]
    if output.suffix and not output.is_dir():
        known = ", ".join(_PICTURE_SUFFIXES)
        raise click.UsageError(f"{output}: no picture format {output.suffix!r}; give {known}")
    return [output / f"{stem}-{kind}.{suffix}" for kind in kinds]
