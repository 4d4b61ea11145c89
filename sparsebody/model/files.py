"""Mechanisms in files: node-link JSON that a schema checks; robot files by their suffix."""

from __future__ import annotations

import gc
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema

from sparsebody.errors import FileFormatError, ModelError
from sparsebody.model.documents import (
    FORMAT,
    VERSION,
    Document,
    located,
    mechanism_document,
    mechanism_from_document,
    without_columns,
)
from sparsebody.model.mechanism import Mechanism
from sparsebody.writing import replaced

LONGEST_MESSAGE = 160  # of the schema checker, which quotes whole objects
ENCODER = json.JSONEncoder(allow_nan=False)
LARGEST_INTEGER = 2**1000  # larger ones do not fit a float


def load_mechanism(path: str | os.PathLike[str]) -> Mechanism:
    """Return the mechanism of a file: .json as saved here, or .xml, .mjcf, .urdf of a robot.

    Raises
    ------
    FileFormatError
        If the suffix is unknown or the file is broken.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        return read_mechanism(path)
    if suffix in (".xml", ".mjcf", ".urdf"):
        from sparsebody.model.robots import read_robot  # needs an optional package

        return read_robot(path)
    raise FileFormatError(
        f"{path}: unknown suffix {suffix!r}; give a .json, .xml, .mjcf or .urdf file"
    )


def write_mechanism(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Save a mechanism as NetworkX node-link JSON, exactly.

    The file is replaced as a whole, or not at all.

    Parameters
    ----------
    mechanism : Mechanism
        Its time functions must be of the table TIME_FUNCTIONS.
    path : path-like
        Where to; usually ending in .json.

    Raises
    ------
    ModelError
        If something in the mechanism cannot be saved; the message names it.
    OutputError
        If the file cannot be written.
    """
    with _without_garbage_collection():
        text = _text(mechanism_document(mechanism))
    with replaced(Path(path)) as draft:
        draft.write_text(text, encoding="utf-8")


def read_mechanism(path: str | os.PathLike[str]) -> Mechanism:
    """Return the mechanism saved in a file by `write_mechanism`.

    Raises
    ------
    FileFormatError
        Telling the file, the place in it, what was found there and the remedy.
    """
    return mechanism_from_text(_text_of(str(path)), str(path))


def mechanism_from_text(text: str, source: str) -> Mechanism:
    """Return the mechanism of the text of a file by `write_mechanism`; errors name `source`.

    Raises
    ------
    FileFormatError
        Telling the place in the text, what was found there and the remedy.
    """
    with _without_garbage_collection():
        document = _parsed(text, source)
        _check_version(document, source)
        try:
            _check(without_columns(document), source)
            return mechanism_from_document(document, source)
        except ModelError:  # the schema says what and where
            _check(document, source)
            return mechanism_from_document(document, source)


def _check(document: Document, source: str) -> None:
    _check_schema(document, source)
    _check_finite(document, source)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Make many objects without a search for cycles now and again: a document has none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# ---- writing --------------------------------------------------------------------------------


def _text(document: Document) -> str:
    """Return JSON with one line for each node and edge."""
    head = [f'"{key}": {_line(document[key])}' for key in ("directed", "multigraph", "graph")]
    lists = [
        f'"{key}": [\n' + ",\n".join(_line(item) for item in document[key]) + "\n]"
        for key in ("nodes", "edges")
    ]
    return "{\n" + ",\n".join(head + lists) + "\n}\n"


def _line(value: Any) -> str:
    try:
        return ENCODER.encode(value)
    except ValueError as error:
        name = value.get("id", value.get("key", "forces"))
        raise ModelError(f"{name!r} holds a number that is not finite; correct it") from error


# ---- reading --------------------------------------------------------------------------------


def _text_of(source: str) -> str:
    try:
        return Path(source).read_text(encoding="utf-8")
    except OSError as error:
        raise FileFormatError(f"{source}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{source}: not a text file; give a JSON file") from error


def _parsed(text: str, source: str) -> Any:
    try:
        with located(source, "JSON"):
            return json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{source}: line {error.lineno}, column {error.colno}: not JSON: {error.msg}; "
            "correct it there or save the mechanism again"
        ) from error
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{source}: not JSON that can be read: {error}") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> Document:
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(
            f"{twice!r} stands twice in an object that begins {names[0]!r}: "
            f"{str(pairs[0][1])[:40]!r}; remove one"
        )
    return document


def _check_version(document: Any, source: str) -> None:
    graph = document.get("graph") if isinstance(document, dict) else None
    header = graph if isinstance(graph, dict) else {}
    if header.get("format") != FORMAT:
        raise FileFormatError(
            f"{source}: not a mechanism: graph.format is {header.get('format')!r}, not {FORMAT!r}; "
            "save one with write_mechanism"
        )
    if header.get("version") != VERSION:
        raise FileFormatError(
            f"{source}: graph.version is {header.get('version')!r}, but this sparsebody reads "
            f"version {VERSION}; use the sparsebody that wrote the file, or a newer one"
        )


def _items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """As the standard's, but lists of numbers, most of a file, pass at once."""
    plain = items == {"type": "number"} and isinstance(instance, list)
    if not plain or any(type(item) not in (float, int) for item in instance):
        yield from jsonschema.Draft202012Validator.VALIDATORS["items"](
            validator, items, instance, schema
        )


@cache
def _validator() -> Any:
    schema = resources.files("sparsebody.model").joinpath("schema.json").read_text("utf-8")
    kind = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"items": _items})
    return kind(json.loads(schema))


def _check_schema(document: Any, source: str) -> None:
    error = next(_validator().iter_errors(document), None)
    if error is not None:
        message = error.message
        if len(message) > LONGEST_MESSAGE:
            message = message[: LONGEST_MESSAGE // 2] + " ... " + message[-LONGEST_MESSAGE // 2 :]
        remedy = REMEDIES.get(error.validator, lambda _: "correct it")(error)
        raise FileFormatError(f"{source}: {_place(error.absolute_path)}: {message}; {remedy}")


REMEDIES: dict[str, Callable[[Any], str]] = {
    "required": lambda error: "add it",
    "additionalProperties": lambda error: (
        f"the entries are {', '.join(error.schema['properties'])}"
    ),
    "type": lambda error: f"give one of type {error.validator_value}",
    "minItems": lambda error: f"give {error.validator_value} entries",
    "maxItems": lambda error: f"give {error.validator_value} entries",
    "maxProperties": lambda error: "'world' is the fixed node: give a body another id",
}


def _place(path: Any) -> str:
    """Return a place in the document as a person would write it, such as nodes[2].inertia[0]."""
    words = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(words).lstrip(".") or "the document"


def _check_finite(document: Any, source: str) -> None:
    """JSON has no NaN and no infinity, but Python's reader takes them, and 1e999."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), document)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(((*place, key), item) for key, item in value.items())
        elif isinstance(value, list):
            stack.extend(((*place, index), item) for index, item in enumerate(value))
        elif _is_no_float(value):
            raise FileFormatError(f"{source}: {_place(place)}: found {value}; give a finite number")


def _is_no_float(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, int) and abs(value) > LARGEST_INTEGER
