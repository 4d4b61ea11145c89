"""Mechanisms in files: NetworkX node-link JSON of plain lists, numbers and words; robot files.

Files are written and read by columns; where that fails, a schema finds what is wrong with nodes
and edges.
"""

import gc
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from sparsebody import schemas, writing
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import FileFormatError, ModelError
from sparsebody.model import connections, elasticity
from sparsebody.model.bodies import SHAPES, BodyColumns, CompoundShape, Frame, Frames, Mesh, Solid
from sparsebody.model.forces import Beam, Bushing, ExternalForce, Force, JointForce, PointForce
from sparsebody.model.joints import JOINT_TYPES
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.time_functions import TIME_FUNCTIONS

FORMAT, VERSION = "sparsebody-mechanism", 1
LARGEST = 2.0**1000  # no number of a body or joint is larger
ENCODER = json.JSONEncoder(allow_nan=False)
NO_ENTRY = object()
MESH_ARRAYS = ("vertices", "triangles")
_hints = cache(get_type_hints)

Document = dict[str, Any]
Documents = Sequence[Document]
Table = Mapping[str, type[Any]]
Meshes = dict[Any, tuple[int, Document]]  # numbers and documents, by what they have in common

FORCES: dict[str, type[Force]] = {"joint": JointForce, "point": PointForce}
FORCES |= {"external": ExternalForce, "bushing": Bushing, "beam": Beam}
ROW_MATRICES = ("compliance", "damping")  # of joints: a number, that of each row, or a matrix
BODY_ENTRIES: dict[str, tuple[tuple[int, ...], Any]] = {  # shape and default, None where required
    name: (
        BodyColumns.SIZES.get(name, (3, 3)),
        None if given.default is given.empty else given.default,
    )
    for name, given in inspect.signature(Mechanism.add_body).parameters.items()
    if name not in ("self", "name", "shape")
}


class Unfit(ModelError):
    """A document that cannot be read by columns."""


def load_mechanism(path: writing.StrPath) -> Mechanism:
    """Return the mechanism of a file: .json as saved here, or .xml, .mjcf, .urdf of a robot.

    FileFormatError if the suffix is unknown or the file is broken.
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


def write_mechanism(mechanism: Mechanism, path: writing.StrPath) -> None:
    """Save a mechanism as NetworkX node-link JSON, exactly.

    The file is replaced as a whole, or not at all. Raises ModelError that names what cannot be
    saved, such as a time function outside of TIME_FUNCTIONS; OutputError if `path`, which usually
    ends in .json, cannot be written.
    """
    with _without_garbage_collection():
        document = mechanism_document(mechanism)
        head = [f'"{key}": {_line(document[key])}' for key in ("directed", "multigraph", "graph")]
        lists = [
            f'"{key}": [\n' + ",\n".join(_line(item) for item in document[key]) + "\n]"
            for key in ("nodes", "edges")
        ]
        text = "{\n" + ",\n".join(head + lists) + "\n}\n"
    writing.write_text(Path(path), text)


def _line(value: Any) -> str:
    try:
        return ENCODER.encode(value)
    except ValueError as error:
        name = value.get("id", value.get("key", "forces"))
        raise ModelError(f"{name!r} holds a number that is not finite; correct it") from error


def read_mechanism(path: writing.StrPath) -> Mechanism:
    """Return the mechanism saved in a file by `write_mechanism`.

    FileFormatError names the file, the location in it, the value there and the remedy.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: not a text file; give a JSON file") from error
    return mechanism_from_text(text, str(path))


def mechanism_from_text(text: str, source: str) -> Mechanism:
    """Return the mechanism of the text of a file; FileFormatError begins with `source`."""
    with _without_garbage_collection():
        document = _parsed(text, source)
        _check_version(document, source)
        try:
            _check({**document, "nodes": [], "edges": []}, source)
            return _mechanism(document, source)
        except (ModelError, LookupError, TypeError, AttributeError):
            _check(document, source)  # the schema says what is wrong and where
            return _mechanism(document, source)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause garbage collection, a search for cycles of objects: a document has none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# ---- mechanism -> document ------------------------------------------------------------------


def mechanism_document(mechanism: Mechanism) -> Document:
    """Return node-link data that describes the mechanism exactly, in the order of declaration.

    ModelError names the joint, force or body that holds what no table knows, such as a time
    function written in Python.
    """
    bodies, joints = mechanism.columns()
    forces = mechanism.forces.items()
    meshes: Meshes = {}
    nodes = _nodes(mechanism.body_names, bodies, meshes)
    graph = {
        "format": FORMAT,
        "version": VERSION,
        "name": mechanism.name,
        "gravity": mechanism.gravity.tolist(),
        "forces": [_kind_document(force, FORCES, f"force {name!r}") for name, force in forces],
    }
    if meshes:
        graph["meshes"] = [document for _, document in meshes.values()]
    return {
        "directed": True,
        "multigraph": True,
        "graph": graph,
        "nodes": [{"id": WORLD}, *nodes],
        "edges": _edges(mechanism, joints),
    }


