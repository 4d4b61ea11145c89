"""Bodies and joints from arrays are those that are added one by one."""

import networkx as nx
import numpy as np
import pytest
from exact_equality import assert_same
from random_mechanisms import random_frame, random_inertia, random_rotation, random_type

from sparsebody.errors import ModelError
from sparsebody.model.bodies import Box, Sphere
from sparsebody.model.frames import Frame, Frames
from sparsebody.model.joints import JOINT_TYPES, Prismatic, Revolute, Spherical, Universal
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import numbered
from sparsebody.model.time_functions import Sinusoid
from sparsebody.spatial import quaternion_from_rotation

NAN = float("nan")


def random_bodies(rng, n):
    return {
        "mass": rng.uniform(0.5, 2.0, n),
        "inertia": np.array([random_inertia(rng, 1.0) for _ in range(n)]),
        "center_of_mass": rng.normal(size=(n, 3)),
        "position": rng.normal(size=(n, 3)),
        "orientation": quaternion_from_rotation([random_rotation(rng) for _ in range(n)]),
        "linear_velocity": rng.normal(size=(n, 3)),
        "angular_velocity": rng.normal(size=(n, 3)),
        "shape": [Box((1, 1, 1)), None, Sphere(0.1)] * (n // 3) + [None] * (n % 3),
    }


def add_one_by_one(mechanism, names, arrays):
    for i, name in enumerate(names):
        mechanism.add_body(name, **{key: value[i] for key, value in arrays.items()})


def ends(rng, n_bodies, n):
    """Two different bodies or the world for each joint."""
    first = rng.integers(-1, n_bodies, n)
    return first, (first + 1 + rng.integers(1, n_bodies, n)) % (n_bodies + 1) - 1


def body(names, i):
    return WORLD if i < 0 else names[i]


def two_ways(seed, n=12, joints=30):
    """An empty mechanism, and one with the same random bodies; names, joint ends."""
    rng = np.random.default_rng(seed)
    arrays, names = random_bodies(rng, n), [f"b{i}" for i in range(n)]
    one, many = Mechanism(), Mechanism()
    add_one_by_one(one, names, arrays)
    assert many.add_bodies(names, **arrays).tolist() == list(range(n))
    return rng, one, many, names, ends(rng, n, joints)


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
    kinds = [random_type(rng, str(rng.choice(list(JOINT_TYPES)))) for _ in range(n)]
    frames = [[random_frame(rng) for _ in range(n)] for _ in range(2)]
    for j in range(n):
        one.add_joint(
            f"j-{j}",
            kinds[j],
            body(names, first[j]),
            body(names, second[j]),
            predecessor_frame=frames[0][j],
            successor_frame=frames[1][j],
        )
    many.add_joints(
        "j-{}",
        kinds,
        first,
        [body(names, i) for i in second],
        predecessor_frame=Frames(
            *zip(*((f.position, f.orientation) for f in frames[0]), strict=True)
        ),
        successor_frame=Frames(
            *zip(*((f.position, f.orientation) for f in frames[1]), strict=True)
        ),
    )
    assert_same_mechanisms(one, many)


@pytest.mark.parametrize("places", ["each", "all", "none"])
@pytest.mark.parametrize("seed", range(2))
def test_joints_with_frames_in_the_world(seed, places):
    rng, one, many, names, (first, second) = two_ways(seed)
    n = len(first)
    point, axis, x_axis = rng.normal(size=(3, n, 3))
    given = {
        "each": lambda j: {"point": point[j], "axis": axis[j], "x_axis": x_axis[j]},
        "all": lambda j: {"point": point[0], "axis": axis[0]},
        "none": lambda j: {},
    }[places]
    for j in range(n):
        ends = body(names, first[j]), body(names, second[j])
        one.add_joint(f"j-{j}", Revolute(), *ends, **given(j))
    many.add_joints(
        "j-{}", Revolute(), first, second, **given(slice(None) if places == "each" else 0)
    )
    assert_same_mechanisms(one, many)


def test_any_mixture_keeps_the_order_of_declaration():
    rng, one, many, *_ = two_ways(7)
    more = random_bodies(rng, 4)
    solid = {"mass": 1.0, "inertia": [1, 1, 1]}
    for mechanism in (one, many):
        mechanism.add_joint("base", Prismatic(), WORLD, "b0", prescribed=Sinusoid(1.0, 2.0))
        mechanism.add_body("single", **solid)
        mechanism.add_joint_force("pull", "base", damping=1.0)
    later = [f"later-{i}" for i in range(4)]
    add_one_by_one(one, later, more)
    for i in range(4):
        one.add_joint(
            f"to-{i}", Universal(), "single", later[i], prescribed=[None, 0.5, {1: 1.0}, None][i]
        )
    place = many.add_bodies("later-{}", **more)
    many.compile()
    at = many.add_joints(
        "to-{}", Universal(), "single", place, prescribed=[None, 0.5, {1: 1.0}, None]
    )
    assert (place.tolist(), at.tolist()) == ([13, 14, 15, 16], [1, 2, 3, 4])
    for mechanism in (one, many):
        mechanism.add_joint("last", Spherical(), "later-3", "b1")
        mechanism.add_joint_force("turn", "to-1", coordinate=1, stiffness=2.0)
        mechanism.add_point_force("tie", "later-2", "b3", stiffness=1.0)
        mechanism.add_external_force("push", "later-1", force=(1, 2, 3))
    assert_same_mechanisms(one, many)
    assert one.compile().first_row.tolist() == many.compile().first_row.tolist()


def test_one_value_may_hold_for_all():
    one, many = Mechanism(), Mechanism()
    n, tensor = 512, np.diag([1.0, 2.0, 2.5])
    names = numbered("bar-{}", range(n))
    for name in names:
        one.add_body(name, mass=2.0, inertia=[1, 2, 2.5], position=(1, 2, 3), shape=Sphere(1.0))
    many.add_bodies(names, mass=2.0, inertia=tensor[None], position=(1, 2, 3), shape=Sphere(1.0))
    for j, name in enumerate(names):
        one.add_joint(
            f"j-{j}", Revolute(), WORLD, name, successor_frame=Frame((0, 0, 1)), prescribed=0.5
        )
    many.add_joints(
        numbered("j-{}", range(n)),
        Revolute(),
        WORLD,
        np.arange(n),
        successor_frame=Frame((0, 0, 1)),
        prescribed=0.5,
    )
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
        mechanism = Mechanism()
        mechanism.add_bodies([f"b{i}" for i in range(n)], mass=1.0, inertia=inertia)
        np.testing.assert_array_equal(mechanism.compile().inertia, expected)


def test_objects_are_made_once_and_cannot_be_changed():
    _, _, many, _, (first, second) = two_ways(0)
    many.add_joints("j-{}", Spherical(), first, second)
    assert many.body("b3") is many.bodies["b3"] is many.graph.nodes["b3"]["body"]
    joint = many.joint("j-4")
    assert joint is many.joints["j-4"]
    assert many.graph.edges[joint.predecessor, joint.successor, "j-4"]["joint"] is joint
    for array in (joint.predecessor_frame.position, many.body("b3").inertia):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(nx.NetworkXError, match="Frozen graph"):
        many.graph.add_node("c")
    single = many.add_body("c", mass=1.0, inertia=[1, 1, 1])
    many.compile()
    assert many.body("c") is single is many.graph.nodes["c"]["body"]


def test_what_is_given_may_be_changed_afterwards():
    mechanism, place = Mechanism(), np.zeros((2, 3))
    mechanism.add_bodies(["a", "b"], mass=1.0, inertia=[1, 1, 1], position=place)
    mechanism.add_joints(["c"], Spherical(), place_of := np.array([0]), np.array([1]))
    place[:], place_of[:] = 7.0, 1
    np.testing.assert_array_equal(mechanism.body("b").position, 0.0)
    assert mechanism.joint("c").predecessor == "a"


def test_nothing_may_be_added_too():
    mechanism = Mechanism()
    assert mechanism.add_bodies([], mass=1.0, inertia=[1, 1, 1]).tolist() == []
    assert mechanism.add_joints([], Revolute(), [], []).tolist() == []
    assert (mechanism.n_bodies, mechanism.n_joints, len(mechanism.graph)) == (0, 0, 1)


# ---- what cannot be --------------------------------------------------------------------------


def message_of(action):
    with pytest.raises(ModelError) as caught:
        action()
    return str(caught.value)


WRONG_BODIES = [
    {"mass": -2.0},
    {"mass": NAN},
    {"inertia": [[1, 0, 0], [0, 1, 0], [0, 0, NAN]]},
    {"inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]},
    {"inertia": np.diag([1, 1, -1])},
    {"inertia": np.diag([1, 1, 3])},
    {"position": [0, NAN, 0]},
    {"center_of_mass": [np.inf, 0, 0]},
    {"linear_velocity": [NAN, 0, 0]},
    {"angular_velocity": [NAN, 0, 0]},
    {"orientation": [1, 1, 0, 0]},
    {"orientation": [0, 0, 0, 0]},
    {"orientation": [NAN, 0, 0, 0]},
    {"shape": "box"},
    {"mass": -1.0, "position": [0, NAN, 0]},
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
    assert many.n_bodies == one.n_bodies == 12


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["x", "b3"], "body 'b3': this name is taken by another body; choose another"),
        (["x", "x"], "body 'x': this name is taken by another body; choose another"),
        (["x", WORLD], "body 'world': this name is the name of the fixed node; choose another"),
        (["x", ""], "the name of a body is ''; give a non-empty string"),
        (["x", 3], "the name of a body is 3; give a non-empty string"),
        ("x-{}", "bodies 'x-{}': how many? No argument has one entry for each; give the names"),
        ("x", "bodies 'x': how many?"),
    ],
)
def test_names_of_bodies_are_words_of_their_own(names, message):
    many = two_ways(0)[2]
    found = message_of(lambda: many.add_bodies(names, mass=1.0, inertia=[1, 1, 1]))
    assert found.startswith(message)
    assert many.n_bodies == 12


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mass": "heavy"}, "bodies 'c', ...: mass is 'heavy'; give numbers"),
        ({"mass": [1, 2, 3]}, "mass has shape (3,); give a number for all or (2,), one each"),
        ({"position": [1, 2]}, "position has shape (2,); give one array of shape (3,) for all or"),
        ({"inertia": [1, 2]}, "has shape (2,); give moments (3,) for all or (2, 3), or tensors"),
        ({"inertia": np.eye(3)}, "has shape (3, 3); give moments (3,) for all or (2, 3), or"),
        ({"shape": [None]}, "shape has 1 entries; give one for all, or 2"),
    ],
)
def test_arrays_fit_the_number_of_bodies(wrong, message):
    right = {"mass": 1.0, "inertia": [1, 1, 1]}
    assert message in message_of(lambda: Mechanism().add_bodies(["c", "d"], **(right | wrong)))


