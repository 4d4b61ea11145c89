"""The automatic choice against every other ordering: the contests of the headline study alone.

Run as ``python -m benchmarks.contests``; the worst ones come first. A ratio is the median over some
copies, each of them measured in turn with one of the automatic choice: where arrays happen to lie
moves a single one by some percent.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from sparsebody.errors import SparsebodyError
from sparsebody.study.families import Problem
from sparsebody.study.measure import time_ratios
from sparsebody.study.methods import prepare
from sparsebody.study.plan import Case, Study
from sparsebody.study.study_files import read_study

HEADLINE = Path(__file__).parents[1] / "examples" / "studies" / "headline.toml"
SLOW = ("annealing", "treewidth-degree", "treewidth-fill")  # to compute, and left out unless asked
ALLOWED = 0.9  # share of the automatic choice's time that no other may go below
CLOSE = 0.97  # a first ratio from which on no others are measured


@dataclass(frozen=True)
class Result:
    """One ordering beside the automatic choice."""

    family: str
    n_bodies: int
    automatic: str
    other: str
    ratios: tuple[float, ...]  # its time over that of the automatic choice, by copy

    @property
    def ratio(self) -> float:
        """The one in the middle."""
        return statistics.median(self.ratios)

    def __str__(self) -> str:
        spread = f"{min(self.ratios):.3f} to {max(self.ratios):.3f} of {len(self.ratios)}"
        return (
            f"{self.ratio:.3f}  {self.family:12}{self.n_bodies:6}  {self.other:34}"
            f"auto: {self.automatic:34}{spread}"
        )


def contests(study: Study, slow: bool) -> Iterator[list[Case]]:
    """Yield the cases of one family and size that rival the automatic choice."""
    rivals: dict[tuple[str, int], list[Case]] = {}
    for case in study.cases:
        if case.series.rivals_auto and (slow or case.series.ordering not in SLOW):
            rivals.setdefault((case.series.family, case.size), []).append(case)
    yield from rivals.values()


def results(study: Study, cases: list[Case], rounds: int) -> Iterator[Result]:
    """Yield what each of the cases of one mechanism comes to."""
    family = study.families[cases[0].series.family]
    problem = family.problem(family.build(cases[0].size, cases[0].series.seed).compile())
    for case in cases:
        try:
            yield _result(study, case, problem, rounds)
        except SparsebodyError as error:
            click.echo(f"{case.series.family} {case.size} {case.series.ordering}: {error}")


def _result(study: Study, case: Case, problem: Problem, rounds: int) -> Result:
    one, automatic = (prepare(study, s, problem) for s in (case.series, case.automatic))
    one.accelerations(), automatic.accelerations()
    same = one.does_the_same(automatic)
    ratios = [1.0] if same else time_ratios(one, automatic, study.settings, CLOSE, rounds)
    names = [f"{p.dynamics.ordering}, {p.dynamics.factorization}" for p in (automatic, one)]
    return Result(case.series.family, problem.system.n_bodies, *names, tuple(ratios))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-f", "--family", multiple=True, help="Of the study; default: all.")
@click.option("--rounds", default=5, help="Copies of an ordering that seems quicker.")
@click.option("--longest", default=0.5, help="Of one comparison [s].")
@click.option("--slow", is_flag=True, help="With the orderings that take long to compute.")
@click.option("--study", "path", default=HEADLINE, type=click.Path(path_type=Path, exists=True))
def main(family: tuple[str, ...], rounds: int, longest: float, slow: bool, path: Path) -> None:
    """Measure all orderings in turn with the automatic choice, and print the worst first."""
    study = read_study(path)
    study = replace(study, settings=replace(study.settings, longest=longest))
    study.prepare()
    warnings.simplefilter("ignore", UserWarning)
    found: list[Result] = []
    for cases in contests(study, slow):
        if not family or cases[0].series.family in family:
            found += results(study, cases, rounds)
    found.sort(key=lambda result: result.ratio)
    below = [result for result in found if result.ratio < ALLOWED]
    for result in found:
        if result.ratio < CLOSE:
            click.echo(str(result))
    click.echo(f"{len(found)} contests, {len(below)} of them below {ALLOWED}")


if __name__ == "__main__":
    main()