def _nodes(names: Sequence[str], columns: BodyColumns, meshes: Meshes) -> list[Document]:
    """Return a document for each body; meshes of shapes are added to a table."""
    keys = ("id", *BODY_ENTRIES)
    rows = zip(names, *(getattr(columns, name).tolist() for name in BODY_ENTRIES), strict=True)
    documents = [dict(zip(keys, row, strict=True)) for row in rows]
    shapes = columns.shape.tolist()
    distinct = {id(shape): shape for shape in shapes if shape is not None}
    made = {key: _shape_document(shape, meshes) for key, shape in distinct.items()}
    for document, shape in zip(documents, shapes, strict=True):
        if shape is not None:
            document["shape"] = made[id(shape)]
    return documents


def _shape_document(shape: Any, meshes: Meshes) -> Document:
    """Return the document of a shape; of a mesh it has the index in a table."""
    if isinstance(shape, CompoundShape):
        solids = [_shape_document(solid, meshes) for solid in shape.solids]
        return {"type": shape.name, "solids": solids}
    if not isinstance(shape, Mesh):
        return _kind_document(shape, SHAPES, "a body")
    key = shape.key
    if key not in meshes:
        arrays = {name: np.asarray(getattr(shape, name)).tolist() for name in MESH_ARRAYS}
        meshes[key] = len(meshes), arrays
    others = {f.name: _plain(getattr(shape, f.name), "a body") for f in fields(shape)}
    others = {k: v for k, v in others.items() if k not in MESH_ARRAYS and v is not None}
    return {"type": shape.name, "mesh": meshes[key][0]} | others


def _edges(mechanism: Mechanism, joints: connections.JointColumns) -> list[Document]:
    names = mechanism.joint_names
    _, first = np.unique(joints.type_index, return_index=True)
    kinds = [
        {
            "type": _word(kind, JOINT_TYPES, who := f"joint {names[int(first[t])]!r}"),
            "options": {f.name: _plain(getattr(kind, f.name), who) for f in fields(kind)},
        }
        for t, kind in enumerate(joints.types)
    ]
    ends = np.array([*mechanism.body_names, WORLD], dtype=object)  # the world last, at -1
    frames = (joints.predecessor_frame, joints.successor_frame)
    columns = (
        ends[joints.predecessor],
        ends[joints.successor],
        joints.type_index,
        *(part for of_side in frames for part in (of_side.origins, of_side.quaternions)),
    )
    edges = [
        {
            "source": source,
            "target": target,
            "key": name,
            **kinds[kind],
            "predecessor_frame": {"position": p, "orientation": e},
            "successor_frame": {"position": q, "orientation": f},
        }
        for name, source, target, kind, p, e, q, f in zip(
            names, *(column.tolist() for column in columns), strict=True
        )
    ]
    for j, motions in joints.prescribed.items():
        edges[j]["prescribed"] = [
            {
                "coordinate": i,
                "motion": _kind_document(motion, TIME_FUNCTIONS, f"joint {names[j]!r}"),
            }
            for i, motion in motions.items()
        ]
    for what in ROW_MATRICES:
        matrices = getattr(joints, what)
        for j in np.flatnonzero(matrices.any(axis=(1, 2))).tolist() if matrices.any() else []:
            n = joints.types[joints.type_index[j]].n_constraints
            edges[j][what] = elasticity.plain_matrix(matrices[j, :n, :n])
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
    if isinstance(value, Solid):  # of a compound shape
        return _kind_document(value, SHAPES, who)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(item, who) for item in value]
    return _kind_document(value, TIME_FUNCTIONS, who) if callable(value) else value


# ---- text -> document -----------------------------------------------------------------------


def _parsed(text: str, source: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{source}: line {error.lineno}, column {error.colno}: not JSON: {error.msg}; "
            "correct it there or save the mechanism again"
        ) from error
    except ModelError as error:
        raise FileFormatError(f"{source}: JSON: {error}") from error
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


def _check(document: Any, source: str) -> None:
    """Raise FileFormatError where a document does not fit the schema, or a number is not finite."""
    fault = schemas.schema_fault(document, "sparsebody.model")
    if fault is not None:
        raise FileFormatError(f"{source}: {fault}")
    # JSON has no NaN and no infinity, but Python's reader takes them, and 1e999
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), document)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(((*path, key), item) for key, item in value.items())
        elif isinstance(value, list):
            stack.extend(((*path, index), item) for index, item in enumerate(value))
        elif type(value) in (int, float) and not abs(value) <= LARGEST:
            raise FileFormatError(
                f"{source}: {schemas.location_in(path)}: found {value}; give a finite number"
            )


