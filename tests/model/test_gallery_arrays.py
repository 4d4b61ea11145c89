"""The families that are built from arrays, against their definitions body by body."""

import math

import networkx as nx
import numpy as np
import pytest

from sparsebody.model.frames import Frame
from sparsebody.model.gallery import build
from sparsebody.model.joints import Revolute
from sparsebody.model.mechanism import WORLD
from sparsebody.spatial import box_inertia, quaternion_exponential

WORLD_PLACE = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)


def placed(parent, joint_type, before, after, q, qd):
    """Rotation, origin, angular and linear velocity of a successor. Featherstone (2008), 4.4."""
    R, o, w, v = parent
    E, r = joint_type.pose(q)
    v_J = joint_type.motion_subspace(q) @ qd
    to_world_P = R @ before.rotation
    to_world_S = to_world_P @ E.T
    joint = o + R @ before.origin + to_world_P @ r
    rotation = to_world_S @ after.rotation.T
    origin, angular = joint - rotation @ after.origin, w + to_world_S @ v_J[:3]
    at_joint = v + np.cross(w, joint - o) + to_world_S @ v_J[3:]
    return rotation, origin, angular, at_joint + np.cross(angular, origin - joint)


def joint_place(mechanism, joint):
    """Where the two frames of a joint are in the world."""
    places = []
    for body, frame in (
        (joint.predecessor, joint.predecessor_frame),
        (joint.successor, joint.successor_frame),
    ):
        on_world = body == WORLD
        places.append(frame.origin if on_world else mechanism.body(body).to_world(frame.origin))
    return places


def ends_of(mechanism):
    return {name: (j.predecessor, j.successor) for name, j in mechanism.joints.items()}


def assert_joints_at(mechanism, expected):
    assert list(mechanism.joints) == list(expected)
    for name, (predecessor, successor, place) in expected.items():
        joint = mechanism.joint(name)
        assert (joint.predecessor, joint.successor) == (predecessor, successor)
        for found in joint_place(mechanism, joint):
            np.testing.assert_allclose(found, place, atol=1e-12)


def assert_bars(mechanism, expected):
    """Bodies in this order, from start to end."""
    assert list(mechanism.bodies) == list(expected)
    for name, (start, end) in expected.items():
        bar = mechanism.body(name)
        shape = np.array(bar.shape.points)
        np.testing.assert_allclose(bar.to_world(shape[0]), start, atol=1e-12)
        np.testing.assert_allclose(bar.to_world(shape[1]), end, atol=1e-12)


@pytest.mark.parametrize("disorder", [0.0, 0.1])
@pytest.mark.parametrize("rungs", [1, 2, 7])
def test_ladder(rungs, disorder):
    mechanism = build("ladder", rungs=rungs, disorder=disorder, seed=4)
    rng = np.random.default_rng(4)
    bodies, joints = {}, {}
    for s in range(rungs):
        for r in range(2):
            bodies[f"bar-{s}-{r}"] = np.array([s, r, 0]) + disorder * rng.uniform(-1, 1, 3)
        for r in range(2):
            name = f"rail-{s - 1}-{r}" if s else f"base-{r}"
            before = f"bar-{s - 1}-{r}" if s else WORLD
            place = np.array([s - 0.5, r, 0]) + disorder * rng.uniform(-1, 1, 3)
            joints[name] = (before, f"bar-{s}-{r}", place)
        place = np.array([s, 0.5, 0]) + disorder * rng.uniform(-1, 1, 3)
        joints[f"rung-{s}"] = (f"bar-{s}-0", f"bar-{s}-1", place)
    assert list(mechanism.bodies) == list(bodies)
    for name, place in bodies.items():
        np.testing.assert_allclose(mechanism.body(name).position, place, atol=1e-15)
    assert_joints_at(mechanism, joints)


