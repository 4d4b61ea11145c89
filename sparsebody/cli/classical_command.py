"""sparsebody classical: the algorithms of the literature, their operations and times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsebody.cli.arguments import PATH, Sizes, check_picture, json_option
from sparsebody.cli.output import Moved, print_json, print_table, progress_bar, seconds

if TYPE_CHECKING:
    from sparsebody.classical.algorithms import Algorithm
    from sparsebody.classical.costs import Cost
    from sparsebody.classical.counts import Counts
    from sparsebody.classical.literature import Comparison


@click.command()
@click.option(
    "--algorithms",
    "names",
    metavar="NAME,...",
    help="Only these.  [default: all. An unknown name lists them]",
)
@click.option(
    "--sizes",
    type=Sizes("joints", "4,8,16"),
    default=(),
    help="Joints to measure.  [default: doubled from 4 on]",
)
@click.option(
    "--geometry",
    default="general",
    show_default=True,
    metavar="NAME",
    help="Arm to count on: general, right-angled or planar.",
)
@click.option("--counts", "wants_counts", is_flag=True, help="Operation counts only.")
@click.option("--times", "wants_times", is_flag=True, help="Times only.")
@click.option(
    "--figure",
    type=PATH,
    help="Picture (.png, .svg, .pdf) of operations and times over the number of joints.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing picture.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@json_option
def classical(
    names: str | None,
    sizes: tuple[int, ...],
    geometry: str,
    wants_counts: bool,
    wants_times: bool,
    figure: Path | None,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare algorithms from Uicker and Kahn to Balafoutis, Patel and Misra on serial arms.

    Operations are counted by running each algorithm on numbers that count, put as exact polynomials
    in the number of joints, and shown beside the published ones; times are measured.
    """
    from sparsebody.classical import ALGORITHMS, algorithm
    from sparsebody.classical.counts import check_geometry, transform_products
    from sparsebody.classical.literature import comparisons

    check_geometry(geometry)
    listed = list(ALGORITHMS) if names is None else [name.strip() for name in names.split(",")]
    chosen = [algorithm(name) for name in dict.fromkeys(listed)]
    shows_counts, shows_times = wants_counts or not wants_times, wants_times or not wants_counts
    if figure is not None:
        check_picture(figure, overwrite)
    is_timed = shows_times or figure is not None
    with nullcontext() if quiet or as_json else progress_bar(len(chosen)) as moved:
        counts, costs = _studied(
            chosen, geometry, sizes, is_timed, moved or (lambda at, done: None)
        )
    beside = comparisons(counts, all_published=names is None) if shows_counts else []
    if figure is not None:
        _draw(costs, figure)
    if as_json:
        print_json(
            {
                "geometry": geometry,
                "transform_products": transform_products(geometry),
                "counts": [one.to_dict() for one in counts.values() if shows_counts],
                "published": [one.to_dict() for one in beside],
                "costs": [one.to_dict() for one in costs],
            }
        )
        return
    if shows_counts:
        _print_counts(counts, geometry)
        _print_comparisons(beside, geometry)
    if shows_times:
        _print_costs(costs)
    if figure is not None:
        click.echo(str(figure))


def _studied(
    chosen: Sequence[Algorithm],
    geometry: str,
    sizes: tuple[int, ...],
    is_timed: bool,
    moved: Moved,
) -> tuple[dict[str, Counts], list[Cost]]:
    """Return counts on arms of the geometry and, on general ones, costs."""
    from sparsebody.classical.costs import measured
    from sparsebody.classical.counts import counted

    counts: dict[str, Counts] = {}
    costs: list[Cost] = []
    for done, one in enumerate(chosen):
        moved(f"{one.name}: operations", done)
        operations = counts[one.name] = counted(one, geometry)
        if is_timed:
            general = operations if geometry == "general" else counted(one)
            moved(f"{one.name}: times", done)
            costs.append(measured(one, general, sizes))
    moved("", len(chosen))
    return counts, costs


def _print_counts(counts: dict[str, Counts], geometry: str) -> None:
    from sparsebody.classical.counts import transform_products

    smallest = max(count.smallest for count in counts.values())
    click.echo(f"operations for n hinges, {geometry} arm; n >= {smallest}")
    products = ", ".join(f"{what} {n}" for what, n in transform_products(geometry).items())
    click.echo(f"not counted are cosines, sines and the products of them at n = 6: {products}")
    rows = []
    for name, count in counts.items():
        every, needed = (count.polynomials(every_operation=x) for x in (True, False))
        rows.append((name, "x", str(every[0]), str(needed[0])))
        rows.append(("", "+", str(every[1]), str(needed[1])))
    header = ("algorithm", " ", "every one", "but those by known 0 and 1")
    print_table(header, rows, folded="every one")


def _print_comparisons(rows: Sequence[Comparison], geometry: str) -> None:
    if not rows:
        return
    click.echo(
        f"\nat n = 6, multiplications and additions; counted on the {geometry} arm; ratio to what "
        "is printed or, where nothing is, to the formula"
    )
    print_table(
        ("published as", "counted", "0 and 1", "formula", "printed", "ratio"),
        [
            (
                row.published.label,
                _pair(row.counted),
                _zeros_and_ones(row),
                _pair(row.formula),
                _pair(row.published.printed),
                "-" if row.ratio is None else " ".join(f"{x:.2f}" for x in row.ratio),
            )
            for row in rows
        ],
    )
    click.echo()
    if geometry != "general":
        click.echo("What is published, and the figures below, are for arms in general position.")
    for row in rows:
        click.echo(f"{row.published.label}: {row.published.remark}")


def _zeros_and_ones(row: Comparison) -> str:
    if row.counts is None:
        return "-"
    return "counted" if row.published.every_operation else "left out"


def _pair(pair: Sequence[int | None] | None) -> str:
    return " ".join("-" if x is None else str(x) for x in pair or (None, None))


def _print_costs(costs: Sequence[Cost]) -> None:
    click.echo("\nCPU time on general arms, the least of many, in plain Python")
    if any(cost.compiled for cost in costs):
        click.echo("and compiled, without what any call from Python takes")
    else:
        click.echo("(compiled, too, with pip install 'sparsebody[classical]')")
    click.echo("powers of n fitted to the three largest sizes")
    rows = [
        (
            cost.algorithm,
            *("-" if isnan(x) else f"{x:.2f}" for x in cost.exponents.values()),
            *(_time(cost.python, min), _time(cost.python, max)),
            *(_time(cost.compiled, min), _time(cost.compiled, max)),
        )
        for cost in costs
    ]
    header = ("algorithm", "ops n^", "compiled n^", "Python n^", "Python (n)", "at most")
    print_table((*header, "compiled (n)", "at most"), rows)


def _time(times: dict[int, float], choose: Callable[[Iterable[int]], int]) -> str:
    """Return the time at the least or the largest number of joints."""
    if not times:
        return "-"
    n = choose(times)
    return f"{seconds(times[n])} ({n})"


def _draw(costs: Sequence[Cost], figure: Path) -> None:
    from sparsebody.classical.costs import cost_panels
    from sparsebody.plots.curves import plot_costs
    from sparsebody.plots.style import save_figure

    save_figure(plot_costs(cost_panels(costs)), figure)
