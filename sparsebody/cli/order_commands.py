"""sparsebody order, algorithms, loop-bases: what orders, algorithms and bases of loops cost."""

from pathlib import Path
from typing import Any

import click

import sparsebody as sb
from sparsebody import analysis, plots
from sparsebody.cli import arguments as arg
from sparsebody.cli import output as out

PATTERN_SUFFIXES = (".mtx", ".mtx.gz", ".graph")


@click.command()
@arg.source_argument(suffixes=(*arg.FILE_SUFFIXES, *PATTERN_SUFFIXES))
@arg.names_option(
    "--ordering",
    ("ordering", "ORDERINGS"),
    text="Compare this one; may be repeated.  [default: all that are quick]",
)
@arg.name_option(
    "--factorization",
    ("factorization", "FACTORIZATIONS"),
    default="auto",
    help="Of predicted times; auto: the least.",
)
@arg.file_option(
    "--blocks", help="Blocks of a matrix (.json of the corpus, or sizes).  [default: rows]"
)
@arg.file_option(
    "--order-file",
    "order_files",
    multiple=True,
    help="Judge this order of blocks or rows too (text, .mtx, .iperm); may be repeated.",
)
@arg.flag("--positions", help="Order files list positions, not the order.")
@arg.new_file_option(
    "--save-order", help="File for the best order (text from 0, .mtx from 1, .iperm)."
)
@arg.picture_option("spy", "of the matrix before and after the best of them.")
@arg.overwrite_option
@arg.json_option
def order(
    source: arg.Source,
    names: tuple[str, ...],
    factorization: str,
    blocks: Path | None,
    order_files: tuple[Path, ...],
    positions: bool,
    save_order: Path | None,
    spy: Path | None,
) -> None:
    """Compare elimination orders of MECHANISM: operations, fill-in, bands, trees, fronts.

    The one with the fewest operations comes first; nothing is factorized. MECHANISM may also be a
    symmetric matrix from elsewhere (.mtx) or a METIS graph (.graph).
    """
    is_matrix = source.name.lower().endswith(PATTERN_SUFFIXES)
    if is_matrix and (source.parameters or factorization != "auto"):
        option = "-p" if source.parameters else "--factorization"
        raise click.UsageError(f"{option} is for mechanisms, but {source.name} is a matrix")
    if blocks is not None and not is_matrix:
        raise click.UsageError(f"--blocks is for a matrix (.mtx), but {source.name} is a mechanism")
    content, files = "positions" if positions else "auto", [file.name for file in order_files]
    read = {  # by the names of their files, by paths where names are the same
        file.name if files.count(file.name) == 1 else str(file): sb.read_order(file, content)
        for file in order_files
    }
    if is_matrix:
        foreign = analysis.compare_pattern(sb.read_pattern(source.name, blocks), names)
        for name, one in read.items():
            foreign = foreign.judged(one.order, name)
        comparison, summary = foreign.comparison, f"{source.name}: {foreign.description}"
    else:
        comparison = analysis.compare_orderings(source.load(), names, factorization)
        for name, one in read.items():
            comparison = comparison.judged(one.order, name)
        summary = f"chosen by auto: {comparison.automatic}"
    best = next(line.name for line in comparison.lines if line.name in comparison.orders)
    best_order = comparison.orders[best]
    if save_order is not None:
        sb.write_order(foreign.order(best) if is_matrix else best_order, save_order)
    if spy is not None:
        if not isinstance(comparison.pattern, sb.BlockPattern):
            raise click.UsageError(
                f"--spy draws matrices of bodies and joints, but {source.name} has neither; give "
                "--blocks that tell them"
            )
        figure = plots.plot_spy(comparison.pattern, best_order, best, source.name)
        plots.save_figure(figure, spy)
    if arg.is_given("json"):
        out.print_json([line.to_dict() for line in comparison.lines])
        return
    out.print_orderings(comparison.lines)
    click.echo(summary)
    for name, one in read.items():
        click.echo(f"{name}: {one}")
    out.echo_paths(save_order, spy)


# ---- algorithms as orders of one matrix -------------------------------------------------------


