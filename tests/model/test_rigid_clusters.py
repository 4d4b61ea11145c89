"""Bodies without mass or moments, against the same mechanisms put together by hand."""

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.errors import ModelError
from sparsebody.spatial import quaternion_exponential, rotation_from_quaternion

TURN = quaternion_exponential([0.3, -0.2, 0.9])
R = rotation_from_quaternion(TURN)
ARM, CENTER = np.array([0.1, 0.4, -0.2]), np.array([0, 0.1, 0.05])
WRIST = sb.Frame((0.5, 0.2, 0.1), quaternion_exponential([0.1, 0.7, 0.0]))  # on the bracket
BRACKET = sb.Frame(ARM, TURN)  # on the link
MOUNT = sb.Frame((0.3, 0.3, 0.3))
SPIN = np.array([0.0, 1.0, 1.0])  # of all, about the hinge
LINK = {"mass": 2.0, "inertia": (0.3, 0.4, 0.5), "center_of_mass": (0.2, 0.0, 0.1)}


WRIST_ON_LINK = sb.Frame(
    ARM + R @ WRIST.position, sb.spatial.quaternion_product(TURN, WRIST.orientation)
)
TOOL = {
    "mass": 1.0,
    "inertia": (0.1, 0.2, 0.15),
    "center_of_mass": (0.3, 0.0, 0.0),
    "position": WRIST_ON_LINK.position,
    "orientation": WRIST_ON_LINK.orientation,
    "linear_velocity": np.cross(SPIN, WRIST_ON_LINK.position),
    "angular_velocity": SPIN,
}


def arm(bracket_mass):
    """A link with a bracket welded to it, of which a second link and forces hang."""
    mechanism = sb.Mechanism("arm")
    mechanism.add_body("link", **LINK, angular_velocity=SPIN)
    position = {"position": ARM, "orientation": TURN, "angular_velocity": SPIN}
    position["linear_velocity"] = np.cross(SPIN, ARM)
    solid = {"mass": bracket_mass, "inertia": np.zeros(3), "center_of_mass": CENTER}
    mechanism.add_body("bracket", **solid, **position)
    mechanism.add_body("tool", **TOOL)
    mechanism.add_joint("hinge", sb.Revolute(), sb.WORLD, "link", axis=(0, 1, 1))
    mechanism.add_joint("weld", sb.Fixed(), "link", "bracket", predecessor_frame=BRACKET)
    mechanism.add_joint("wrist", sb.Universal(), "bracket", "tool", predecessor_frame=WRIST)
    mechanism.add_external_force("push", "bracket", force=(1, 2, 3), moment=(0, 1, 0), axes="body")
    mechanism.add_external_force("lift", "bracket", force=(0, 0, 4), point=(0.3, 0.1, 0.0))
    mechanism.add_point_force("strut", "bracket", "tool", first_point=(0, 1, 0), effort=2.0)
    mechanism.add_point_force("within", "bracket", "link", first_point=(0, 1, 0), effort=9.0)
    mechanism.add_bushing("mount", "world", "bracket", stiffness=5.0, predecessor_frame=MOUNT)
    return mechanism


def by_hand(bracket_mass):
    """The same with link and bracket as one body."""
    mechanism = sb.Mechanism("arm")
    positions = np.array([LINK["center_of_mass"], ARM + R @ CENTER])
    masses = np.array([LINK["mass"], bracket_mass])
    center = masses @ positions / masses.sum()
    inertia = np.diag(LINK["inertia"]).astype(float)
    for m, d in zip(masses, positions - center, strict=True):
        inertia += m * (d @ d * np.eye(3) - np.outer(d, d))
    solid = {"mass": masses.sum(), "inertia": inertia, "center_of_mass": center}
    mechanism.add_body("link", **solid, angular_velocity=SPIN)
    mechanism.add_body("tool", **TOOL)
    mechanism.add_joint("hinge", sb.Revolute(), sb.WORLD, "link", axis=(0, 1, 1))
    mechanism.add_joint("wrist", sb.Universal(), "link", "tool", predecessor_frame=WRIST_ON_LINK)
    push = {"force": R @ (1, 2, 3), "moment": R @ (0, 1, 0), "point": ARM + R @ CENTER}
    mechanism.add_external_force("push", "link", **push, axes="body")
    mechanism.add_external_force("lift", "link", force=(0, 0, 4), point=ARM + R @ (0.3, 0.1, 0.0))
    foot = ARM + R @ (0, 1, 0)
    mechanism.add_point_force("strut", "link", "tool", first_point=foot, effort=2.0)
    frames = {"predecessor_frame": MOUNT, "successor_frame": BRACKET}
    mechanism.add_bushing("mount", "world", "link", stiffness=5.0, **frames)
    return mechanism


@pytest.mark.parametrize("mass", [0.0, 0.7])
def test_a_welded_body_without_moments_is_part_of_the_other(mass):
    welded, expected = arm(mass).compile(), by_hand(mass).compile()
    assert welded.body_names == expected.body_names == ("link", "tool")
    np.testing.assert_allclose(welded.center_of_mass, expected.center_of_mass, atol=1e-15)
    motion, by_whole = (
        sb.forward_dynamics(system, sb.consistent_state(system)).acceleration
        for system in (welded, expected)
    )
    np.testing.assert_allclose(motion, by_whole, rtol=1e-11, atol=1e-11)


