"""Robot files, held against MuJoCo itself."""

import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from oracles import gauss_accelerations

from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import (
    FileFormatError,
    MissingDependencyError,
    ModelError,
    ModelWarning,
    UnknownNameError,
)
from sparsebody.kinematics.joint_motion import (
    body_rotations,
    joint_motion,
)
from sparsebody.model.bodies import Box, Cylinder, Sphere
from sparsebody.model.robots import read_robot
from sparsebody.model.robots.robot_joints import COMBINATIONS

mujoco = pytest.importorskip("mujoco")

DATA = Path(__file__).parent / "data"
MODELS = sorted(path.name for path in DATA.iterdir())
OPEN_MODELS = sorted(set(MODELS) - {"four_bar.xml", "loops.xml", "closed_loops.xml"})


def keyframes(name):
    return [None, *range(mujoco.MjModel.from_xml_path(str(DATA / name)).nkey)]


ALL_STATES = [(name, key) for name in MODELS for key in keyframes(name)]
OPEN_STATES = [(name, key) for name, key in ALL_STATES if name in OPEN_MODELS]


def read_quietly(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return read_robot(path, **options)


def peer(path, keyframe=None):
    """MuJoCo's own model and data in the same state."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    if keyframe is not None:
        mujoco.mj_resetDataKeyframe(model, data, keyframe)
    mujoco.mj_forward(model, data)
    return model, data


def write(tmp_path, body="", rest="", name="model.xml", head=""):
    path = tmp_path / name
    path.write_text(f"<mujoco>{head}<worldbody>{body}</worldbody>{rest}</mujoco>")
    return path


SOLID = '<geom size="0.1" contype="0" conaffinity="0"/>'


def link(joints, name="link", inner=""):
    return f'<body name="{name}">{joints}{SOLID}{inner}</body>'


def world_accelerations(system):
    """Angular and linear accelerations of the centers of mass in world axes."""
    state = system.initial_state
    a, R, v = gauss_accelerations(system, state)[0], body_rotations(state), state.velocity
    linear = a[:, 3:] + np.cross(v[:, :3], v[:, 3:])  # spatial -> that of a point
    return np.concatenate([np.einsum("nij,nj->ni", R, part) for part in (a[:, :3], linear)], 1)


def peer_accelerations(model, data, system, qacc):
    """The same from MuJoCo's joint accelerations."""
    found = []
    for name, place in zip(system.body_names, system.initial_state.position, strict=True):
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
        body = body if body >= 0 else int(name.rsplit("_", 1)[1])
        jacobian, rate = (np.zeros((2, 3, model.nv)) for _ in range(2))
        mujoco.mj_jac(model, data, jacobian[1], jacobian[0], place, body)
        mujoco.mj_jacDot(model, data, rate[1], rate[0], place, body)
        found.append((jacobian @ qacc + rate @ data.qvel).ravel())
    return np.array(found)


@pytest.mark.parametrize(("name", "keyframe"), ALL_STATES)
def test_poses_and_velocities_are_those_of_mujoco(name, keyframe):
    mechanism = read_quietly(DATA / name, keyframe=keyframe)
    model, data = peer(DATA / name, keyframe)
    for label, body in mechanism.bodies.items():
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, label)
        index = index if index >= 0 else int(label.rsplit("_", 1)[1])
        np.testing.assert_allclose(body.position, data.xpos[index], atol=1e-14)
        np.testing.assert_allclose(body.orientation, data.xquat[index], atol=1e-14)
        jacobian = np.zeros((2, 3, model.nv))
        mujoco.mj_jacBody(model, data, jacobian[1], jacobian[0], index)
        angular, linear = jacobian @ data.qvel
        np.testing.assert_allclose(body.angular_velocity, angular, atol=1e-12)
        np.testing.assert_allclose(body.linear_velocity, linear, atol=1e-12)