@click.command()
@arg.source_argument()
@arg.names_option(
    "--algorithm",
    ("ordering", "ALGORITHMS"),
    text="Run this one; may be repeated.  [default: all]",
)
@click.option("--eps", multiple=True, type=float, help="Of [D A'; A -eps]; may be repeated.")
@arg.sizes_option(
    "bodies", "64,256,1024", "Fit the growth of the flops over these numbers of bodies."
)
@arg.picture_option("spy", "of the matrix in every order.")
@arg.picture_option("growth", "of the flops over the sizes.")
@arg.overwrite_option
@arg.json_option
def algorithms(
    source: arg.Source,
    names: tuple[str, ...],
    eps: tuple[float, ...],
    sizes: tuple[int, ...] | None,
    spy: Path | None,
    growth: Path | None,
) -> None:
    """Run penalty, Delassus, Baraff, articulated bodies, and others as orders of one matrix.

    For MECHANISM: predicted and counted flops, time, and errors of the accelerations by eps.
    """
    if growth is not None and sizes is None:
        raise click.UsageError("--growth needs --sizes, such as --sizes 64,256,1024")
    if sizes is not None and source.is_file:
        raise click.UsageError(f"--sizes is for gallery mechanisms, but {source.name} is a file")
    from sparsebody.analysis.order_comparison import EPS
    from sparsebody.certificates.certificate import algorithm_growth, growing_family

    mechanism = source.load()
    family = None if sizes is None else growing_family(source.name, source.parameters)
    comparison = sb.compare_algorithms(mechanism, names, eps=eps or EPS)
    grown = () if family is None else algorithm_growth(family, sizes or (), names)
    if spy is not None:
        plots.save_figure(
            plots.plot_orders(comparison.pattern, comparison.orders, source.name), spy
        )
    if growth is not None:
        lines = [one.line for one in grown]
        plots.save_figure(plots.plot_growth(lines, "flops", source.name), growth)
    if arg.is_given("json"):
        compared: dict[str, Any] = {"algorithms": comparison.lines, "growth": grown}
        out.print_json({key: [one.to_dict() for one in many] for key, many in compared.items()})
        return

    def error(eps: float) -> out.Column:
        return lambda line: out.number(line.errors[eps], ".0e")

    columns: dict[str, out.Column] = {
        "algorithm": "{.name}",
        "flops": "{.metrics.flops:.3g}",
        "counted": lambda line: out.number(line.counted_flops),
        "nnz(L)": "{.metrics.nnz_l}",
        "front": "{.metrics.largest_front}",
        "time": lambda line: out.seconds(line.seconds),
    }
    columns |= {f"eps {value:g}": error(value) for value in comparison.lines[0].errors}
    out.print_columns(columns, comparison.lines)
    click.echo("below eps: errors of the accelerations, relative; - for a zero pivot or not run\n")
    out.print_facts({line.name: f"{line.summary}; {line.source}" for line in comparison.lines})
    if grown:
        header = [f"{n:.0f} bodies" for n in grown[0].n_bodies]
        rows = [
            (one.name, *(f"{flops:.3g}" for flops in one.flops), str(one.fit or "-"))
            for one in grown
        ]
        click.echo()
        out.print_table(("algorithm", *header, "flops grow as"), rows)
    out.echo_paths(spy, growth)


# ---- bases of the loops -----------------------------------------------------------------------


@click.command("loop-bases")
@arg.source_argument()
@arg.names_option("--basis", text="Compare this one; may be repeated.  [default: all]")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of random trees.")
@arg.json_option
def loop_bases(source: arg.Source, names: tuple[str, ...], seed: int) -> None:
    """Compare bases of the loops of MECHANISM by the nonzeros of loop closure, K qd = 0.

    The minimum cycle basis, faces, and what joints close with spanning trees. Every loop has six
    rows of K, on the velocities of its joints; H is the joint-space inertia of the tree.
    """
    comparison = sb.compare_loop_bases(source.load(), names, seed=seed)
    if arg.is_given("json"):
        lines = [line.to_dict() for line in comparison.lines]
        out.print_json(
            {"loops": comparison.dimension, "planar": comparison.is_planar, "bases": lines}
        )
        return
    columns = ("joints", "longest", "nnz_k", "nnz_coupling", "nnz_product", "nnz_h", "nnz_tree_k")
    counts = {line.name: [getattr(line, column) for column in columns] for line in comparison.lines}
    rows = [(name, *("-" if n is None else f"{n}" for n in row)) for name, row in counts.items()]
    faces = "; no faces, for the graph is not planar" if comparison.is_planar is False else ""
    click.echo(f"{comparison.dimension} loops{faces}; nonzeros of")
    header = ("joints", "longest", "K", "K W K'", "K H^-1 K'", "H", "K of the tree")
    out.print_table(("basis", *header), rows)
