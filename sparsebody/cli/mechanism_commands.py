"""sparsebody gallery, inspect: mechanisms made and counted."""

from __future__ import annotations

import inspect as source_inspection
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import sparsebody as sb
from sparsebody import analysis, model, ranks
from sparsebody.cli import arguments as arg
from sparsebody.cli import output as out

if TYPE_CHECKING:
    from sparsebody.analysis.inspection import Inspection
    from sparsebody.dynamics.mobility import GenericMobility

MOST_LINES = 8  # of subgroups, reactions and advice
LARGE = 1000  # bodies, from which on progress is shown
FEW_BODIES = 60  # for which advice is given by default


@click.command()
@arg.source_argument("name", suffixes=(), required=False, default="")
@arg.new_file_option("--output", help="File (.json) to write it to; its directory is made.")
@arg.overwrite_option
@arg.json_option
def gallery(source: arg.Source, output: Path | None) -> None:
    """List the mechanisms that can be made, or write mechanism NAME to a file."""
    if source.name:
        facts, text = _described(source, output)
        if arg.is_given("json"):
            out.print_json(facts)
        else:
            click.echo(text)
        return
    if source.parameters or output:
        raise click.UsageError("give the NAME of the mechanism to write")
    if arg.is_given("json"):
        out.print_json(list(map(_entry, model.GALLERY)))
        return
    rows = [(name, _assignments(one.defaults), one.summary) for name, one in model.GALLERY.items()]
    out.print_table(("name", "parameters", "what it is"), rows, folded="parameters")


def _entry(name: str) -> dict[str, Any]:
    entry = model.GALLERY[name]
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


def _described(source: arg.Source, output: Path | None) -> tuple[dict[str, Any], str]:
    """Return facts on a mechanism of the gallery and a text; write it to a file if given."""
    if output is not None and output.suffix.lower() != ".json":
        raise click.UsageError(f"mechanisms are written as .json, not as {output.name}")
    mechanism = sb.build(source.name, **source.parameters)
    sizes = {"bodies": mechanism.n_bodies, "joints": mechanism.n_joints}
    counts = f"{mechanism.n_bodies} bodies, {mechanism.n_joints} joints"
    if output is not None:
        sb.write_mechanism(mechanism, output)
        return {"name": mechanism.name, "output": str(output)} | sizes, f"{output}: {counts}"
    entry = model.GALLERY[source.name]
    described = source_inspection.getdoc(entry.function)
    text = f"{source.name}: {counts}\ndefaults: {_assignments(entry.defaults)}\n\n{described}"
    return _entry(source.name) | sizes | {"given": source.parameters}, text


# ---- inspect ----------------------------------------------------------------------------------


@click.command()
@arg.source_argument()
@arg.solver_options
@arg.reduction_option
@arg.flag("--advice", help="Find joints to replace, so that nothing is redundant.")
@click.option(
    "--save-advised", type=arg.FILE, help="Write the mechanism with these joints as JSON."
)
@arg.json_option
def inspect(source: arg.Source, advice: bool, save_advised: Path | None, **options: str) -> None:
    """Count bodies, joints, loops and mobility; show redundancy, ordering and factorization."""
    mechanism = source.load()
    with out.reports(quiet=mechanism.n_bodies < LARGE, steady=False) as report:
        inspection = analysis.inspect_mechanism(mechanism, report=report, **options)
    by_default = inspection.redundant_rows > 0 and inspection.bodies <= FEW_BODIES
    advised = sb.advise(mechanism) if advice or save_advised or by_default else None
    if advised and save_advised and ranks.rank() == 0:
        sb.write_mechanism(sb.apply_advice(mechanism, advised), arg.existing_parent(save_advised))
    if arg.is_given("json"):
        further = {"advice": advised.to_dict()} if advised else {}
        out.print_json(inspection.to_dict() | further)
        return
    _print_inspection(inspection)
    _print_reactions(inspection, advised.remedies if advised else {})
    if advised:
        click.echo("\nadvice")
        for line in advised.lines(MOST_LINES):
            click.echo(f"  {line}")