@pytest.mark.parametrize("pairs", [1, 2, 6])
def test_scissor(pairs):
    mechanism = build("scissor", pairs=pairs, angle=0.6, length=1.3)
    w, h = 1.3 * math.cos(0.6), 1.3 * math.sin(0.6)
    bars, joints = {}, {}
    for k in range(pairs):
        bars[f"left-{k}"] = (0, 0, k * h), (w, 0, k * h + h)
        bars[f"right-{k}"] = (w, 0, k * h), (0, 0, k * h + h)
        joints[f"middle-{k}"] = (f"left-{k}", f"right-{k}", (w / 2, 0, (k + 0.5) * h))
        if k:
            below = k - 1
            joints[f"outer-{below}-right"] = (f"left-{below}", f"right-{k}", (w, 0, k * h))
            joints[f"outer-{below}-left"] = (f"right-{below}", f"left-{k}", (0, 0, k * h))
    joints["base"] = (WORLD, "left-0", (0, 0, 0))
    assert list(mechanism.joints)[-1] == "support"
    assert_bars(mechanism, bars)
    found = dict(list(ends_of(mechanism).items())[:-1])
    assert found == {name: ends[:2] for name, ends in joints.items()}
    for name, (*_, place) in joints.items():
        for point in joint_place(mechanism, mechanism.joint(name)):
            np.testing.assert_allclose(point, place, atol=1e-12)
    for bar in mechanism.bodies.values():
        np.testing.assert_allclose(bar.rotation[:, 2], [0, -1, 0], atol=1e-15)
        np.testing.assert_allclose(bar.inertia, box_inertia(1.0, [1.3, 0.05, 0.05]), rtol=1e-15)


@pytest.mark.parametrize("loops", [1, 2, 5])
def test_n_four_bar(loops):
    mechanism = build("n-four-bar", loops=loops, speed=2.0)
    bars, joints = {}, {}
    for i in range(loops + 1):
        if i:
            bars[f"horizontal-{i}"] = (i - 1, 1, 0), (i, 1, 0)
        bars[f"vertical-{i}"] = (i, 0, 0), (i, 1, 0)
        joints[f"ground-{i}"] = (WORLD, f"vertical-{i}", (i, 0, 0))
        if i:
            rod, top = f"horizontal-{i}", (i, 1, 0)
            joints[f"node-{i - 1}-right"] = (f"vertical-{i - 1}", rod, (i - 1, 1, 0))
            joints[f"node-{i}-left"] = (rod, f"vertical-{i}", top)
    assert_bars(mechanism, bars)
    assert_joints_at(mechanism, joints)
    for name, bar in mechanism.bodies.items():
        upright = name.startswith("vertical")
        np.testing.assert_array_equal(bar.linear_velocity, [1.0 if upright else 2.0, 0, 0])
        np.testing.assert_array_equal(bar.angular_velocity, [0, 0, -2.0 if upright else 0.0])


@pytest.mark.parametrize("size", [(1, 1, 1), (2, 3, 1), (3, 2, 4)])
@pytest.mark.parametrize("keep", [0.0, 0.4, 1.0])
def test_lattice(size, keep):
    mechanism = build("lattice", rows=size[0], columns=size[1], layers=size[2], keep=keep, seed=3)
    cells = [(r, c, k) for r in range(size[0]) for c in range(size[1]) for k in range(size[2])]
    assert list(mechanism.bodies) == ["cube-{}-{}-{}".format(*cell) for cell in cells]
    for (r, c, k), cube in zip(cells, mechanism.bodies.values(), strict=True):
        np.testing.assert_array_equal(cube.position, [c, r, k])
    pairs = [
        (cell, other)
        for cell in cells
        for step in ((0, 1, 0), (1, 0, 0), (0, 0, 1))
        if (other := tuple(np.add(cell, step).tolist())) in cells
    ]
    joined, tree, others = nx.utils.UnionFind(), [], []  # Kruskal, in a random order
    for index in np.random.default_rng(3).permutation(len(pairs)).tolist():
        first, second = pairs[index]
        (others if joined[first] == joined[second] else tree).append(index)
        joined.union(first, second)
    expected = {"base": (WORLD, "cube-0-0-0", (-0.5, 0, 0))}
    for index in sorted(tree + others[: round(keep * len(others))]):
        first, second = ("cube-{}-{}-{}".format(*cell) for cell in pairs[index])
        r, c, k = np.mean(pairs[index], axis=0)
        expected[f"{first}:{second}"] = (first, second, (c, r, k))
    assert_joints_at(mechanism, expected)


