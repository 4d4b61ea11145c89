"""What a study is: its families, its cases, and how each of them is measured."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sparsebody.study.families import Family, function_named

PEER = "peer"  # the method of cases that an engine outside the package runs
AUTO = "auto"
GRAPHS = ("any", "trees", "loops")


@dataclass(frozen=True)
class Hook:
    """A function outside the package, "module:function", and the mechanisms that it is for."""

    function: str
    graphs: str = "any"  # of GRAPHS

    def load(self) -> Callable[..., Any]:
        """Import it."""
        return function_named(self.function)

    def suits(self, family: Family) -> bool:
        """Tell whether it is meant for the mechanisms of a family."""
        return self.graphs == "any" or family.has_loops == (self.graphs == "loops")


@dataclass(frozen=True, order=True)
class Series:
    """All that identifies a case but its size."""

    family: str
    method: str
    ordering: str  # of "sparse"; "" for other methods
    factorization: str
    peer: str  # of PEER
    seed: int

    @property
    def rivals_auto(self) -> bool:
        """Whether it differs from the automatic choice in its ordering alone."""
        return self.factorization == AUTO != self.ordering

    @property
    def label(self) -> str:
        """What a person calls the method: sparse, sparse block-ldl, loops-aba, ..."""
        if self.method == PEER:
            return self.peer
        chosen = (self.ordering, self.factorization)
        return " ".join([self.method, *(name for name in chosen if name not in ("", AUTO))])


@dataclass(frozen=True, order=True)
class Case:
    """One row of the results."""

    size: int  # bodies asked for
    series: Series

    @property
    def automatic(self) -> Series:
        """The series of the automatic choice for the same mechanisms."""
        return replace(self.series, ordering=AUTO, factorization=AUTO)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that identify the row."""
        return {"size": self.size, **asdict(self.series)}

    @property
    def reference(self) -> tuple[str, int, int]:
        """What cases with the same reference solution share: family, size and seed."""
        return self.series.family, self.size, self.series.seed


@dataclass(frozen=True)
class Settings:
    """How each case is measured."""

    repeats: int = 5
    batch_seconds: float = 0.02  # of one timing, at least
    longest: float = 10.0  # of all timings of a case [s], after which fewer repeats do
    time_limit: float = 60.0  # CPU time of a case, all of it [s]; four times that on the clock
    memory_limit: float = 4000.0  # that a case may ask for [MB]
    details: bool = False  # time phases and joint forces of the sparse method, and report each case


@dataclass(frozen=True, eq=False)
class Study:
    """A study file, read and found to make sense."""

    title: str
    families: Mapping[str, Family]
    cases: tuple[Case, ...]  # small ones first
    settings: Settings
    document: Mapping[str, Any]  # as it stands in the file, for other processes
    peers: Mapping[str, Hook] = field(default_factory=dict)
    reference: Hook | None = None
    violation: Hook | None = None  # of a problem and accelerations: how well joints are obeyed
    promises: Hook | None = None  # of rows: findings
    largest_reference: int = 2048  # bodies
    time_limits: Mapping[Case, float] = field(default_factory=dict)  # of runs with their own [s]
    paths: tuple[str, ...] = ()  # where Python looks for hooks and modules, too
    modules: tuple[str, ...] = ()  # imported first: they register orderings

    def prepare(self) -> None:
        """Import what the study's modules register."""
        for path in self.paths:
            if path not in sys.path:
                sys.path.insert(0, path)
        for name in self.modules:
            importlib.import_module(name)

    def limited(self, time_limit: float | None, memory_limit: float | None) -> Study:
        """Return the same study with other limits of all cases [s, MB], where they are given."""
        limits = {"time_limit": time_limit, "memory_limit": memory_limit}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        runs = [
            {name: value for name, value in run.items() if name not in given}
            for run in self.document["runs"]
        ]
        return replace(
            self,
            settings=replace(
                self.settings,
                time_limit=time_limit or self.settings.time_limit,
                memory_limit=memory_limit or self.settings.memory_limit,
            ),
            time_limits={} if time_limit else self.time_limits,
            document={**self.document, **given, "runs": runs},
        )

    def time_limit(self, case: Case) -> float:
        """Return how long a case may take [s]."""
        return self.time_limits.get(case, self.settings.time_limit)

    def ordered_family(self, name: str) -> str:
        """Return the family with the same mechanisms in order as one that is shuffled; or ""."""
        family = self.families[name]
        same = replace(family, shuffled=False)
        others = (key for key, one in self.families.items() if replace(one, name=name) == same)
        return next(others, "") if family.shuffled else ""

    def has_reference(self, case: Case) -> bool:
        """Tell whether the errors of a case are measured."""
        return case.size <= self.largest_reference
