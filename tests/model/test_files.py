import json
import re
from dataclasses import fields

import networkx as nx
import numpy as np
import pytest
from exact_equality import assert_same

import sparsebody.model.columns as tables
import sparsebody.model.files as files
from sparsebody.errors import FileFormatError, ModelError, OutputError
from sparsebody.model.bodies import Box, Cylinder, Polyline, Sphere
from sparsebody.model.files import load_mechanism, read_mechanism, write_mechanism
from sparsebody.model.frames import Frame
from sparsebody.model.gallery import GALLERY, build
from sparsebody.model.joints import JOINT_TYPES
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.time_functions import Polynomial, Sinusoid, SmoothStep
from sparsebody.spatial import quaternion_exponential


def everything():
    """A mechanism with every joint type, shape, time function and force."""
    rng = np.random.default_rng(5)
    mechanism = Mechanism("all of it", gravity=(0.1, 1 / 3, -9.81))
    options = {"helical": {"pitch": 0.1}, "constant-distance": {"length": 2.0}}
    turn = tuple(quaternion_exponential([0.3, 0.2, -0.1]))
    shapes = [
        Box((0.1, 0.2, 1 / 3), Frame((0.1, 0.0, 0.0), turn)),
        Cylinder(0.1, 0.7),
        Sphere(0.25, Frame((0.0, 0.0, -0.0))),
        Polyline(((0.0, 0.0, 0.0), (0.1, 0.2, 0.3))),
        None,
    ]
    for index, (word, kind) in enumerate(JOINT_TYPES.items()):
        mechanism.add_body(
            f"body {index}",
            mass=float(rng.uniform(0.1, 2.0)),
            inertia=rng.uniform(0.1, 0.15, 3),
            center_of_mass=rng.normal(size=3),
            position=rng.normal(size=3),
            orientation=quaternion_exponential(rng.normal(size=3)),
            linear_velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
            shape=shapes[index % len(shapes)],
        )
        frames = [Frame(rng.normal(size=3), quaternion_exponential(rng.normal(size=3)))] * 2
        mechanism.add_joint(
            word,
            kind(**options.get(word, {})),
            WORLD if index % 3 == 0 else f"body {index - 1}",
            f"body {index}",
            predecessor_frame=frames[0],
            successor_frame=frames[1],
            prescribed={
                "cylindrical": {1: SmoothStep(0.1, 0.2, 3.0), 0: Sinusoid(0.1, 2.0, 0.3)},
                "revolute": Polynomial((0.1, 0.2)),
                "prismatic": 0.5,
            }.get(word),
        )
    mechanism.add_joint("again", JOINT_TYPES["spherical"](), "body 1", "body 0", point=(1, 2, 3))
    mechanism.add_joint_force("motor", "planar", coordinate=1, stiffness=3.0, effort=1 / 7)
    mechanism.add_joint_force("wave", "helical", damping=0.1, effort=Sinusoid(1.0, 2.0))
    mechanism.add_point_force(
        "strut", WORLD, "body 2", first_point=(1, 0, 0), stiffness=5.0, effort=Polynomial((1, 2))
    )
    mechanism.add_external_force("push", "body 3", force=(1, 2, 3), axes="body")
    mechanism.add_external_force("pull", "body 3", moment=(1, 0, 3), point=(0.1, 0.2, 0.3))
    return mechanism


def round_trip(mechanism, folder):
    write_mechanism(mechanism, folder / "mechanism.json")
    return read_mechanism(folder / "mechanism.json")


CASES = {name: build(name) for name in GALLERY}
CASES |= {
    "everything": everything(),
    "moving random tree": build("tree", random=True, moving=True),
    "scissor driven": build("scissor", drive=True),
    "stewart driven": build("stewart", drive=True),
    "disordered ladder": build("ladder", disorder=0.1),
    "no body": Mechanism("empty"),
}


