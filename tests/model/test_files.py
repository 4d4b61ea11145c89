import json
import re
from dataclasses import fields
from functools import reduce
from operator import getitem

import networkx as nx
import numpy as np
import pytest
from compliant_mechanisms import deformed
from exact_equality import assert_same

import sparsebody as sb
import sparsebody.model.columns as tables
import sparsebody.model.files as files
from sparsebody.errors import FileFormatError, ModelError, OutputError
from sparsebody.model.gallery import GALLERY
from sparsebody.simulation.trajectory import fingerprint
from sparsebody.spatial import quaternion_exponential


def everything():
    """A mechanism with every joint type, shape, time function and force."""
    rng = np.random.default_rng(5)
    mechanism = sb.Mechanism("all of it", gravity=(0.1, 1 / 3, -9.81))
    options = {"helical": {"pitch": 0.1}, "constant-distance": {"length": 2.0}}
    turn = tuple(quaternion_exponential([0.3, 0.2, -0.1]))
    shapes = [
        sb.Box((0.1, 0.2, 1 / 3), sb.Frame((0.1, 0.0, 0.0), turn)),
        sb.Cylinder(0.1, 0.7, color=(0.1, 1 / 3, 1.0)),
        sb.Sphere(0.25, sb.Frame((0.0, 0.0, -0.0))),
        sb.Polyline(((0.0, 0.0, 0.0), (0.1, 0.2, 0.3))),
        sb.Mesh(np.eye(3) / 3, [[0, 1, 2], [2, 1, 0]], sb.Frame((0.1, 0.0, 0.0), turn)),
        sb.CompoundShape((sb.Sphere(0.25), sb.Mesh(np.eye(3), [[0, 1, 2]]))),
        None,
    ]
    motions = {
        "cylindrical": {1: sb.SmoothStep(0.1, 0.2, 3.0), 0: sb.Sinusoid(0.1, 2.0, 0.3)},
        "revolute": sb.Polynomial((0.1, 0.2)),
        "prismatic": 0.5,
    }
    n = len(sb.JOINT_TYPES)
    positions = "center_of_mass", "position", "linear_velocity", "angular_velocity"
    mechanism.add_bodies(
        "body {}",
        mass=rng.uniform(0.1, 2.0, n),
        inertia=rng.uniform(0.1, 0.15, (n, 3)),
        orientation=quaternion_exponential(rng.normal(size=(n, 3))),
        shape=[shapes[index % len(shapes)] for index in range(n)],
        **{name: rng.normal(size=(n, 3)) for name in positions},
    )
    for index, (name, kind) in enumerate(sb.JOINT_TYPES.items()):
        ends = sb.WORLD if index % 3 == 0 else f"body {index - 1}", f"body {index}"
        frame = sb.Frame(rng.normal(size=3), quaternion_exponential(rng.normal(size=3)))
        frames = {"predecessor_frame": frame, "successor_frame": frame}
        joint_type = kind(**options.get(name, {}))
        mechanism.add_joint(name, joint_type, *ends, prescribed=motions.get(name), **frames)
    mechanism.add_joint("again", sb.Spherical(), "body 1", "body 0", point=(1, 2, 3))
    mechanism.add_joint_force("motor", "planar", coordinate=1, stiffness=3.0, effort=1 / 7)
    mechanism.add_joint_force("wave", "helical", damping=0.1, effort=sb.Sinusoid(1.0, 2.0))
    push = {"first_point": (1, 0, 0), "stiffness": 5.0, "effort": sb.Polynomial((1, 2))}
    mechanism.add_point_force("strut", sb.WORLD, "body 2", **push)
    mechanism.add_external_force("push", "body 3", force=(1, 2, 3), axes="body")
    mechanism.add_external_force("pull", "body 3", moment=(1, 0, 3), point=(0.1, 0.2, 0.3))
    return mechanism


CASES = {name: sb.build(name) for name in GALLERY}
CASES |= {
    "everything": everything(),
    "moving random tree": sb.build("tree", random=True, moving=True),
    "scissor driven": sb.build("scissor", drive=True),
    "stewart driven": sb.build("stewart", drive=True),
    "disordered ladder": sb.build("ladder", disorder=0.1),
    "no body": sb.Mechanism("empty"),
}