@pytest.mark.parametrize(("name", "keyframe"), OPEN_STATES)
def test_accelerations_of_open_mechanisms_are_those_of_mujoco(name, keyframe):
    system = read_quietly(DATA / name, keyframe=keyframe).compile()
    model, data = peer(DATA / name, keyframe)
    expected = peer_accelerations(model, data, system, data.qacc_smooth)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(world_accelerations(system), expected, atol=1e-9 * scale)


@pytest.mark.parametrize("name", ["four_bar.xml", "closed_loops.xml"])
def test_accelerations_of_closed_loops_at_rest_keep_the_equality_constraints_of_mujoco(name):
    system = read_quietly(DATA / name).compile()
    model, data = peer(DATA / name)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    J = data.efc_J.reshape(-1, model.nv)
    W = np.linalg.inv(M)
    multiplier = np.linalg.lstsq(J @ W @ J.T, -J @ data.qacc_smooth, rcond=1e-11)[0]
    qacc = data.qacc_smooth + W @ J.T @ multiplier
    expected = peer_accelerations(model, data, system, qacc)
    found = world_accelerations(system)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "keyframe"), ALL_STATES)
def test_every_tree_joint_is_closed_and_at_zero_at_the_initial_pose(name, keyframe):
    mechanism = read_quietly(DATA / name, keyframe=keyframe)
    system = mechanism.compile()
    state = system.initial_state
    motion = joint_motion(system, state)
    model, _ = peer(DATA / name)
    n_tree = int(np.sum(model.body_jntnum > 0))  # loop joints follow
    np.testing.assert_allclose(
        motion.rotation[:n_tree], np.eye(3)[None].repeat(n_tree, 0), atol=1e-14
    )
    np.testing.assert_allclose(motion.translation[:n_tree], 0.0, atol=1e-13)


def test_loop_joint_frames_lie_where_the_equality_constraints_have_them():
    with pytest.warns(ModelWarning, match=r"torquescale has no meaning: 'lash'"):
        mechanism = read_robot(DATA / "loops.xml")
    model, data = peer(DATA / "loops.xml")
    system = mechanism.compile()
    R = body_rotations(system.initial_state)
    motion = joint_motion(system, system.initial_state)

    def gap(name):  # as turned into the world
        j = system.joint(name)
        p = system.predecessor[j]
        to_world = (R[p] if p >= 0 else np.eye(3)) @ system.predecessor_rotation[j]
        return to_world @ motion.translation[j], motion.rotation[j].T

    def site(name):
        return data.site(name).xpos, data.site(name).xmat.reshape(3, 3)

    types = {name: joint.type.name for name, joint in mechanism.joints.items()}
    assert [types[name] for name in ("ab", "hang", "lash", "equality_3")] == [
        "fixed",
        "spherical",
        "fixed",
        "fixed",
    ]
    for name, first, second in (
        ("hang", "hook", "eye"),
        ("lash", "stud", "eye"),
        ("equality_3", "post", "knob"),
    ):
        (x_1, R_1), (x_2, R_2) = site(first), site(second)
        shift, turn = gap(name)
        np.testing.assert_allclose(shift, x_2 - x_1, atol=1e-14)
        np.testing.assert_allclose(turn, R_1.T @ R_2, atol=1e-14)
    welded = data.efc_pos[: model.nv][:6]  # MuJoCo's own gap of the weld `ab`
    np.testing.assert_allclose(-gap("ab")[0], welded[:3], atol=1e-13)
    turn = gap("ab")[1]
    assert np.trace(turn) < 2.99  # a large rotation error that both must see:
    half = 0.5 * np.sqrt(1.0 + np.trace(turn))
    np.testing.assert_allclose(half**2 + welded[3:] @ welded[3:], 1.0, atol=1e-12)


