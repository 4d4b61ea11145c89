"""sparsebody loop-bases: the nonzeros of loop closure with each basis of loops."""

from __future__ import annotations

import click

from sparsebody.cli.arguments import json_option, load, names_option, parameter_option
from sparsebody.cli.output import print_json, print_table

_HEADER = ("basis", "joints", "longest", "K", "K W K'", "K H^-1 K'", "H", "K of the tree")


@click.command("loop-bases")
@click.argument("mechanism")
@parameter_option
@names_option("--basis", "Compare this one; may be repeated.  [default: all]")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of random trees."
)
@json_option
def loop_bases(
    mechanism: str,
    parameters: tuple[tuple[str, str], ...],
    names: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Compare bases of the loops of MECHANISM by the nonzeros of loop closure, K qd = 0.

    The minimum cycle basis, faces, and what joints close with spanning trees. Every loop has six
    rows of K, on the velocities of its joints; H is the joint-space inertia of the tree.
    """
    from sparsebody.analysis.cycle_bases import compare_loop_bases

    comparison = compare_loop_bases(load(mechanism, parameters), names, seed=seed)
    if as_json:
        lines = [line.to_dict() for line in comparison.lines]
        print_json({"loops": comparison.dimension, "planar": comparison.is_planar, "bases": lines})
        return
    rows = [
        (
            line.name,
            *(f"{n}" for n in (line.joints, line.longest, line.nnz_k, line.nnz_coupling)),
            f"{line.nnz_product}",
            f"{line.nnz_h}",
            "-" if line.nnz_tree_k is None else f"{line.nnz_tree_k}",
        )
        for line in comparison.lines
    ]
    faces = "; no faces, for the graph is not planar" if comparison.is_planar is False else ""
    click.echo(f"{comparison.dimension} loops{faces}; nonzeros of")
    print_table(_HEADER, rows)
