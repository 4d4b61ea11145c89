"""Node-link documents as columns: for large files, where nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.bodies import BodyColumns
from sparsebody.model.connections import JointColumns
from sparsebody.model.frames import Frames
from sparsebody.model.mechanism import WORLD, Mechanism

Document = dict[str, Any]

LARGEST = 2.0**1000  # the other reader looks at larger numbers more closely
BODY_NUMBERS: dict[str, tuple[tuple[int, ...], Any]] = {  # shape and default, None where required
    "mass": ((), None),
    "inertia": ((3, 3), None),
    "center_of_mass": ((3,), (0, 0, 0)),
    "position": ((3,), (0, 0, 0)),
    "orientation": ((4,), (1, 0, 0, 0)),
    "linear_velocity": ((3,), (0, 0, 0)),
    "angular_velocity": ((3,), (0, 0, 0)),
}


class Unfit(ModelError):
    """The document has something wrong, or something unusual."""


# ---- columns -> documents ---------------------------------------------------------------------


def body_documents(
    names: Sequence[str], columns: BodyColumns, shape: Callable[[Any, str], Any]
) -> list[Document]:
    """Return the nodes of bodies; `shape` makes the document of a shape of a named body."""
    keys = ("id", *BODY_NUMBERS)
    rows = zip(names, *(getattr(columns, name).tolist() for name in BODY_NUMBERS), strict=True)
    documents = [dict(zip(keys, row, strict=True)) for row in rows]
    made: dict[int, Any] = {}
    for document, value in zip(documents, columns.shape.tolist(), strict=True):
        if value is not None:
            if id(value) not in made:
                made[id(value)] = shape(value, f"body {document['id']!r}")
            document["shape"] = made[id(value)]
    return documents


def joint_documents(
    names: Sequence[str], bodies: Sequence[str], columns: JointColumns, kinds: Sequence[Document]
) -> list[Document]:
    """Return the edges of joints without what is prescribed; `kinds` are type and options."""
    ends = np.array([*bodies, WORLD], dtype=object)  # the world last, at -1
    return [
        {
            "source": source,
            "target": target,
            "key": name,
            **kinds[kind],
            "predecessor_frame": {"position": p, "orientation": e},
            "successor_frame": {"position": q, "orientation": f},
        }
        for name, source, target, kind, p, e, q, f in zip(
            names,
            ends[columns.predecessor].tolist(),
            ends[columns.successor].tolist(),
            columns.type_index.tolist(),
            columns.predecessor_frame.origins.tolist(),
            columns.predecessor_frame.quaternions.tolist(),
            columns.successor_frame.origins.tolist(),
            columns.successor_frame.quaternions.tolist(),
            strict=True,
        )
    ]


# ---- documents -> columns ---------------------------------------------------------------------


def without_columns(document: Any) -> Document:
    """Return the rest of a document: its graph, and whatever is made of objects.

    Its nodes are one for each different shape, its edges one for each different `options`, and
    those with prescribed coordinates.
    """
    if not isinstance(document, dict) or not {"nodes", "edges"} <= document.keys():
        raise Unfit("entries")
    for items in (document["nodes"], document["edges"]):
        if not isinstance(items, list) or not set(map(type, items)) <= {dict}:
            raise Unfit("objects")
    shapes = {repr(node["shape"]): node["shape"] for node in document["nodes"] if "shape" in node}
    options = {repr(edge["options"]): edge for edge in document["edges"] if "options" in edge}
    prescribed = [edge for edge in document["edges"] if "prescribed" in edge]
    body = {"id": "any", "mass": 1, "inertia": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
    nodes = [{**body, "shape": shape} for shape in shapes.values()]
    return {**document, "nodes": nodes, "edges": [*options.values(), *prescribed]}


def add_body_documents(
    mechanism: Mechanism, nodes: Sequence[Document], shape: Callable[[Any], Any]
) -> None:
    """Add the bodies of all nodes; Unfit or ModelError where something is wrong with one."""
    check_keys(nodes, {"id"}, {"shape", *BODY_NUMBERS})
    bodies = [node for node in nodes if node["id"] != WORLD]
    if len(bodies) < len(nodes):
        check_keys([node for node in nodes if node["id"] == WORLD], {"id"})
    if not bodies:
        return
    check_keys(bodies, {"id", "mass", "inertia"}, {"shape", *BODY_NUMBERS})
    names = words(bodies, "id")
    shapes = [node.get("shape", NOTHING) for node in bodies]
    mechanism.add_bodies(
        names,
        **{key: numbers(bodies, key, *size) for key, size in BODY_NUMBERS.items()},
        shape=made_once(shapes, shape),
    )


def add_joint_documents(
    mechanism: Mechanism,
    edges: Sequence[Document],
    joint_type: Callable[[Document], Any],
    prescribed: Callable[[Document], Any],
) -> None:
    """Add the joints of all edges; Unfit or ModelError where something is wrong with one."""
    required = {"source", "target", "key", "type", "predecessor_frame", "successor_frame"}
    check_keys(edges, required, {"options", "prescribed"})
    if not edges:
        return
    options = [edge.get("options", {}) for edge in edges]
    if set(map(type, options)) != {dict}:
        raise Unfit("options")
    types = words(edges, "type")
    kinds = [{**given, "type": word} for given, word in zip(options, types, strict=True)]
    mechanism.add_joints(
        words(edges, "key"),
        made_once(kinds, joint_type),
        words(edges, "source"),
        words(edges, "target"),
        predecessor_frame=frames(edges, "predecessor_frame"),
        successor_frame=frames(edges, "successor_frame"),
        prescribed=[prescribed(edge) if "prescribed" in edge else None for edge in edges],
    )


NOTHING = object()


def made_once(documents: Sequence[Any], make: Callable[[Any], Any]) -> list[Any]:
    """Return what `make` makes of each document, the same object of equal ones."""
    keys = [None if document is NOTHING else repr(document) for document in documents]
    distinct = dict(zip(keys, documents, strict=True))
    objects = {key: None if key is None else make(document) for key, document in distinct.items()}
    return [objects[key] for key in keys]


def check_keys(rows: Sequence[Any], required: set[str], optional: Iterable[str] = ()) -> None:
    """Raise Unfit unless every row is an object with these entries."""
    if not set(map(type, rows)) <= {dict}:
        raise Unfit("objects")
    for keys in set(map(tuple, rows)):
        if not required <= set(keys) <= required.union(optional):
            raise Unfit("entries")


def words(rows: Sequence[Document], key: str) -> list[str]:
    """Return an entry that is a word in every row."""
    values = [row[key] for row in rows]
    if not set(map(type, values)) <= {str} or "" in values:
        raise Unfit(key)
    return values


def numbers(rows: Sequence[Document], key: str, shape: tuple[int, ...], default: Any) -> FloatArray:
    """(n, *shape) an entry that is made of numbers in every row."""
    values: Iterable[Any] = (
        [row.get(key, default) for row in rows] if default else map(itemgetter(key), rows)
    )
    for size in shape:
        lists = list(values)
        if not set(map(type, lists)) <= {list, tuple} or set(map(len, lists)) - {size}:
            raise Unfit(key)
        values = chain.from_iterable(lists)
    flat = list(values)
    if not set(map(type, flat)) <= {float, int}:
        raise Unfit(key)
    try:
        array = np.array(flat, dtype=float)
    except OverflowError as error:
        raise Unfit(key) from error
    if not (np.abs(array) < LARGEST).all():
        raise Unfit(key)
    return array.reshape(-1, *shape)


def frames(rows: Sequence[Document], key: str) -> Frames:
    """Return an entry that is a frame in every row."""
    entries = [row[key] for row in rows]
    check_keys(entries, {"position", "orientation"})
    return Frames(
        numbers(entries, "position", (3,), None), numbers(entries, "orientation", (4,), None)
    )
