"""sparsebody order, algorithms, loop-bases: what orders, algorithms and bases of loops cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsebody.cli.arguments import (
    Source,
    check_new,
    check_pictures,
    file_option,
    flag,
    json_option,
    names_option,
    sizes_option,
    source_argument,
)
from sparsebody.cli.output import (
    number,
    print_facts,
    print_json,
    print_orderings,
    print_table,
    seconds,
)

if TYPE_CHECKING:
    from sparsebody.analysis.algorithm_comparison import AlgorithmComparison
    from sparsebody.analysis.order_comparison import ForeignComparison, OrderingComparison
    from sparsebody.sparse.matrix_files import FoundOrder

PATTERN_SUFFIXES = (".mtx", ".mtx.gz", ".graph")


@click.command()
@source_argument()
@names_option("--ordering", "Compare this one; may be repeated.  [default: all that are quick]")
@click.option(
    "--factorization", default="auto", metavar="NAME", help="Of predicted times; auto: the least."
)
@file_option("--blocks", "Blocks of a matrix (.json of the corpus, or sizes).  [default: rows]")
@file_option(
    "--order-file",
    "Judge this order of blocks or rows too (text, .mtx, .iperm); may be repeated.",
    multiple=True,
)
@flag("--positions", help="Order files list positions, not the order.")
@file_option("--save-order", "File for the best order (text from 0, .mtx from 1, .iperm).")
@file_option("--spy", "Picture (.png, .svg, .pdf) of the matrix before and after the best of them.")
@flag("--overwrite", help="Replace an existing picture or order.")
@json_option
def order(
    source: Source,
    names: tuple[str, ...],
    factorization: str,
    blocks: Path | None,
    order_file: tuple[Path, ...],
    positions: bool,
    save_order: Path | None,
    spy: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Compare elimination orders of MECHANISM: operations, fill-in, bands, trees, fronts.

    The one with the fewest operations comes first; nothing is factorized. MECHANISM may also be a
    symmetric matrix of anybody's (.mtx) or a METIS graph (.graph).
    """
    is_matrix = source.name.lower().endswith(PATTERN_SUFFIXES)
    if is_matrix and (source.parameters or factorization != "auto"):
        option = "-p" if source.parameters else "--factorization"
        raise click.UsageError(f"{option} is for mechanisms, but {source.name} is a matrix")
    if blocks is not None and not is_matrix:
        raise click.UsageError(f"--blocks is for a matrix (.mtx), but {source.name} is a mechanism")
    check_pictures((spy,), overwrite)
    if save_order is not None:
        check_new(save_order, overwrite)
    read = _read_orders(order_file, positions)
    foreign = _compared_matrix(source.name, blocks, names, read) if is_matrix else None
    if foreign is None:
        comparison = _compared_mechanism(source, names, factorization, read)
    else:
        comparison = foreign.comparison
    best = next(line.name for line in comparison.lines if line.name in comparison.orders)
    if save_order is not None:
        from sparsebody.sparse.matrix_files import write_order

        write_order(comparison.orders[best] if foreign is None else foreign.order(best), save_order)
    if spy is not None:
        _draw(comparison, best, source.name, spy)
    if as_json:
        print_json([line.to_dict() for line in comparison.lines])
        return
    print_orderings(comparison.lines)
    if foreign is not None:
        click.echo(f"{source.name}: {foreign.description}")
    else:
        click.echo(f"chosen by auto: {comparison.automatic}")
    for name, one in read.items():
        click.echo(f"{name}: {one}")
    for target in filter(None, (save_order, spy)):
        click.echo(str(target))


def _read_orders(files: tuple[Path, ...], positions: bool) -> dict[str, FoundOrder]:
    """Return the orders by the names of their files, by paths where names are the same."""
    from sparsebody.sparse.matrix_files import read_order

    listed, names = "positions" if positions else "auto", [file.name for file in files]
    return {
        file.name if names.count(file.name) == 1 else str(file): read_order(file, listed)
        for file in files
    }


def _compared_mechanism(
    source: Source, names: tuple[str, ...], factorization: str, read: dict[str, FoundOrder]
) -> OrderingComparison:
    from sparsebody.analysis.order_comparison import compare_orderings, judge_order_of_mechanism

    comparison = compare_orderings(source.load(), names, factorization)
    for name, one in read.items():
        comparison = judge_order_of_mechanism(comparison, one.order, name)
    return comparison


def _compared_matrix(
    file: str, blocks: Path | None, names: tuple[str, ...], read: dict[str, FoundOrder]
) -> ForeignComparison:
    from sparsebody.analysis.order_comparison import compare_pattern
    from sparsebody.sparse.matrix_files import read_pattern

    comparison = compare_pattern(read_pattern(file, blocks), names)
    for name, one in read.items():
        comparison = comparison.judged(one.order, name)
    return comparison