def test_a_joint_held_by_an_equality_is_prescribed():
    mechanism = read_quietly(DATA / "loops.xml")
    held = mechanism.joint("lift+spin")
    assert held.type.name == "cylindrical"
    assert held.prescribed[1](3.0) == pytest.approx((0.05, 0.0, 0.0))
    system = mechanism.compile()
    moving = SystemMotion(system, system.initial_state)
    error = moving.position_error
    assert error[system.rows(system.joint("lift+spin"))][-1] == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("double_pendulum.xml", {"shoulder": "revolute", "elbow": "revolute"}),
        ("free_body.xml", {"flight": "free"}),
        ("ball_chain.xml", {"one": "spherical", "two": "spherical", "joint_2": "spherical"}),
        ("cart_pole.xml", {"rail": "prismatic", "pivot": "revolute"}),
        ("cross.xml", {"yaw+pitch": "universal", "turn+shift": "cylindrical"}),
        (
            "planar.xml",
            {
                "x+y+turn": "planar",
                "swivel_turn+swivel_x+swivel_z": "planar",
                "table_x+table_y": "planar",
                "trolley+swing": "planar",
            },
        ),
        (
            "many_axes.xml",
            {"roll+pitch+yaw": "spherical", "tx+ty+tz+rx+ry+rz": "free", "sx+sy+sz+sr": "free"},
        ),
        ("welded_links.xml", {"joint_0": "revolute", "joint_1": "revolute"}),
        ("arm.urdf", {"pan": "revolute", "extend": "prismatic", "spin": "revolute"}),
        (
            "four_bar.xml",
            {"A": "revolute", "B": "revolute", "D": "revolute", "C": "spherical"},
        ),
        (
            "closed_loops.xml",
            {
                "ja": "revolute",
                "jb": "free",
                "jc+rise": "cylindrical",
                "joint_4": "free",
                "lift+spin": "cylindrical",
                "hang": "spherical",
                "ja_2": "spherical",
                "equality_2": "fixed",
            },
        ),
    ],
)
def test_joints_become_these_types(name, expected):
    mechanism = read_quietly(DATA / name)
    assert {label: joint.type.name for label, joint in mechanism.joints.items()} == expected


def test_names_made_for_unnamed_bodies_avoid_those_in_the_file(tmp_path):
    inner = link("<joint/>", name="body_1")
    path = write(tmp_path, f"<body><joint name='joint_1'/>{SOLID}{inner}</body>")
    mechanism = read_quietly(path)
    assert list(mechanism.bodies) == ["body_1_2", "body_1"]
    assert list(mechanism.joints) == ["joint_1", "joint_1_2"]


def test_the_mechanism_is_named_after_the_model_or_the_file(tmp_path):
    assert read_quietly(DATA / "cart_pole.xml").name == "cart-pole"
    assert read_quietly(write(tmp_path, link("<joint/>"), name="toy.mjcf")).name == "toy"


def test_simple_geoms_become_shapes(tmp_path):
    geoms = {
        Box: '<geom type="box" size="1 2 3"/>',
        Sphere: '<geom type="ellipsoid" size="1 2 3"/><geom type="sphere" size="2" pos="1 0 0"/>',
        Cylinder: '<geom type="capsule" size="1 2"/>',
        type(None): '<geom type="ellipsoid" size="1 2 3"/>',
    }
    bodies = "".join(f"<body><joint/>{geom}</body>" for geom in geoms.values())
    shapes = [body.shape for body in read_quietly(write(tmp_path, bodies)).bodies.values()]
    assert [type(shape) for shape in shapes] == list(geoms)
    assert shapes[0].sides == (2.0, 4.0, 6.0)
    assert (shapes[1].radius, shapes[1].frame.origin[0]) == (2.0, 1.0)
    assert (shapes[2].radius, shapes[2].length) == (1.0, 4.0)