@pytest.mark.parametrize("mechanism", CASES.values(), ids=CASES)
def test_round_trip_is_exact(mechanism, tmp_path):
    sb.write_mechanism(mechanism, tmp_path / "mechanism.json")
    again = sb.read_mechanism(tmp_path / "mechanism.json")
    assert again.name == mechanism.name
    for part in ("gravity", "bodies", "joints", "forces"):
        assert_same(getattr(again, part), getattr(mechanism, part))


def test_large_files_make_no_object_per_body(tmp_path, monkeypatch):
    mechanism, path = sb.build("ladder", rungs=2000, disorder=0.1), tmp_path / "large.json"
    monkeypatch.setattr(tables.Table, "__getitem__", None)
    sb.write_mechanism(mechanism, path)
    system, again = mechanism.compile(), sb.read_mechanism(path).compile()
    for field in fields(system):
        assert_same(getattr(again, field.name), getattr(system, field.name))


def test_a_mesh_is_stored_once_whichever_bodies_have_it(tmp_path):
    corners, path = np.array([[0.0, 0, 0], [3, 0, 0], [0, 2, 0]]), tmp_path / "meshes.json"
    frame = sb.Frame((0.1, 0.2, 0.3))
    shapes = [
        sb.Mesh(corners, [[0, 1, 2]]),
        sb.Mesh(corners.copy(), [[0, 1, 2]], frame, color=(1.0, 0.5, 0.0)),
        sb.CompoundShape(
            [sb.Sphere(0.1), sb.Mesh(corners, [[0, 2, 1]]), sb.Mesh(corners, [[0, 1, 2]])]
        ),
    ]
    mechanism = sb.Mechanism("meshes")
    mechanism.add_bodies("body {}", mass=np.ones(3), inertia=[1.0, 1.0, 1.0], shape=shapes)
    sb.write_mechanism(mechanism, path)
    document = json.loads(path.read_text())
    assert [mesh["triangles"] for mesh in document["graph"]["meshes"]] == [[[0, 1, 2]], [[0, 2, 1]]]
    again = sb.read_mechanism(path)
    assert_same(again.bodies, mechanism.bodies)
    first, second, third = (body.shape for body in again.bodies.values())
    assert first.vertices is second.vertices
    assert first.triangles is third.solids[2].triangles

    # where each body has its own, as files had it before
    meshes = document["graph"].pop("meshes")
    for node in document["nodes"][1:]:
        for solid in node["shape"].get("solids", [node["shape"]]):
            if "mesh" in solid:
                solid |= meshes[solid.pop("mesh")]
    path.write_text(json.dumps(document))
    assert_same(sb.read_mechanism(path).bodies, mechanism.bodies)


def test_file_is_networkx_node_link_data(tmp_path):
    mechanism, path = everything(), tmp_path / "mechanism.json"
    sb.write_mechanism(mechanism, path)
    graph = nx.node_link_graph(json.loads(path.read_text()), edges="edges")
    assert graph.is_directed()
    assert graph.is_multigraph()
    assert set(graph.nodes) == set(mechanism.graph.nodes)
    assert set(graph.edges(keys=True)) == set(mechanism.graph.edges(keys=True))


def test_files_hold_compliance_bushings_and_beams_exactly(tmp_path):
    mechanism, path = deformed(3, ["revolute", "fixed"], damping=True), tmp_path / "m.json"
    mechanism.add_joint("soft", sb.Spherical(), "b0", "b2", compliance=1e-3, damping=[1, 2, 3])
    sb.write_mechanism(mechanism, path)
    assert fingerprint(sb.read_mechanism(path).compile()) == fingerprint(mechanism.compile())
    text = path.read_text()
    assert '"compliance": 0.001, "damping": [1.0, 2.0, 3.0]' in text
    for value, message in (
        ("-0.001", r"edges\[2\]: joint 'soft': compliance is -0.001"),
        ('"x"', r"edges\[2\].compliance: 'x' is not of type"),
    ):
        path.write_text(text.replace('"compliance": 0.001', f'"compliance": {value}'))
        with pytest.raises(FileFormatError, match=message):
            sb.read_mechanism(path)