def _draw(comparison: OrderingComparison, best: str, title: str, target: Path) -> None:
    from sparsebody.plots.spy import plot_spy
    from sparsebody.plots.style import save_figure
    from sparsebody.sparse.pattern import BlockPattern

    if not isinstance(comparison.pattern, BlockPattern):
        raise click.UsageError(
            f"--spy draws matrices of bodies and joints, but {title} is none; give --blocks that "
            "tell them"
        )
    save_figure(plot_spy(comparison.pattern, comparison.orders[best], best, title), target)


# ---- algorithms as orders of one matrix -------------------------------------------------------


@click.command()
@source_argument()
@names_option("--algorithm", "Run this one; may be repeated.  [default: all]")
@click.option("--eps", multiple=True, type=float, help="Of [D A'; A -eps]; may be repeated.")
@sizes_option("bodies", "64,256,1024", "Fit the growth of the flops over these numbers of bodies.")
@file_option("--spy", "Picture (.png, .svg, .pdf) of the matrix in every order.")
@file_option("--growth", "Picture of the flops over the sizes.")
@flag("--overwrite", help="Replace existing pictures.")
@json_option
def algorithms(
    source: Source,
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
    if sizes is not None and source.is_file:
        raise click.UsageError(f"--sizes is for gallery mechanisms, but {source.name} is a file")
    check_pictures((spy, growth), overwrite)
    from sparsebody.analysis.algorithm_comparison import EPS, compare_algorithms
    from sparsebody.certificates.certifying import algorithm_growth, growing_family
    from sparsebody.plots.curves import plot_growth
    from sparsebody.plots.spy import plot_orders
    from sparsebody.plots.style import save_figure

    mechanism = source.load()
    family = None if sizes is None else growing_family(source.name, source.parameters)
    comparison = compare_algorithms(mechanism, names, eps=eps or EPS)
    grown = () if family is None else algorithm_growth(family, sizes or (), names)
    if spy is not None:
        save_figure(plot_orders(comparison.pattern, comparison.orders, source.name), spy)
    if growth is not None:
        save_figure(plot_growth([one.line for one in grown], "flops", source.name), growth)
    if as_json:
        lines, growths = ([one.to_dict() for one in many] for many in (comparison.lines, grown))
        print_json({"algorithms": lines, "growth": growths})
        return
    _print_algorithms(comparison)
    if grown:
        header = [f"{n:.0f} bodies" for n in grown[0].n_bodies]
        rows = [
            (one.name, *(f"{flops:.3g}" for flops in one.flops), str(one.fit or "-"))
            for one in grown
        ]
        click.echo()
        print_table(("algorithm", *header, "flops grow as"), rows)
    for picture in filter(None, (spy, growth)):
        click.echo(str(picture))


def _print_algorithms(comparison: AlgorithmComparison) -> None:
    eps = [f"eps {value:g}" for value in comparison.lines[0].errors]
    header = ("algorithm", "flops", "counted", "nnz(L)", "front", "time", *eps)
    rows = [
        (
            line.name,
            f"{line.metrics.flops:.3g}",
            number(line.counted_flops),
            f"{line.metrics.nnz_l}",
            f"{line.metrics.largest_front}",
            seconds(line.seconds),
            *(number(error, ".0e") for error in line.errors.values()),
        )
        for line in comparison.lines
    ]
    print_table(header, rows)
    click.echo("below eps: errors of the accelerations, relative; - for a zero pivot or not run\n")
    print_facts({line.name: f"{line.summary}; {line.source}" for line in comparison.lines})


# ---- bases of the loops -----------------------------------------------------------------------


@click.command("loop-bases")
@source_argument()
@names_option("--basis", "Compare this one; may be repeated.  [default: all]")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of random trees.")
@json_option
def loop_bases(source: Source, names: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Compare bases of the loops of MECHANISM by the nonzeros of loop closure, K qd = 0.

    The minimum cycle basis, faces, and what joints close with spanning trees. Every loop has six
    rows of K, on the velocities of its joints; H is the joint-space inertia of the tree.
    """
    from sparsebody.analysis.cycle_bases import compare_loop_bases

    comparison = compare_loop_bases(source.load(), names, seed=seed)
    if as_json:
        lines = [line.to_dict() for line in comparison.lines]
        print_json({"loops": comparison.dimension, "planar": comparison.is_planar, "bases": lines})
        return
    columns = ("joints", "longest", "nnz_k", "nnz_coupling", "nnz_product", "nnz_h", "nnz_tree_k")
    rows = []
    for line in comparison.lines:
        counts = [getattr(line, column) for column in columns]
        rows.append((line.name, *("-" if n is None else f"{n}" for n in counts)))
    faces = "; no faces, for the graph is not planar" if comparison.is_planar is False else ""
    click.echo(f"{comparison.dimension} loops{faces}; nonzeros of")
    header = ("joints", "longest", "K", "K W K'", "K H^-1 K'", "H", "K of the tree")
    print_table(("basis", *header), rows)