def test_features_that_the_file_switches_off_are_off(tmp_path):
    flags = " ".join(f'{f}="disable"' for f in ("gravity", "spring", "damper", "equality"))
    head = f'<option><flag actuation="disable" {flags}/></option>'
    body = link('<joint name="j" stiffness="2" damping="3" springref="40"/>')
    rest = '<actuator><motor joint="j"/></actuator><equality><joint joint1="j"/></equality>'
    path = write(tmp_path, body, rest, head=head)
    with pytest.warns(ModelWarning, match="inactive equality constraints .*'equality_0'"):
        mechanism = read_robot(path)
    assert not mechanism.gravity.any()
    assert not mechanism.forces
    assert not mechanism.joint("j").prescribed


def test_a_keyframe_is_found_by_name_and_by_number():
    path = DATA / "double_pendulum.xml"
    by_name, by_number = (read_quietly(path, keyframe=key).body("lower") for key in ("up", 0))
    np.testing.assert_array_equal(by_name.position, by_number.position)
    assert np.any(by_name.position != read_quietly(path).body("lower").position)


@pytest.mark.parametrize("keyframe", ["down", 2, -1])
def test_an_unknown_keyframe_is_named_with_those_that_are(keyframe):
    with pytest.raises(UnknownNameError, match=rf"no keyframe {keyframe!r}; there are: 'up', '1'"):
        read_robot(DATA / "double_pendulum.xml", keyframe=keyframe)


def test_an_unknown_policy_is_an_error():
    with pytest.raises(UnknownNameError, match="'ignore'; give 'error' or 'warn'"):
        read_robot(DATA / "cart_pole.xml", on_unsupported="ignore")


def test_without_mujoco_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sparsebody\[robots\]'"):
        read_robot(DATA / "cart_pole.xml")


def test_files_that_are_missing_or_of_another_kind_are_errors(tmp_path):
    with pytest.raises(FileFormatError, match=r"nothing\.xml: there is no such file"):
        read_robot(tmp_path / "nothing.xml")
    with pytest.raises(FileFormatError, match=r"robot\.json: not a robot file; .*\.urdf"):
        read_robot(tmp_path / "robot.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujoco><worldbody>", "XML parse error"),
        ("<mujoco><worldbody><bdy/></worldbody></mujoco>", "bdy"),
        (
            '<mujoco><worldbody><body name="ghost"><joint/></body></worldbody></mujoco>',
            "mass and inertia of moving bodies must be larger .*'ghost'",
        ),
        ('<mujoco><asset><mesh file="gone.stl"/></asset></mujoco>', r"gone\.stl"),
    ],
)
def test_what_mujoco_cannot_compile_is_reported_in_its_words(tmp_path, text, message):
    path = tmp_path / "broken.xml"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=rf"broken\.xml: MuJoCo cannot compile it.*{message}"):
        read_robot(path)


def test_a_body_without_a_usable_inertia_is_named(tmp_path):
    body = '<body name="needle"><joint/><inertial mass="1" pos="0 0 0" diaginertia="{}"/></body>'
    path = write(tmp_path, body.format("1e12 1e12 1e-14"))
    with pytest.raises(ModelError, match=r"body 'needle': .*positive definite"):
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
        '<joint name="a" type="slide" axis="1 0 0"/><joint name="b" axis="0 0 1"/>'
        '<joint type="slide" axis="0 1 0"/>',  # two slides that a hinge turns apart
        '<joint name="a" type="slide" axis="1 0 0"/><joint name="b" type="slide" axis="0 1 0"/>'
        '<joint type="slide" axis="0 1 1"/><joint type="ball"/>',
    ],
)
def test_joints_that_make_no_known_joint_are_an_error_naming_body_and_joints(tmp_path, joints):
    with pytest.raises(FileFormatError, match=r"body 'link' .*'a' \(.*'b' \(.*small mass"):
        read_robot(write(tmp_path, link(joints)))


def test_the_error_lists_every_known_combination(tmp_path):
    with pytest.raises(FileFormatError) as caught:
        read_robot(write(tmp_path, link("<joint/>" * 4)))
    assert all(kinds in str(caught.value) for kinds in COMBINATIONS)


