"""sparsebody inspect: counts, mobility, redundancy, and how the system would be solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparsebody.cli.arguments import json_option, load, parameter_option, solver_options
from sparsebody.cli.orderings import print_orderings
from sparsebody.cli.output import listed, print_facts, print_json, seconds

if TYPE_CHECKING:
    from sparsebody.analysis.inspection import Inspection


@click.command()
@click.argument("mechanism")
@parameter_option
@solver_options
@json_option
def inspect(
    mechanism: str,
    parameters: tuple[tuple[str, str], ...],
    ordering: str,
    factorization: str,
    as_json: bool,
) -> None:
    """Count bodies, joints, loops and mobility; show redundancy, ordering and factorization."""
    from sparsebody.analysis.inspection import inspect_mechanism

    found = inspect_mechanism(
        load(mechanism, parameters), ordering=ordering, factorization=factorization
    )
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)


def _print(found: Inspection) -> None:
    types = ", ".join(f"{count} {name}" for name, count in found.joint_types.items())
    worst = f" at {found.initial_error_joint!r}" if found.initial_error > 1e-12 else ""
    print_facts(
        {
            "mechanism": found.name,
            "bodies": f"{found.bodies}",
            "joints": f"{found.joints}  ({types})" if types else "0",
            "loops": f"{found.loops}",
            "mobility": f"{found.mobility}{_driven(found)}",
            "freedoms": "3 a body: all move parallel to a plane" if found.planar else "6 a body",
            "constraint rows": f"{found.constraint_rows}, of rank {found.rank}",
            "redundant rows": _redundancy(found),
            **_closed_loops(found),
            "error as given": f"{found.initial_error:.2g}{worst}",
            "residual": _residual(found),
            "ordering": found.ordering,
            "factorization": f"{found.factorization}, {seconds(found.predicted_seconds)} predicted",
        }
    )
    if len(found.orderings) > 0:
        print_orderings(found.orderings)


def _driven(found: Inspection) -> str:
    if not found.prescribed:
        return ""
    return f"  (with {found.prescribed} prescribed coordinate{'s' * (found.prescribed > 1)})"


def _redundancy(found: Inspection) -> str:
    if not found.redundant_rows:
        return "0"
    joints = [f"{name} ({count})" for name, count in found.redundant_joints.items()]
    certainty = "certain" if found.certain else "NOT certain: no clear gap between pivots"
    return f"{found.redundant_rows}, {certainty}; left out at {listed(joints)}"


def _closed_loops(found: Inspection) -> dict[str, str]:
    """Return what a spanning tree and its loop joints show. Featherstone (2008), sec. 8.10."""
    loops = found.closed_loops
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


def _residual(found: Inspection) -> str:
    of_dropped = f", {found.dropped_residual:.1e} in the rows left out"
    return f"{found.residual:.1e}{of_dropped if found.redundant_rows else ''}"