@pytest.mark.parametrize("mechanism", CASES.values(), ids=CASES)
def test_round_trip_is_exact(mechanism, tmp_path):
    again = round_trip(mechanism, tmp_path)
    assert again.name == mechanism.name
    assert_same(again.gravity, mechanism.gravity)
    assert_same(again.bodies, mechanism.bodies)
    assert_same(again.joints, mechanism.joints)
    assert_same(again.forces, mechanism.forces)


@pytest.mark.parametrize("mechanism", CASES.values(), ids=CASES)
def test_files_are_read_at_once_and_one_by_one_alike(mechanism, tmp_path):
    path = tmp_path / "mechanism.json"
    write_mechanism(mechanism, path)
    document = json.loads(path.read_text())
    graph = document["graph"]
    single = Mechanism(graph["name"], graph["gravity"])
    for add, items in (
        (files._add_bodies, document["nodes"]),
        (files._add_joints, document["edges"]),
        (files._add_forces, graph["forces"]),
    ):
        for item in items:
            add(single, [item])
    columns = read_mechanism(path)
    assert_same(columns.bodies, single.bodies)
    assert_same(columns.joints, single.joints)
    assert_same(columns.forces, single.forces)
    if mechanism.n_bodies:
        first, second = columns.compile(), single.compile()
        for field in fields(first):
            if field.name != "groups":  # hold kernels
                assert_same(getattr(first, field.name), getattr(second, field.name))


def test_large_files_make_no_object_per_body(tmp_path, monkeypatch):
    mechanism, path = build("ladder", rungs=2000, disorder=0.1), tmp_path / "large.json"
    monkeypatch.setattr(tables.Table, "__getitem__", None)
    write_mechanism(mechanism, path)
    system, again = mechanism.compile(), read_mechanism(path).compile()
    for field in fields(system):
        if field.name != "groups":
            assert_same(getattr(again, field.name), getattr(system, field.name))


def test_second_saving_writes_the_same_bytes(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    write_mechanism(everything(), first)
    write_mechanism(read_mechanism(first), second)
    assert first.read_bytes() == second.read_bytes()


def test_file_is_networkx_node_link_data(tmp_path):
    mechanism, path = everything(), tmp_path / "mechanism.json"
    write_mechanism(mechanism, path)
    graph = nx.node_link_graph(json.loads(path.read_text()), edges="edges")
    assert graph.is_directed()
    assert graph.is_multigraph()
    assert set(graph.nodes) == set(mechanism.graph.nodes)
    assert set(graph.edges(keys=True)) == set(mechanism.graph.edges(keys=True))


def test_optional_entries_may_be_left_out(tmp_path):
    path = tmp_path / "short.json"
    path.write_text(json.dumps(example()))
    bar = read_mechanism(path).body("bar")
    np.testing.assert_array_equal(bar.position, 0.0)
    assert bar.shape is None


# ---- writing --------------------------------------------------------------------------------


def custom(time):
    return 0.0, 0.0, 0.0


def test_joint_with_a_function_written_in_python_is_named_when_saving(tmp_path):
    mechanism = build("pendulum")
    mechanism.add_body("bar", mass=1.0, inertia=(1, 1, 1))
    mechanism.add_joint("motor", JOINT_TYPES["revolute"](), WORLD, "bar", prescribed=custom)
    with pytest.raises(
        ModelError, match=r"joint 'motor': .*custom.* cannot be saved, a file knows"
    ):
        write_mechanism(mechanism, tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_force_with_a_function_written_in_python_is_named_when_saving(tmp_path):
    mechanism = build("pendulum")
    mechanism.add_joint_force("servo", "pivot", effort=custom)
    with pytest.raises(
        ModelError, match=r"force 'servo': .*polynomial, sinusoid, smooth-step; use"
    ):
        write_mechanism(mechanism, tmp_path / "x.json")


def test_shape_with_a_number_that_is_not_finite_is_named_when_saving(tmp_path):
    mechanism = Mechanism("bad")
    ball = mechanism.add_body("ball", mass=1.0, inertia=(1, 1, 1), shape=Sphere(1.0))
    object.__setattr__(ball.shape, "radius", float("inf"))  # behind the checks
    with pytest.raises(ModelError, match="'ball' holds a number that is not finite"):
        write_mechanism(mechanism, tmp_path / "x.json")


def test_file_that_was_there_survives_a_failed_saving(tmp_path, monkeypatch):
    path = tmp_path / "mechanism.json"
    write_mechanism(build("pendulum"), path)
    before = path.read_bytes()

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OutputError, match=r"cannot write '.*json': No space left on device"):
        write_mechanism(build("chain"), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(OutputError, match=r"cannot write '.*x\.json': No such file"):
        write_mechanism(build("chain"), tmp_path / "nowhere" / "x.json")


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
            {
                "source": "world",
                "target": "bar",
                "key": "hinge",
                "type": "revolute",
                "predecessor_frame": frame,
                "successor_frame": frame,
            }
        ],
    }


