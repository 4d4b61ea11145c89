"""sparsebody study, report, corpus: measurements and matrices."""

import math
import os
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import sparsebody as sb
from sparsebody import ranks
from sparsebody.cli import arguments as arg
from sparsebody.cli import output as out


@click.command()
@click.argument("file", type=arg.PATH)
@click.option("--output", type=arg.FOLDER, help="Of rows and results.  [default: out/NAME of FILE]")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    show_default="one for each core",
    help="Cases at a time on this machine, or jobs of a batch system.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS|slurm|pbs|sge|lsf|oar",
    help="Of a Dask cluster that runs the cases, or of the batch system whose jobs do.",
)
@click.option("--time-limit", type=arg.SECONDS, help="Of a case [s], instead of the file's.")
@click.option("--memory-limit", type=click.FloatRange(0.0, min_open=True), help="Of a case [MB].")
@click.option("--format", "file_format", type=click.Choice(("csv", "parquet")), default="csv")
@click.option("--budget", type=arg.SECONDS, help="After so long, begin no case.")
@arg.flag("--retry", help="Run again what failed or exceeded a limit.")
@arg.quiet_option
@arg.json_option
def study(
    file: Path,
    output: Path | None,
    time_limit: float | None,
    memory_limit: float | None,
    file_format: str,
    budget: float | None,
    **options: Any,
) -> None:
    """Run a study FILE (.toml): families x sizes x methods x orderings x factorizations x peers.

    Each case has a process of its own, with limits of time and memory; one that exceeds them is a
    row too. A study that was interrupted or killed goes on when it is started again, and nothing
    that was finished runs twice. Under mpiexec rank 0 writes, and each other rank runs cases.
    """
    from sparsebody.study import plan, processes, rows, runner

    if ranks.rank() > 0:
        processes.serve()
        return
    rows.check_format(file_format)
    planned = plan.read_study(file).limited(time_limit, memory_limit)
    options |= {"file_format": file_format, "budget": budget or math.inf}
    with out.progress_bar(len(planned.cases)) as advance:

        def report(case: Any, row: Any, done: int, total: int) -> None:
            advance(f"{case.series.family} {case.size} {case.series.label}: {row['status']}", done)

        output = output or Path("out") / file.stem
        target = runner.run_study(planned, output, report=report, **options)
    counts = Counter(str(row["status"]) for row in rows.read_results(target))
    remaining = len(planned.cases) - counts.total()
    if arg.is_given("json"):
        out.print_json(
            {"results": str(target), "cases": len(planned.cases), "status": dict(counts)}
        )
    else:
        listed = ", ".join(f"{count} {status}" for status, count in counts.most_common())
        later = f", {remaining} not begun; the same command goes on" if remaining else ""
        click.echo(f"{target}: {len(planned.cases)} cases: {listed}{later}")


@click.command()
@click.argument("results", type=arg.PATH)
@click.option("--output", type=arg.FOLDER, help="Of the report.  [default: report/ beside RESULTS]")
@arg.flag("--html", help="One file that holds its pictures.")
@arg.flag("--markdown", help="Text that links to pictures.")
@click.option("--from", "smallest", type=float, default=128.0, help="Bodies where fits begin.")
@arg.json_option
def report(results: Path, output: Path | None, smallest: float, **formats: bool) -> None:
    """Write tables and figures of RESULTS: a result file of a study, or its folder.

    Promises that the study names, judged; growth with confidence intervals, crossovers, accuracy,
    orderings, patterns; in HTML and in Markdown unless one of them is asked for.
    """
    from sparsebody.study.reports import judged_promises, write_report

    chosen = [name for name, is_wanted in formats.items() if is_wanted] or list(formats)
    files = write_report(results, output, formats=chosen, smallest=smallest)
    promises = judged_promises(results)
    if arg.is_given("json"):
        judged = {"promises": [asdict(one) for one in promises]} if promises else {}
        out.print_json({"files": [str(file) for file in files], **judged})
        return
    out.echo_paths(*files)
    if promises:
        table = [(one.promise, one.limit, one.verdict) for one in promises]
        out.print_table(("promise", "limit", "verdict"), table, folded="verdict")


# ---- matrices ---------------------------------------------------------------------------------


@click.command()
@click.argument("directory", type=arg.FOLDER)
@click.option("--families", type=arg.WORDS, help="Only these; an unknown name lists them.")
@arg.sizes_option("bodies", "8,32,128", "Numbers of bodies.  [default: 8,32,128]")
@click.option("--forms", type=arg.WORDS, help="Only these, of kkt, quasi-definite, schur.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of random parameters, velocities.")
@arg.context_flag("--overwrite", "Replace a corpus that is there.")
@arg.flag("--verify", help="Write nothing: check the files of a corpus.")
@arg.quiet_option
@arg.json_option
def corpus(directory: Path, verify: bool, **options: Any) -> None:
    """Write matrices of mechanisms into DIRECTORY, with everything that is known about them.

    KKT, quasi-definite and Schur matrices as Matrix Market files, with right-hand sides, reference
    solutions, block structures, graphs, ranks and condition numbers; corpus.json is the index, and
    README.md explains. What was interrupted goes on with the same command.
    """
    if verify:
        _verify(directory)
        return
    from sparsebody.corpus.corpus_families import CorpusPlan
    from sparsebody.corpus.corpus_files import check_directory

    plan = CorpusPlan(**{key: value for key, value in options.items() if value})
    overwrite = arg.is_given("overwrite")
    check_directory(directory, plan, overwrite)
    with out.progress_bar(len(plan.problems)) as advance:
        index = sb.write_corpus(
            directory, plan, overwrite=overwrite, report=lambda name, done, _: advance(name, done)
        )
    written = sb.read_corpus(directory)
    counts = {"problems": len(written["problems"]), "matrices": len(written["matrices"])}
    if arg.is_given("json"):
        out.print_json({"index": str(index), **counts})
    else:
        click.echo(f"{index}: {counts['matrices']} matrices of {counts['problems']} mechanisms")


def _verify(directory: Path) -> None:
    from sparsebody.corpus.corpus_files import broken_files

    index = sb.read_corpus(directory)
    broken = [str(path) for path in broken_files(directory, index)]
    n_files = sum(len(record["sha256"]) for record in [*index["problems"], *index["matrices"]])
    if arg.is_given("json"):
        out.print_json({"files": n_files, "broken": broken})
    elif not broken:
        click.echo(f"{directory}: {n_files} files, all as they were written")
    if broken:
        raise click.ClickException(
            f"{len(broken)} of {n_files} files are missing or changed, such as {broken[0]}; write "
            "the corpus again with --overwrite"
        )
