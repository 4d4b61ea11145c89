"""sparsebody inspect: counts, mobility, redundancy, and how the system would be solved."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsebody.cli.arguments import (
    FILE,
    existing_parent,
    json_option,
    load,
    parameter_option,
    reduction_option,
    solver_options,
)
from sparsebody.cli.output import listed, print_facts, print_json, print_orderings, seconds

if TYPE_CHECKING:
    from sparsebody.analysis.advice import Advice
    from sparsebody.analysis.inspection import Inspection
    from sparsebody.dynamics.mobility import GenericMobility
    from sparsebody.model.mechanism import Mechanism

MOST_LINES = 8  # of subgroups, reactions and advice
FEW_BODIES = 60  # for which advice is given unasked


@click.command()
@click.argument("mechanism")
@parameter_option
@solver_options
@reduction_option
@click.option(
    "--advice", is_flag=True, help="Find joints to replace, so that nothing is redundant."
)
@click.option(
    "--save-advised",
    type=FILE,
    metavar="FILE",
    help="Write the mechanism with these joints as JSON.",
)
@json_option
def inspect(
    mechanism: str,
    parameters: tuple[tuple[str, str], ...],
    ordering: str,
    factorization: str,
    reduction: str,
    advice: bool,
    save_advised: Path | None,
    as_json: bool,
) -> None:
    """Count bodies, joints, loops and mobility; show redundancy, ordering and factorization."""
    from sparsebody.analysis.inspection import inspect_mechanism

    loaded = load(mechanism, parameters)
    inspection = inspect_mechanism(
        loaded, ordering=ordering, factorization=factorization, reduction=reduction
    )
    is_wanted = (
        advice or save_advised or (inspection.redundant_rows and inspection.bodies <= FEW_BODIES)
    )
    advised = _advised(loaded, save_advised) if is_wanted else None
    if as_json:
        print_json(
            inspection.to_dict() | ({} if advised is None else {"advice": advised.to_dict()})
        )
        return
    _print(inspection)
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
    lines = inspection.reactions.lines(remedies)
    shown = list(islice(lines, MOST_LINES))
    if shown:
        click.echo("\nreactions of rigid joints")
    for line in shown:
        click.echo(f"  {line}")
    rest = int((inspection.reactions.freedom > 0).sum()) - len(shown)
    if rest:
        click.echo(f"  and {rest} joints more; --json lists all")


def _print(inspection: Inspection) -> None:
    types = ", ".join(f"{count} {name}" for name, count in inspection.joint_types.items())
    worst = f" at {inspection.initial_error_joint!r}" if inspection.initial_error > 1e-12 else ""
    print_facts(
        {
            "mechanism": inspection.name,
            "bodies": f"{inspection.bodies}",
            "joints": f"{inspection.joints}  ({types})" if types else "0",
            "loops": f"{inspection.loops}",
            "mobility": f"{inspection.mobility}{_driven(inspection)}",
            "freedoms": _freedoms(inspection),
            **_subgroups(inspection),
            "constraint rows": f"{inspection.constraint_rows}, of rank {inspection.rank}",
            "redundant rows": _redundancy(inspection),
            **_generic(inspection),
            **_closed_loops(inspection),
            "error as given": f"{inspection.initial_error:.2g}{worst}",
            "reactions": str(inspection.reactions),
            "residual": _residual(inspection),
            "condition number": f"{inspection.condition_number:.2g}; rounding moves accelerations "
            f"by up to {inspection.forward_error:.0e} of the largest",
            "ordering": inspection.ordering,
            "factorization": f"{inspection.factorization}, "
            f"{seconds(inspection.predicted_seconds)} predicted",
        }
    )
    if len(inspection.orderings) > 0:
        print_orderings(inspection.orderings)


def _driven(inspection: Inspection) -> str:
    if not inspection.prescribed:
        return ""
    return (
        f"  (with {inspection.prescribed} prescribed coordinate{'s' * (inspection.prescribed > 1)})"
    )


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
        outer = 3 * inspection.bodies  # out of the plane
        facts["generic in plane"] = _generic_line(inspection, in_plane, in_plane.rank + outer)
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
    own = f"overconstrained by {loops.overconstraint}" if loops.overconstraint else "proper"
    facts = {
        "spanning tree": f"{loops.freedoms} freedoms, {loops.tree}; "
        f"{loops.loops} loop{'s' * (loops.loops > 1)} in "
        f"{loops.clusters} cluster{'s' * (loops.clusters > 1)}",
        "loop constraints": f"{loops.constraints}, of rank {loops.rank}: {own}",
    }
    if loops.nearby_mobilities is not None:
        others = " or ".join(map(str, loops.nearby_mobilities))
        facts["pose"] = f"singular: mobility {others} nearby" if loops.is_singular else "regular"
    if loops.configurations is not None:
        ambiguity = "found ambiguous" if loops.configurations > 1 else "no other found"
        facts["configurations"] = f"{loops.configurations} with the same {listed(loops.held)}"
        facts["configurations"] += f": {ambiguity}"
    return facts


def _residual(inspection: Inspection) -> str:
    of_dropped = f", {inspection.dropped_residual:.1e} in the rows left out"
    return f"{inspection.residual:.1e}{of_dropped if inspection.redundant_rows else ''}"
