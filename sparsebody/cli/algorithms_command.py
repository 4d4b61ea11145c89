"""sparsebody algorithms, sparsebody loop-bases: what algorithms and bases of loops cost."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsebody.cli.arguments import (
    PATH,
    Sizes,
    check_picture,
    is_file_name,
    json_option,
    load,
    names_option,
    parameter_option,
)
from sparsebody.cli.output import print_facts, print_json, print_table, seconds

if TYPE_CHECKING:
    from sparsebody.analysis.algorithm_comparison import AlgorithmComparison
    from sparsebody.certificates.algorithm_growth import AlgorithmGrowth


@click.command()
@click.argument("mechanism")
@parameter_option
@names_option("--algorithm", "Run this one; may be repeated.  [default: all]")
@click.option(
    "--eps",
    multiple=True,
    type=float,
    help="Of the matrix [D A'; A -eps]; may be repeated.  [default: 1e-4, 1e-8, 1e-12, 0]",
)
@click.option(
    "--sizes",
    type=Sizes("bodies", "64,256,1024"),
    help="Fit the growth of the flops over these numbers of bodies, such as 64,256,1024.",
)
@click.option("--spy", type=PATH, help="Picture (.png, .svg, .pdf) of the matrix in every order.")
@click.option("--growth", type=PATH, help="Picture of the flops over the sizes.")
@click.option("--overwrite", is_flag=True, help="Replace existing pictures.")
@json_option
def algorithms(
    mechanism: str,
    parameters: tuple[tuple[str, str], ...],
    names: tuple[str, ...],
    eps: tuple[float, ...],
    sizes: tuple[int, ...] | None,
    spy: Path | None,
    growth: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Run penalty, Delassus, Baraff, articulated bodies, and others as orders of one matrix.

    For MECHANISM: predicted and counted flops, time, and errors of the accelerations by eps.
    """
    if growth is not None and sizes is None:
        raise click.UsageError("--growth needs --sizes, such as --sizes 64,256,1024")
    if sizes is not None and is_file_name(mechanism):
        raise click.UsageError(f"--sizes is for gallery mechanisms, but {mechanism} is a file")
    for picture in (spy, growth):
        if picture is not None:
            check_picture(picture, overwrite)
    from sparsebody.analysis.algorithm_comparison import EPS, compare_algorithms
    from sparsebody.certificates.algorithm_growth import algorithm_growth, growing_family

    loaded = load(mechanism, parameters)
    family = growing_family(mechanism, dict(parameters)) if sizes is not None else None
    comparison = compare_algorithms(loaded, names, eps=eps or EPS)
    grown = () if family is None else algorithm_growth(family, sizes or (), names)
    if spy is not None:
        from sparsebody.plots.spy import plot_orders
        from sparsebody.plots.style import save_figure

        save_figure(plot_orders(comparison.pattern, comparison.orders, mechanism), spy)
    if growth is not None:
        from sparsebody.plots.curves import plot_growth
        from sparsebody.plots.style import save_figure

        save_figure(plot_growth([one.line for one in grown], "flops", mechanism), growth)
    if as_json:
        lines, growths = ([one.to_dict() for one in many] for many in (comparison.lines, grown))
        print_json({"algorithms": lines, "growth": growths})
        return
    _print(comparison)
    if grown:
        _print_growth(grown)
    for picture in (spy, growth):
        if picture is not None:
            click.echo(str(picture))


def _print(comparison: AlgorithmComparison) -> None:
    eps = [f"eps {value:g}" for value in comparison.lines[0].errors]
    header = ("algorithm", "flops", "counted", "nnz(L)", "front", "time", *eps)
    rows = [
        (
            line.name,
            f"{line.metrics.flops:.3g}",
            _number(line.counted_flops),
            f"{line.metrics.nnz_l}",
            f"{line.metrics.largest_front}",
            seconds(line.seconds),
            *(_number(error, ".0e") for error in line.errors.values()),
        )
        for line in comparison.lines
    ]
    print_table(header, rows)
    click.echo("below eps: errors of the accelerations, relative; - for a zero pivot or not run\n")
    print_facts({line.name: f"{line.summary}; {line.source}" for line in comparison.lines})


def _number(value: float, form: str = ".3g") -> str:
    return f"{value:{form}}" if math.isfinite(value) else "-"


def _print_growth(grown: tuple[AlgorithmGrowth, ...]) -> None:
    sizes = [f"{n:.0f} bodies" for n in grown[0].n_bodies]
    rows = [
        (one.name, *(f"{flops:.3g}" for flops in one.flops), str(one.fit or "-")) for one in grown
    ]
    click.echo()
    print_table(("algorithm", *sizes, "flops grow as"), rows)


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
