"""MJCF files, read again here and by MuJoCo, whose accelerations they must have."""

import warnings
from xml.etree import ElementTree as xml

import numpy as np
import pytest
from linkages import small_sizes
from random_mechanisms import copied, random_loops, random_tree

import sparsebody as sb
from sparsebody.errors import FileFormatError, ModelError, ModelWarning
from sparsebody.model.gallery import GALLERY
from sparsebody.model.robots import read_robot

mujoco = pytest.importorskip("mujoco")

from robot_accelerations import (  # noqa: E402
    frame_accelerations,
    largest_difference,
    mujoco_accelerations,
)

MOVING = tuple(name for name in sb.JOINT_TYPES if name not in ("free", "fixed"))
OF_TREES = tuple(name for name in MOVING if name != "constant-distance")


def read_quietly(path):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*controls stay constant", ModelWarning)
        return read_robot(path, keyframe="initial").compile()


def both(tmp_path, mechanism):
    """A mechanism's accelerations, those of its file, and the file."""
    path = tmp_path / "model.xml"
    sb.write_robot(mechanism, path)
    system, same = mechanism.compile(), read_quietly(path)
    expected = frame_accelerations(system, sb.consistent_state(system))
    return expected, frame_accelerations(same, same.initial_state), path


def add_forces(mechanism, rng):
    """Springs, dampers and efforts of either sign on every hinge and slide, and other forces."""
    for name, joint in list(mechanism.joints.items()):
        for k in joint.type.scalar_positions:
            spring = {
                "stiffness": rng.uniform(0, 5),
                "rest": rng.normal(),
                "damping": rng.uniform(),
            }
            on = {"coordinate": k}
            mechanism.add_joint_force(f"{name}, {k}", name, **on, **spring, effort=rng.normal())
            if rng.random() < 0.3:
                more = {"stiffness": -7.0, "rest": 0.3, "damping": -1.5}
                mechanism.add_joint_force(f"{name}, {k}, more", name, **on, **more)
    first, second = list(mechanism.bodies)[:2]
    line = {"first_point": [1, 2, 3], "second_point": [0.1, 0.2, 0.3], "stiffness": 3.0}
    line |= {"rest_length": 0.4, "damping": 0.2}
    mechanism.add_point_force("rope", sb.WORLD, first, **line, effort=1.5)
    mechanism.add_point_force("strut", first, second, **line)
    load = {"force": [1, 2, 3], "moment": [0.3, 0.2, 0.1]}
    mechanism.add_external_force("wind", second, **load, point=[0.3, 0.1, 0.2])
    mechanism.add_external_force("jet", first, **load, axes="body")


# Slides after a ball on one body, as points on lines of the successor have them: MuJoCo's jacDot,
# of which the oracle is made, is not the derivative of its Jacobian there.
WITHOUT_POINTS = tuple(name for name in OF_TREES if not name.startswith("point"))


@pytest.mark.parametrize(
    ("types", "reversed_joints"), [(OF_TREES, False), (WITHOUT_POINTS, True), (OF_TREES, True)]
)
@pytest.mark.parametrize("seed", range(3))
def test_trees_with_forces_have_the_accelerations_of_mujoco(tmp_path, seed, types, reversed_joints):
    rng = np.random.default_rng(seed)
    mechanism = copied(random_tree(rng, 10, types), reversed_joints=reversed_joints)
    add_forces(mechanism, rng)
    expected, again, path = both(tmp_path, mechanism)
    assert again.keys() == expected.keys()
    assert largest_difference(expected, again) < 1e-12
    if not (reversed_joints and types == OF_TREES):
        assert largest_difference(expected, mujoco_accelerations(path)) < 1e-10


@pytest.mark.parametrize("name", ["point-on-line", "point-on-plane"])
def test_points_on_lines_of_the_successor_move_as_in_mujoco(tmp_path, name):
    """Its velocities at neighbouring times are those that the accelerations lead to."""
    mechanism = copied(random_tree(np.random.default_rng(1), 3, (name,)), reversed_joints=True)
    expected, _, path = both(tmp_path, mechanism)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    v, a, h = data.qvel.copy(), data.qacc_smooth.copy(), 1e-5

    def velocities(time):
        mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_integratePos(model, data.qpos, v, time)
        data.qvel[:] = v + time * a
        mujoco.mj_fwdPosition(model, data)
        jacobian = np.zeros((model.nbody, 2, 3, model.nv))
        for body, (linear, angular) in enumerate(jacobian[:, ::-1]):
            mujoco.mj_jacBody(model, data, linear, angular, body)
        return (jacobian @ data.qvel).reshape(-1, 6)

    rate = (velocities(h) - velocities(-h)) / (2.0 * h)
    again = {model.body(body).name: rate[body] for body in range(1, model.nbody)}
    assert largest_difference(expected, again) < 1e-7


