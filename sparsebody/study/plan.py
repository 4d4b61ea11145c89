"""Studies: families, cases, and how each is measured; read from TOML files and checked."""

import importlib.util
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from sparsebody import errors, schemas
from sparsebody.factorization import FACTORIZATIONS, available_factorizations
from sparsebody.methods import METHODS, SPARSE
from sparsebody.model.gallery import GALLERY
from sparsebody.ordering import ORDERINGS, available_orderings
from sparsebody.study.families import Family, check_family, function_named
from sparsebody.tree import TREE_METHODS

Entries = Mapping[str, Any]  # by name

PEER = "peer"  # the method of cases that an engine outside the package runs
AUTO = "auto"


@dataclass(frozen=True)
class Hook:
    """A function outside the package, "module:function", and the mechanisms that it is for."""

    function: str
    graphs: str = "any"  # "any", "trees" or "loops"

    def load(self) -> Callable[..., Any]:
        """Import it."""
        return function_named(self.function)

    def suits(self, family: Family) -> bool:
        """Tell whether it is meant for the mechanisms of a family."""
        return self.graphs == "any" or family.has_loops == (self.graphs == "loops")


@dataclass(frozen=True, order=True)
class Series:
    """All that identifies a case except its size."""

    family: str
    method: str
    ordering: str  # of "sparse"; "" for other methods
    factorization: str
    peer: str  # of PEER
    seed: int

    @property
    def label(self) -> str:
        """The method in reports: sparse, sparse block-ldl, loops-aba, ..."""
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
    """A study file, read and checked."""

    title: str
    families: Mapping[str, Family]
    cases: tuple[Case, ...]  # small ones first
    settings: Settings
    document: Entries  # as it stands in the file, for other processes
    peers: Mapping[str, Hook] = field(default_factory=dict)
    reference: Hook | None = None
    violation: Hook | None = None  # of a problem and accelerations: that of the joints' constraints
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

    def limited(self, time_limit: float | None, memory_limit: float | None) -> "Study":
        """Return the study with other limits of all cases [s, MB], where they are given."""
        limits = {"time_limit": time_limit, "memory_limit": memory_limit}
        changes: dict[str, Any] = {name: n for name, n in limits.items() if n is not None}
        runs = [{k: v for k, v in run.items() if k not in changes} for run in self.document["runs"]]
        return replace(
            self,
            settings=replace(self.settings, **changes),
            time_limits={} if time_limit else self.time_limits,
            document={**self.document, **changes, "runs": runs},
        )

    def time_limit(self, case: Case) -> float:
        """Return how long a case may take [s]."""
        return self.time_limits.get(case, self.settings.time_limit)

    def has_reference(self, case: Case) -> bool:
        """Tell whether the errors of a case are measured."""
        return case.size <= self.largest_reference


# ---- files ------------------------------------------------------------------------------------


def read_study(path: Path) -> Study:
    """Return the study in a TOML file.

    Raises StudyError naming the entry, the value found and the remedy.
    """
    document = _document(path)
    try:
        return study_of({"title": path.stem} | document)
    except errors.StudyError as error:
        raise errors.StudyError(f"{path}: {error}") from error