def test_welds_to_the_world_and_chains_of_them_carry_joints():
    """Point masses on massless links, all welded, make a rigid body that swings on the world's."""
    mechanism = sb.Mechanism("frame")
    zero = {"inertia": (0, 0, 0)}
    mechanism.add_body("wall", mass=0.0, **zero, position=(0, 0, 1))
    mechanism.add_bodies("mass-{}", mass=[1.0, 2.0, 3.0], position=np.eye(3), **zero)
    mechanism.add_body("hub", mass=0.0, **zero)
    mechanism.add_joint("ground", sb.Fixed(), sb.WORLD, "wall")
    mechanism.add_joint("hinge", sb.Revolute(), "wall", "hub", point=(0, 0, 0), axis=(0, 0, 1))
    mechanism.add_joints("weld-{}", sb.Fixed(), "hub", np.array([1, 2, 3]), point=(0, 0, 0))
    mechanism.gravity = np.array([0.0, -1.0, 0.0])
    system = mechanism.compile()
    assert (list(system.body_names), list(system.joint_names)) == (["mass-0"], ["hinge"])
    assert system.mass[0] == 6.0
    (acceleration,) = sb.forward_dynamics(system, system.initial_state).acceleration
    # masses 1 and 2 at a distance of 1 m from the axis; the third is on it
    np.testing.assert_allclose(acceleration[:3], [0.0, 0.0, -1.0 / 3.0], atol=1e-13)


def test_a_particle_on_rods_needs_no_moments():
    """Two particles on massless rods: the spherical double pendulum, by Lagrange multipliers."""
    mechanism = sb.Mechanism("double pendulum")
    x = np.array([[0.6, 0.0, -0.8], [0.6, 1.0, -0.8]])
    v = np.array([[0.0, 2.0, 0.0], [0.0, 2.0, 1.5]])
    center, spin = np.array([0.1, 0.0, 0.0]), np.array([0.0, 0.0, 3.0])
    solid = {"mass": [1.5, 0.5], "inertia": (0, 0, 0), "center_of_mass": center}
    motion = {"linear_velocity": v - np.cross(spin, center), "angular_velocity": spin}
    mechanism.add_bodies("bob-{}", **solid, position=x - center, **motion)
    at = {"second_point": (0.1, 0, 0)}
    mechanism.add_distance("upper", sb.WORLD, "bob-0", **at)
    mechanism.add_distance("lower", "bob-0", "bob-1", first_point=(0.1, 0, 0), **at)
    mechanism.add_external_force("wind", "bob-1", force=(0.3, 0.0, 0.0))
    mechanism.add_point_force("spring", sb.WORLD, "bob-1", stiffness=7.0, rest_length=0.4, **at)
    system = mechanism.compile()
    state = sb.consistent_state(system)
    acceleration = sb.forward_dynamics(system, state).acceleration
    rods = np.array([[x[0], np.zeros(3)], [x[0] - x[1], x[1] - x[0]]]).reshape(2, 6)
    rates = np.array([[v[0], np.zeros(3)], [v[0] - v[1], v[1] - v[0]]]).reshape(2, 6)
    M = np.diag(np.repeat([1.5, 0.5], 3))
    force = np.concatenate([[0, 0, -9.81 * 1.5], [0.3, 0, -9.81 * 0.5]])
    length = np.linalg.norm(x[1])
    force[3:] -= 7.0 * (length - 0.4) * x[1] / length
    K = np.block([[M, rods.T], [rods, np.zeros((2, 2))]])
    right = np.concatenate([force, -rates @ v.ravel()])
    expected = np.linalg.solve(K, right)[:6].reshape(2, 3)
    linear = sb.linear_accelerations(state, acceleration)
    np.testing.assert_allclose(linear, expected, rtol=1e-11, atol=1e-11)


def particle(**joint):
    mechanism = sb.Mechanism("particle")
    mechanism.add_body("bob", mass=1.0, inertia=(0, 0, 0), position=(1, 0, 0))
    mechanism.add_joint("joint", sb.Spherical(), sb.WORLD, "bob", **joint)
    return mechanism


def test_a_singular_body_that_can_turn_is_named_with_the_remedy():
    particle(point=(1, 0, 0)).compile()
    message = r"body 'bob': .* principal moments 0, 0, 0 .*; give every axis .*Fixed joint"
    turned = [particle(point=(0, 0, 0)), *(particle(point=(1, 0, 0)) for _ in range(4))]
    turned[1].add_joint_force("damper", "joint", coordinate=1, damping=1.0)
    turned[2].add_external_force("push", "bob", force=(1, 0, 0), point=(0, 1, 0))
    turned[3].add_external_force("twist", "bob", moment=(1, 0, 0))
    turned[4].add_bushing("mount", sb.WORLD, "bob", stiffness=1.0)
    turned.append(particle(point=(1, 0, 0), compliance=0.1))
    for mechanism in turned:
        with pytest.raises(ModelError, match=message):
            mechanism.compile()
    rod = sb.Mechanism("rod")
    rod.add_body("rod", mass=1.0, inertia=(0, 1, 1))
    with pytest.raises(ModelError, match=r"body 'rod': .* moments 0, 1, 1 .*small radius"):
        rod.compile()
    massless = sb.Mechanism("massless")
    massless.add_body("link", mass=0.0, inertia=(0, 0, 0))
    massless.add_joint("hinge", sb.Revolute(), sb.WORLD, "link")
    with pytest.raises(ModelError, match=r"body 'link': mass 0\.0 kg; .*weld it .*Constant"):
        massless.compile()
    massless.add_joint("yielding", sb.Fixed(), sb.WORLD, "link", compliance=1.0)  # no weld
    with pytest.raises(ModelError, match=r"body 'link': mass 0\.0 kg"):
        massless.compile()
