"""sparsebody certify, classical: how work grows, in one order of a family and by algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsebody import plots
from sparsebody.cli import arguments as arg
from sparsebody.cli import output as out

if TYPE_CHECKING:
    from sparsebody.classical.costs import Comparison, Cost, Counts


@click.command()
@arg.source_argument("family")
@click.option(
    "--method",
    type=click.Choice(("sparse", "loops-aba", "crba")),
    default="sparse",
    help="The whole graph; the recursion with loops on a tree; nonzeros of H on every tree.",
)
@arg.name_option("--ordering", ("ordering", "ORDERINGS"), help="Of method sparse.  [default: auto]")
@arg.name_option(
    "--tree",
    ("tree.tree_choice", "TREE_CHOICES"),
    more=(),
    help="Of method loops-aba.  [default: minimum-fronts]",
)
@click.option("--largest", type=click.IntRange(1), help="Bodies of the largest member.")
@arg.flag("--time", help="Measure the accelerations, too.")
@arg.json_option
def certify(
    source: arg.Source,
    method: str,
    ordering: str | None,
    tree: str | None,
    largest: int | None,
    time: bool,
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
    for option, value, methods in (
        ("--ordering", ordering, ["sparse"]),
        ("--tree", tree, ["loops-aba"]),
        ("--time", time or None, ["sparse", "loops-aba"]),
    ):
        if value is not None and method not in methods:
            suited = f"method{'s' * (len(methods) > 1)} {' and '.join(methods)}"
            raise click.UsageError(f"{option} is for {suited}, not for {method}")
    if source.is_file:
        name = source.name
        raise click.UsageError(f"{name} is one mechanism; give a family of `sparsebody gallery`")
    from sparsebody import certificates
    from sparsebody.study.families import Family

    family = Family(source.name, source.name, source.parameters)
    options: dict[str, Any] = {"ordering": ordering or "auto", "tree": tree or "minimum-fronts"}
    with out.reports() as report:
        size: dict[str, Any] = {"largest": largest, "report": report}
        certificate = (
            certificates.certify_inertia(family, **size)
            if method == "crba"
            else certificates.certify(family, method=method, time=time, **options, **size)
        )
    if arg.is_given("json"):
        out.print_json(certificate.to_dict())
        return
    click.echo("\n".join(certificate.lines()) + "\n")
    out.print_table(*certificate.table())


# ---- algorithms of the literature -------------------------------------------------------------


@click.command()
@click.option("--algorithms", metavar="NAME,...", help="Only these; an unknown name lists them.")
@arg.sizes_option("joints", "4,8,16", "Joints to measure.  [default: doubled from 4 on]")
@click.option("--geometry", default="general", help="Of the arm: general, right-angled or planar.")
@arg.flag("--counts", "wants_counts", help="Operation counts only.")
@arg.flag("--times", "wants_times", help="Times only.")
@arg.picture_option("figure", "of operations and times over the joints.")
@arg.overwrite_option
@arg.quiet_option
@arg.json_option
def classical(
    algorithms: str | None,
    sizes: tuple[int, ...] | None,
    geometry: str,
    wants_counts: bool,
    wants_times: bool,
    figure: Path | None,
) -> None:
    """Compare algorithms from Uicker and Kahn to Balafoutis, Patel and Misra on serial arms.

    Operations are counted by running each algorithm on numbers that count them, and are shown as
    exact polynomials in the number of joints, beside the published ones; times are measured.
    """
    from sparsebody.classical import ALGORITHMS, algorithm, costs
    from sparsebody.errors import check_name

    check_name(geometry, costs.GEOMETRIES, "geometry")
    names = list(ALGORITHMS) if algorithms is None else algorithms.split(",")
    chosen = [algorithm(name) for name in dict.fromkeys(map(str.strip, names))]
    shows_counts, shows_times = wants_counts or not wants_times, wants_times or not wants_counts
    operations: dict[str, Counts] = {}
    measured: list[Cost] = []
    with out.progress_bar(len(chosen)) as advance:
        for done, one in enumerate(chosen):
            advance(f"{one.name}: operations", done)
            operations[one.name] = costs.counted(one, geometry)
            if shows_times or figure is not None:  # times and figures are of general arms
                is_general = geometry == "general"
                general = operations[one.name] if is_general else costs.counted(one)
                advance(f"{one.name}: times", done)
                measured.append(costs.measured(one, general, sizes or ()))
        advance("", len(chosen))
    products = costs.transform_products(geometry)
    published: list[Comparison] = []
    if shows_counts:
        published = costs.comparisons(operations, all_published=algorithms is None)
    if figure is not None:
        plots.save_figure(plots.plot_costs(costs.cost_panels(measured)), figure)
    if arg.is_given("json"):
        out.print_json(
            {
                "geometry": geometry,
                "transform_products": products,
                "counts": [one.to_dict() for one in operations.values() if shows_counts],
                "published": [one.to_dict() for one in published],
                "costs": [one.to_dict() for one in measured],
            }
        )
        return
    if shows_counts:
        _print_counts(operations, geometry, products)
    if published:
        _print_comparisons(published, geometry)
    if shows_times:
        _print_costs(measured)
    out.echo_paths(figure)


def _print_counts(counts: dict[str, Counts], geometry: str, products: dict[str, int]) -> None:
    smallest = max(count.smallest for count in counts.values())
    click.echo(f"operations for n revolute joints, {geometry} arm; n >= {smallest}")
    listed = ", ".join(f"{what} {n}" for what, n in products.items())
    click.echo(f"not counted are cosines, sines and the products of them at n = 6: {listed}")
    rows = []
    for name, count in counts.items():
        every, needed = (count.polynomials(every_operation=x) for x in (True, False))
        rows.append((name, "x", str(every[0]), str(needed[0])))
        rows.append(("", "+", str(every[1]), str(needed[1])))
    header = ("algorithm", " ", "all", "without those by constants 0 and 1")
    out.print_table(header, rows, folded="all")


def _print_comparisons(comparisons: Sequence[Comparison], geometry: str) -> None:
    click.echo(
        f"\nat n = 6, multiplications and additions; counted on the {geometry} arm; ratio to what "
        "is printed or, where nothing is, to the formula"
    )
    columns: dict[str, out.Column] = {
        "published as": "{.published.label}",
        "counted": lambda one: _pair(one.counted),
        "0 and 1": lambda one: (
            "-" if not one.counts else "counted" if one.published.every_operation else "left out"
        ),
        "formula": lambda one: _pair(one.formula),
        "printed": lambda one: _pair(one.published.printed),
        "ratio": lambda one: " ".join(f"{x:.2f}" for x in one.ratio or ()) or "-",
    }
    out.print_columns(columns, comparisons)
    click.echo()
    if geometry != "general":
        click.echo("What is published, and the figures below, are for arms in general position.")
    for one in comparisons:
        click.echo(f"{one.published.label}: {one.published.remark}")


def _pair(pair: Sequence[int | None] | None) -> str:
    return " ".join("-" if x is None else str(x) for x in pair or (None, None))


def _print_costs(costs: Sequence[Cost]) -> None:
    compiled = (
        "and compiled, without what any call from Python costs"
        if any(cost.compiled for cost in costs)
        else "(compiled, too, with pip install 'sparsebody[classical]')"
    )
    click.echo(f"\nCPU time on general arms, the least of many, in plain Python\n{compiled}")
    click.echo("powers of n fitted to the three largest sizes")
    rows = [
        (
            cost.algorithm,
            *(out.number(x, ".2f") for x in cost.exponents.values()),
            *(_time(times, end) for times in (cost.python, cost.compiled) for end in (min, max)),
        )
        for cost in costs
    ]
    header = ("algorithm", "ops n^", "compiled n^", "Python n^", "Python (n)", "at most")
    out.print_table((*header, "compiled (n)", "at most"), rows)


def _time(times: dict[int, float], choose: Callable[[Iterable[int]], int]) -> str:
    """Return the time at the least or the largest number of joints."""
    return f"{out.seconds(times[n := choose(times)])} ({n})" if times else "-"