# ---- document -> mechanism ------------------------------------------------------------------


def _mechanism(document: Document, source: str) -> Mechanism:
    """Return the mechanism of a document that fits the schema; errors name the location in it."""
    graph = document["graph"]
    try:
        mechanism = Mechanism(graph["name"], graph["gravity"])
    except ModelError as error:
        raise FileFormatError(f"{source}: graph: {error}") from error
    nodes, edges, forces = document["nodes"], document["edges"], graph.get("forces", [])
    add_bodies = partial(_add_bodies, meshes=_meshes(graph.get("meshes", []), source))
    for path, items, size, add in (
        ("nodes", nodes, len(nodes), add_bodies),
        ("edges", edges, len(edges), _add_joints),
        ("graph.forces", forces, 1, _add_force),
    ):
        first = 0
        while first < len(items):
            try:
                add(mechanism, items[first : first + size])
                first += size
            except ModelError as error:  # halve, so as to tell which
                if size == 1:
                    raise FileFormatError(f"{source}: {path}[{first}]: {error}") from error
                size = (size + 1) // 2
    return mechanism


def _meshes(documents: Documents, source: str) -> list[Mesh]:
    """Return the table of meshes."""
    meshes = []
    for k, document in enumerate(documents):
        try:
            meshes.append(_made(Mesh, document, "mesh"))
        except ModelError as error:
            raise FileFormatError(f"{source}: graph.meshes[{k}]: {error}") from error
    return meshes


def _with_arrays(document: Document, meshes: Sequence[Mesh]) -> Document:
    """Return the document of a shape with the arrays that it has an index for."""
    solids, index = document.get("solids"), document.get("mesh", NO_ENTRY)
    if isinstance(solids, list):
        solids = [_with_arrays(s, meshes) if isinstance(s, dict) else s for s in solids]
        return document | {"solids": solids}
    if index is NO_ENTRY:
        return document
    if type(index) is not int or not 0 <= index < len(meshes):
        raise ModelError(
            f"shape: mesh is {index!r}, but graph.meshes has {len(meshes)}; give an index from 0"
        )
    arrays = {name: getattr(meshes[index], name) for name in MESH_ARRAYS}
    return {key: value for key, value in document.items() if key != "mesh"} | arrays


def _add_bodies(mechanism: Mechanism, nodes: Documents, *, meshes: Sequence[Mesh]) -> None:
    """Add the bodies of nodes, all or none."""
    _check_entries(nodes, {"id", "shape", *BODY_ENTRIES})
    bodies = [node for node in nodes if node["id"] != WORLD or len(node) > 1]
    if bodies:
        shapes = [node.get("shape", NO_ENTRY) for node in bodies]
        mechanism.add_bodies(
            [node["id"] for node in bodies],
            **{key: _numbers(bodies, key, *size) for key, size in BODY_ENTRIES.items()},
            shape=_made_once(
                shapes, lambda shape: _from_kind(_with_arrays(shape, meshes), SHAPES, "shape")
            ),
        )


def _add_joints(mechanism: Mechanism, edges: Documents) -> None:
    """Add the joints of edges, all or none."""
    ends_and_frames = {"source", "target", "predecessor_frame", "successor_frame"}
    of_type = {"key", "type", "options", "prescribed", *ROW_MATRICES}
    _check_entries(edges, ends_and_frames | of_type)
    who = f"joint {edges[0]['key']!r}"  # where there is only one
    mechanism.add_joints(
        [edge["key"] for edge in edges],
        _made_once(
            [{**edge.get("options", {}), "type": edge["type"]} for edge in edges],
            lambda kind: _from_kind(kind, JOINT_TYPES, who),
        ),
        _ends(mechanism, edges, "source"),
        _ends(mechanism, edges, "target"),
        predecessor_frame=_frames(edges, "predecessor_frame"),
        successor_frame=_frames(edges, "successor_frame"),
        prescribed=[_prescribed(edge) if "prescribed" in edge else None for edge in edges],
        **{
            key: [edge.get(key, 0.0) for edge in edges]
            for key in ROW_MATRICES
            if any(key in edge for edge in edges)
        },
    )


def _ends(mechanism: Mechanism, edges: Documents, key: str) -> IntArray:
    names = [edge[key] for edge in edges]
    bodies = mechanism.body_names.find_all(names)
    for j in np.flatnonzero(bodies < 0).tolist():
        if names[j] != WORLD:
            raise ModelError(
                f"joint {edges[j]['key']!r}: {key} {names[j]!r} is no node; add that body to the "
                "nodes"
            )
    return bodies


