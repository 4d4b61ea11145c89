"""Bodies and joints from arrays are those that are added one by one."""

import networkx as nx
import numpy as np
import pytest
from exact_equality import assert_same
from numpy import nan
from random_mechanisms import random_frame, random_inertia, random_rotation, random_type

import sparsebody as sb
from sparsebody.errors import ModelError
from sparsebody.model.columns import joined
from sparsebody.spatial import quaternion_from_rotation

FIVE = [2e-3] * 5  # compliances of a hinge


def random_bodies(rng, n):
    return {
        "mass": rng.uniform(0.5, 2.0, n),
        "inertia": np.array([random_inertia(rng, 1.0) for _ in range(n)]),
        "center_of_mass": rng.normal(size=(n, 3)),
        "position": rng.normal(size=(n, 3)),
        "orientation": quaternion_from_rotation([random_rotation(rng) for _ in range(n)]),
        "linear_velocity": rng.normal(size=(n, 3)),
        "angular_velocity": rng.normal(size=(n, 3)),
        "shape": [sb.Box((1, 1, 1)), None, sb.Sphere(0.1)] * (n // 3) + [None] * (n % 3),
    }


def ends(rng, n_bodies, n):
    """Two different bodies or the world for each joint."""
    first = rng.integers(-1, n_bodies, n)
    return first, (first + 1 + rng.integers(1, n_bodies, n)) % (n_bodies + 1) - 1


def two_ways(seed, n=12, joints=30):
    """The same random bodies one by one and from arrays; names, the world last; joint ends."""
    rng = np.random.default_rng(seed)
    arrays, names = random_bodies(rng, n), [f"b{i}" for i in range(n)]
    one, many = sb.Mechanism(), sb.Mechanism()
    for i, name in enumerate(names):
        one.add_body(name, **{key: value[i] for key, value in arrays.items()})
    assert many.add_bodies(names, **arrays).tolist() == list(range(n))
    return rng, one, many, [*names, sb.WORLD], ends(rng, n, joints)


def assert_same_mechanisms(one, many):
    """Compare what is compiled of them, and the objects."""
    assert_same(one.compile(), many.compile())
    assert list(one.bodies) == list(many.bodies)
    assert_same(list(one.bodies.values()), list(many.bodies.values()))
    assert list(one.joints) == list(many.joints)
    assert_same(list(one.joints.values()), list(many.joints.values()))
    assert list(one.graph.edges(keys=True)) == list(many.graph.edges(keys=True))
    assert list(one.graph) == list(many.graph)


@pytest.mark.parametrize("seed", range(3))
def test_bodies_and_joints_with_frames_in_the_bodies(seed):
    rng, one, many, names, (first, second) = two_ways(seed)
    n = len(first)
    kinds = [random_type(rng, str(rng.choice(list(sb.JOINT_TYPES)))) for _ in range(n)]
    sides = "predecessor_frame", "successor_frame"
    frames = {side: [random_frame(rng) for _ in range(n)] for side in sides}
    for j in range(n):
        own = {side: frames[side][j] for side in sides}
        one.add_joint(f"j-{j}", kinds[j], names[first[j]], names[second[j]], **own)
    together = {
        side: sb.Frames([f.position for f in of], [f.orientation for f in of])
        for side, of in frames.items()
    }
    many.add_joints("j-{}", kinds, first, [names[i] for i in second], **together)
    assert_same_mechanisms(one, many)


@pytest.mark.parametrize("positions", ["each", "all", "none"])
@pytest.mark.parametrize("seed", range(2))
def test_joints_with_frames_in_the_world(seed, positions):
    rng, one, many, names, (first, second) = two_ways(seed)
    point, axis, x_axis = rng.normal(size=(3, len(first), 3))
    given = {
        "each": lambda j: {"point": point[j], "axis": axis[j], "x_axis": x_axis[j]},
        "all": lambda j: {"point": point[0], "axis": axis[0]},
        "none": lambda j: {},
    }[positions]
    for j, (p, s) in enumerate(zip(first, second, strict=True)):
        one.add_joint(f"j-{j}", sb.Revolute(), names[p], names[s], **given(j))
    many.add_joints("j-{}", sb.Revolute(), first, second, **given(slice(None)))
    assert_same_mechanisms(one, many)


def test_any_mixture_keeps_the_order_of_declaration():
    rng, one, many, *_ = two_ways(7)
    more, motions = random_bodies(rng, 4), [None, 0.5, {1: 1.0}, None]
    for mechanism in (one, many):
        base = sb.Sinusoid(1.0, 2.0)
        mechanism.add_joint("base", sb.Prismatic(), sb.WORLD, "b0", prescribed=base)
        mechanism.add_body("single", mass=1.0, inertia=[1, 1, 1])
        mechanism.add_joint_force("pull", "base", damping=1.0)
    for i in range(4):
        one.add_body(f"later-{i}", **{key: value[i] for key, value in more.items()})
    for i in range(4):
        cross = sb.Universal(), "single", f"later-{i}"
        one.add_joint(f"to-{i}", *cross, prescribed=motions[i])
    bodies = many.add_bodies("later-{}", **more)
    many.compile()
    joints = many.add_joints("to-{}", sb.Universal(), "single", bodies, prescribed=motions)
    assert (bodies.tolist(), joints.tolist()) == ([13, 14, 15, 16], [1, 2, 3, 4])
    for mechanism in (one, many):
        mechanism.add_joint("last", sb.Spherical(), "later-3", "b1")
        mechanism.add_joint_force("turn", "to-1", coordinate=1, stiffness=2.0)
        mechanism.add_point_force("tie", "later-2", "b3", stiffness=1.0)
        mechanism.add_external_force("push", "later-1", force=(1, 2, 3))
    assert_same_mechanisms(one, many)


def test_one_value_may_hold_for_all():
    one, many, n = sb.Mechanism(), sb.Mechanism(), 512
    names = sb.numbered("bar-{}", range(n))
    solid = {"mass": 2.0, "position": (1, 2, 3), "shape": sb.Sphere(1.0)}
    options = {"successor_frame": sb.Frame((0, 0, 1)), "prescribed": 0.5}
    for j, name in enumerate(names):
        one.add_body(name, inertia=[1, 2, 2.5], **solid)
        one.add_joint(f"j-{j}", sb.Revolute(), sb.WORLD, name, **options)
    many.add_bodies(names, inertia=np.diag([1.0, 2.0, 2.5])[None], **solid)
    joints = sb.numbered("j-{}", range(n))
    many.add_joints(joints, sb.Revolute(), sb.WORLD, np.arange(n), **options)
    assert_same_mechanisms(one, many)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_inertia_is_moments_or_tensors(n):
    moments = np.array([[1.0, 2.0, 2.5]]) + np.arange(n)[:, None]
    tensors = np.array([np.diag(m) for m in moments])
    for inertia, expected in (
        (moments, tensors),
        (tensors, tensors),
        (moments[0], tensors[[0] * n]),
        (tensors[:1], tensors[[0] * n]),
    ):
        mechanism = sb.Mechanism()
        mechanism.add_bodies([f"b{i}" for i in range(n)], mass=1.0, inertia=inertia)
        np.testing.assert_array_equal(mechanism.compile().inertia, expected)


@pytest.mark.parametrize(
    "compliance",
    [2e-3, [2e-3] * 2, [FIVE], [FIVE] * 2, [2e-3 * np.eye(5)] * 2, [2e-3, 2e-3 * np.eye(5)]],
    ids=["number", "each", "one of rows", "rows", "matrices", "mixed"],
)
def test_many_joints_take_what_one_takes(compliance):
    mechanism = sb.Mechanism("chain")
    body = mechanism.add_bodies("b{}", mass=np.ones(2), inertia=[1, 1, 1])
    mechanism.add_joints("j{}", sb.Revolute(), [-1, 0], body, compliance=compliance)
    for joint in mechanism.joints.values():
        np.testing.assert_array_equal(joint.compliance, np.diag([*FIVE, 0.0]))
    assert all(edge["joint"].n_constraints == 0 for *_, edge in mechanism.graph.edges(data=True))
    with pytest.raises(ModelError, match="compliance has 3 entries; give a number, or 2 of what"):
        mechanism.add_joints("k{}", sb.Revolute(), [-1, 0], body, compliance=[1, 2, 3])


def test_objects_are_made_once_and_cannot_be_changed():
    _, _, many, _, (first, second) = two_ways(0)
    many.add_joints("j-{}", sb.Spherical(), first, second)
    assert many.body("b3") is many.bodies["b3"] is many.graph.nodes["b3"]["body"]
    joint = many.joint("j-4")
    assert joint is many.joints["j-4"]
    assert many.graph.edges[joint.predecessor, joint.successor, "j-4"]["joint"] is joint
    many.joints["ghost"] = joint  # in a copy
    assert many.n_joints == len(first)
    for array in (joint.predecessor_frame.position, many.body("b3").inertia, many.gravity):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(nx.NetworkXError, match="Frozen graph"):
        many.graph.add_node("c")
    single = many.add_body("c", mass=1.0, inertia=[1, 1, 1])
    many.compile()
    assert many.body("c") is single is many.graph.nodes["c"]["body"]


def test_what_is_given_may_be_changed_afterwards():
    mechanism, position = sb.Mechanism(), np.zeros((2, 3))
    mechanism.add_bodies(["a", "b"], mass=1.0, inertia=[1, 1, 1], position=position)
    mechanism.add_joints(["c"], sb.Spherical(), place_of := np.array([0]), np.array([1]))
    position[:], place_of[:] = 7.0, 1
    np.testing.assert_array_equal(mechanism.body("b").position, 0.0)
    assert mechanism.joint("c").predecessor == "a"


def test_nothing_may_be_added_too():
    mechanism = sb.Mechanism()
    assert mechanism.add_bodies([], mass=1.0, inertia=[1, 1, 1]).tolist() == []
    assert mechanism.add_joints([], sb.Revolute(), [], []).tolist() == []
    assert (mechanism.n_bodies, mechanism.n_joints, len(mechanism.graph)) == (0, 0, 1)


# ---- what cannot be --------------------------------------------------------------------------


def message_of(action):
    with pytest.raises(ModelError) as caught:
        action()
    return str(caught.value)


VECTORS = ("position", "center_of_mass", "linear_velocity", "angular_velocity")
WRONG_BODIES = [
    *({"mass": mass} for mass in (-2.0, nan)),
    *({"inertia": np.diag(moments)} for moments in ([1, 1, nan], [1, 1, -1], [1, 1, 3])),
    {"inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]},
    *({name: [0, number, 0]} for name in VECTORS for number in (nan, np.inf)),
    *({"orientation": [w, 0, 0, 0]} for w in (2, 0, nan)),
    *({"shape": "box"}, {"mass": -1.0, "position": [0, nan, 0]}),
]


@pytest.mark.parametrize("wrong", WRONG_BODIES, ids=lambda wrong: "-".join(wrong))
def test_the_first_wrong_body_is_named_as_if_it_came_alone(wrong):
    rng, one, many, *_ = two_ways(0)
    arrays = random_bodies(rng, 6)
    for i in (2, 4):
        for key, value in wrong.items():
            arrays[key][i] = value
    alone = message_of(lambda: one.add_body("new-2", **{k: v[2] for k, v in arrays.items()}))
    assert alone.startswith("body 'new-2': ")
    assert message_of(lambda: many.add_bodies("new-{}", **arrays)) == alone
    assert many.n_bodies == 12


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"names": ["x", "b3"]}, "body 'b3': this name is taken by another body; choose another"),
        ({"names": ["x", "x"]}, "body 'x': this name is taken by another body; choose another"),
        ({"names": "x-{}"}, "bodies 'x-{}': how many? No argument has one entry for each; give"),
        ({"names": "x"}, "bodies 'x': how many?"),
        ({"mass": "heavy"}, "bodies 'c', ...: mass is 'heavy'; give numbers"),
        ({"mass": [1, 2, 3]}, "mass has shape (3,); give a number for all or (2,), one each"),
        ({"position": [1, 2]}, "position has shape (2,); give one array of shape (3,) for all or"),
        ({"inertia": [1, 2]}, "has shape (2,); give moments (3,) for all or (2, 3), or tensors"),
        ({"inertia": np.eye(3)}, "has shape (3, 3); give moments (3,) for all or (2, 3), or"),
        ({"shape": [None]}, "shape has 1 entries; give one for all, or 2"),
    ],
)
def test_names_are_words_of_their_own_and_arrays_fit_the_number_of_bodies(wrong, message):
    many = two_ways(0)[2]
    arguments = {"names": ["c", "d"], "mass": 1.0, "inertia": [1, 1, 1]} | wrong
    assert message in message_of(lambda: many.add_bodies(**arguments))
    assert many.n_bodies == 12