# ---- writing --------------------------------------------------------------------------------


def custom(time):
    return 0.0, 0.0, 0.0


def test_what_no_file_can_hold_is_named_when_saving(tmp_path):
    moved, pushed, endless = (sb.build("pendulum") for _ in range(3))
    moved.add_joint("motor", sb.Revolute(), sb.WORLD, "mass", prescribed=custom)
    pushed.add_joint_force("servo", "pivot", effort=custom)
    ball = endless.add_body("ball", mass=1.0, inertia=(1, 1, 1), shape=sb.Sphere(1.0))
    object.__setattr__(ball.shape, "radius", float("inf"))  # behind the checks
    for mechanism, message in (
        (moved, r"joint 'motor': .*custom.* cannot be saved, a file knows"),
        (pushed, r"force 'servo': .*polynomial, sinusoid, smooth-step; use"),
        (endless, "'ball' holds a number that is not finite"),
    ):
        with pytest.raises(ModelError, match=message):
            sb.write_mechanism(mechanism, tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_file_that_was_there_survives_a_failed_saving(tmp_path, monkeypatch):
    path = tmp_path / "mechanism.json"
    sb.write_mechanism(sb.build("pendulum"), path)
    before = path.read_bytes()

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.writing.os, "replace", full)
    for target, message in ((path, "No space left on device"), (tmp_path / "no" / "x", "No such")):
        with pytest.raises(OutputError, match=f"cannot write '{target}': {message}"):
            sb.write_mechanism(sb.build("chain"), target)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# ---- broken files ---------------------------------------------------------------------------


def example():
    frame = {"position": [0, 0, 0], "orientation": [1, 0, 0, 0]}
    return {
        "directed": True,
        "multigraph": True,
        "graph": {
            "format": "sparsebody-mechanism",
            "version": 1,
            "name": "example",
            "gravity": [0, 0, -9.81],
            "forces": [{"type": "joint", "name": "spring", "joint": "hinge", "stiffness": 2}],
        },
        "nodes": [
            {"id": "world"},
            {"id": "bar", "mass": 1.0, "inertia": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]},
        ],
        "edges": [
            {"source": "world", "target": "bar", "key": "hinge", "type": "revolute"}
            | {"predecessor_frame": frame, "successor_frame": frame}
        ],
    }


NODE, EDGE, FORCE = ("nodes", 1), ("edges", 0), ("graph", "forces", 0)
PRESCRIBED, ORIENTATION = (*EDGE, "prescribed"), (*EDGE, "successor_frame", "orientation")
REMOVED = object()
STEP = {"type": "smooth-step", "start": 0, "end": 1}


def motion(coordinate=0, **entries):
    return [{"coordinate": coordinate, "motion": {"type": "polynomial"} | entries}]


def compound(solid):
    return {"type": "compound", "solids": [solid]}


