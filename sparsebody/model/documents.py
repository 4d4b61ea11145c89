"""Mechanism <-> NetworkX node-link data made of plain lists, numbers and words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from sparsebody.errors import FileFormatError, ModelError
from sparsebody.model.connections import JointColumns
from sparsebody.model.document_columns import (
    add_body_documents,
    add_joint_documents,
    body_documents,
    joint_documents,
)
from sparsebody.model.forces import ExternalForce, JointForce, PointForce
from sparsebody.model.frames import Frame
from sparsebody.model.joints import JOINT_TYPES, JointType
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.shapes import SHAPES
from sparsebody.model.time_functions import TIME_FUNCTIONS

FORMAT, VERSION = "sparsebody-mechanism", 1

FORCES: dict[str, type[JointForce] | type[PointForce] | type[ExternalForce]] = {
    "joint": JointForce,
    "point": PointForce,
    "external": ExternalForce,
}

Document = dict[str, Any]
Table = Mapping[str, type[Any]]


# ---- mechanism -> document ------------------------------------------------------------------


def mechanism_document(mechanism: Mechanism) -> Document:
    """Return node-link data that describes the mechanism exactly, in the order of declaration.

    Raises
    ------
    ModelError
        Naming the joint, force or body that holds what no table knows, such as a time function
        written in Python.
    """
    graph = {
        "format": FORMAT,
        "version": VERSION,
        "name": mechanism.name,
        "gravity": mechanism.gravity.tolist(),
        "forces": [
            _kind_document(force, FORCES, f"force {name!r}")
            for name, force in mechanism.forces.items()
        ],
    }
    bodies, joints = mechanism.columns()
    return {
        "directed": True,
        "multigraph": True,
        "graph": graph,
        "nodes": [
            {"id": WORLD},
            *body_documents(
                mechanism.body_names, bodies, lambda s, who: _kind_document(s, SHAPES, who)
            ),
        ],
        "edges": _edges(mechanism, joints),
    }


def _edges(mechanism: Mechanism, joints: JointColumns) -> list[Document]:
    names = mechanism.joint_names
    _, first = np.unique(joints.type_index, return_index=True)
    kinds = [
        {
            "type": _word(kind, JOINT_TYPES, who := f"joint {names[int(first[t])]!r}"),
            "options": {f.name: _plain(getattr(kind, f.name), who) for f in fields(kind)},
        }
        for t, kind in enumerate(joints.types)
    ]
    edges = joint_documents(names, mechanism.body_names, joints, kinds)
    for j, motions in joints.prescribed.items():
        edges[j]["prescribed"] = [
            {
                "coordinate": coordinate,
                "motion": _kind_document(motion, TIME_FUNCTIONS, f"joint {names[j]!r}"),
            }
            for coordinate, motion in motions.items()
        ]
    return edges


def _word(value: object, table: Table, who: str) -> str:
    """Return the name under which a table knows the class of `value`."""
    for word, kind in table.items():
        if type(value) is kind:
            return word
    raise ModelError(
        f"{who}: {value!r} cannot be saved, a file knows only {', '.join(table)}; use one of these "
        "and set your own again after loading"
    )


def _kind_document(value: Any, table: Table, who: str) -> Document:
    word = _word(value, table, who)
    plain = {field.name: _plain(getattr(value, field.name), who) for field in fields(value)}
    return {"type": word} | {name: entry for name, entry in plain.items() if entry is not None}


def _plain(value: Any, who: str) -> Any:
    if isinstance(value, Frame):
        return {field.name: _plain(getattr(value, field.name), who) for field in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(item, who) for item in value]
    if callable(value):
        return _kind_document(value, TIME_FUNCTIONS, who)
    return value


# ---- document -> mechanism ------------------------------------------------------------------


def mechanism_from_document(document: Document, source: str) -> Mechanism:
    """Return the mechanism of a document that fits the schema; `source` begins every message.

    Raises
    ------
    FileFormatError
        Telling the place in the document, what was found there and the remedy.
    """
    try:
        return mechanism_from_columns(document)
    except ModelError:  # say where
        return _mechanism_one_by_one(document, source)


def mechanism_from_columns(document: Document) -> Mechanism:
    """Return the mechanism of a document of which at least `without_columns` fits the schema.

    Raises
    ------
    ModelError
        If something in it is wrong or unusual, without the place.
    """
    graph = document["graph"]
    mechanism = Mechanism(graph["name"], graph["gravity"])
    _add_bodies(mechanism, document["nodes"])
    add_joint_documents(
        mechanism, document["edges"], lambda kind: _joint_type(kind, "joint"), _prescribed
    )
    for force in graph.get("forces", []):
        _add_force(mechanism, force)
    return mechanism


def _mechanism_one_by_one(document: Document, source: str) -> Mechanism:
    graph = document["graph"]
    with located(source, "graph"):
        mechanism = Mechanism(graph["name"], graph["gravity"])
    for index, node in enumerate(document["nodes"]):
        with located(source, f"nodes[{index}]"):
            _add_bodies(mechanism, [node])
    for index, edge in enumerate(document["edges"]):
        with located(source, f"edges[{index}]"):
            _add_joint(mechanism, edge)
    for index, force in enumerate(graph.get("forces", [])):
        with located(source, f"graph.forces[{index}]"):
            _add_force(mechanism, force)
    return mechanism


@contextmanager
def located(source: str, where: str) -> Iterator[None]:
    """Tell the file and the place in it with every ModelError raised inside."""
    try:
        yield
    except ModelError as error:
        raise FileFormatError(f"{source}: {where}: {error}") from error


def _add_bodies(mechanism: Mechanism, nodes: Sequence[Document]) -> None:
    add_body_documents(mechanism, nodes, lambda shape: _from_kind(shape, SHAPES, "shape"))


def _add_joint(mechanism: Mechanism, edge: Document) -> None:
    name = edge["key"]
    who = f"joint {name!r}"
    for end in ("source", "target"):
        if edge[end] != WORLD and edge[end] not in mechanism.body_names:
            raise ModelError(f"{who}: {end} {edge[end]!r} is no node; add that body to the nodes")
    kind = {**edge.get("options", {}), "type": edge["type"]}
    mechanism.add_joint(
        name,
        _joint_type(kind, who),
        edge["source"],
        edge["target"],
        predecessor_frame=_made(Frame, edge["predecessor_frame"], f"{who}, predecessor_frame"),
        successor_frame=_made(Frame, edge["successor_frame"], f"{who}, successor_frame"),
        prescribed=_prescribed(edge),
    )


def _prescribed(edge: Document) -> dict[int, Any]:
    who = f"joint {edge['key']!r}, prescribed"
    return {
        item["coordinate"]: _from_kind(item["motion"], TIME_FUNCTIONS, who)
        for item in edge.get("prescribed", [])
    }


def _joint_type(kind: Document, who: str) -> JointType:
    joint_type: JointType = _from_kind(kind, JOINT_TYPES, who)
    return joint_type


def _add_force(mechanism: Mechanism, document: Document) -> None:
    force = _from_kind(document, FORCES, f"force {document['name']!r}")
    arguments = {field.name: getattr(force, field.name) for field in fields(force)}
    add = {
        JointForce: mechanism.add_joint_force,
        PointForce: mechanism.add_point_force,
        ExternalForce: mechanism.add_external_force,
    }[type(force)]
    add(**arguments)  # type: ignore[operator]


def _from_kind(document: Document, table: Table, who: str) -> Any:
    """Return the object of a class in `table` that a document with its word describes."""
    word = document["type"]
    if word not in table:
        raise ModelError(f"{who}: unknown type {word!r}; the types are {', '.join(table)}")
    given = {name: value for name, value in document.items() if name != "type"}
    return _made(table[word], given, f"{who} ({word})")


def _made(kind: type[Any], given: Document, who: str) -> Any:
    """Return an object of a dataclass from plain values of its fields."""
    known = {field.name: field for field in fields(kind)}
    for name in given.keys() - known.keys():
        raise ModelError(f"{who}: unknown entry {name!r}; the entries are {', '.join(known)}")
    for name, field in known.items():
        if name not in given and field.default is field.default_factory is MISSING:
            raise ModelError(f"{who}: {name!r} is missing; add it")
    hints = _hints(kind)  # type: ignore[arg-type]  # classes can be hashed
    values = {name: _typed(value, hints[name], f"{who}, {name}") for name, value in given.items()}
    try:
        return kind(**values)
    except ModelError as error:
        raise ModelError(f"{who}: {error}") from error


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _typed(value: Any, hint: Any, who: str) -> Any:
    """Return a plain value as the field's annotation asks, as far as the class does not check."""
    if hint is Frame:
        return _made(Frame, value if isinstance(value, dict) else {"frame": value}, who)
    if hint in (float, int, str):
        kinds = {float: (float, int), int: (int,), str: (str,)}[hint]
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise ModelError(f"{who} is {value!r}; give a {'word' if hint is str else 'number'}")
        return hint(value)
    if get_origin(hint) is tuple:
        return _typed_tuple(value, get_args(hint), who)
    if get_origin(hint) is UnionType and isinstance(value, dict):  # a number or a time function
        if "type" not in value:
            raise ModelError(f"{who}: 'type' is missing; add one of {', '.join(TIME_FUNCTIONS)}")
        return _from_kind(value, TIME_FUNCTIONS, who)
    return value


def _typed_tuple(value: Any, items: tuple[Any, ...], who: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ModelError(f"{who} is {value!r}; give a list")
    if items[-1] is Ellipsis:
        items = (items[0],) * len(value)
    if len(value) != len(items):
        raise ModelError(f"{who} has {len(value)} entries; give {len(items)}")
    return tuple(_typed(item, hint, who) for item, hint in zip(value, items, strict=True))