NODE, EDGE, FORCE = ("nodes", 1), ("edges", 0), ("graph", "forces", 0)
REMOVED = object()

# place, what stands there instead, and the message
BROKEN = [
    (("graph", "version"), 2, r"graph\.version is 2, but this sparsebody reads version 1; use"),
    (("graph", "version"), REMOVED, r"graph\.version is None, but .* reads version 1"),
    (("graph", "format"), "other", r"not a mechanism: graph\.format is 'other', not 'sparsebody-"),
    (("graph", "name"), REMOVED, r"graph: 'name' is a required property; add it"),
    (("graph", "gravity"), [0, 9.81], r"graph\.gravity: \[0, 9\.81\] is too short; give 3 entries"),
    (("directed",), False, "directed: True was expected"),
    (("nodes",), REMOVED, "the document: 'nodes' is a required property; add it"),
    (("links",), [], r"the document: .*'links' was unexpected.*; the entries are directed, "),
    ((*NODE, "mass"), REMOVED, r"nodes\[1\]: 'mass' is a required property; add it"),
    ((*NODE, "mass"), "heavy", r"nodes\[1\]\.mass: 'heavy' is not of type 'number'; give one of"),
    ((*NODE, "mass"), -1.0, r"nodes\[1\]: body 'bar': mass -1\.0 kg; give a positive one"),
    ((*NODE, "mass"), float("nan"), r"nodes\[1\]\.mass: found nan; give a finite number"),
    ((*NODE, "mass"), 10**400, r"nodes\[1\]\.mass: found 1000.*; give a finite number"),
    ((*NODE, "masse"), 1.0, r"nodes\[1\]: .*'masse' was unexpected.*; the entries are id, mass"),
    ((*NODE, "inertia"), [1, 1, 1], r"nodes\[1\]\.inertia\[0\]: 1 is not of type 'array'"),
    ((*NODE, "inertia", 0, 0), 9, r"nodes\[1\]: body 'bar': no body has principal moments 1, 1, 9"),
    ((*NODE, "orientation"), [1, 1, 0, 0], r"nodes\[1\]: body 'bar': quaternion .* has norm 1\.41"),
    ((*NODE, "position"), [0, 0, "x"], r"nodes\[1\]\.position\[2\]: 'x' is not of type 'number'"),
    ((*NODE, "position"), [0, 0, 10**305], r"nodes\[1\]\.position\[2\]: found 1000.*; give a fin"),
    ((*NODE, "shape"), None, r"nodes\[1\]\.shape: None is not of type 'object'"),
    (NODE, "bar", r"nodes\[1\]: 'bar' is not of type 'object'"),
    (("nodes",), {"bar": 1}, r"nodes: \{'bar': 1\} is not of type 'array'"),
    ((*NODE, "id"), "world", r"nodes\[1\]: .*; 'world' is the fixed node: give a body another id"),
    ((*NODE, "id"), "", r"nodes\[1\]\.id: ''"),
    (("nodes", 0, "id"), "bar", r"nodes\[0\]: 'mass' is a required property"),
    ((*NODE, "shape"), {"type": "cone"}, r"unknown type 'cone'; the types are box, cylinder, sph"),
    ((*NODE, "shape"), {"type": "sphere"}, r"shape \(sphere\): 'radius' is missing; add it"),
    ((*NODE, "shape"), {"type": "sphere", "radius": "x"}, "radius is 'x'; give a number"),
    ((*NODE, "shape"), {"type": "box", "sides": [1, 2]}, "sides has 2 entries; give 3"),
    ((*NODE, "shape"), {"type": "box", "sides": 1}, "sides is 1; give a list"),
    (
        (*EDGE, "type"),
        "hinge",
        r"edges\[0\]: joint 'hinge': unknown type 'hinge'; the types are re",
    ),
    ((*EDGE, "type"), "helical", r"joint 'hinge' \(helical\): 'pitch' is missing; add it"),
    ((*EDGE, "options"), {"pitch": 1}, r"\(revolute\): unknown entry 'pitch'; the entries are"),
    ((*EDGE, "options"), {"x": float("inf")}, r"edges\[0\]\.options\.x: found inf; give a finite"),
    ((*EDGE, "predecessor_frame"), [0, 0], r"edges\[0\]\.predecessor_frame: \[0, 0\] is not of"),
    (
        (*EDGE, "prescribed"),
        [{"coordinate": "x", "motion": {"type": "polynomial", "coefficients": [1]}}],
        r"edges\[0\]\.prescribed\[0\]\.coordinate: 'x' is not of type 'integer'",
    ),
    ((*EDGE, "source"), "bare", r"edges\[0\]: joint 'hinge': source 'bare' is no node; add that"),
    ((*EDGE, "target"), "world", r"edges\[0\]: joint 'hinge': connects 'world' to itself"),
    ((*EDGE, "key"), REMOVED, r"edges\[0\]: 'key' is a required property; add it"),
    (
        (*EDGE, "successor_frame", "orientation"),
        [2, 0, 0, 0],
        r"edges\[0\]: joint 'hinge', successor_frame: frame: quaternion .* has norm 2",
    ),
    (
        (*EDGE, "successor_frame", "orientation"),
        [1, 0, 0],
        r"edges\[0\]\.successor_frame\.orientation: \[1, 0, 0\] is too short; give 4 entries",
    ),
    (
        (*EDGE, "prescribed"),
        [{"coordinate": 1, "motion": {"type": "polynomial", "coefficients": [1]}}],
        r"edges\[0\]: joint 'hinge': coordinate is 1, but a revolute joint has 1",
    ),
    (
        (*EDGE, "prescribed"),
        [{"coordinate": 0, "motion": {"type": "spline"}}],
        r"prescribed: unknown type 'spline'; the types are polynomial, sinusoid, smooth-step",
    ),
    (
        (*EDGE, "prescribed"),
        [{"coordinate": 0, "motion": {"type": "smooth-step", "start": 0, "end": 1, "duration": 0}}],
        r"edges\[0\]: .*duration of a smooth step is 0\.0; it must be positive",
    ),
    (
        (*EDGE, "prescribed"),
        [{"coordinate": 0, "motion": {"type": "polynomial", "coefficients": 1}}],
        "coefficients is 1; give a list",
    ),
    ((*FORCE, "type"), "magnet", r"graph\.forces\[0\]: force 'spring': unknown type 'magnet'"),
    ((*FORCE, "joint"), "hing", r"graph\.forces\[0\]: there is no joint 'hing'"),
    ((*FORCE, "joint"), REMOVED, r"graph\.forces\[0\]: force 'spring' \(joint\): 'joint' is miss"),
    ((*FORCE, "stiffness"), "soft", r"graph\.forces\[0\]: .*stiffness is 'soft'; give a number"),
    ((*FORCE, "effort"), {"value": 1}, r"effort: 'type' is missing; add one of polynomial"),
    ((*FORCE, "coordinate"), 0.5, "coordinate is 0.5; give a number"),
]


