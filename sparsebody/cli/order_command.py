"""sparsebody order: the elimination orders of a mechanism or a matrix, and what each would cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsebody.cli.arguments import (
    PATH,
    check_picture,
    json_option,
    load,
    names_option,
    new_file,
    parameter_option,
)
from sparsebody.cli.output import print_json, print_orderings

if TYPE_CHECKING:
    from sparsebody.analysis.order_comparison import ForeignComparison, OrderingComparison
    from sparsebody.arrays import IntArray
    from sparsebody.sparse.matrix_files import FoundOrder

PATTERN_SUFFIXES = (".mtx", ".mtx.gz", ".graph")


@click.command()
@click.argument("mechanism")
@parameter_option
@names_option(
    "--ordering",
    "Compare this one; may be repeated.  [default: all that do not take too long]",
)
@click.option(
    "--factorization",
    default="auto",
    metavar="NAME",
    help="What the time is predicted for.  [default: the quickest of each]",
)
@click.option(
    "--blocks",
    type=PATH,
    help="Block structure of a matrix (.json of the corpus, or sizes).  [default: single rows]",
)
@click.option(
    "--order-file",
    "order_files",
    multiple=True,
    type=PATH,
    help="Judge this order of blocks or rows too (text, .mtx, .iperm); may be repeated.",
)
@click.option("--positions", is_flag=True, help="Order files list positions, not the order.")
@click.option(
    "--save-order",
    type=PATH,
    help="File for the best order of blocks (text from 0, .mtx from 1, .iperm).",
)
@click.option(
    "--spy",
    type=PATH,
    help="Picture (.png, .svg, .pdf) of the matrix before and after the best of them.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing picture or order.")
@json_option
def order(
    mechanism: str,
    parameters: tuple[tuple[str, str], ...],
    names: tuple[str, ...],
    factorization: str,
    blocks: Path | None,
    order_files: tuple[Path, ...],
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
    is_matrix = mechanism.lower().endswith(PATTERN_SUFFIXES)
    _check_options(mechanism, is_matrix, parameters, factorization, blocks)
    if spy is not None:
        check_picture(spy, overwrite)
    if save_order is not None:
        new_file(save_order, overwrite)
    given = _read_orders(order_files, positions)
    if is_matrix:
        foreign = _compared_matrix(mechanism, blocks, names, given)
        comparison = foreign.comparison
    else:
        foreign = None
        comparison = _compared_mechanism(mechanism, parameters, names, factorization, given)
    best = next(line.name for line in comparison.lines if line.name in comparison.orders)
    if save_order is not None:
        from sparsebody.sparse.matrix_files import write_order

        write_order(comparison.orders[best] if foreign is None else foreign.order(best), save_order)
    if spy is not None:
        _draw(comparison, best, mechanism, spy)
    if as_json:
        print_json([line.to_dict() for line in comparison.lines])
        return
    print_orderings(comparison.lines)
    if foreign is not None:
        click.echo(f"{mechanism}: {foreign.description}")
    else:
        click.echo(f"chosen by auto: {comparison.automatic}")
    for name, one in given.items():
        click.echo(f"{name}: {one}")
    for target in filter(None, (save_order, spy)):
        click.echo(str(target))


def _check_options(
    mechanism: str,
    is_matrix: bool,
    parameters: tuple[tuple[str, str], ...],
    factorization: str,
    blocks: Path | None,
) -> None:
    """Raise UsageError for options that do not go with what is compared."""
    if is_matrix and (parameters or factorization != "auto"):
        option = "-p" if parameters else "--factorization"
        raise click.UsageError(f"{option} is for mechanisms, but {mechanism} is a matrix")
    if blocks is not None and not is_matrix:
        raise click.UsageError(f"--blocks is for a matrix (.mtx), but {mechanism} is a mechanism")


def _read_orders(files: tuple[Path, ...], positions: bool) -> dict[str, FoundOrder]:
    """Return the orders by the names of their files, by paths where names are the same."""
    from sparsebody.sparse.matrix_files import read_order

    listed, names = "positions" if positions else "auto", [file.name for file in files]
    return {
        file.name if names.count(file.name) == 1 else str(file): read_order(file, listed)
        for file in files
    }


def _compared_mechanism(
    mechanism: str,
    parameters: tuple[tuple[str, str], ...],
    names: tuple[str, ...],
    factorization: str,
    given: dict[str, FoundOrder],
) -> OrderingComparison:
    from sparsebody.analysis.order_comparison import compare_orderings, judge_order_of_mechanism

    comparison = compare_orderings(load(mechanism, parameters), names, factorization)
    for name, one in given.items():
        comparison = judge_order_of_mechanism(comparison, one.order, name)
    return comparison


def _compared_matrix(
    file: str, blocks: Path | None, names: tuple[str, ...], given: dict[str, FoundOrder]
) -> ForeignComparison:
    from sparsebody.analysis.order_comparison import compare_pattern
    from sparsebody.sparse.matrix_files import read_pattern

    comparison = compare_pattern(read_pattern(file, blocks), names)
    for name, one in given.items():
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
    order: IntArray = comparison.orders[best]
    save_figure(plot_spy(comparison.pattern, order, best, title), target)
