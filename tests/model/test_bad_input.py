"""Input that makes no mechanism, with the message that says what to mend."""

import numpy as np
import pytest
from numpy import inf, nan

import sparsebody as sb
from sparsebody.errors import ModelError, ShapeError
from sparsebody.model.system import check_state

WORLD, HUGE = sb.WORLD, 10**400
STEEL = {"E": 1.0, "G": 1.0, "A": 1.0, "I_y": 1.0, "I_z": 1.0, "J": 1.0}
BOTH_ENDS = {"start": (0, 0, 0), "end": (1, 0, 0)}


def arm():
    """Bodies "a" and "b"; "hinge" from the world to "a", "ball" from "a" to "b"."""
    mechanism = sb.Mechanism("arm")
    mechanism.add_bodies(["a", "b"], mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("hinge", sb.Revolute(), WORLD, "a")
    mechanism.add_joint("ball", sb.Spherical(), "a", "b")
    return mechanism


def assert_refused(message, action, kind=ModelError):
    with pytest.raises(kind, match=message) as caught:
        action()
    assert isinstance(caught.value, sb.SparsebodyError)
    assert isinstance(caught.value, ValueError)  # also for those who know no sparsebody errors


def adding(method, *first, others=(), **usual):
    """Actions on a mechanism: a method with these arguments, unless others are given."""
    return lambda *given, **options: (
        lambda m: getattr(m, method)(*first, *(given or others), **usual | options)
    )


body = adding("add_body", others=("c",), mass=1.0, inertia=[1, 1, 1])
joint = adding("add_joint", others=("new", sb.Revolute(), "a", "b"))
joint_force = adding("add_joint_force")
point_force = adding("add_point_force", "f", others=("a", "b"))
external = adding("add_external_force", "f")
bushing = adding("add_bushing", "x", others=("a", "b"))
beam = adding("add_beam", "x", "a", "b", **STEEL)


def prescribed(joint_type, motion):
    return joint("new", joint_type, "a", "b", prescribed=motion)


def compliant(compliance=0.0, **options):
    return joint(compliance=compliance, **options)


def rod_with_a_force(m):
    m.add_distance("rod", "a", "b", length=1.0)
    m.add_joint_force("f", "rod")


BODIES = [
    (body(mass=-2.0), "body 'c': mass -2.0 kg; give a positive one"),
    (body(mass=nan), "body 'c': mass is nan; it must be finite"),
    (body(mass="heavy"), "body 'c': mass is 'heavy'; give a number"),
    (body(mass=None), "body 'c': mass is None; give a number"),
    (body(mass=HUGE), "body 'c': mass is 10*; give a number"),
    (body(inertia=[1, 2]), r"body 'c'.*inertia has shape \(2,\); give moments \(3,\), or a"),
    (body(inertia=[[1, 2], [3]]), r"body 'c': rotational inertia is \[\[1, 2\], \[3\]\]; give"),
    (body(inertia=[1, 1, nan]), "body 'c'.*inertia.*nan.*every number must be finite"),
    (body(inertia=[1, 1, 3]), "body 'c'.*1, 1, 3.*exceeds the sum of the others; check the"),
    (body(position=[0, nan, 0]), r"body 'c': position is \[0.0, nan, 0.0\]; every number"),
    (body(position=[0, 0]), r"body 'c': position has shape \(2,\); give 3 numbers"),
    (body(orientation=[1, 1, 0, 0]), r"body 'c': quaternion \[1.0, 1.0.*norm 1.41421356, not 1"),
    (body(orientation=[0, 0, 0, 0]), r"body 'c'.*norm 0, not 1; use \(1, 0, 0, 0\)"),
    (body(orientation=[1, 0, 0]), r"body 'c': orientation has shape \(3,\); give 4 numbers"),
    (body(shape="box"), "body 'c': shape is 'box'; give one such as Box"),
    (body("a"), "body 'a': this name is taken by another body; choose another"),
    (body(WORLD), "body 'world': this name is the name of the fixed node; choose another"),
    (body(""), "the name of a body is ''; give a non-empty string"),
    (body(3), "the name of a body is 3; give a non-empty string"),
    (lambda _: sb.Box((1, -1, 1)), "box: a side is -1.0; it must be positive"),
    (lambda _: sb.Box((1, 1)), r"box: sides has shape \(2,\); give 3 numbers"),
    (lambda _: sb.Box((1, 1, 1), (0, 0, 0)), r"box: frame is \(0, 0, 0\); give a Frame"),
    (lambda _: sb.Cylinder(1.0, 0.0), "cylinder: length is 0.0; it must be positive"),
    (lambda _: sb.Polyline(((0, 0, 0),)), r"polyline: points is \(\(0, 0, 0\),\); give two points"),
    (lambda _: sb.Polyline((0, 0, 0)), r"polyline: points is \(0, 0, 0\); give two points or more"),
    (lambda _: sb.Polyline(((0, 0), (1, 1))), r"polyline: a point has shape \(2,\); give 3 number"),
    (lambda _: sb.Polyline(((0, 0, 0), (0, inf, 0))), r"a point is \[0.0, inf, 0.0\]; ev"),
    (lambda _: sb.Mesh(np.eye(3), [[0, 1, 3]]), "triangles have the vertex 3; the last one is 2"),
    (lambda _: sb.Mesh(np.eye(3), [[0, 1, 0.5]]), "mesh: triangles have the index 0.5; give those"),
    (lambda _: sb.Mesh(np.eye(3), [[0, 1, -1]]), "mesh: triangles have the index -1; give those"),
    (lambda _: sb.Mesh(nan * np.eye(3), [[0, 1, 2]]), r"vertices \[0, 0\] is nan; it must be fin"),
    (lambda _: sb.Mesh(np.eye(3), np.ones((0, 3))), r"triangles has shape \(0, 3\); give one row"),
    (
        lambda _: sb.Sphere(1.0, color=(0, 0, 2)),
        r"sphere: color is \(0, 0, 2\); give red, green and b",
    ),
    (lambda _: sb.Sphere(1.0, color="red"), "sphere: color is 'red'"),
    (lambda _: sb.CompoundShape(()), r"compound shape: solids is \(\); give a list of Box, Cyl"),
    (lambda _: sb.CompoundShape([sb.Polyline(np.eye(3))]), r"solids is \[Polyline.*; give a list"),
    (lambda _: sb.Mechanism(gravity=[0, 0, nan]), "mechanism: gravity"),
    (lambda _: sb.Mechanism("void").compile(), "mechanism 'void' has no body; add one"),
]
JOINTS = [
    (joint("hinge", sb.Revolute(), "a", "b"), "'hinge': this name is taken by another joint"),
    (joint("", sb.Revolute(), "a", "b"), "the name of a joint is ''; give a non-empty string"),
    (joint("new", sb.Revolute, "a", "b"), r"'new': type is <class.*; give a joint type such as"),
    (joint("new", sb.Revolute(), "a", "z"), "'new': there is no body 'z'; add it with add_body"),
    (joint("new", sb.Revolute(), "a", "a"), "'new': connects 'a' to itself; give two bodies"),
    (joint(point=[0, 0, 0], successor_frame=sb.Frame()), "'new': give point and axis, or the two"),
    (joint(axis=[0, 0, 0]), "'new': axis is the zero vector; give a direction"),
    (joint(axis=[0, 0, 1], x_axis=[0, 0, 2]), "'new': part of the x axis across the axis is the"),
    (joint(point=[1, 2]), r"'new': point has shape \(2,\); give 3 numbers"),
    (joint(successor_frame=[0, 0, 0]), r"'new': a joint frame is \[0, 0, 0\]; give a Frame"),
    (lambda _: sb.Frame([0, 0, nan]), "frame: position is .*nan.*; every number must be finite"),
    (lambda _: sb.Frame([0, 0, 0], [1, 1, 1, 1]), "frame: quaternion .* has norm 2, not 1; divid"),
    (lambda _: sb.Frame.from_axes([0, 0, 0], z=[0, 0, 0]), "frame: axis is the zero vector; give"),
    (lambda _: sb.Helical(0.0), "helical pitch is 0.0; a screw without travel is a Revolute"),
    (lambda _: sb.ConstantDistance(-1.0), "length of a constant distance is -1.0; it must be pos"),
    (lambda m: m.add_distance("rod", "a", "b"), "is 0.0; it must be positive.*use Spherical"),
    (lambda m: m.add_distance("rod", "a", "z"), "there is no body 'z'; add it with add_body"),
    (prescribed(sb.Revolute(), {1: 0.0}), r"'new'.*is 1, but a revolute joint has 1 \(counted fr"),
    (prescribed(sb.Planar(), {"x": 0.0, 1: 0.0}), "'new'.*is 'x', but a planar joint has 3"),
    (prescribed(sb.Fixed(), 0.0), r"'new'.*is 0, but a fixed joint has 0 \(counted from 0\)"),
    (prescribed(sb.Spherical(), 0.0), "'new'.*0 of a spherical joint has no position that could"),
    (prescribed(sb.Revolute(), nan), "'new'.*coordinate 0: the given value is nan; it must be fin"),
    (prescribed(sb.Revolute(), "fast"), "'new'.*0: the given value is 'fast'; give a number"),
    (prescribed(sb.Revolute(), lambda t: t), r"'new'.*function must return \(value, rate, accele"),
    (prescribed(sb.Revolute(), lambda t: 1 / t), r"'new'.*function must return \(value, rate, acc"),
    (prescribed(sb.Revolute(), lambda t: (t, t, nan)), r"returns \(0.0, 0.0, nan\) at t = 0; it m"),
    (lambda _: sb.SmoothStep(0, 1, 0.0), "smooth step: duration is 0.0; it must be positive"),
    (lambda _: sb.SmoothStep(0, nan, 1.0), "smooth step: end is nan; it must be finite"),
    (lambda _: sb.Sinusoid(nan, 1.0), "sinusoid: amplitude is nan; it must be finite"),
    (lambda _: sb.Polynomial((1.0, "x")), "polynomial: a coefficient is 'x'; give a number"),
    (lambda _: sb.Polynomial(3.0), "coefficients is .*; give a list"),
    (compliant(nan), "'new': compliance is nan; every number must be finite"),
    (compliant(-1e-6), "'new': .* is -1e-06, not positive semidefinite .* give one that stores"),
    (compliant([1, 2, 3]), r"shape \(3,\); give a number, 5 numbers, one a row, or a 5 x 5"),
    (compliant(np.ones((5, 5)) - np.eye(5)), "'new': .*not positive semidefinite"),
    (compliant(np.triu(np.ones((5, 5)))), r"'new': .*not symmetric; give \(C \+ C'\) / 2"),
    (compliant([0, 0, 1, 1, 1]), "2 of 5 rows stay rigid, which are those of no .* give every row"),
    (compliant(1e-320), "'new': compliance is .*; give 0 for rigid rows"),
    (compliant(damping=1.0), r"'new': has a damping, but its rows are rigid; .*add_joint_"),
    (compliant(1.0, prescribed=0.1), "'new': has a compliance and a prescribed coordinate; pres"),
]
FORCES = [
    (
        joint_force("f", "elbow"),
        r"there is no joint 'elbow'; add it with add_joint \(there are hinge, ball",
    ),
    (joint_force("f", "hinge", coordinate=1), "'f' on joint 'hinge': coordinate is 1, but a rev"),
    (joint_force("f", "ball", stiffness=1.0), "'f' on joint 'ball'.*no position to stretch a sp"),
    (joint_force("f", "hinge", stiffness=nan), "joint force 'f': stiffness is nan; it must be fin"),
    (joint_force("f", "hinge", effort="full"), "joint force 'f': effort is 'full'; give"),
    (joint_force("", "hinge"), "the name of a force is ''; give a non-empty string"),
    (rod_with_a_force, "'rod': a constant-distance joint has no named coordinates; use add_point"),
    (point_force("a", "z"), "force 'f': there is no body 'z'; add it"),
    (point_force("a", "a"), "force 'f': connects 'a' to itself; give"),
    (point_force(first_point=[1]), r"'f': first point has shape \(1,\); give 3 numbers"),
    (external(WORLD), "'world' is the fixed node and no body"),
    (external("a", force=[nan, 0, 0]), "external force 'f': force is .*nan.*; every number must"),
    (external("a", axes="joint"), "external force 'f': axes is 'joint'; give 'world' or 'body'"),
    (
        lambda m: [m.add_external_force("f", "a") for _ in range(2)],
        "force 'f': this name is taken; choose another",
    ),
    (bushing(stiffness=0.0), "bushing 'x'.*: stiffness is zero; give a number, six"),
    (bushing(stiffness=-1.0), "bushing 'x'.*: stiffness is -1.0, not positive semidefinite"),
    (bushing(stiffness=[1, 1, 1]), r"'x'.*: stiffness has shape \(3,\); give a number, 6 numbers"),
    (bushing(stiffness=[1, 0, 0, 1, 1, 1], damping=1.0), "'x'.*: damping .* without stiffness; g"),
    (bushing(stiffness=1.0, point=(0, 0, 0), successor_frame=sb.Frame()), "'x'.*: .*not both"),
    (bushing("b", "b", stiffness=1.0), "bushing 'x': connects 'b' to itself; give two bodies"),
    (beam(start=(0, 0, 0), end=(0, 0, 0)), r"beam 'x': start and end are both .* give two points"),
    (beam(start=(0, 0, 0)), "beam 'x': give start and end, or length and the two frames"),
    (beam(**BOTH_ENDS | {"I_y": 0.0}), "beam 'x': I_y is 0.0; it must be positive"),
    (beam(**BOTH_ENDS, damping=-1.0), "beam 'x': damping is -1.0; give a time"),
]
NAMES = [
    (lambda m: m.body("z"), r"there is no body 'z'; add it with add_body \(there are a, b"),
    (
        lambda m: m.joint([1]),
        r"there is no joint \[1\]; add it with add_joint \(there are hinge, ball",
    ),
    (lambda m: m.body(np.zeros(2)), r"there is no body array\(\[0., 0.\]\); add it with add_body"),
    (lambda m: m.compile().joint({}), "system 'arm' has no joint {}"),
    (lambda m: m.compile().body("z"), "system 'arm' has no body 'z'"),
]


@pytest.mark.parametrize(("action", "message"), [*BODIES, *JOINTS, *FORCES, *NAMES])
def test_what_makes_no_mechanism_is_named_and_leaves_no_trace(action, message):
    mechanism = arm()
    assert_refused(message, lambda: action(mechanism))
    assert mechanism.n_bodies == 2
    assert list(mechanism.graph) == [WORLD, "a", "b"]
    assert set(mechanism.joints) - {"rod"} == {"hinge", "ball"}
    assert mechanism.graph.number_of_edges() == mechanism.n_joints


@pytest.mark.parametrize("function", [sb.forward_dynamics, sb.count_mobility, sb.consistent_state])
def test_a_mechanism_in_place_of_a_system_is_told_to_compile(function):
    with pytest.raises(AttributeError, match=r"'four-bar' has no .*; pass mechanism.compile\(\)"):
        function(sb.build("four-bar"))


def test_shapes_keep_plain_numbers():
    assert sb.Box(np.array([1, 2, 3])).sides == (1.0, 2.0, 3.0)
    points = sb.Polyline(np.eye(3, dtype=int)[:2]).points
    assert points == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


# ---- states, and what fails only while it moves -------------------------------------------------


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"position": np.zeros((3, 3))}, ShapeError, r"has shape \(3, 3\).*needs \(2, 3\)"),
        ({"coordinate": np.zeros(2)}, ShapeError, r"has shape \(2,\).*needs \(0,\)"),
        ({"position": [[0, 0, 0]] * 2}, ShapeError, "is of type list; give a float64"),
        ({"position": np.zeros((2, 3), int)}, ShapeError, "is of type int64; give a float"),
        ({"velocity": np.full((2, 6), nan)}, ModelError, "of 'a' is .*nan.*must be finite"),
        ({"orientation": np.full((2, 4), 1.0)}, ModelError, "of body 'a' has norm 2; norm"),
        ({"time": nan}, ModelError, "is nan; it must be finite"),
    ],
)
def test_a_state_that_is_none_is_refused(change, kind, message):
    system = arm().compile()
    state = system.initial_state.with_(**change)
    for action in (
        lambda: check_state(system, state),
        lambda: sb.ForwardDynamics(system, state),
        lambda: sb.ForwardDynamics(system)(state),
    ):
        assert_refused(f"state.{next(iter(change))} {message}", action, kind)