@pytest.mark.parametrize("name", sb.JOINT_TYPES)
def test_a_loop_may_be_closed_by_every_joint_type(tmp_path, name):
    rng = np.random.default_rng(len(name))
    kinds = ("revolute", "prismatic", "spherical", "universal")
    mechanism = random_loops(rng, 8, 2, kinds, (name,))
    expected, again, path = both(tmp_path, mechanism)
    assert name == "fixed" or expected.keys() <= again.keys()  # and copies
    assert largest_difference(expected, again) < 1e-12
    assert largest_difference(expected, mujoco_accelerations(path)) < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_moving_mechanisms_with_loops_of_all_types_have_the_same_accelerations(tmp_path, seed):
    rng = np.random.default_rng(100 + seed)
    mechanism = random_loops(rng, 8, 3, OF_TREES, moving=True)
    add_forces(mechanism, rng)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*within one rigid body are left out", ModelWarning)
        expected, again, path = both(tmp_path, mechanism)
    mujoco.MjModel.from_xml_path(str(path))
    assert largest_difference(expected, again) < 1e-12


def test_a_revolute_joint_with_a_spring_closes_a_loop(tmp_path):
    linkage = sb.build("four-bar")
    for name in linkage.joint_names:
        linkage.add_joint_force(f"spring of {name}", name, stiffness=30.0, rest=0.2)
    expected, again, path = both(tmp_path, linkage)
    assert len(again) == len(expected) + 1  # a copy
    assert largest_difference(expected, again) < 1e-12
    total = xml.parse(path).getroot().iter("inertial")
    masses = [float(inertial.get("mass")) for inertial in total]
    np.testing.assert_allclose(sum(masses), linkage.compile().mass.sum(), rtol=1e-15)