def _print_reactions(inspection: Inspection, remedies: dict[str, tuple[str, int]]) -> None:
    """Say joint by joint which reactions are not determined."""
    lines = list(islice(inspection.reactions.lines(remedies), MOST_LINES))
    if lines:
        click.echo("\nreactions of rigid joints")
    for line in lines:
        click.echo(f"  {line}")
    # freedom: the dimension of the indeterminate part of a reaction
    if n_more := int((inspection.reactions.n_indeterminate > 0).sum()) - len(lines):
        click.echo(f"  and {n_more} joints more; --json lists all")


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n > 1)}"


def _print_inspection(inspection: Inspection) -> None:
    types = ", ".join(f"{count} {name}" for name, count in inspection.joint_types.items())
    worst = f" at {inspection.initial_error_joint!r}" if inspection.initial_error > 1e-12 else ""
    n = inspection.prescribed
    prescribed = f"  (with {_counted(n, 'prescribed coordinate')})" if n else ""
    left_out = f", {inspection.dropped_residual:.1e} in the rows left out"
    kappa = inspection.condition_number
    number = "unknown" if kappa != kappa else f"{kappa:.2g}"  # of substructures
    each = {what: ", ".join(map(str, mb)) for what, mb in inspection.megabytes.items()}
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
        "residual": f"{inspection.residual:.1e}{left_out if inspection.redundant_rows else ''}",
        "condition number": f"{number}; rounding moves accelerations by "
        f"up to {inspection.forward_error:.0e} of the largest",
        "ordering": inspection.ordering,
        "factorization": f"{inspection.factorization}, "
        f"{out.seconds(inspection.predicted_seconds)} and {inspection.predicted_megabytes:.3g} MB "
        "predicted",
        **({"memory": f"{each['used']} MB by rank; {each['predicted']} predicted"} if each else {}),
    }
    out.print_facts(facts)
    if len(inspection.orderings) > 0:
        out.print_orderings(inspection.orderings)


def _freedoms(inspection: Inspection) -> str:
    if inspection.planar:
        return "3 a body: all move parallel to a plane"
    if not inspection.reduced_bodies:
        return "6 a body"
    kinds = [f"{name} ({count})" for name, count in inspection.reduced_bodies.items()]
    return f"6 a body, but fewer about the world: {out.listed(kinds)}"


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
    return f"{inspection.redundant_rows}, {certainty}; left out at {out.listed(joints)}"


def _generic(inspection: Inspection) -> dict[str, str]:
    """Return rank and mobility with joints in general position, and what special geometry adds."""

    def line(generic: GenericMobility, out_of_plane: int = 0) -> str:
        n = generic.rank + out_of_plane - inspection.rank
        added = f"adds {_counted(n, 'redundant row')} and as many freedoms"
        geometry = f"special geometry {added}" if n else "nothing is due to special geometry"
        return f"rank {generic.rank} of {generic.rows}, mobility {generic.mobility}; {geometry}"

    facts = {"generic": line(inspection.generic)}
    if inspection.generic_in_plane is not None:
        facts["generic in plane"] = line(inspection.generic_in_plane, 3 * inspection.bodies)
    return facts


def _closed_loops(inspection: Inspection) -> dict[str, str]:
    """Return what a spanning tree and its loop joints show. Featherstone (2008), sec. 8.10."""
    loops = inspection.closed_loops
    if loops is None:
        return {}
    n = loops.overconstraint
    verdict = f"overconstrained by {n}" if n else "properly constrained"
    clusters = f"{_counted(loops.loops, 'loop')} in {_counted(loops.clusters, 'cluster')}"
    facts = {
        "spanning tree": f"{loops.freedoms} freedoms, {loops.tree}; {clusters}",
        "loop constraints": f"{loops.constraints}, of rank {loops.rank}: {verdict}",
    }
    if loops.nearby_mobilities is not None:
        others = " or ".join(map(str, loops.nearby_mobilities))
        facts["pose"] = f"singular: mobility {others} nearby" if loops.is_singular else "regular"
    if loops.configurations is not None:
        fixed = out.listed(loops.fixed_coordinates)
        facts["configurations"] = f"{loops.configurations} with {fixed} fixed"
    return facts
