"""Study files (TOML): read, and checked as a whole before anything runs."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema

from sparsebody.errors import ModelError, StudyError
from sparsebody.factorization import FACTORIZATIONS, available_factorizations
from sparsebody.methods import METHODS, SPARSE
from sparsebody.model.gallery import GALLERY
from sparsebody.ordering import ORDERINGS, available_orderings
from sparsebody.study.families import Family, check_family
from sparsebody.study.plan import AUTO, PEER, Case, Hook, Series, Settings, Study
from sparsebody.tree import TREE_METHODS

_REMEDIES = {
    "required": "add it",
    "pattern": "write it as module:function",
    "minItems": "give one at least",
}


def read_study(path: Path) -> Study:
    """Return the study in a TOML file.

    Raises
    ------
    StudyError
        Naming the entry, the value found and the remedy.
    """
    document = _document(path)
    try:
        return study_of(document | {"title": document.get("title", path.stem)})
    except StudyError as error:
        raise StudyError(f"{path}: {error}") from error


def _document(path: Path) -> dict[str, Any]:
    """Return what a file says, over what the file says that it names as its `base`."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StudyError(f"{path}: not TOML: {error}") from error
    folders = [str((path.parent / folder).resolve()) for folder in _list(document.get("paths"))]
    if folders:
        document["paths"] = folders
    base = document.pop("base", None)
    return document if base is None else _document(path.parent / str(base)) | document


def study_of(document: Mapping[str, Any]) -> Study:
    """Return the study that a document describes; errors as of `read_study`."""
    check_schema(document)
    families = {name: Family(name, **_family(entry)) for name, entry in _families(document)}
    about = document.get("reference", {})
    study = Study(
        title=document.get("title", "study"),
        families=families,
        cases=(),
        settings=Settings(**_chosen(document, [field.name for field in fields(Settings)])),
        document=document,
        peers={name: Hook(**entry) for name, entry in document.get("peers", {}).items()},
        reference=_hook(about.get("function")),
        violation=_hook(about.get("violation")),
        promises=_hook(document.get("promises")),
        largest_reference=about.get("largest", 2048),
        paths=tuple(document.get("paths", ())),
        modules=tuple(document.get("modules", ())),
    )
    _check_modules(study)
    for family in families.values():
        try:
            check_family(family)
        except ModelError as error:
            raise StudyError(str(error)) from error
    cases = dict(_cases(study, document))
    limits = {case: limit for case, limit in cases.items() if limit is not None}
    return replace(study, cases=tuple(sorted(cases)), time_limits=limits)


def _hook(function: str | None) -> Hook | None:
    return None if function is None else Hook(function)


# ---- shape ------------------------------------------------------------------------------------


@cache
def _validator() -> Any:
    schema = resources.files("sparsebody.study").joinpath("schema.json").read_text("utf-8")
    return jsonschema.Draft202012Validator(json.loads(schema))


def check_schema(document: Mapping[str, Any]) -> None:
    """Raise StudyError at the first entry that a study file cannot have."""
    error = next(_validator().iter_errors(document), None)
    if error is None:
        return
    words = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path]
    place = "".join(words).lstrip(".") or "the study"
    remedy = _REMEDIES.get(error.validator, "correct it")
    if error.validator == "additionalProperties" and "properties" in error.schema:
        remedy = f"the entries are {', '.join(error.schema['properties'])}"
    raise StudyError(f"{place}: {error.message}; {remedy}")


def _list(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _chosen(document: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: document[name] for name in names if name in document}


def _families(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, entry in document["families"].items():
        if ":" not in entry["mechanism"]:
            _check_name(entry["mechanism"], GALLERY, f"families.{name}.mechanism")
        yield name, entry


def _family(entry: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(entry.get("parameters", {}))
    tuples = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    return {**entry, "parameters": tuples, "grows": tuple(entry.get("grows", ()))}


def _check_name(name: str, known: Any, place: str) -> None:
    if name not in known:
        raise StudyError(f"{place}: there is no {name!r}; there are {', '.join(known)}")


def _check_modules(study: Study) -> None:
    """Raise StudyError where a module is not to be found; import those that register something."""
    try:
        study.prepare()
    except ImportError as error:
        raise StudyError(
            f"modules: {error}; `paths` lists the folders, from the study file, to look in"
        ) from error
    hooks = {f"peers.{name}.function": hook for name, hook in study.peers.items()}
    named = {
        "reference.function": study.reference,
        "reference.violation": study.violation,
        "promises": study.promises,
    }
    hooks |= {place: hook for place, hook in named.items() if hook is not None}
    for name, family in study.families.items():
        for entry in ("mechanism", "motion"):
            if ":" in (function := getattr(family, entry)):
                hooks[f"families.{name}.{entry}"] = Hook(function)
    for place, hook in hooks.items():
        module = hook.function.partition(":")[0]
        try:
            spec = importlib.util.find_spec(module)
        except ImportError:
            spec = None
        if spec is None:
            raise StudyError(
                f"{place}: there is no module {module!r}; `paths` lists the folders, from the "
                "study file, to look in"
            )


# ---- cases ------------------------------------------------------------------------------------


def _cases(study: Study, document: Mapping[str, Any]) -> Iterator[tuple[Case, float | None]]:
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


def _series(study: Study, run: Mapping[str, Any], place: str) -> Iterator[Series]:
    families = run.get("families", list(study.families))
    peers = run.get("peers", [])
    methods = run.get("methods", [] if peers else [SPARSE])
    orderings = _names(run, "orderings", ORDERINGS, available_orderings(), place)
    backends = _names(run, "factorizations", FACTORIZATIONS, available_factorizations(), place)
    for name, known in (("families", study.families), ("peers", study.peers)):
        for entry in run.get(name, ()):
            _check_name(entry, known, f"{place}.{name}")
    for method in methods:
        _check_name(method, METHODS, f"{place}.methods")
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


def _names(
    run: Mapping[str, Any], key: str, known: Mapping[str, Any], here: list[str], place: str
) -> list[str]:
    """Return orderings or factorizations; "all" stands for those that can be used here."""
    names: list[str] = []
    for name in run.get(key, [AUTO]):
        if name == "all":
            names += here
        else:
            _check_name(name, (AUTO, "all", *known), f"{place}.{key}")
            names.append(name)
    return list(dict.fromkeys(names))