@pytest.mark.parametrize("name", GALLERY)
def test_the_gallery_is_loaded_by_mujoco_and_has_the_same_accelerations(tmp_path, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        mechanism = sb.build(name, **small_sizes(name))
        elastic = [type(force).__name__ for force in mechanism.forces.values()]
        is_rigid = not ({"Beam", "Bushing"} & {*elastic} or mechanism.columns()[1].compliance.any())
        expected, again, path = both(tmp_path, mechanism)
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.nbody > len(expected)
    assert not is_rigid or largest_difference(expected, again) < 1e-10


def test_joint_coordinates_springs_and_names_are_those_of_the_mechanism(tmp_path):
    mechanism = sb.Mechanism("door")
    shape = sb.Box((1.0, 0.1, 2.0), sb.Frame((0.5, 0.0, 0.0)))
    position = {"orientation": [np.cos(0.35), 0, 0, np.sin(0.35)], "angular_velocity": [0, 0, 3.0]}
    body = {"mass": 2.0, "inertia": [0.3, 0.5, 0.3], "center_of_mass": [0.5, 0, 0]}
    mechanism.add_body("leaf", **body, shape=shape, **position)
    frame = sb.Frame()
    ends = {"predecessor_frame": frame, "successor_frame": frame}
    mechanism.add_joint("hinge", sb.Revolute(), sb.WORLD, "leaf", **ends)
    spring = {"stiffness": 5.0, "rest": 0.2, "damping": 0.1}
    mechanism.add_joint_force("closer", "hinge", **spring, effort=0.7)
    path = tmp_path / "door.mjcf"
    sb.write_robot(mechanism, path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    np.testing.assert_allclose([data.qpos[0], data.qvel[0], data.ctrl[0]], [0.7, 3.0, 0.7])
    joint = model.joint("hinge")
    np.testing.assert_allclose([joint.stiffness[0], model.qpos_spring[0]], [5.0, 0.2])
    same = read_quietly_mechanism(path)
    assert same.joint_names == ("hinge",)
    assert same.body("leaf").shape.sides == (1.0, 0.1, 2.0)
    np.testing.assert_allclose(same.body("leaf").shape.frame.origin, [0.5, 0, 0], atol=1e-15)


def read_quietly_mechanism(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return read_robot(path, keyframe="initial")


def test_compound_shapes_and_meshes_are_the_same_when_read_again(tmp_path):
    corners = np.array([[0.0, 0, 0], [3, 0, 0], [0, 2, 0], [0, 0, 1]])
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    turned = sb.Frame((0.1, 0.2, 0.3), (0.6, 0.0, 0.8, 0.0))
    red = (0.75, 0.25, 0.1)
    solids = (
        sb.Sphere(0.2, turned, color=red),
        sb.Mesh(corners, faces, turned),
        sb.Box((1.0, 2.0, 3.0)),
    )
    sheet = sb.Mesh(corners * [1, 1, 0] + [0, 0, 1], [[0, 1, 2], [1, 2, 3]])  # encloses nothing
    shapes = [
        sb.CompoundShape(solids),
        sb.Mesh(corners, faces),
        sheet,
        sb.Mesh(np.eye(3), [[0, 1, 2]]),
    ]
    mechanism = sb.Mechanism("solids")
    mechanism.add_bodies("body {}", mass=np.ones(4), inertia=[1.0, 1.0, 1.0], shape=shapes)
    with pytest.warns(ModelWarning, match="meshes of three vertices are left out: 'body 3'"):
        sb.write_robot(mechanism, tmp_path / "solids.xml")
    again = read_quietly_mechanism(tmp_path / "solids.xml")
    assert again.body("body 3").shape is None
    ball, mesh, box = again.body("body 0").shape.solids
    assert (ball.radius, box.sides) == (0.2, (1.0, 2.0, 3.0))
    assert (ball.color, mesh.color, box.color) == (red, None, None)
    np.testing.assert_allclose(ball.frame.origin, turned.origin)
    other = again.body("body 1").shape
    for first, second in (
        (mesh, solids[1]),
        (other, shapes[1]),
        (again.body("body 2").shape, sheet),
    ):
        np.testing.assert_allclose(placed(first), placed(second), atol=1e-6)  # singles in MuJoCo
    assert (tmp_path / "solids.xml").read_text().count("<mesh ") == 2  # one for two bodies


def placed(mesh):
    """The corners of the triangles in the frame of the body."""
    vertices = np.asarray(mesh.vertices) @ mesh.frame.rotation.T + mesh.frame.origin
    return vertices[np.asarray(mesh.triangles)]


def test_a_state_of_a_motion_can_be_written(tmp_path):
    linkage = sb.build("four-bar")
    system = linkage.compile()
    state = sb.simulate(system, duration=0.3, step=0.01).state(-1)
    sb.write_robot(linkage, tmp_path / "later.xml", state)
    same = read_quietly(tmp_path / "later.xml")
    expected = frame_accelerations(system, state)
    # the joints are closed to 1e-13 of a step, which the welds and sites of the file repeat
    assert largest_difference(expected, frame_accelerations(same, same.initial_state)) < 1e-9


def test_a_lamina_is_loaded_by_mujoco(tmp_path):
    rng = np.random.default_rng(3)
    mechanism = sb.Mechanism("plates")
    for k in range(20):  # the largest moment is the sum of the others, but for rounding
        R = sb.Frame.from_axes((0, 0, 0), rng.normal(size=3)).rotation
        a, b = rng.uniform(0.1, 1.0, size=2)
        mechanism.add_body(f"plate-{k}", mass=1.0, inertia=R @ np.diag([a, b, a + b]) @ R.T)
    sb.write_robot(mechanism, tmp_path / "plates.xml")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "plates.xml")).nbody == 21


def test_constant_motions_are_equalities_and_others_are_left_out_with_a_warning(tmp_path):
    arm = sb.build("chain", bodies=3)
    names = list(arm.joint_names)
    fixed, driven = (
        copied(arm, prescribed={names[1]: motion}) for motion in (0.0, sb.Sinusoid(1, 2))
    )
    expected, again, path = both(tmp_path, fixed)
    assert largest_difference(expected, again) < 1e-12
    assert "joint1" in path.read_text()
    with pytest.warns(ModelWarning, match=f"prescribed motions are left out.*: '{names[1]}'"):
        sb.write_robot(driven, path)
    assert "joint1" not in path.read_text()


def test_what_mjcf_cannot_hold_is_told_by_name(tmp_path):
    mechanism = sb.Mechanism("soft")
    for k in range(3):
        mechanism.add_body(f"b{k}", mass=1.0, inertia=[0.1] * 3, position=[k, 0, 0])
    mechanism.add_joint("ball", sb.Spherical(), sb.WORLD, "b0")
    mechanism.add_joint("mount", sb.Fixed(), "b0", "b1", compliance=1e-6)
    mechanism.add_joint_force("friction", "ball", coordinate=1, damping=0.3)
    mechanism.add_bushing("rubber", "b0", "b1", stiffness=100.0)
    section = dict.fromkeys(("E", "G", "A", "I_y", "I_z", "J"), 1.0)
    mechanism.add_beam("wire", "b1", "b2", **section, start=[1, 0, 0], end=[2, 0, 0])
    mechanism.add_point_force("pump", "b0", "b2", effort=sb.Sinusoid(1.0, 2.0, 0.5))
    with pytest.warns(ModelWarning) as caught:
        sb.write_robot(mechanism, tmp_path / "soft.xml")
    text = "\n".join(str(warning.message) for warning in caught)
    for words in (
        "compliant joints are rigid in the file: 'mount'",
        "no hinge or slide are left out: 'friction'",
        "bushings are left out: 'rubber'",
        "beams are left out: 'wire'",
        "their values at t = 0 s: 'pump'",
    ):
        assert words in text
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "soft.xml")).nu == 1


def test_bodies_too_deep_for_mujoco_and_unknown_suffixes_are_refused(tmp_path):
    path = tmp_path / "chain.xml"
    with pytest.raises(ModelError, match=r"is 491 joints from the world; MuJoCo reads .* 490"):
        sb.write_robot(sb.build("chain", bodies=491), path)
    assert not path.exists()
    sb.write_robot(sb.build("chain", bodies=490), path)
    assert mujoco.MjModel.from_xml_path(str(path)).nbody == 491
    with pytest.raises(FileFormatError, match=r"unknown suffix '.sdf'; give a .xml"):
        sb.write_robot(sb.build("pendulum"), tmp_path / "model.sdf")