def _document(path: Path) -> dict[str, Any]:
    """Return the entries of a file, over those of the file that it names as its `base`."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise errors.StudyError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise errors.StudyError(f"{path}: not TOML: {error}") from error
    if isinstance(paths := document.get("paths"), list):
        document["paths"] = [str((path.parent / str(folder)).resolve()) for folder in paths]
    base = document.pop("base", None)
    return document if base is None else _document(path.parent / str(base)) | document


def study_of(document: Entries) -> Study:
    """Return the study that a document describes; errors as of `read_study`."""
    fault = schemas.schema_fault(document, "sparsebody.study")
    if fault is not None:
        raise errors.StudyError(fault)
    for name, entry in document["families"].items():
        if ":" not in entry["mechanism"]:
            _check_name(entry["mechanism"], GALLERY, f"families.{name}.mechanism")
    reference = document.get("reference", {})
    settings = {f.name: document[f.name] for f in fields(Settings) if f.name in document}
    study = Study(
        title=document.get("title", "study"),
        families={name: _family(name, entry) for name, entry in document["families"].items()},
        cases=(),
        settings=Settings(**settings),
        document=document,
        peers={name: Hook(**entry) for name, entry in document.get("peers", {}).items()},
        reference=_hook(reference.get("function")),
        violation=_hook(reference.get("violation")),
        promises=_hook(document.get("promises")),
        largest_reference=reference.get("largest", 2048),
        paths=tuple(document.get("paths", ())),
        modules=tuple(document.get("modules", ())),
    )
    _check_modules(study)
    try:
        for family in study.families.values():
            check_family(family)
    except errors.ModelError as error:
        raise errors.StudyError(str(error)) from error
    cases = dict(_cases(study, document))
    limits = {case: limit for case, limit in cases.items() if limit is not None}
    return replace(study, cases=tuple(sorted(cases)), time_limits=limits)


def _hook(function: str | None) -> Hook | None:
    return None if function is None else Hook(function)


def _family(name: str, entry: Entries) -> Family:
    parameters = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in entry.get("parameters", {}).items()
    }
    grows = tuple(entry.get("grows", ()))
    return Family(name, **{**entry, "parameters": parameters, "grows": grows})


def _check_name(name: str, known: Any, location: str) -> None:
    if name not in known:
        raise errors.StudyError(f"{location}: there is no {name!r}; there are {', '.join(known)}")


def _check_modules(study: Study) -> None:
    """Raise StudyError where a module does not exist; import those that register something."""
    remedy = "`paths` lists the folders, from the study file, to look in"
    try:
        study.prepare()
    except ImportError as error:
        raise errors.StudyError(f"modules: {error}; {remedy}") from error
    hooks = {f"peers.{name}.function": hook for name, hook in study.peers.items()}
    of_study = (study.reference, study.violation, study.promises)
    locations = ("reference.function", "reference.violation", "promises")
    given = zip(locations, of_study, strict=True)
    hooks |= {location: hook for location, hook in given if hook is not None}
    functions = {location: hook.function for location, hook in hooks.items()}
    for name, family in study.families.items():
        functions[f"families.{name}.mechanism"] = family.mechanism
        functions[f"families.{name}.motion"] = family.motion
    for location, function in functions.items():
        module, is_function, _ = function.partition(":")
        if not is_function:
            continue
        try:
            exists = importlib.util.find_spec(module) is not None
        except ImportError:
            exists = False
        if not exists:
            raise errors.StudyError(f"{location}: there is no module {module!r}; {remedy}")


# ---- cases ------------------------------------------------------------------------------------


def _cases(study: Study, document: Entries) -> Iterator[tuple[Case, float | None]]:
    """Yield the cases of all runs with their own time limits [s].

    What a method is not meant for is left out.
    """
    orderings = {name: entry.largest for name, entry in ORDERINGS.items()}
    largest = orderings | document.get("largest", {})
    for name in largest:
        _check_name(name, (*METHODS, *FACTORIZATIONS, *ORDERINGS, *study.peers), "largest")
    for number, run in enumerate(document["runs"]):
        for size, series in product(run["sizes"], _series(study, run, f"runs[{number}]")):
            names = (series.method, series.ordering, series.factorization, series.peer)
            if all(size <= largest.get(name, size) for name in names):
                yield Case(size, series), run.get("time_limit")


def _series(study: Study, run: Entries, location: str) -> Iterator[Series]:
    families = run.get("families", list(study.families))
    peers = run.get("peers", [])
    methods = run.get("methods", [] if peers else [SPARSE])
    orderings = _names(run, "orderings", ORDERINGS, available_orderings(), location)
    backends = _names(run, "factorizations", FACTORIZATIONS, available_factorizations(), location)
    for name, known in (("families", study.families), ("peers", study.peers)):
        for entry in run.get(name, ()):
            _check_name(entry, known, f"{location}.{name}")
    for method in methods:
        _check_name(method, METHODS, f"{location}.methods")
    for name, seed in product(families, run.get("seeds", [0])):
        family = study.families[name]
        for method in methods:
            if method == SPARSE:
                for pair in product(orderings, backends):
                    yield Series(name, method, *pair, "", seed)
            elif TREE_METHODS[method].takes_loops or not family.has_loops:
                yield Series(name, method, "", "", "", seed)
        for peer in peers:
            if study.peers[peer].suits(family):
                yield Series(name, PEER, "", "", peer, seed)


def _names(run: Entries, key: str, known: Entries, here: list[str], location: str) -> list[str]:
    """Return orderings or factorizations; "all" stands for those that can be used here."""
    names: list[str] = []
    for name in run.get(key, [AUTO]):
        _check_name(name, (AUTO, "all", *known), f"{location}.{key}")
        names += here if name == "all" else [name]
    return list(dict.fromkeys(names))
