"""Robot files, compared with MuJoCo itself."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from oracles import gauss_accelerations

from sparsebody import errors
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.kinematics.joint_motion import body_rotations, joint_motion
from sparsebody.model.bodies import Box, Cylinder, Mesh, Sphere
from sparsebody.model.robots import read_robot
from sparsebody.model.robots.robot_joints import COMBINATIONS

mujoco = pytest.importorskip("mujoco")
from robot_accelerations import in_mujoco, joint_accelerations, point_acceleration  # noqa: E402

DATA = Path(__file__).parent / "data"
LEFT_OUT = DATA.with_name("left_out.xml")
MODELS = sorted(path.name for path in DATA.iterdir())
OPEN_MODELS = sorted(set(MODELS) - {"four_bar.xml", "loops.xml", "closed_loops.xml", "screws.xml"})


def keyframes(name):
    return [None, *range(mujoco.MjModel.from_xml_path(str(DATA / name)).nkey)]


ALL_STATES = [(name, key) for name in MODELS for key in keyframes(name)]
OPEN_STATES = [(name, key) for name, key in ALL_STATES if name in OPEN_MODELS]


def read_quietly(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ModelWarning)
        return read_robot(path, **options)


def write(tmp_path, body="", rest="", name="model.xml", head=""):
    path = tmp_path / name
    path.write_text(f"<mujoco>{head}<worldbody>{body}</worldbody>{rest}</mujoco>")
    return path


SHELL = (
    '<flexcomp type="grid" count="3 3 1" spacing=".1 .1 .1" radius="0.01" name="sheet" dim="2"'
    ' mass="1"><contact contype="0" conaffinity="0"/></flexcomp>'
)
GEARED = (DATA / "arm.urdf").read_text()
GEARED = GEARED.replace(
    '<joint name="spin" type="continuous">',
    '<joint name="spin" type="continuous"><mimic joint="pan" multiplier="2"/>',
)
SOLID = '<geom size="0.1" contype="0" conaffinity="0"/>'


def link(joints, name="link", inner=""):
    return f'<body name="{name}">{joints}{SOLID}{inner}</body>'


def world_accelerations(system):
    """Angular and linear accelerations of the centers of mass in world axes."""
    state = system.initial_state
    a, R, v = gauss_accelerations(system, state)[0], body_rotations(state), state.velocity
    linear = a[:, 3:] + np.cross(v[:, :3], v[:, 3:])  # spatial -> that of a point
    return np.concatenate([np.einsum("nij,nj->ni", R, part) for part in (a[:, :3], linear)], 1)


def peer_body(model, name):
    """The number of a body, which is at the end of names that were made."""
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
    return body if body >= 0 else int(name.rsplit("_", 1)[1])


@pytest.mark.parametrize(("name", "keyframe"), ALL_STATES)
def test_poses_and_velocities_are_those_of_mujoco(name, keyframe):
    mechanism = read_quietly(DATA / name, keyframe=keyframe)
    model, data = in_mujoco(DATA / name, keyframe)
    for label, body in mechanism.bodies.items():
        index = peer_body(model, label)
        np.testing.assert_allclose(body.position, data.xpos[index], atol=1e-14)
        np.testing.assert_allclose(body.orientation, data.xquat[index], atol=1e-14)
        jacobian = np.zeros((2, 3, model.nv))
        mujoco.mj_jacBody(model, data, jacobian[1], jacobian[0], index)
        angular, linear = jacobian @ data.qvel
        np.testing.assert_allclose(body.angular_velocity, angular, atol=1e-12)
        np.testing.assert_allclose(body.linear_velocity, linear, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "keyframe"),
    [*OPEN_STATES, *((f"{name}.xml", None) for name in ("four_bar", "closed_loops", "screws"))],
)
def test_accelerations_are_those_of_mujoco_and_keep_its_equality_constraints(name, keyframe):
    """Closed loops are at rest, so that J a = 0 of these constraints."""
    system = read_quietly(DATA / name, keyframe=keyframe).compile()
    model, data = in_mujoco(DATA / name, keyframe)
    qacc = data.qacc_smooth if name in OPEN_MODELS else joint_accelerations(model, data)
    bodies = [peer_body(model, label) for label in system.body_names]
    positions = zip(bodies, system.initial_state.position, strict=True)
    expected = np.array(
        [point_acceleration(model, data, *position, qacc) for position in positions]
    )
    scale = np.abs(expected).max()
    np.testing.assert_allclose(world_accelerations(system), expected, atol=1e-9 * scale)


@pytest.mark.parametrize(("name", "keyframe"), ALL_STATES)
def test_every_tree_joint_is_closed_and_at_zero_at_the_initial_pose(name, keyframe):
    mechanism = read_quietly(DATA / name, keyframe=keyframe)
    system = mechanism.compile()
    state = system.initial_state
    motion = joint_motion(system, state)
    model, _ = in_mujoco(DATA / name)
    n_tree = int(np.sum(model.body_jntnum > 0))  # loop joints follow
    np.testing.assert_allclose(motion.rotation[:n_tree], [np.eye(3)] * n_tree, atol=1e-14)
    np.testing.assert_allclose(motion.translation[:n_tree], 0.0, atol=1e-13)


def test_screws_points_on_lines_and_ropes_have_their_types_and_forces():
    screws, ropes = read_quietly(DATA / "screws.xml"), read_quietly(DATA / "ropes.xml", keyframe=0)
    pitches = {name: joint.type.parameter for name, joint in screws.joints.items()}
    assert pitches["nut-turn+nut-travel"] == pytest.approx(0.2)
    assert pitches["drill-travel+drill-turn"] == pytest.approx(-0.2)
    rod = screws.joint("pendulum")
    assert (rod.type.name, rod.predecessor, rod.successor) == ("constant-distance", "world", "bob")
    assert rod.type.length == pytest.approx(np.linalg.norm([0.5, 0.1, -0.3]))
    kinds = [joint.type.name for joint in ropes.joints.values()]
    assert kinds == ["point-on-line", "point-on-plane"] * 2 + ["planar"]
    ends = {joint.predecessor for joint in ropes.joints.values()}
    assert ends == {"world", "sleeve", "plate", "swivel"}  # the line is on the body
    assert {"rope", "winch", "servo", "jet", "wind"} < set(ropes.forces)
    assert (ropes.forces["jet"].axes, ropes.forces["wind"].axes) == ("body", "world")


SITE, INNER = '<site name="s" pos="0.1 0 0"/>', '<site name="r" pos="0.1 0 0"/>'


def test_ropes_with_slack_and_loads_that_turn_with_another_body_are_told(tmp_path):
    body = f'<site name="o"/>{link("<freejoint/>", inner=SITE)}{link("<freejoint/>", "b", INNER)}'
    pair = '<site site="o"/><site site="s"/>'
    slack = f'<tendon><spatial name="t" stiffness="1" springlength="0 1">{pair}</spatial></tendon>'
    motor = '<actuator><motor name="m" site="s" refsite="r" gear="1 0 0 0 0 0"/></actuator>'
    with pytest.warns(errors.ModelWarning) as caught:
        mechanism = read_robot(write(tmp_path, body, slack + motor))
    text = "\n".join(str(warning.message) for warning in caught)
    assert "forces and limits of tendons are left out: 't' (stiffness)" in text
    assert "actuators left out (not an affine force on one joint): 'm'" in text
    assert mechanism.forces == {}


def test_loop_joint_frames_lie_where_the_equality_constraints_have_them():
    with pytest.warns(errors.ModelWarning, match=r"torquescale has no meaning: 'lash'"):
        mechanism = read_robot(DATA / "loops.xml")
    model, data = in_mujoco(DATA / "loops.xml")
    system = mechanism.compile()
    R = body_rotations(system.initial_state)
    motion = joint_motion(system, system.initial_state)

    def relative_pose(name):  # as turned into the world
        j = system.joint(name)
        p = system.predecessor[j]
        to_world = (R[p] if p >= 0 else np.eye(3)) @ system.predecessor_rotation[j]
        return to_world @ motion.translation[j], motion.rotation[j].T

    def site(name):
        return data.site(name).xpos, data.site(name).xmat.reshape(3, 3)

    for name, joint_type, first, second in (
        ("hang", "spherical", "hook", "eye"),
        ("lash", "fixed", "stud", "eye"),
        ("equality_3", "fixed", "post", "knob"),
    ):
        assert mechanism.joint(name).type.name == joint_type
        (x_1, R_1), (x_2, R_2) = site(first), site(second)
        shift, turn = relative_pose(name)
        np.testing.assert_allclose(shift, x_2 - x_1, atol=1e-14)
        np.testing.assert_allclose(turn, R_1.T @ R_2, atol=1e-14)
    assert mechanism.joint("ab").type.name == "fixed"
    welded = data.efc_pos[: model.nv][:6]  # MuJoCo's position error of the weld `ab`
    np.testing.assert_allclose(-relative_pose("ab")[0], welded[:3], atol=1e-13)
    turn = relative_pose("ab")[1]
    assert np.trace(turn) < 2.99  # a large rotation error that both must see:
    half = 0.5 * np.sqrt(1.0 + np.trace(turn))
    np.testing.assert_allclose(half**2 + welded[3:] @ welded[3:], 1.0, atol=1e-12)


def test_a_joint_held_by_an_equality_is_prescribed():
    mechanism = read_quietly(DATA / "loops.xml")
    joint = mechanism.joint("lift+spin")
    assert joint.type.name == "cylindrical"
    assert joint.prescribed[1](3.0) == pytest.approx((0.05, 0.0, 0.0))
    system = mechanism.compile()
    error = SystemMotion(system, system.initial_state).position_error
    assert error[system.rows(system.joint("lift+spin"))][-1] == pytest.approx(-0.05)


JOINTS = {
    "cross": "yaw+pitch universal, turn+shift cylindrical",
    "planar": "x+y+turn planar, swivel_turn+swivel_x+swivel_z planar, table_x+table_y planar, "
    "trolley+swing planar",
    "many_axes": "roll+pitch+yaw spherical, tx+ty+tz+rx+ry+rz free, sx+sy+sz+sr free",
    "closed_loops": "ja revolute, jb free, jc+rise cylindrical, joint_4 free, "
    "lift+spin cylindrical, hang spherical, ja_2 spherical, equality_2 fixed",
}


@pytest.mark.parametrize("name", JOINTS)
def test_joints_become_these_types(name):
    joints = read_quietly(DATA / f"{name}.xml").joints.items()
    assert ", ".join(f"{label} {joint.type.name}" for label, joint in joints) == JOINTS[name]


def test_names_are_those_of_the_file_and_new_ones_avoid_them(tmp_path):
    inner = link("<joint/>", name="body_1")
    body = f"<body><joint name='joint_1'/>{SOLID}{inner}</body>"
    mechanism = read_quietly(write(tmp_path, body, name="toy.mjcf"))
    assert mechanism.name == "toy"
    assert list(mechanism.bodies) == ["body_1_2", "body_1"]
    assert list(mechanism.joints) == ["joint_1", "joint_1_2"]
    assert read_quietly(DATA / "cart_pole.xml").name == "cart-pole"


def test_simple_geoms_become_shapes(tmp_path):
    geoms = {
        Box: '<geom type="box" size="1 2 3"/>',
        Sphere: '<geom type="sphere" size="2" pos="1 0 0"/>',
        Cylinder: '<geom type="capsule" size="1 2"/>',
        Mesh: '<geom type="ellipsoid" size="1 2 3"/>',
        type(None): '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>',
    }
    bodies = "".join(f"<body><joint/>{geom}</body>" for geom in geoms.values())
    shapes = [body.shape for body in read_quietly(write(tmp_path, bodies)).bodies.values()]
    assert [type(shape) for shape in shapes] == list(geoms)
    assert shapes[0].sides == (2.0, 4.0, 6.0)
    assert (shapes[1].radius, shapes[1].frame.origin[0]) == (2.0, 1.0)
    assert (shapes[2].radius, shapes[2].length) == (1.0, 4.0)
    np.testing.assert_allclose(np.linalg.norm(shapes[3].vertices / [1, 2, 3], axis=1), 1.0)
    corners = shapes[3].vertices[shapes[3].triangles]
    volume = np.linalg.det(corners).sum() / 6.0  # positive: all triangles are seen from outside
    assert volume == pytest.approx(8.0 * np.pi, rel=0.05)


def test_geoms_have_the_colors_of_their_own_or_of_their_materials(tmp_path):
    asset = '<asset><material name="brass" rgba="0.8 0.7 0.2 1"/></asset>'
    geoms = (
        '<geom type="box" size="1 2 3" rgba="0.1 0.2 0.3 0.5"/>',
        '<geom type="sphere" size="2" material="brass"/>',
        '<geom type="sphere" size="2"/>',
        '<geom type="box" size="1 2 3" rgba="1 0 0 0"/>'
        '<geom type="sphere" size="2" rgba="0 1 0 1"/>',
    )
    bodies = "".join(f"<body><joint/>{geom}</body>" for geom in geoms)
    shapes = [body.shape for body in read_quietly(write(tmp_path, bodies, asset)).bodies.values()]
    expected = [(0.1, 0.2, 0.3), (0.8, 0.7, 0.2), None, (0.0, 1.0, 0.0)]
    assert [shape.color for shape in shapes] == expected
    assert isinstance(shapes[3], Sphere)  # of what is transparent nothing is seen


def test_hidden_geoms_are_shown_where_a_body_has_no_others(tmp_path):
    hidden = '<geom type="box" size="1 2 3" group="3"/>'
    bodies = f"<body><joint/>{hidden}</body><body><joint/>{hidden}{SOLID}</body>"
    first, second = read_quietly(write(tmp_path, bodies)).bodies.values()
    assert (type(first.shape), type(second.shape)) == (Box, Sphere)


def test_meshes_are_where_mujoco_has_them(tmp_path):
    mesh = '<mesh name="wedge" vertex="0 0 0 3 0 0 0 2 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/>'
    use = '<geom type="mesh" mesh="wedge" pos="{}" euler="20 {} 50"/>'
    inner = f'<body pos="0 1 2" euler="10 20 30">{use.format("0 0 1", 70)}</body>'  # welded
    joint = '<joint axis="1 2 3" ref="0.3"/><geom type="box" size="1 2 3"/>'
    body = f'<body pos="1 2 3" euler="40 50 60">{joint}{use.format("1 2 3", 30)}{inner}</body>'
    path = write(tmp_path, body, f"<asset>{mesh}</asset>")
    (body,) = read_quietly(path).bodies.values()
    box, *meshes = body.shape.solids
    assert box.sides == (2.0, 4.0, 6.0)
    assert meshes[0].vertices is meshes[1].vertices  # stored once
    model, data = in_mujoco(path)
    assert len(meshes) == 2
    for solid, geom in zip(meshes, np.flatnonzero(model.geom_type == 7), strict=True):
        rotation = data.geom_xmat[geom].reshape(3, 3)
        expected = data.geom_xpos[geom] + model.mesh_vert @ rotation.T
        frame = solid.frame
        local = frame.origin + solid.vertices @ frame.rotation.T
        placed = body.position + local @ body.rotation.T
        np.testing.assert_allclose(placed, expected, atol=1e-12)
        np.testing.assert_array_equal(solid.triangles, model.mesh_face)


def test_features_that_the_file_switches_off_are_off(tmp_path):
    flags = " ".join(f'{f}="disable"' for f in ("gravity", "spring", "damper", "equality"))
    head = f'<option><flag actuation="disable" {flags}/></option>'
    body = link('<joint name="j" stiffness="2" damping="3" springref="40"/>')
    rest = '<actuator><motor joint="j"/></actuator><equality><joint joint1="j"/></equality>'
    path = write(tmp_path, body, rest, head=head)
    with pytest.warns(errors.ModelWarning, match="inactive equality constraints .*'equality_0'"):
        mechanism = read_robot(path)
    assert not mechanism.gravity.any()
    assert not mechanism.forces
    assert not mechanism.joint("j").prescribed


def test_a_keyframe_is_chosen_by_name_and_by_number():
    path = DATA / "double_pendulum.xml"
    by_name, by_number = (read_quietly(path, keyframe=key).body("lower") for key in ("up", 0))
    np.testing.assert_array_equal(by_name.position, by_number.position)
    assert np.any(by_name.position != read_quietly(path).body("lower").position)


@pytest.mark.parametrize("key", ["down", 2, -1])
def test_unknown_choices_are_named_with_those_that_there_are(key):
    with pytest.raises(errors.UnknownNameError, match=f"keyframe {key!r}; there are: 'up', '1'"):
        read_robot(DATA / "double_pendulum.xml", keyframe=key)
    with pytest.raises(errors.UnknownNameError, match="'ignore'; give one of error, warn"):
        read_robot(DATA / "double_pendulum.xml", on_unsupported="ignore")


def test_without_mujoco_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(errors.MissingDependencyError, match=r"pip install 'sparsebody\[robots\]'"):
        read_robot(DATA / "cart_pole.xml")


GHOST = '<mujoco><worldbody><body name="ghost"><joint/></body></worldbody></mujoco>'


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("x.xml", "<mujoco><worldbody>", r"x\.xml: MuJoCo cannot compile it.*XML parse error"),
        ("x.xml", "<mujoco><worldbody><bdy/></worldbody></mujoco>", "cannot compile it.*bdy"),
        ("x.xml", GHOST, "cannot .*mass and inertia of moving bodies must be larger .*'ghost'"),
        ("x.xml", '<mujoco><asset><mesh file="gone.stl"/></asset></mujoco>', r"it.*gone\.stl"),
        ("x.xml", f"<mujoco><worldbody>{SHELL}</worldbody></mujoco>", r"1 flexible bodies \(flex"),
        ("geared.urdf", GEARED, "coupling of joint 'spin' to joint 'pan'"),
        ("robot.json", "", r"robot\.json: not a robot file; .*\.urdf"),
        ("nothing.xml", None, r"nothing\.xml: there is no such file"),
    ],
)
def test_files_that_are_no_robots_are_errors_in_the_words_of_mujoco(tmp_path, file, text, message):
    path = tmp_path / file
    if text is not None:
        path.write_text(text)
    with pytest.raises(errors.FileFormatError, match=message):
        read_robot(path)


def test_a_body_without_a_usable_inertia_is_named(tmp_path):
    body = '<body name="needle"><joint/><inertial mass="1" pos="0 0 0" diaginertia="{}"/></body>'
    path = write(tmp_path, body.format("1e12 1e12 1e-14"))
    with pytest.raises(errors.ModelError, match=r"body 'needle': .*positive definite"):
        read_robot(path).compile()


@pytest.mark.parametrize(
    "joints",
    [
        '<joint name="a" axis="1 0 0"/><joint name="b" axis="1 1 0"/>',  # not perpendicular
        '<joint name="a" axis="1 0 0"/><joint name="b" axis="0 1 0" pos="0 0 0.01"/>',  # apart
        '<joint name="a" axis="1 0 0"/><joint name="b" type="slide" axis="1 0.1 0"/>',
        '<joint name="a" axis="1 0 0"/><joint name="b" type="slide" axis="0 1 0"/>',  # turns it
        '<joint name="a" type="slide" axis="1 0 0"/><joint name="b" type="slide" axis="1 1 0"/>',
        '<joint name="a" axis="1 0 0"/><joint axis="0 1 0"/><joint name="b" axis="1 1 1"/>',
        '<joint name="a"/><joint name="b"/>' + 2 * "<joint/>",
        '<joint name="a" type="slide" axis="1 0 0"/><joint name="b" axis="0 0 1"/>'
        '<joint type="slide" axis="0 1 0"/>',  # two slides that a hinge turns apart
        '<joint name="a" type="slide" axis="1 0 0"/><joint name="b" type="slide" axis="0 1 0"/>'
        '<joint type="slide" axis="0 1 1"/><joint type="ball"/>',
    ],
)
def test_joints_that_make_no_known_joint_are_an_error_naming_body_and_joints(tmp_path, joints):
    with pytest.raises(
        errors.FileFormatError, match=r"body 'link' .*'a' \(.*'b' \(.*small mass"
    ) as caught:
        read_robot(write(tmp_path, link(joints)))
    assert all(kinds in str(caught.value) for kinds in COMBINATIONS)


TWO_JOINTS = link('<joint name="j"/>', name="one") + link('<joint name="k"/>', name="two")
GIMBAL = "".join(
    f'<joint name="{name}" axis="{axis}"/>'
    for name, axis in (("r", "1 0 0"), ("p", "0 1 0"), ("y", "0 0 1"))
)
TENDON = '<tendon><fixed name="s"><joint joint="j" coef="1"/></fixed></tendon>'


@pytest.mark.parametrize(
    ("body", "equality", "message"),
    [
        (
            TWO_JOINTS,
            '<joint joint1="j" joint2="k" polycoef="0 2 0 0 0"/>',
            r"coupling of joint 'j' to joint 'k' with the coefficients \[0.0, 2.0",
        ),
        (TWO_JOINTS, '<tendon name="e" tendon1="s"/>', "the tendon equality 'e'"),
        (link(GIMBAL), '<joint joint1="p"/>', r"the constant joint 'p' in 'r\+p\+y'"),
    ],
)
def test_a_constraint_that_cannot_be_represented_is_an_error_or_on_demand_a_warning(
    tmp_path, body, equality, message
):
    tendon = TENDON if "tendon" in equality else ""
    path = write(tmp_path, body, f"{tendon}<equality>{equality}</equality>")
    with pytest.raises(errors.FileFormatError, match=rf"cannot represent .*{message}.*'warn'"):
        read_quietly(path)
    with pytest.warns() as caught:
        read_robot(path, on_unsupported="warn")
    assert any("left out: " in str(warning.message) for warning in caught)


def test_what_is_left_out_is_named_in_warnings():
    with pytest.warns() as caught:
        read_robot(LEFT_OUT)
    assert all(warning.category is errors.ModelWarning for warning in caught)
    assert [str(warning.message).removeprefix(f"{LEFT_OUT}: ") for warning in caught] == [
        "inactive equality constraints are left out: 'inactive'",
        "contacts are not simulated: 2 geoms",
        "joint limits are left out: joint 'j' in [-0.523599, 1.5708]",
        "joint friction is left out: 0.3 on joint 'j'",
        "rotor inertias (armature) are left out: 0.3 on joint 'j', 0.2 of actuator 'm'",
        "nonlinear parts of springs and dampers are left out: spring of joint 'k', "
        "damper of joint 'k', damper of actuator 'g'",
        "forces and limits of tendons are left out: 't' (stiffness)",
        "bodies moved by hand (mocap) are held fixed: 'hand'",
        "forces of the surrounding medium are left out: density 1.2, viscosity 0.1",
        "plugins are left out: 'rope'",
        "joints made one spherical joint, their coordinates are lost: 'r+p+y'",
        "equality constraints within one rigid body are left out: 'within'",
        "springs left out: 2 on joint 'ball' (ball), 2 on joint 'r' (hinge), "
        "2 on joint 'p' (hinge), 2 on joint 'y' (hinge)",
        "dampers left out: that of actuator 'd', 3 on joint 'r' (hinge), 3 on joint 'p' (hinge), "
        "3 on joint 'y' (hinge)",
        "force limits of actuators are left out: joint of 'm', 'f', joint of 'f'",
        "controls stay constant: actuator 'm' at 0, actuator 'actuator_1' at 0, "
        "actuator 'g' at 0, actuator 'f' at 0",
        "actuators left out (not an affine force on one joint): 'd', 'u', 'n', 'i'",
        "actuators of disabled groups are left out: 'off'",
    ]


@pytest.mark.parametrize("name", ["free_body", "ball_chain", "four_bar", "welded_links"])
def test_a_file_that_is_represented_exactly_gives_no_warning(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_robot(DATA / f"{name}.xml")
    assert caught == []