MESH = {"vertices": np.eye(3).tolist(), "triangles": [[0, 1, 2]]}
# entry, what stands there instead, and the message
BROKEN = [
    (("nodes",), REMOVED, "the document: 'nodes' is a required property; add it"),
    ((*NODE, "orientation"), [1, 1, 0, 0], r"nodes\[1\]: body 'bar': quaternion .* has norm 1\.41"),
    (("graph", "version"), 2, r"graph\.version is 2, but this sparsebody reads version 1; use"),
    (("graph", "format"), "other", r"not a mechanism: graph\.format is 'other', not 'sparsebody-"),
    (("graph", "gravity"), [0, 9.81], r"graph\.gravity: \[0, 9\.81\] is too short; give 3 entries"),
    (("directed",), False, "directed: True was expected"),
    ((*NODE, "mass"), REMOVED, r"nodes\[1\]: 'mass' is a required property; add it"),
    ((*NODE, "mass"), "heavy", r"nodes\[1\]\.mass: 'heavy' is not of type 'number'; give one of"),
    ((*NODE, "mass"), -1.0, r"nodes\[1\]: body 'bar': mass -1\.0 kg; give a positive one"),
    ((*NODE, "mass"), float("nan"), r"nodes\[1\]\.mass: found nan; give a finite number"),
    ((*NODE, "mass"), 10**400, r"nodes\[1\]\.mass: found 1000.*; give a finite number"),
    ((*NODE, "masse"), 1.0, r"nodes\[1\]: .*'masse' was unexpected.*; the entries are id, mass"),
    ((*NODE, "inertia", 0, 0), 9, r"nodes\[1\]: body 'bar': no body has principal moments 1, 1, 9"),
    ((*NODE, "position"), [0, 0, 10**305], r"nodes\[1\]\.position\[2\]: found 1000.*; give a fin"),
    ((*NODE, "shape"), None, r"nodes\[1\]\.shape: None is not of type 'object'"),
    (("nodes",), {"bar": 1}, r"nodes: \{'bar': 1\} is not of type 'array'"),
    ((*NODE, "id"), "world", r"nodes\[1\]: .*; 'world' is the fixed node: give a body another id"),
    ((*NODE, "id"), "", r"nodes\[1\]\.id: ''"),
    (("nodes", 0, "id"), "bar", r"nodes\[0\]: 'mass' is a required property"),
    ((*NODE, "shape"), {"type": "cone"}, r"unknown type 'cone'; the types are box, cylinder, sph"),
    ((*NODE, "shape"), {"type": "sphere"}, r"shape \(sphere\): 'radius' is missing; add it"),
    ((*NODE, "shape"), {"type": "sphere", "radius": "x"}, "radius is 'x'; give a number"),
    ((*NODE, "shape"), {"type": "box", "sides": [1, 2]}, r"sides has shape \(2,\); give 3 numbers"),
    ((*NODE, "shape"), {"type": "mesh", "mesh": 0}, r"mesh is 0, but graph\.meshes has 0; give an"),
    ((*NODE, "shape"), compound({"type": "mesh", "mesh": 0.5}), r"mesh is 0\.5, but graph\.meshes"),
    (("graph", "meshes"), [{"vertices": []}], r"graph\.meshes\[0\]: 'triangles' is a required"),
    (
        ("graph", "meshes"),
        [MESH | {"triangles": [[0, 1, 3]]}],
        r"meshes\[0\]: .* the vertex 3; the",
    ),
    ((*NODE, "shape"), compound(3), r"compound\), solids\[0\] is 3; give a solid such as one of"),
    ((*NODE, "shape"), compound({"type": "cone"}), r"solids\[0\]: unknown type 'cone'"),
    ((*NODE, "shape"), compound({"type": "sphere", "radius": 0}), r"solids\[0\] \(sph.* positive"),
    (
        (*NODE, "shape"),
        compound({"type": "polyline", "points": [[0, 0, 0], [0, 0, 1]]}),
        "give a list of Box, Cyl",
    ),
    ((*EDGE, "type"), "hinge", r"edges\[0\]: joint 'hinge': unknown type 'hinge'; the types ar"),
    ((*EDGE, "options"), {"pitch": 1}, r"\(revolute\): unknown entry 'pitch'; the entries are"),
    ((*EDGE, "options"), {"x": float("inf")}, r"edges\[0\]\.options\.x: found inf; give a finite"),
    (PRESCRIBED, motion("x"), r"\.prescribed\[0\]\.coordinate: 'x' is not of type 'integer'"),
    (PRESCRIBED, motion(1, coefficients=[1]), r"'hinge': coordinate is 1, but a revolute joint h"),
    (PRESCRIBED, motion(coefficients=1), "coefficients is 1; give a list"),
    (PRESCRIBED, motion(**STEP, duration=0), r"edges\[0\]: .*duration is 0\.0; it must be pos"),
    ((*EDGE, "source"), "bare", r"edges\[0\]: joint 'hinge': source 'bare' is no node; add that"),
    ((*EDGE, "target"), "world", r"edges\[0\]: joint 'hinge': connects 'world' to itself"),
    (ORIENTATION, [2, 0, 0, 0], r"'hinge', successor_frame: frame: quaternion .* has norm 2"),
    ((*FORCE, "type"), "magnet", r"graph\.forces\[0\]: force 'spring': unknown type 'magnet'"),
    ((*FORCE, "joint"), "hing", r"graph\.forces\[0\]: there is no joint 'hing'"),
    ((*FORCE, "stiffness"), "soft", r"graph\.forces\[0\]: .*stiffness is 'soft'; give a number"),
    ((*FORCE, "effort"), {"value": 1}, r"effort: 'type' is missing; add one of polynomial"),
    ((*FORCE, "coordinate"), 0.5, "coordinate is 0.5, but a revolute joint has 1"),
]