def _frames(edges: Documents, key: str) -> Frames:
    entries = [edge[key] for edge in edges]
    _check_entries(entries, {"position", "orientation"})
    position = _numbers(entries, "position", (3,))
    try:
        return Frames(position, _numbers(entries, "orientation", (4,)))
    except ModelError as error:
        raise ModelError(f"joint {edges[0]['key']!r}, {key}: {error.__cause__}") from error


def _prescribed(edge: Document) -> dict[int, Any]:
    who = f"joint {edge['key']!r}, prescribed"
    return {
        item["coordinate"]: _from_kind(item["motion"], TIME_FUNCTIONS, who)
        for item in edge["prescribed"]
    }


def _add_force(mechanism: Mechanism, documents: Documents) -> None:
    (document,) = documents
    force = _from_kind(document, FORCES, f"force {document['name']!r}")
    what = document["type"] if isinstance(force, Bushing | Beam) else f"{document['type']}_force"
    getattr(mechanism, f"add_{what}")(**vars(force))


# ---- entries of many objects -----------------------------------------------------------------


def _made_once(documents: Sequence[Any], make: Callable[[Any], Any]) -> list[Any]:
    """Return what `make` makes of each document, one object of equal ones; None of NO_ENTRY."""
    keys = list(map(repr, documents))
    distinct = dict(zip(keys, documents, strict=True))
    made = {key: None if one is NO_ENTRY else make(one) for key, one in distinct.items()}
    return [made[key] for key in keys]


def _check_entries(rows: Documents, known: set[str]) -> None:
    if not set(chain.from_iterable(rows)) <= known:
        raise Unfit("entries")


def _numbers(rows: Documents, key: str, shape: tuple[int, ...], default: Any = None) -> FloatArray:
    """(n, *shape) an entry that is made of numbers in every row."""
    entries = np.array([row.get(key, default) for row in rows], dtype=object)
    is_plain = set(map(type, entries.ravel().tolist())) <= {float, int}
    if entries.shape == (len(rows), *shape) and is_plain:
        with suppress(OverflowError):
            array = entries.astype(float)
            if (np.abs(array) < LARGEST).all():
                return array
    raise Unfit(key)


# ---- one object ------------------------------------------------------------------------------


def _from_kind(document: Document, table: Table, who: str) -> Any:
    """Return the object of a class in `table` that a document with its word describes."""
    word = document["type"]
    if word not in table:
        raise ModelError(f"{who}: unknown type {word!r}; the types are {', '.join(table)}")
    entries = {name: value for name, value in document.items() if name != "type"}
    return _made(table[word], entries, f"{who} ({word})")


def _made(kind: type[Any], entries: Document, who: str) -> Any:
    """Return an object of a dataclass from plain values of its fields."""
    known = {field.name: field for field in fields(kind)}
    for name in entries.keys() - known.keys():
        raise ModelError(f"{who}: unknown entry {name!r}; the entries are {', '.join(known)}")
    for name, field in known.items():
        if name not in entries and field.default is field.default_factory is MISSING:
            raise ModelError(f"{who}: {name!r} is missing; add it")
    hints = _hints(kind)  # type: ignore[arg-type]  # classes can be hashed
    values = {name: _typed(value, hints[name], f"{who}, {name}") for name, value in entries.items()}
    try:
        return kind(**values)
    except ModelError as error:
        raise ModelError(f"{who}: {error}") from error


def _typed(value: Any, hint: Any, who: str) -> Any:
    """Return a plain value as the field's annotation asks, as far as the class does not check."""
    if isinstance(value, np.ndarray):
        return value
    if hint is Frame:
        return _made(Frame, value if isinstance(value, dict) else {"frame": value}, who)
    if hint == tuple[Solid, ...] and isinstance(value, list):
        return [_solid(item, f"{who}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, dict):
        if "type" not in value:
            raise ModelError(f"{who}: 'type' is missing; add one of {', '.join(TIME_FUNCTIONS)}")
        return _from_kind(value, TIME_FUNCTIONS, who)
    kinds, remedy = ({str}, "a word") if hint is str else ({float, int}, "a number or a list")
    if not set(map(type, np.array(value, dtype=object).ravel().tolist())) <= kinds:
        raise ModelError(f"{who} is {value!r}; give {remedy}")
    return value


def _solid(value: Any, who: str) -> Any:
    if not isinstance(value, dict) or "type" not in value:
        raise ModelError(f"{who} is {value!r}; give a solid such as one of type 'box'")
    return _from_kind(value, SHAPES, who)