def broken(place, value):
    document = json.loads(json.dumps(example()))
    *path, last = place
    parent = document
    for step in path:
        parent = parent[step]
    if value is REMOVED:
        del parent[last]
    else:
        parent[last] = value
    return document


@pytest.mark.parametrize(("place", "value", "message"), BROKEN)
def test_broken_entry_is_named_with_its_place_and_the_remedy(place, value, message, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(broken(place, value)))
    with pytest.raises(FileFormatError, match=re.escape(str(path)) + ": .*" + message):
        read_mechanism(path)


@pytest.mark.parametrize("items", ["nodes", "edges"])
def test_duplicate_names_are_refused(items, tmp_path):
    path, document = tmp_path / "twice.json", example()
    document[items].append(document[items][-1])
    path.write_text(json.dumps(document))
    place, who = {"nodes": ("nodes[2]", "body 'bar'"), "edges": ("edges[1]", "joint 'hinge'")}[
        items
    ]
    with pytest.raises(FileFormatError, match=re.escape(place) + f": {who}: .* taken by another"):
        read_mechanism(path)


def test_the_first_of_many_broken_bodies_is_named(tmp_path):
    path, document = tmp_path / "broken.json", example()
    document["nodes"] += [{**document["nodes"][1], "id": f"bar {i}"} for i in range(100)]
    for i in (83, 61, 62):
        document["nodes"][i] |= {"mass": -i}
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match=r"nodes\[61\]: body 'bar 59': mass -61.0 kg; give"):
        read_mechanism(path)