ENDS = "predecessor", "successor"
WRONG_JOINTS = [
    ({"joint_type": [sb.Revolute(), sb.Revolute]}, {"joint_type": sb.Revolute}),
    ({"successor": ["b1", "z"]}, {"successor": "z"}),
    ({"predecessor": ["b1", "z"]}, {"predecessor": "z"}),
    ({"successor": [3, 0]}, {"successor": "b0"}),
    ({"predecessor": [1, -1], "successor": [2, -1]}, dict.fromkeys(ENDS, sb.WORLD)),
    ({"axis": [[0, 0, 1], [0, 0, 0]]}, {"axis": [0, 0, 0]}),
    ({"axis": [[0, 0, 1], [0, nan, 0]]}, {"axis": [0, nan, 0]}),
    ({"x_axis": [[1, 0, 0], [0, 0, 2]]}, {"x_axis": [0, 0, 2]}),
    ({"point": [[1, 0, 0], [0, 0, nan]]}, {"point": [0, 0, nan]}),
    ({"prescribed": [None, {1: 0.0}]}, {"prescribed": {1: 0.0}}),
    ({"prescribed": [None, nan]}, {"prescribed": nan}),
]


@pytest.mark.parametrize(("wrong", "alone"), WRONG_JOINTS)
def test_the_first_wrong_joint_is_named_as_if_it_came_alone(wrong, alone):
    _, one, many, *_ = two_ways(0)
    right = {"joint_type": sb.Revolute(), "predecessor": "b0", "successor": "b1"}
    expected = message_of(lambda: one.add_joint("new-1", **(right | alone)))
    assert expected.startswith("joint 'new-1'")
    arguments = {"names": ["new-0", "new-1"]} | right | {"predecessor": 0} | wrong
    assert message_of(lambda: many.add_joints(**arguments)) == expected
    assert many.n_joints == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"successor": [1, 12]}, "joint 'n1': there is no body 12; give 0 to 11, or -1 for the wo"),
        ({"successor": [1, -2]}, "joint 'n1': there is no body -2; give 0 to 11, or -1 for the wo"),
        ({"successor": [1, 2, 3]}, "'n0', ...: successor has shape (3,); give one body, or 2"),
        ({"point": np.zeros((3, 3))}, "point has shape (3, 3); give one array of shape (3,) for"),
        ({"joint_type": [sb.Revolute()]}, "type has 1 entries; give one for all, or 2"),
        ({"prescribed": [1.0]}, "prescribed has 1 entries; give one for all, or 2"),
        ({"predecessor_frame": (0, 0, 0)}, "a joint frame is (0, 0, 0); give a Frame, or Frames"),
        ({"successor_frame": sb.Frames(np.eye(3))}, "a joint frame is 3 Frames; give a Frame, or"),
        ({"point": (0, 0, 0), "successor_frame": sb.Frame()}, "give point and axis, or the two fr"),
        ({"names": ["n0", "n0"]}, "joint 'n0': this name is taken by another joint; choose an"),
        ({"names": "n-{}", "successor": 1}, "joints 'n-{}': how many? No argument has one entry"),
    ],
)
def test_arrays_fit_the_number_of_joints(wrong, message):
    many = two_ways(0)[2]
    right = {"names": ["n0", "n1"], "joint_type": sb.Revolute(), "predecessor": 0}
    right["successor"] = [1, 2]
    assert message in message_of(lambda: many.add_joints(**(right | wrong)))
    assert many.n_joints == 0


def test_frames_are_finite_and_unit():
    position, turn = np.zeros((3, 3)), np.tile([1.0, 0, 0, 0], (3, 1))
    turn[1] = 2.0
    assert "frames[1]: frame: quaternion" in message_of(lambda: sb.Frames(position, turn))
    position[2] = nan
    assert "frames[2]: frame: position" in message_of(lambda: sb.Frames(position))
    frames = sb.Frames(np.eye(3), (0.6, 0.8, 0.0, 0.0))
    assert len(frames) == 3
    np.testing.assert_array_equal(frames[2].position, [0, 0, 1])
    np.testing.assert_array_equal(frames.rotations[1], frames[1].rotation)


def test_columns_are_joined_with_empty_ones():
    one = np.broadcast_to([1.0, 2.0], (3, 2))
    none = np.broadcast_to([1.0, 2.0], (0, 2))
    np.testing.assert_array_equal(joined([none, one]), one)
    np.testing.assert_array_equal(joined([one, none]), one)
    assert joined([none, none]).shape == (0, 2)
