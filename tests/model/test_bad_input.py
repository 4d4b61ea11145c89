"""Input that makes no mechanism, with the message that says what to mend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import ModelError, ShapeError, SparsebodyError
from sparsebody.methods import forward_dynamics
from sparsebody.model.bodies import Box, Cylinder, Polyline, Sphere
from sparsebody.model.frames import Frame
from sparsebody.model.joints import (
    ConstantDistance,
    Fixed,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, check_state
from sparsebody.model.time_functions import Polynomial, Sinusoid, SmoothStep

NAN, INF = float("nan"), float("inf")


def arm() -> Mechanism:
    """Bodies "a" and "b"; "hinge" from the world to "a", "ball" from "a" to "b"."""
    mechanism = Mechanism("arm")
    for name in ("a", "b"):
        mechanism.add_body(name, mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("hinge", Revolute(), WORLD, "a")
    mechanism.add_joint("ball", Spherical(), "a", "b")
    return mechanism


def refused(message: str, action: Callable[[], Any], kind: type[Exception] = ModelError) -> None:
    with pytest.raises(kind, match=message) as caught:
        action()
    assert isinstance(caught.value, SparsebodyError)
    assert isinstance(caught.value, ValueError)  # also for those who know no sparsebody errors


# ---- bodies -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mass": -2.0}, "body 'c': mass -2.0 kg; give a positive one"),
        ({"mass": NAN}, "body 'c': mass is nan; it must be finite"),
        ({"mass": INF}, "body 'c': mass is inf; it must be finite"),
        ({"mass": "heavy"}, "body 'c': mass is 'heavy'; give a number"),
        ({"mass": None}, "body 'c': mass is None; give a number"),
        ({"mass": 10**400}, "body 'c': mass is 10*; give a number"),
        ({"inertia": [10**400, 1, 1]}, r"body 'c': rotational inertia is \[10*, 1, 1\]; give numb"),
        ({"position": [10**400, 0, 0]}, r"body 'c': position is \[10*, 0, 0\]; give 3 numbers"),
        (
            {"inertia": [1, 2]},
            r"body 'c'.*inertia has shape \(2,\); give moments \(3,\), or a",
        ),
        ({"inertia": "big"}, "body 'c': rotational inertia is 'big'; give numbers"),
        ({"inertia": [[1, 2], [3]]}, r"body 'c': rotational inertia is \[\[1, 2\], \[3\]\]; give"),
        ({"inertia": [1, 1, NAN]}, "body 'c'.*inertia.*nan.*give finite numbers"),
        (
            {"inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]},
            r"body 'c'.*not symmetric, entry \[0, 1\] is 0.1 and \[1, 0\] is 0; make them equal",
        ),
        ({"inertia": [1, 1, -1]}, "body 'c'.*principal moments -1, 1, 1.*not positive definite"),
        ({"inertia": [1, 1, 3]}, "body 'c'.*1, 1, 3.*exceeds the sum of the others; check the"),
        ({"position": [0, NAN, 0]}, r"body 'c': position is \[0.0, nan, 0.0\]; every number"),
        ({"position": [0, 0]}, r"body 'c': position has shape \(2,\); give 3 numbers"),
        ({"position": "here"}, "body 'c': position is 'here'; give 3 numbers"),
        ({"center_of_mass": [0] * 4}, r"body 'c': center of mass has shape \(4,\); give 3"),
        ({"linear_velocity": [INF, 0, 0]}, r"body 'c': linear velocity is \[inf.*must be finite"),
        ({"angular_velocity": 1.0}, r"body 'c': angular velocity has shape \(\); give 3 numbers"),
        ({"orientation": [1, 1, 0, 0]}, r"body 'c': quaternion \[1.0, 1.0.*norm 1.41421356, not 1"),
        ({"orientation": [0, 0, 0, 0]}, r"body 'c'.*norm 0, not 1; use \(1, 0, 0, 0\)"),
        ({"orientation": [1, 0, 0]}, r"body 'c': orientation has shape \(3,\); give 4 numbers"),
        ({"shape": "box"}, "body 'c': shape is 'box'; give one such as Box"),
    ],
)
def test_a_body_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    right = {"mass": 1.0, "inertia": [1, 1, 1]}
    refused(message, lambda: arm().add_body("c", **(right | wrong)))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: Box((1, -1, 1)), "box: a side is -1.0; it must be positive"),
        (lambda: Box((1, 1)), r"box: sides has shape \(2,\); give 3 numbers"),
        (lambda: Box((1, 1, 1), (0, 0, 0)), r"box: frame is \(0, 0, 0\); give a Frame"),
        (lambda: Cylinder(NAN, 1.0), "cylinder: radius is nan; it must be finite"),
        (lambda: Cylinder(1.0, 0.0), "cylinder: length is 0.0; it must be positive"),
        (lambda: Cylinder(1.0, 1.0, None), "cylinder: frame is None; give a Frame"),
        (lambda: Sphere("x"), "sphere: radius is 'x'; give a number"),
        (lambda: Sphere(10**400), "sphere: radius is 10*; give a number"),
        (lambda: Sphere(1.0, "here"), "sphere: frame is 'here'; give a Frame"),
        (lambda: Polyline(((0, 0, 0),)), r"polyline: points is \(\(0, 0, 0\),\); give two points"),
        (lambda: Polyline((0, 0, 0)), r"polyline: points is \(0, 0, 0\); give two points or more"),
        (lambda: Polyline(((0, 0), (1, 1))), r"polyline: a point has shape \(2,\); give 3 number"),
        (lambda: Polyline(((0, 0, 0), (0, INF, 0))), r"polyline: a point is \[0.0, inf, 0.0\]; ev"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(action: Callable[[], Any], message: str) -> None:
    refused(message, action)


def test_shapes_keep_plain_numbers() -> None:
    assert Box(np.array([1, 2, 3])).sides == (1.0, 2.0, 3.0)
    assert Polyline(np.eye(3, dtype=int)[:2]).points == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a", "body 'a': this name is taken by another body; choose another"),
        (WORLD, "body 'world': this name is the name of the fixed node; choose another"),
        ("", "the name of a body is ''; give a non-empty string"),
        (3, "the name of a body is 3; give a non-empty string"),
    ],
)
def test_a_body_needs_a_name_of_its_own(name: Any, message: str) -> None:
    refused(message, lambda: arm().add_body(name, mass=1.0, inertia=[1, 1, 1]))


def test_a_refused_body_leaves_no_trace() -> None:
    mechanism = arm()
    with pytest.raises(ModelError):
        mechanism.add_body("c", mass=-1.0, inertia=[1, 1, 1])
    with pytest.raises(ModelError):
        mechanism.add_joint("new", Revolute(), "a", "b", prescribed=NAN)
    assert (mechanism.n_bodies, mechanism.n_joints) == (2, 2)
    assert "c" not in mechanism.graph
    assert mechanism.graph.number_of_edges() == 2


@pytest.mark.parametrize("gravity", [[0, 0], [0, 0, NAN], "down"])
def test_gravity_is_three_finite_numbers(gravity: Any) -> None:
    refused("mechanism: gravity", lambda: Mechanism(gravity=gravity))


def test_a_mechanism_without_a_body_cannot_be_compiled() -> None:
    refused("mechanism 'void' has no body; add one", lambda: Mechanism("void").compile())


# ---- joints -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hinge", Revolute(), "a", "b"), "joint 'hinge': this name is taken by another joint"),
        (("", Revolute(), "a", "b"), "the name of a joint is ''; give a non-empty string"),
        (("new", Revolute, "a", "b"), r"joint 'new': type is <class.*; give a joint type such as"),
        (("new", "revolute", "a", "b"), r"joint 'new': type is 'revolute'; give a joint type"),
        (("new", Revolute(), "a", "z"), "joint 'new': there is no body 'z'; add it with add_body"),
        (("new", Revolute(), "z", "a"), "joint 'new': there is no body 'z'; add it with add_body"),
        (("new", Revolute(), "a", "a"), "joint 'new': connects 'a' to itself; give two bodies"),
        (("new", Revolute(), WORLD, WORLD), "joint 'new': connects 'world' to itself; give two"),
    ],
)
def test_a_joint_needs_a_name_a_type_and_two_bodies(arguments: Any, message: str) -> None:
    refused(message, lambda: arm().add_joint(*arguments))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"point": [0, 0, 0], "successor_frame": Frame()}, "give point and axis, or the two fra"),
        ({"axis": [0, 0, 1], "predecessor_frame": Frame()}, "give point and axis, or the two fra"),
        ({"axis": [0, 0, 0]}, "axis is the zero vector; give a direction"),
        ({"axis": [0, NAN, 0]}, r"axis is \[0.0, nan, 0.0\]; every number must be finite"),
        ({"axis": [0, 0, 1], "x_axis": [0, 0, 2]}, "part of the x axis across the axis is the ze"),
        ({"point": [1, 2]}, r"point has shape \(2,\); give 3 numbers"),
        ({"successor_frame": [0, 0, 0]}, r"a joint frame is \[0, 0, 0\]; give a Frame"),
    ],
)
def test_a_joint_needs_a_place_and_a_direction(where: dict[str, Any], message: str) -> None:
    refused(
        f"joint 'new': {message}", lambda: arm().add_joint("new", Revolute(), "a", "b", **where)
    )


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: Frame([0, 0, NAN]), "frame: position is .*nan.*; every number must be finite"),
        (lambda: Frame([0, 0, 0], [1, 1, 1, 1]), "frame: quaternion .* has norm 2, not 1; divide"),
        (lambda: Frame.from_axes([0, 0, 0], z=[0, 0, 0]), "frame: axis is the zero vector; give"),
        (lambda: Helical(0.0), "helical pitch is 0.0; a screw without travel is a Revolute"),
        (lambda: ConstantDistance(-1.0), "length of a constant distance is -1.0; it must be pos"),
        (lambda: arm().add_distance("rod", "a", "b"), "is 0.0; it must be positive.*use Spherical"),
        (lambda: arm().add_distance("rod", "a", "z"), "there is no body 'z'; add_body it first"),
    ],
)
def test_frames_pitches_and_lengths_are_checked(action: Callable[[], Any], message: str) -> None:
    refused(message, action)


@pytest.mark.parametrize(
    ("joint_type", "motion", "message"),
    [
        (Revolute(), {1: 0.0}, r"coordinate is 1, but a revolute joint has 1 \(counted from 0\)"),
        (Planar(), {-1: 0.0}, r"coordinate is -1, but a planar joint has 3 \(counted from 0\)"),
        (Planar(), {"x": 0.0, 1: 0.0}, "coordinate is 'x', but a planar joint has 3"),
        (Fixed(), 0.0, r"coordinate is 0, but a fixed joint has 0 \(counted from 0\)"),
        (Spherical(), 0.0, "coordinate 0 of a spherical joint has no position that could be pres"),
        (Revolute(), NAN, "coordinate 0: the given value is nan; it must be finite"),
        (Revolute(), "fast", "coordinate 0: the given value is 'fast'; give a number"),
        (Revolute(), lambda t: t, r"a time function must return \(value, rate, acceleration\)"),
        (Revolute(), lambda t: 1 / t, r"a time function must return \(value, rate, accelerat"),
        (Revolute(), lambda t: (t, t), r"returns \(0.0, 0.0\) at t = 0; it must return three"),
        (Revolute(), lambda t: (t, t, NAN), r"returns \(0.0, 0.0, nan\) at t = 0; it must re"),
    ],
)
def test_a_prescribed_motion_needs_a_coordinate_and_a_function(
    joint_type: Any, motion: Any, message: str
) -> None:
    refused(
        f"joint 'new'.*{message}",
        lambda: arm().add_joint("new", joint_type, "a", "b", prescribed=motion),
    )


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: SmoothStep(0, 1, 0.0), "duration of a smooth step is 0.0; it must be positive"),
        (lambda: SmoothStep(0, NAN, 1.0), "smooth step: end is nan; it must be finite"),
        (lambda: Sinusoid(NAN, 1.0), "sinusoid: amplitude is nan; it must be finite"),
        (lambda: Polynomial((1.0, "x")), "polynomial: a coefficient is 'x'; give a number"),
    ],
)
def test_functions_of_time_are_made_of_numbers(action: Callable[[], Any], message: str) -> None:
    refused(message, action)


# ---- forces -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("f", "elbow"), {}, r"there is no joint 'elbow'; add_joint it first \(hinge, ball"),
        (("f", "hinge"), {"coordinate": 1}, "'f' on joint 'hinge': coordinate is 1, but a revol"),
        (("f", "hinge"), {"coordinate": "x"}, "'f' on joint 'hinge': coordinate is 'x', but a"),
        (("f", "ball"), {"stiffness": 1.0}, "'f' on joint 'ball'.*no position to stretch a spring"),
        (("f", "hinge"), {"stiffness": NAN}, "joint force 'f': stiffness is nan; it must be fin"),
        (("f", "hinge"), {"damping": "much"}, "joint force 'f': damping is 'much'; give a num"),
        (("f", "hinge"), {"effort": "full"}, "joint force 'f': effort is 'full'; give"),
        (("", "hinge"), {}, "the name of a force is ''; give a non-empty string"),
    ],
)
def test_a_joint_force_needs_a_coordinate_and_numbers(
    arguments: Any, options: dict[str, Any], message: str
) -> None:
    refused(message, lambda: arm().add_joint_force(*arguments, **options))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            lambda m: m.add_point_force("f", "a", "z"),
            "force 'f': there is no body 'z'; add it",
        ),
        (
            lambda m: m.add_point_force("f", "a", "a"),
            "force 'f': connects 'a' to itself; give",
        ),
        (
            lambda m: m.add_point_force("f", "a", "b", first_point=[1]),
            r"point force 'f': first point has shape \(1,\); give 3 numbers",
        ),
        (lambda m: m.add_external_force("f", "z"), "there is no body 'z'; add_body it first"),
        (lambda m: m.add_external_force("f", WORLD), "'world' is the fixed node and no body"),
        (
            lambda m: m.add_external_force("f", "a", force=[NAN, 0, 0]),
            "external force 'f': force is .*nan.*; every number must be finite",
        ),
        (
            lambda m: m.add_external_force("f", "a", axes="joint"),
            "external force 'f': axes is 'joint'; give 'world' or 'body'",
        ),
        (
            lambda m: [m.add_external_force("f", "a") for _ in range(2)],
            "force 'f': this name is taken; choose another",
        ),
        (
            lambda m: [m.add_distance("rod", "a", "b", length=1.0), m.add_joint_force("f", "rod")],
            "'f' on joint 'rod': a constant-distance joint has no named coordinates; use add_point",
        ),
    ],
)
def test_forces_need_bodies_points_and_numbers(
    action: Callable[[Mechanism], Any], message: str
) -> None:
    refused(message, lambda: action(arm()))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda m: m.body("z"), r"there is no body 'z'; add_body it first \(bodies: a, b"),
        (lambda m: m.joint("z"), r"there is no joint 'z'; add_joint it first \(hinge, ball"),
        (lambda m: m.body([1]), r"there is no body \[1\]; add_body it first \(bodies: a, b"),
        (lambda m: m.joint([1]), r"there is no joint \[1\]; add_joint it first \(hinge, ball"),
        (lambda m: m.body(np.zeros(2)), r"there is no body array\(\[0., 0.\]\); add_body it"),
        (lambda m: m.add_joint_force("f", [1]), r"there is no joint \[1\]; add_joint it first"),
        (lambda m: m.compile().body([1]), r"system 'arm' has no body \[1\]"),
        (lambda m: m.compile().joint({}), "system 'arm' has no joint {}"),
        (lambda m: m.compile().body("z"), "system 'arm' has no body 'z'"),
        (lambda m: m.compile().joint("z"), "system 'arm' has no joint 'z'"),
    ],
)
def test_a_name_that_is_nowhere_is_refused(
    action: Callable[[Mechanism], Any], message: str
) -> None:
    refused(message, lambda: action(arm()))


# ---- states, and what fails only while it moves -------------------------------------------------


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (
            {"position": np.zeros((3, 3))},
            ShapeError,
            r"position has shape \(3, 3\).*needs \(2, 3\)",
        ),
        ({"coordinate": np.zeros(2)}, ShapeError, r"coordinate has shape \(2,\).*needs \(0,\)"),
        ({"position": [[0, 0, 0]] * 2}, ShapeError, "position is of type list; give a float64"),
        (
            {"position": np.zeros((2, 3), int)},
            ShapeError,
            "position is of type int64; give a float",
        ),
        (
            {"velocity": np.full((2, 6), NAN)},
            ModelError,
            "velocity of 'a' is .*nan.*must be finite",
        ),
        (
            {"orientation": np.full((2, 4), 1.0)},
            ModelError,
            "orientation of body 'a' has norm 2; norm",
        ),
        ({"time": NAN}, ModelError, "time is nan; it must be finite"),
    ],
)
def test_a_state_that_is_none_is_refused(
    change: dict[str, Any], kind: type[Exception], message: str
) -> None:
    system = arm().compile()
    state: State = system.initial_state.with_(**change)
    for action in (
        lambda: check_state(system, state),
        lambda: ForwardDynamics(system, state),
        lambda: ForwardDynamics(system)(state),
    ):
        refused(f"state.{message}", action, kind)


@pytest.mark.parametrize("wrong", [NAN, INF, -INF])
def test_one_number_that_is_not_finite_is_found_wherever_it_is(wrong: float) -> None:
    system = arm().compile()
    for field in ("position", "orientation", "velocity"):
        for place in np.ndindex(getattr(system.initial_state, field).shape):
            array = getattr(system.initial_state, field).copy()
            array[place] = wrong
            state = system.initial_state.with_(**{field: array})
            name = "ab"[place[0]]
            refused(f"state.{field} of '{name}' is", lambda state=state: check_state(system, state))


def test_a_state_may_lie_anywhere_in_memory_and_its_quaternions_be_rounded() -> None:
    system = arm().compile()
    state = system.initial_state
    strided = np.repeat(state.velocity, 2, axis=0)[::2]
    rounded = state.orientation * (1.0 + 9e-7)
    rounded.flags.writeable = False
    check_state(system, state.with_(velocity=strided, orientation=rounded))
    rounded = state.orientation * (1.0 + 2e-6)
    refused(
        "orientation of body 'a' has norm 1; normalize",
        lambda: check_state(system, state.with_(orientation=rounded)),
    )


def test_a_coordinate_that_is_not_finite_is_named_by_its_joint() -> None:
    mechanism = arm()
    mechanism.add_joint_force("spring", "hinge", stiffness=1.0)
    system = mechanism.compile()
    state = system.initial_state.with_(coordinate=np.array([NAN]))
    refused("state.coordinate of 'hinge' is nan", lambda: check_state(system, state))


def test_body_forces_are_finite() -> None:
    system = arm().compile()
    force = np.zeros((2, 6))
    force[1, 3] = INF
    dynamics = ForwardDynamics(system)
    refused(
        "body_force of 'b' is not finite", lambda: dynamics(system.initial_state, body_force=force)
    )


def test_points_of_a_force_that_coincide_have_no_direction() -> None:
    mechanism = arm()
    mechanism.add_point_force("tie", "a", "b", stiffness=1.0)
    refused(
        "point force 'tie': its points coincide, so it has no direction",
        lambda: forward_dynamics(mechanism.compile()),
    )


@pytest.mark.parametrize(
    ("later", "message"),
    [
        ("junk", r"prescribed motion returns no \(value, rate, acceleration\) at t = 2 s"),
        ((0.0, NAN, 0.0), r"prescribed to joint 'drive' is \[ 0. nan  0.\] at t = 2 s; every"),
    ],
)
def test_a_prescribed_motion_that_fails_later_is_named(later: Any, message: str) -> None:
    mechanism = arm()
    mechanism.add_joint(
        "drive", Prismatic(), "a", "b", prescribed=lambda t: (0.0, 0.0, 0.0) if t < 1 else later
    )
    system = mechanism.compile()
    late = system.initial_state.with_(time=2.0)
    refused(message, lambda: ForwardDynamics(system, late))


@pytest.mark.parametrize("who", ["a force on joint 'hinge'", "point force 'piston'"])
def test_an_effort_that_fails_later_is_named(who: str) -> None:
    def effort(t: float) -> tuple[float, float, float]:
        return (0.0 if t < 1 else NAN, 0.0, 0.0)

    mechanism = arm()
    if "hinge" in who:
        mechanism.add_joint_force("motor", "hinge", effort=effort)
    else:
        mechanism.add_point_force("piston", "a", "b", first_point=[1, 0, 0], effort=effort)
    system = mechanism.compile()
    dynamics, late = ForwardDynamics(system), system.initial_state.with_(time=2.0)
    refused(f"the effort of {who} is nan at t = 2 s", lambda: dynamics(late))
