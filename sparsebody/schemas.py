"""Checks of documents by the JSON schemas of the package; errors name the entry and the remedy."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from typing import Any

import jsonschema

LONGEST_MESSAGE = 160  # of the schema checker, which quotes whole objects


def schema_fault(document: Any, package: str) -> str | None:
    """Return "location: message; remedy" of the first fault by the schema.json of a package."""
    error = next(_validator(package).iter_errors(document), None)
    if error is None:
        return None
    message = error.message
    if len(message) > LONGEST_MESSAGE:
        message = message[: LONGEST_MESSAGE // 2] + " ... " + message[-LONGEST_MESSAGE // 2 :]
    remedy = REMEDIES.get(error.validator, lambda _: "correct it")(error)
    return f"{location_in(error.absolute_path)}: {message}; {remedy}"


def location_in(path: Iterable[str | int]) -> str:
    """Return a location in the document as a person would write it, such as nodes[2].inertia[0]."""
    words = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(words).lstrip(".") or "the document"


@cache
def _validator(package: str) -> Any:
    schema = resources.files(package).joinpath("schema.json").read_text("utf-8")
    kind = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"items": _items})
    return kind(json.loads(schema))


def _items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """As the standard's, but lists of numbers, most of a file, pass at once."""
    plain = items == {"type": "number"} and isinstance(instance, list)
    if not plain or any(type(item) not in (float, int) for item in instance):
        check = jsonschema.Draft202012Validator.VALIDATORS["items"]
        yield from check(validator, items, instance, schema)


def _known_entries(error: Any) -> str:
    known = error.schema.get("properties")
    return f"the entries are {', '.join(known)}" if known else "correct it"


REMEDIES: dict[str, Callable[[Any], str]] = {
    "required": lambda error: "add it",
    "additionalProperties": _known_entries,
    "type": lambda error: f"give one of type {error.validator_value}",
    "pattern": lambda error: "write it as module:function",
    "minItems": lambda error: f"give {error.validator_value} entries",
    "maxItems": lambda error: f"give {error.validator_value} entries",
    "maxProperties": lambda error: "'world' is the fixed node: give a body another id",
}
