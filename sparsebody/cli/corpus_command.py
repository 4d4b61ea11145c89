"""sparsebody corpus: write families of matrices for authors of sparse solvers."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from sparsebody.cli.arguments import FOLDER, json_option
from sparsebody.cli.output import print_json, progress_bar


class CommaList(click.ParamType):  # type: ignore[type-arg]
    """Words, or whole numbers, with commas in between."""

    def __init__(self, of: type[str] | type[int]) -> None:
        self.of = of
        self.name = "a,b,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[Any, ...]:
        """Return the list, or fail with a message that names what is wrong."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in value.split(",")]
        try:
            return tuple(self.of(word) for word in words if word)
        except ValueError:
            self.fail(f"{value!r} is not a list of whole numbers, such as 8,32,128", param, ctx)


@click.command()
@click.argument("directory", type=FOLDER)
@click.option(
    "--families",
    type=CommaList(str),
    default=(),
    help="Which ones; an unknown name lists them.  [default: all]",
)
@click.option(
    "--sizes", type=CommaList(int), default=(), help="Numbers of bodies.  [default: 8,32,128]"
)
@click.option(
    "--forms",
    type=CommaList(str),
    default=(),
    help="Of kkt, quasi-definite, schur.  [default: all]",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Of random parameters, velocities.")
@click.option("--overwrite", is_flag=True, help="Replace a corpus that is there.")
@click.option("--verify", is_flag=True, help="Write nothing: check the files of a corpus.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@json_option
def corpus(
    directory: Path,
    families: tuple[str, ...],
    sizes: tuple[int, ...],
    forms: tuple[str, ...],
    seed: int,
    overwrite: bool,
    verify: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write matrices of mechanisms into DIRECTORY, with everything that is known about them.

    KKT, quasi-definite and Schur matrices as Matrix Market files, with right-hand sides, reference
    solutions, block structures, graphs, ranks and condition numbers; corpus.json is the index, and
    README.md explains. What was interrupted goes on with the same command.
    """
    if verify:
        _verify(directory, as_json)
        return
    from sparsebody.corpus.corpus_plan import CorpusPlan
    from sparsebody.corpus.index import read_corpus
    from sparsebody.corpus.write import check_directory, write_corpus

    given = {"families": families, "sizes": sizes, "forms": forms, "seed": seed}
    plan = CorpusPlan(**{key: value for key, value in given.items() if value})  # type: ignore[arg-type]
    check_directory(directory, plan, overwrite)
    shown = nullcontext() if quiet or as_json else progress_bar(len(plan.problems))
    with shown as moved:
        report = None if moved is None else lambda name, done, _: moved(name, done)
        index = write_corpus(directory, plan, overwrite=overwrite, report=report)
    written = read_corpus(directory)
    counts = {"problems": len(written["problems"]), "matrices": len(written["matrices"])}
    if as_json:
        print_json({"index": str(index), **counts})
    else:
        click.echo(f"{index}: {counts['matrices']} matrices of {counts['problems']} mechanisms")


def _verify(directory: Path, as_json: bool) -> None:
    from sparsebody.corpus.index import broken_files, read_corpus

    index = read_corpus(directory)
    broken = [str(path) for path in broken_files(directory, index)]
    n_files = sum(len(record["sha256"]) for record in [*index["problems"], *index["matrices"]])
    if as_json:
        print_json({"files": n_files, "broken": broken})
    elif not broken:
        click.echo(f"{directory}: {n_files} files, all as they were written")
    if broken:
        raise click.ClickException(
            f"{len(broken)} of {n_files} files are missing or changed, such as {broken[0]}; write "
            "the corpus again with --overwrite"
        )