def broken(entry, value):
    document = json.loads(json.dumps(example()))
    *path, last = entry
    parent = reduce(getitem, path, document)
    if value is REMOVED:
        del parent[last]
    else:
        parent[last] = value
    return document


def assert_refused(tmp_path, content, message):
    path = tmp_path / "broken.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(FileFormatError, match=re.escape(str(path)) + ": .*" + message) as caught:
        sb.read_mechanism(path)
    return str(caught.value)


@pytest.mark.parametrize(("entry", "value", "message"), BROKEN)
def test_broken_entry_is_named_with_its_place_and_the_remedy(entry, value, message, tmp_path):
    assert_refused(tmp_path, broken(entry, value), message)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (("nodes",), r"nodes\[2\]: body 'bar': .* taken by another"),
        (("edges",), r"edges\[1\]: joint 'hinge': .* taken by another"),
        (("graph", "forces"), r"graph\.forces\[1\]: force 'spring': .* is"),
    ],
)
def test_duplicate_names_are_refused(items, message, tmp_path):
    document = example()
    reduce(getitem, items, document).append(reduce(getitem, (*items, -1), document))
    assert_refused(tmp_path, document, message)


def test_the_first_of_many_broken_bodies_is_named(tmp_path):
    document = example()
    document["nodes"] += [{**document["nodes"][1], "id": f"bar {i}"} for i in range(100)]
    for i in (83, 61, 62):
        document["nodes"][i] |= {"mass": -i}
    assert_refused(tmp_path, document, r"nodes\[61\]: body 'bar 59': mass -61.0 kg; give")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{\n"nodes": [,]}', "line 2, column 11: not JSON: Expecting value; correct it there"),
        (b"", "line 1, column 1: not JSON"),
        (b"[1, 2]", r"not a mechanism: graph\.format is None"),
        (b"[" * 100_000, "not JSON that can be read"),
        (b'{"graph": 1, "graph": 2}', "JSON: 'graph' stands twice in an object"),
        (b"\x89HDF\xff\xfe", "not a text file; give a JSON file"),
    ],
)
def test_file_that_holds_no_document_is_refused(content, message, tmp_path):
    assert_refused(tmp_path, content, message)
    with pytest.raises(FileFormatError, match=r"none.json: cannot be read: No such file"):
        sb.read_mechanism(tmp_path / "none.json")


def test_long_quotations_of_the_schema_checker_are_shortened(tmp_path):
    document = example() | {"nodes": {f"node-{index}": index for index in range(10_000)}}
    message = assert_refused(tmp_path, document, "is not of type 'array'; give one")
    assert len(message) < 400 + len(str(tmp_path))


# ---- dispatch -------------------------------------------------------------------------------


def test_suffix_chooses_the_reader_and_optional_entries_may_be_left_out(tmp_path):
    path = tmp_path / "short.JSON"
    path.write_text(json.dumps(example()))
    bar = sb.load_mechanism(str(path)).body("bar")
    np.testing.assert_array_equal(bar.position, 0.0)
    assert bar.shape is None
    with pytest.raises(FileFormatError, match=r"unknown suffix '\.step'; give a \.json, \.xml, "):
        sb.load_mechanism("arm.step")


def test_robot_files_go_to_the_reader_of_robots(monkeypatch):
    from sparsebody.model import robots

    monkeypatch.setattr(robots, "read_robot", lambda path: f"robot {path}")
    assert sb.load_mechanism("arm.urdf") == "robot arm.urdf"
    assert sb.load_mechanism("arm.xml") == "robot arm.xml"
