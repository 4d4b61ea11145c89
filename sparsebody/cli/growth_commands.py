"""sparsebody certify, classical: how work grows, in one order of a family and by algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsebody.cli.arguments import (
    Source,
    check_pictures,
    file_option,
    flag,
    json_option,
    quiet_option,
    sizes_option,
    source_argument,
)
from sparsebody.cli.output import Moved, number, print_json, print_table, progress_bar, seconds

if TYPE_CHECKING:
    from sparsebody.certificates.certificate import Certificate, InertiaCertificate
    from sparsebody.classical.algorithms import Algorithm
    from sparsebody.classical.costs import Cost
    from sparsebody.classical.counts import Counts
    from sparsebody.classical.literature import Comparison

METHODS = ("sparse", "loops-aba", "crba")


@click.command()
@source_argument("family")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="sparse",
    help="The whole graph; the recursion with loops on a tree; nonzeros of H on every tree.",
)
@click.option("--ordering", metavar="NAME", help="Of method sparse.  [default: auto]")
@click.option("--tree", metavar="NAME", help="Of method loops-aba.  [default: minimum-fronts]")
@click.option("--largest", type=click.IntRange(1), help="Bodies of the largest member.")
@flag("--time", help="Measure the accelerations, too.")
@json_option
def certify(
    source: Source,
    method: str,
    ordering: str | None,
    tree: str | None,
    largest: int | None,
    time: bool,
    as_json: bool,
) -> None:
    """Certify how FAMILY, a mechanism of the gallery, grows: O(n) with a proof, or what it is.

    It is built at growing sizes; size parameters that -p leaves open grow together. Where fronts
    stay bounded, that is proved from the elimination itself, for all sizes at which family and
    ordering go on alike; elsewhere exponents are fitted, and compared with bounds for every order.

    \b
      sparsebody certify ladder
      sparsebody certify lattice -p rows=4 -p layers=1
      sparsebody certify lattice -p layers=1 --ordering nested-dissection
    """  # noqa: D301 (a backspace keeps click from filling the lines)
    if ordering is not None and method != "sparse":
        raise click.UsageError(f"--ordering is for method sparse, not for {method}")
    if tree is not None and method != "loops-aba":
        raise click.UsageError(f"--tree is for method loops-aba, not for {method}")
    if time and method == "crba":
        raise click.UsageError("--time is for methods sparse and loops-aba, not for crba")
    if source.is_file:
        name = source.name
        raise click.UsageError(f"{name} is one mechanism; give a family of `sparsebody gallery`")
    from sparsebody.certificates import certifying
    from sparsebody.certificates.eliminations import gallery_family

    family = gallery_family(source.name, source.parameters)
    certificate: Certificate | InertiaCertificate
    if method == "crba":
        certificate = certifying.certify_inertia(family, largest=largest)
    else:
        options = {"ordering": ordering or "auto", "tree": tree or "minimum-fronts"}
        certificate = certifying.certify(
            family, method=method, largest=largest, time=time, **options
        )
    if as_json:
        print_json(certificate.to_dict())
        return
    click.echo("\n".join(certificate.lines()) + "\n")
    print_table(*certificate.table())


# ---- algorithms of the literature -------------------------------------------------------------


@click.command()
@click.option("--algorithms", metavar="NAME,...", help="Only these; an unknown name lists them.")
@sizes_option("joints", "4,8,16", "Joints to measure.  [default: doubled from 4 on]")
@click.option("--geometry", default="general", help="Of the arm: general, right-angled or planar.")
@flag("--counts", "wants_counts", help="Operation counts only.")
@flag("--times", "wants_times", help="Times only.")
@file_option("--figure", "Picture (.png, .svg, .pdf) of operations and times over the joints.")
@flag("--overwrite", help="Replace an existing picture.")
@quiet_option
@json_option
def classical(
    algorithms: str | None,
    sizes: tuple[int, ...] | None,
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
    listed = list(ALGORITHMS) if algorithms is None else algorithms.split(",")
    chosen = [algorithm(name) for name in dict.fromkeys(map(str.strip, listed))]
    shows_counts, shows_times = wants_counts or not wants_times, wants_times or not wants_counts
    check_pictures((figure,), overwrite)
    is_timed = shows_times or figure is not None
    with progress_bar(len(chosen), quiet or as_json) as moved:
        counts, costs = _studied(chosen, geometry, sizes or (), is_timed, moved)
    published = comparisons(counts, all_published=algorithms is None) if shows_counts else []
    if figure is not None:
        _draw(costs, figure)
    if as_json:
        document = {
            "geometry": geometry,
            "transform_products": transform_products(geometry),
            "counts": [one.to_dict() for one in counts.values() if shows_counts],
            "published": [one.to_dict() for one in published],
            "costs": [one.to_dict() for one in costs],
        }
        print_json(document)
        return
    if shows_counts:
        _print_counts(counts, geometry)
        _print_comparisons(published, geometry)
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


def _print_comparisons(comparisons: Sequence[Comparison], geometry: str) -> None:
    if not comparisons:
        return
    click.echo(
        f"\nat n = 6, multiplications and additions; counted on the {geometry} arm; ratio to what "
        "is printed or, where nothing is, to the formula"
    )
    rows = [
        (
            one.published.label,
            _pair(one.counted),
            _zeros_and_ones(one),
            _pair(one.formula),
            _pair(one.published.printed),
            "-" if one.ratio is None else " ".join(f"{x:.2f}" for x in one.ratio),
        )
        for one in comparisons
    ]
    print_table(("published as", "counted", "0 and 1", "formula", "printed", "ratio"), rows)
    click.echo()
    if geometry != "general":
        click.echo("What is published, and the figures below, are for arms in general position.")
    for one in comparisons:
        click.echo(f"{one.published.label}: {one.published.remark}")


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
            *(number(x, ".2f") for x in cost.exponents.values()),
            *(_time(times, end) for times in (cost.python, cost.compiled) for end in (min, max)),
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
