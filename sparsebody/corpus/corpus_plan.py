"""What a corpus is asked to hold, checked before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sparsebody.corpus.corpus_families import SIZES, CorpusFamily, corpus_families
from sparsebody.corpus.forms import FORMS
from sparsebody.corpus.records import FORMAT, VERSION, generator
from sparsebody.errors import StudyError, UnknownNameError

LARGEST = 100_000  # bodies of a problem


@dataclass(frozen=True)
class CorpusPlan:
    """Families, sizes and forms; every problem once."""

    families: tuple[str, ...] = ()  # of FAMILIES; default: all
    sizes: tuple[int, ...] = SIZES  # numbers of bodies, roughly
    forms: tuple[str, ...] = tuple(FORMS)
    seed: int = 0

    def __post_init__(self) -> None:
        corpus_families(self.families)
        for form in self.forms:
            if form not in FORMS:
                raise UnknownNameError(f"no form {form!r}; there are {', '.join(FORMS)}")
        for what, given in (("form", self.forms), ("size", self.sizes)):
            if not given or len(set(given)) < len(given):
                raise StudyError(f"the {what}s are {list(given)}; give one or more, each once")
        for size in self.sizes:
            if not 1 <= size <= LARGEST:
                raise StudyError(f"{size} bodies; give sizes of 1 to {LARGEST}")
        if self.seed < 0:
            raise StudyError(f"the seed is {self.seed}; give 0 or more")

    @property
    def problems(self) -> list[tuple[CorpusFamily, int]]:
        """Families with a value for their size parameters, small ones first in each."""
        return [
            (entry, value)
            for entry in corpus_families(self.families)
            for value in sorted({entry.value(size) for size in self.sizes})
        ]

    @property
    def request(self) -> dict[str, Any]:
        """All that the bytes of a problem's files depend on besides the problem."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "generator": generator(),
            "forms": list(self.forms),
            "seed": self.seed,
        }
