"""Families of the corpus, and the plan of one, checked before anything is computed."""

from dataclasses import dataclass
from typing import Any

import sparsebody
from sparsebody.errors import StudyError, check_name
from sparsebody.study.families import Family

FORMAT, VERSION, LICENSE = "sparsebody-corpus", 1, "MIT"
GENERATOR = f"sparsebody {sparsebody.__version__}"
FORMS = {  # titles of the matrices
    "kkt": "KKT matrix [M A'; A 0] of a mechanism, body-level",
    "quasi-definite": "quasi-definite matrix [M A'; A -delta I] of a mechanism, body-level",
    "schur": "joint-space Schur complement A M^-1 A' of a mechanism",
}
SIZES = (8, 32, 128)
LARGEST = 100_000  # bodies of a problem: more are likely a slip, and fill the disk
_OBLIQUE = (1.3, -2.1, -9.493155)  # gravity [m/s^2] along no axis: nothing vanishes by symmetry


@dataclass(frozen=True)
class CorpusFamily:
    """A family, and one line on why its matrices are worth having."""

    family: Family
    summary: str
    smallest: int = 1  # value of the size parameters

    def value(self, n_bodies: int) -> int:
        """Return the value of the size parameters that comes nearest to a number of bodies."""
        return max(self.smallest, self.family.parameter(n_bodies)) if self.grows else 0

    def n_bodies(self, value: int) -> int:
        """Return the number of bodies with `value` for the size parameters."""
        if not self.grows:
            return self.family.of_parameter(value).n_bodies
        return round(float(self.family.counts(value)))

    @property
    def grows(self) -> bool:
        """Whether there is a mechanism for every size."""
        return bool(self.family.size_parameters)


def _family(name: str, summary: str, mechanism: str = "", **options: Any) -> CorpusFamily:
    motion, grows = options.pop("motion", "random"), options.pop("grows", ())
    smallest, parameters = options.pop("smallest", 1), {"gravity": _OBLIQUE} | options
    return CorpusFamily(
        Family(name, mechanism or name, parameters, grows, motion), summary, smallest
    )


def _lattice(name: str, summary: str, **options: Any) -> CorpusFamily:
    """Return a family at rest, in a singular pose: moving, it may have no accelerations there."""
    summary = f"rank-deficient in this pose: {summary}"
    return _family(name, summary, "lattice", motion="rest", **options)


FAMILIES = {
    entry.family.name: entry
    for entry in (
        _family("chain", "a path; condition grows with the length"),
        _family("tree", "a random tree: no fill in the right order", random=True),
        _family("ladder", "two rails; width 2, spherical joints, full rank"),
        _family(
            "disordered-ladder",
            "a ladder with irregular lengths and masses",
            "ladder",
            disorder=0.5,
        ),
        _family("scissor", "rank-deficient: three redundant rows in every loop; kappa ~ n^2"),
        _family("n-four-bar", "rank-deficient: parallelograms in a row; condition near one"),
        _family("five-bar-array", "rank-deficient: five-bar loops on shared columns"),
        _family("four-bar-torus", "rank-deficient: rows and columns closed to rings", smallest=3),
        _family("rotating-squares", "rank-deficient by its geometry: squares joined at corners"),
        _family("ring", "one long loop"),
        _lattice("four-rails", "a band four bodies wide", rows=4, layers=1, grows=("columns",)),
        _lattice("lattice", "a square lattice, fill n log n", layers=1),
        _lattice("cube", "a cubic lattice, fill n^(4/3)"),
        _family("bricard", "one overconstrained loop that moves: one redundant row"),
        _family("stewart", "a platform on six legs: a small dense core", motion="rest"),
        _family("andrews", "Andrews' squeezer: three loops in a plane"),
    )
}


@dataclass(frozen=True)
class CorpusPlan:
    """Families, sizes and forms of the problems of a corpus.

    Raises UnknownNameError for a name that is not in FAMILIES or FORMS, StudyError for an entry
    twice, a size or a seed out of range.
    """

    families: tuple[str, ...] = ()  # of FAMILIES; default: all
    sizes: tuple[int, ...] = SIZES  # numbers of bodies, roughly
    forms: tuple[str, ...] = tuple(FORMS)
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.families:
            check_name(name, FAMILIES, "the family")
            if self.families.count(name) > 1:
                raise StudyError(f"the family {name!r} is given twice; give it once")
        for form in self.forms:
            check_name(form, FORMS, "the form")
        for what, entries in (("form", self.forms), ("size", self.sizes)):
            if not entries or len(set(entries)) < len(entries):
                raise StudyError(f"the {what}s are {list(entries)}; give one or more, each once")
        for size in self.sizes:
            if not 1 <= size <= LARGEST:
                raise StudyError(f"{size} bodies; give sizes of 1 to {LARGEST}")
        if self.seed < 0:
            raise StudyError(f"the seed is {self.seed}; give 0 or more")

    @property
    def problems(self) -> dict[str, tuple[CorpusFamily, int]]:
        """Families with a value for their size parameters, by name; small ones first in each."""
        problems = {}
        for family in (FAMILIES[name] for name in self.families or FAMILIES):
            for value in sorted({family.value(size) for size in self.sizes}):
                problems[f"{family.family.name}_{family.n_bodies(value)}"] = (family, value)
        return problems

    @property
    def request(self) -> dict[str, Any]:
        """All that the bytes of a problem's files depend on besides the problem."""
        about = {"format": FORMAT, "version": VERSION, "generator": GENERATOR}
        return {**about, "forms": list(self.forms), "seed": self.seed}