TWO_JOINTS = link('<joint name="j"/>', name="one") + link('<joint name="k"/>', name="two")
GIMBAL = "".join(
    f'<joint name="{name}" axis="{axis}" stiffness="2" springref="30" damping="3"/>'
    for name, axis in (("r", "1 0 0"), ("p", "0 1 0"), ("y", "0 0 1"))
)
PAIR_OF_TENDONS = (
    '<tendon><fixed name="s"><joint joint="j" coef="1"/></fixed>'
    '<fixed name="t" stiffness="2"><joint joint="k" coef="1"/></fixed></tendon>'
)
SHELL = (
    '<flexcomp type="grid" count="3 3 1" spacing=".1 .1 .1" radius="0.01" name="sheet" dim="2"'
    ' mass="1"><contact contype="0" conaffinity="0"/></flexcomp>'
)

UNSUPPORTED = {
    "a coupling": (
        TWO_JOINTS,
        '<equality><joint joint1="j" joint2="k" polycoef="0 2 0 0 0"/></equality>',
        r"coupling of joint 'j' to joint 'k' with the coefficients \[0.0, 2.0",
    ),
    "a tendon equality": (
        TWO_JOINTS,
        PAIR_OF_TENDONS + '<equality><tendon name="e" tendon1="s"/></equality>',
        "the tendon equality 'e'",
    ),
    "a constant hinge in a gimbal": (
        link(GIMBAL),
        '<equality><joint joint1="p"/></equality>',
        r"the constant joint 'p' in 'r\+p\+y'",
    ),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_a_constraint_that_cannot_be_represented_is_an_error_or_on_demand_a_warning(tmp_path, case):
    body, rest, message = UNSUPPORTED[case]
    path = write(tmp_path, body, rest)
    with pytest.raises(FileFormatError, match=rf"cannot represent .*{message}.*'warn'"):
        read_quietly(path)
    with pytest.warns() as caught:
        read_robot(path, on_unsupported="warn")
    assert any("left out: " in str(found.message) for found in caught)


def test_flexible_bodies_are_an_error(tmp_path):
    with pytest.raises(FileFormatError, match=r"1 flexible bodies \(flex\)"):
        read_robot(write(tmp_path, SHELL))


def test_a_mimic_joint_of_a_urdf_is_an_error(tmp_path):
    text = (DATA / "arm.urdf").read_text()
    coupled = '<joint name="spin" type="continuous"><mimic joint="pan" multiplier="2"/>'
    path = tmp_path / "geared.urdf"
    path.write_text(text.replace('<joint name="spin" type="continuous">', coupled))
    with pytest.raises(FileFormatError, match="coupling of joint 'spin' to joint 'pan'"):
        read_robot(path)


WARNINGS = {
    "contacts": (
        '<geom type="plane" size="1 1 1"/><body><freejoint/><geom size="0.1"/></body>',
        "",
        "contacts are not simulated: 2 geoms",
    ),
    "limits": (
        link('<joint name="j" range="-30 90"/>'),
        "",
        r"joint limits are left out: joint 'j' in \[-0.523599, 1.5708\]",
    ),
    "friction": (
        link('<joint name="j" frictionloss="0.3"/>'),
        "",
        "joint friction is left out: 0.3 on joint 'j'",
    ),
    "armature": (
        link('<joint name="j" armature="0.3"/>'),
        '<actuator><motor name="m" joint="j" armature="0.2"/></actuator>',
        "rotor inertias .*: 0.3 on joint 'j', 0.2 of actuator 'm'",
    ),
    "nonlinear springs": (
        link('<joint name="j" stiffness="1 2" damping="0 1"/>'),
        '<actuator><general name="m" joint="j" damping="0 1"/></actuator>',
        "nonlinear parts .*: spring of joint 'j', damper of joint 'j', damper of actuator 'm'",
    ),
    "tendons": (TWO_JOINTS, PAIR_OF_TENDONS, r"tendons are left out: 't' \(stiffness\)"),
    "mocap": (
        f'<body name="hand" mocap="true">{SOLID}</body>{TWO_JOINTS}',
        "",
        "bodies moved by hand .* held fixed: 'hand'",
    ),
    "springs of balls": (
        link('<joint name="j" type="ball" stiffness="2"/>'),
        "",
        r"springs left out: 2 on joint 'j' \(ball\)",
    ),
    "springs of gimbals": (link(GIMBAL), "", r"springs left out: 2 on joint 'r' \(hinge\), 2 on"),
    "dampers of gimbals": (link(GIMBAL), "", r"dampers left out: 3 on joint 'r' \(hinge\), 3 on"),
    "lost coordinates": (
        link(GIMBAL),
        "",
        r"joints made one spherical joint, their coordinates are lost: 'r\+p\+y'",
    ),
    "equality within a body": (
        link("<joint/>", inner='<body name="tip"/>'),
        '<equality><weld name="e" body1="tip" body2="link"/></equality>',
        "within one rigid body are left out: 'e'",
    ),
    "inactive equality": (
        TWO_JOINTS,
        '<equality><weld name="e" body1="one" body2="two" active="false"/></equality>',
        "inactive equality constraints are left out: 'e'",
    ),
    "controls": (
        TWO_JOINTS,
        '<actuator><motor name="m" joint="j"/><motor joint="k"/></actuator>',
        "controls stay constant: actuator 'm' at 0, actuator 'actuator_1' at 0",
    ),
    "dampers of other actuators": (
        link('<joint type="ball" name="b"/>'),
        '<actuator><general name="n" joint="b" damping="2"/></actuator>',
        "dampers left out: that of actuator 'n'",
    ),
    "other actuators": (
        link('<joint name="j"/>') + '<body name="ball"><joint type="ball" name="b"/>'
        '<geom size="0.1" contype="0" conaffinity="0"/></body>',
        '<actuator><muscle name="m" joint="j" lengthrange="0 1"/>'
        '<motor name="n" joint="b" gear="1 2 3"/>'
        '<intvelocity name="i" joint="j" actrange="-1 1"/></actuator>',
        "actuators left out .*: 'm', 'n', 'i'",
    ),
    "disabled actuators": (
        link('<joint name="j"/>'),
        '<option actuatorgroupdisable="2"/><actuator><motor name="m" joint="j" group="2"/>'
        "</actuator>",
        "disabled groups are left out: 'm'",
    ),
    "force limits": (
        link('<joint name="j" actuatorfrcrange="-1 1"/>'),
        '<actuator><position name="m" joint="j" forcerange="-2 2"/></actuator>',
        "force limits of actuators are left out: 'm', joint of 'm'",
    ),
    "medium": (
        TWO_JOINTS,
        '<option density="1.2" viscosity="0.1"/>',
        "medium are left out: density 1.2, viscosity 0.1",
    ),
    "plugins": (
        TWO_JOINTS,
        '<extension><plugin plugin="mujoco.sdf.torus"><instance name="rope"/></plugin></extension>',
        "plugins are left out: 'rope'",
    ),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_what_is_left_out_is_named_in_a_warning(tmp_path, case):
    body, rest, message = WARNINGS[case]
    with pytest.warns() as caught:
        read_robot(write(tmp_path, body, rest))
    texts = [str(found.message) for found in caught]
    assert len(texts) == len(set(texts))
    assert all(found.category is ModelWarning for found in caught)
    assert any(re.search(message, text) for text in texts)


def test_a_file_that_is_represented_exactly_gives_no_warning():
    for name in ("free_body.xml", "ball_chain.xml", "four_bar.xml", "welded_links.xml"):
        read_robot(DATA / name)