@pytest.mark.parametrize("wrong", [nan, inf, -inf])
def test_one_number_that_is_not_finite_is_named_wherever_it_is(wrong):
    mechanism = arm()
    mechanism.add_joint_force("spring", "hinge", stiffness=1.0)
    system = mechanism.compile()
    start = system.initial_state
    owners = dict.fromkeys(("position", "orientation", "velocity"), ("a", "b"))
    for field, names in (owners | {"coordinate": ("hinge",)}).items():
        for index in np.ndindex(getattr(start, field).shape):
            array = getattr(start, field).copy()
            array[index] = wrong
            message = f"state.{field} of '{names[index[0]]}' is"
            state = start.with_(**{field: array})
            assert_refused(message, lambda state=state: check_state(system, state))


def test_a_state_may_lie_anywhere_in_memory_and_its_quaternions_be_rounded():
    system = arm().compile()
    state = system.initial_state
    strided = np.repeat(state.velocity, 2, axis=0)[::2]
    rounded = state.orientation * (1.0 + 9e-7)
    rounded.flags.writeable = False
    check_state(system, state.with_(velocity=strided, orientation=rounded))
    far = state.with_(orientation=state.orientation * (1.0 + 2e-6))
    message = "orientation of body 'a' has norm 1; normalize"
    assert_refused(message, lambda: check_state(system, far))