def test_duplicate_force_names_are_refused(tmp_path):
    path, document = tmp_path / "twice.json", example()
    document["graph"]["forces"] *= 2
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match=r"graph\.forces\[1\]: force 'spring': .* is taken"):
        read_mechanism(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"nodes": [,]}', "line 2, column 11: not JSON: Expecting value; correct it there"),
        ("", "line 1, column 1: not JSON"),
        ("[1, 2]", r"not a mechanism: graph\.format is None"),
        ("[" * 100_000, "not JSON that can be read"),
        ('{"graph": 1, "graph": 2}', "JSON: 'graph' stands twice in an object"),
    ],
)
def test_text_that_is_no_document_is_refused(text, message, tmp_path):
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=re.escape(str(path)) + ": " + message):
        read_mechanism(path)


def test_binary_file_is_refused(tmp_path):
    path = tmp_path / "binary.json"
    path.write_bytes(b"\x89HDF\xff\xfe")
    with pytest.raises(FileFormatError, match="not a text file; give a JSON file"):
        read_mechanism(path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileFormatError, match=r"nothing\.json: cannot be read: No such file"):
        read_mechanism(tmp_path / "nothing.json")


def test_long_quotations_of_the_schema_checker_are_shortened(tmp_path):
    path, document = tmp_path / "broken.json", example()
    document["nodes"] = {f"node-{index}": index for index in range(10_000)}
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="is not of type 'array'; give one") as info:
        read_mechanism(path)
    assert len(str(info.value)) < 400 + len(str(path))


# ---- dispatch -------------------------------------------------------------------------------


def test_suffix_chooses_the_reader(tmp_path):
    write_mechanism(build("pendulum"), tmp_path / "pendulum.JSON")
    assert load_mechanism(str(tmp_path / "pendulum.JSON")).name == "pendulum"
    with pytest.raises(FileFormatError, match=r"unknown suffix '\.step'; give a \.json, \.xml, "):
        load_mechanism("arm.step")


def test_robot_files_go_to_the_reader_of_robots(monkeypatch):
    from sparsebody.model import robots

    monkeypatch.setattr(robots, "read_robot", lambda path: f"robot {path}")
    assert load_mechanism("arm.urdf") == "robot arm.urdf"
    assert load_mechanism("arm.xml") == "robot arm.xml"