@pytest.mark.parametrize("size", [(1, 1), (1, 3), (4, 3)])
def test_rotating_squares(size):
    rows, columns = size
    mechanism = build("rotating-squares", rows=rows, columns=columns, angle=0.3, side=0.8)
    spacing = 0.8 * (math.cos(0.3) + math.sin(0.3))
    squares = [(r, c) for r in range(rows) for c in range(columns)]
    assert list(mechanism.bodies) == [f"square-{r}-{c}" for r, c in squares]
    first = np.array(mechanism.body("square-0-0").position)
    expected = {}
    for r, c in squares:
        square = mechanism.body(f"square-{r}-{c}")
        np.testing.assert_allclose(square.position, first + np.array([c * spacing, r * spacing, 0]))
        turn = -0.3 if (r + c) % 2 else 0.3
        np.testing.assert_allclose(square.rotation[:2, 0], [math.cos(turn), math.sin(turn)])
        if c:
            expected[f"square-{r}-{c - 1}-right"] = (f"square-{r}-{c - 1}", square.name)
        if r:
            expected[f"square-{r - 1}-{c}-top"] = (f"square-{r - 1}-{c}", square.name)
    assert ends_of(mechanism) == expected | {"base": (WORLD, "square-0-0")}
    assert list(mechanism.joints)[:-1] == list(expected)
    for joint in mechanism.joints.values():  # half way between the centers, or at the origin
        places = joint_place(mechanism, joint)
        np.testing.assert_allclose(places[0], places[1], atol=1e-14)
        np.testing.assert_allclose(np.abs(joint.successor_frame.origin), [0.4, 0.4, 0.0])


@pytest.mark.parametrize("branching", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("taper", [1.0, 0.95])
def test_tree_follows_its_joints_from_the_root(branching, taper):
    n, skew = 40, 0.4
    mechanism = build("tree", bodies=n, branching=branching, skew=skew, taper=taper, moving=True)
    places, length = [WORLD_PLACE], [0.0]
    for i in range(1, n + 1):
        parent = math.floor((i - 2 + math.ceil(branching)) / branching)
        turn = quaternion_exponential([skew, 0.0, 0.0])
        frame = Frame((length[parent], 0.0, 0.0), turn) if parent else Frame()
        q, qd = np.array([0.1 * i * math.cos(i)]), np.array([0.3 * math.sin(2 * i)])
        place = placed(places[parent], Revolute(), frame, Frame(), q, qd)
        places.append(place)
        length.append(taper ** (i - 1))
        joint, body = mechanism.joint(f"joint-{i}"), mechanism.body(f"body-{i}")
        assert (joint.predecessor, joint.successor) == (
            f"body-{parent}" if parent else WORLD,
            body.name,
        )
        for found, expected in (
            *zip(
                (body.rotation, body.position, body.angular_velocity, body.linear_velocity),
                place,
                strict=True,
            ),
            (body.shape.points[1], (length[i], 0, 0)),
            (body.mass, length[i] ** 3),
            (joint.predecessor_frame.rotation, frame.rotation),
            (joint.predecessor_frame.origin, frame.origin),
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


LARGE = [
    ("ladder", {"rungs": 20_000, "disorder": 0.1}, 40_000, 60_000),
    ("scissor", {"pairs": 20_000, "drive": True}, 40_000, 60_000),
    ("chain", {"bodies": 40_000}, 40_000, 40_000),
    ("tree", {"bodies": 40_000, "moving": True}, 40_000, 40_000),
    ("n-four-bar", {"loops": 20_000}, 40_001, 60_001),
    ("lattice", {"rows": 200, "columns": 200, "keep": 0.5}, 40_000, None),
    ("rotating-squares", {"rows": 200, "columns": 200}, 40_000, 79_601),
    ("ring", {"bodies": 40_000}, 40_000, 40_001),
]


@pytest.mark.parametrize(("name", "parameters", "bodies", "joints"), LARGE)
def test_large_mechanisms_are_made_and_compiled_without_an_object_per_body(
    name, parameters, bodies, joints, monkeypatch
):
    from sparsebody.model.columns import Table

    made, make = [], Table.__getitem__
    monkeypatch.setattr(Table, "__getitem__", lambda *given: made.append(1) or make(*given))
    mechanism = build(name, **parameters)
    system = mechanism.compile()
    assert (system.n_bodies, joints or system.n_joints) == (bodies, system.n_joints)
    assert len(made) <= 2
    some = np.random.default_rng(0).integers(system.n_bodies, size=50).tolist()
    assert [system.body(system.body_names[i]) for i in some] == some
    some = np.random.default_rng(0).integers(system.n_joints, size=50).tolist()
    assert [system.joint(system.joint_names[i]) for i in some] == some