def later(value):
    """A time function that fails after a second."""
    return lambda t: (0.0, 0.0, 0.0) if t < 1 else value


BROKEN = later((nan, 0.0, 0.0))


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (point_force(stiffness=1.0), "force 'f': its points coincide, so it has no direction"),
        (prescribed(sb.Prismatic(), later("junk")), r"no \(value, rate, acceleration\) at t = 2 s"),
        (prescribed(sb.Prismatic(), BROKEN), r"prescribed to joint 'new' is .* at t = 2 s; every"),
        (joint_force("f", "hinge", effort=BROKEN), "of a force on joint 'hinge' is nan at t = 2 s"),
        (point_force(first_point=[1, 0, 0], effort=BROKEN), "of point force 'f' is nan at t = 2 s"),
    ],
)
def test_what_fails_while_it_moves_is_named_with_the_time(add, message):
    mechanism = arm()
    add(mechanism)
    system = mechanism.compile()
    late = system.initial_state.with_(time=2.0)
    assert_refused(message, lambda: sb.forward_dynamics(system, late))


def test_body_forces_are_finite():
    system = arm().compile()
    force = np.zeros((2, 6))
    force[1, 3] = inf
    dynamics = sb.ForwardDynamics(system)
    message = "body_force of 'b' is not finite"
    assert_refused(message, lambda: dynamics(system.initial_state, body_force=force))
