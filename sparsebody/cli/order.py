"""sparsebody order: the elimination orders of a mechanism, and what each would cost."""

from __future__ import annotations

from pathlib import Path

import click

from sparsebody.cli.arguments import check_picture, json_option, load, parameter_option
from sparsebody.cli.orderings import print_orderings
from sparsebody.cli.output import print_json


@click.command()
@click.argument("mechanism")
@parameter_option
@click.option(
    "--ordering",
    "names",
    multiple=True,
    metavar="NAME",
    help="Compare this one; may be repeated.  [default: all that do not take too long]",
)
@click.option(
    "--factorization",
    default="auto",
    metavar="NAME",
    help="What the time is predicted for.  [default: the quickest of each]",
)
@click.option(
    "--spy",
    type=click.Path(path_type=Path),
    help="Picture (.png, .svg, .pdf) of the matrix before and after the best of them.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing picture.")
@json_option
def order(
    mechanism: str,
    parameters: tuple[tuple[str, str], ...],
    names: tuple[str, ...],
    factorization: str,
    spy: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Compare elimination orders of MECHANISM: operations, fill-in, bands, trees, fronts.

    The one with the fewest operations comes first; nothing is factorized.
    """
    if spy is not None:
        check_picture(spy, overwrite)
    from sparsebody.analysis.orderings import compare_orderings

    found = compare_orderings(load(mechanism, parameters), names, factorization)
    if spy is not None:
        from sparsebody.plots.saving import save_figure
        from sparsebody.plots.spy import plot_spy

        best = found.lines[0].name
        save_figure(plot_spy(found.pattern, found.orders[best], best, mechanism), spy)
    if as_json:
        print_json([line.to_dict() for line in found.lines])
        return
    print_orderings(found.lines)
    click.echo(f"chosen by auto: {found.automatic}")
    if spy is not None:
        click.echo(str(spy))