WRONG_JOINTS = [
    ({"joint_type": [Revolute(), Revolute]}, {"joint_type": Revolute}),
    ({"successor": ["b1", "z"]}, {"successor": "z"}),
    ({"predecessor": ["b1", "z"]}, {"predecessor": "z"}),
    ({"successor": [3, 0]}, {"successor": "b0"}),
    ({"predecessor": [1, -1], "successor": [2, -1]}, {"predecessor": WORLD, "successor": WORLD}),
    ({"axis": [[0, 0, 1], [0, 0, 0]]}, {"axis": [0, 0, 0]}),
    ({"axis": [[0, 0, 1], [0, NAN, 0]]}, {"axis": [0, NAN, 0]}),
    ({"x_axis": [[1, 0, 0], [0, 0, 2]]}, {"x_axis": [0, 0, 2]}),
    ({"point": [[1, 0, 0], [0, 0, NAN]]}, {"point": [0, 0, NAN]}),
    ({"prescribed": [None, {1: 0.0}]}, {"prescribed": {1: 0.0}}),
    ({"prescribed": [None, NAN]}, {"prescribed": NAN}),
]


@pytest.mark.parametrize(("wrong", "alone"), WRONG_JOINTS)
def test_the_first_wrong_joint_is_named_as_if_it_came_alone(wrong, alone):
    _, one, many, *_ = two_ways(0)
    right = {"joint_type": Revolute(), "predecessor": "b0", "successor": "b1"}
    expected = message_of(lambda: one.add_joint("new-1", **(right | alone)))
    assert expected.startswith("joint 'new-1'")
    found = message_of(
        lambda: many.add_joints(["new-0", "new-1"], **(right | {"predecessor": 0} | wrong))
    )
    assert found == expected
    assert many.n_joints == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"successor": [1, 12]}, "joint 'n1': there is no body 12; give 0 to 11, or -1 for the wo"),
        ({"successor": [1, -2]}, "joint 'n1': there is no body -2; give 0 to 11, or -1 for the wo"),
        (
            {"successor": [1, 2, 3]},
            "joints 'n0', ...: successor has shape (3,); give one body, or 2",
        ),
        ({"point": np.zeros((3, 3))}, "point has shape (3, 3); give one array of shape (3,) for"),
        ({"joint_type": [Revolute()]}, "type has 1 entries; give one for all, or 2"),
        ({"prescribed": [1.0]}, "prescribed has 1 entries; give one for all, or 2"),
        (
            {"predecessor_frame": (0, 0, 0)},
            "a joint frame is (0, 0, 0); give a Frame, or Frames of",
        ),
        (
            {"successor_frame": Frames(np.eye(3))},
            "a joint frame is 3 Frames; give a Frame, or Fram",
        ),
        (
            {"point": (0, 0, 0), "successor_frame": Frame()},
            "give point and axis, or the two frames",
        ),
        (
            {"names": ["n0", "n0"]},
            "joint 'n0': this name is taken by another joint; choose another",
        ),
        ({"names": "n-{}", "successor": 1}, "joints 'n-{}': how many? No argument has one entry"),
    ],
)
def test_arrays_fit_the_number_of_joints(wrong, message):
    many = two_ways(0)[2]
    right = {"names": ["n0", "n1"], "joint_type": Revolute(), "predecessor": 0, "successor": [1, 2]}
    assert message in message_of(lambda: many.add_joints(**(right | wrong)))
    assert many.n_joints == 0


def test_frames_are_finite_and_unit():
    place, turn = np.zeros((3, 3)), np.tile([1.0, 0, 0, 0], (3, 1))
    turn[1] = 2.0
    assert "frames[1]: frame: quaternion" in message_of(lambda: Frames(place, turn))
    place[2] = NAN
    assert "frames[2]: frame: position" in message_of(lambda: Frames(place))
    frames = Frames(np.eye(3), (0.6, 0.8, 0.0, 0.0))
    assert len(frames) == 3
    np.testing.assert_array_equal(frames[2].position, [0, 0, 1])
    np.testing.assert_array_equal(frames.rotations[1], frames[1].rotation)
