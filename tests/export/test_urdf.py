"""URDF files, read again through MuJoCo and by Pinocchio."""

import warnings
from xml.etree import ElementTree as xml

import numpy as np
import pytest
from random_mechanisms import copied, random_tree

import sparsebody as sb
from sparsebody.errors import ModelError, ModelWarning
from sparsebody.model.robots import read_robot

pytest.importorskip("mujoco")
pin = pytest.importorskip("pinocchio")

from robot_accelerations import frame_accelerations, largest_difference  # noqa: E402

TYPES = ("fixed", "revolute", "prismatic", "planar")


def random_arm(seed, *, reversed_joints):
    """A tree of URDF's joints at rest, and a free body."""
    mechanism = random_tree(np.random.default_rng(seed), 8, TYPES, moving=False)
    mechanism = copied(mechanism, reversed_joints=reversed_joints)
    turn = {"orientation": [0.6, 0.8, 0, 0], "center_of_mass": [0.1, 0.2, 0.3]}
    mechanism.add_body("drone", mass=1.0, inertia=[0.1, 0.2, 0.25], position=[1, 2, 3], **turn)
    return mechanism


def written(tmp_path, mechanism):
    path = tmp_path / "arm.urdf"
    sb.write_robot(mechanism, path)
    return path


def com_accelerations(system, state):
    """Of the centers of mass, by name: links have other origins than bodies."""
    of_frames = frame_accelerations(system, state)
    a = sb.forward_dynamics(system, state).acceleration[:, 3:]
    R = np.array([sb.Frame(orientation=q).rotation for q in state.orientation])
    linear = np.einsum("nij,nj->ni", R, a)  # at rest
    return {
        name: np.concatenate([of_frames[name][:3], linear[i]])
        for i, name in enumerate(system.body_names)
    }


def pinocchio_accelerations(path, system, state):
    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = np.asarray(system.gravity)
    data, q, v = model.createData(), pin.neutral(model), np.zeros(model.nv)
    a = pin.aba(model, data, q, v, v)
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    accelerations = {}
    for name, center in zip(system.body_names, state.position, strict=True):
        frame = model.getFrameId(name, pin.FrameType.BODY)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        of = pin.getFrameClassicalAcceleration(model, data, frame, axes)
        linear = of.linear + np.cross(of.angular, center - data.oMf[frame].translation)
        accelerations[name] = np.concatenate([of.angular, linear])
    return accelerations


@pytest.mark.parametrize("reversed_joints", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_trees_have_the_accelerations_of_pinocchio_and_are_read_again(
    tmp_path, seed, reversed_joints
):
    mechanism = random_arm(seed, reversed_joints=reversed_joints)
    path = written(tmp_path, mechanism)
    system = mechanism.compile()
    state = sb.consistent_state(system)
    expected = com_accelerations(system, state)
    assert largest_difference(expected, pinocchio_accelerations(path, system, state)) < 1e-10
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*limits are left out", ModelWarning)
        same = read_robot(path).compile()
    again = com_accelerations(same, same.initial_state)
    own = np.isclose(  # fixed joints made several bodies one
        [same.mass[same.body(name)] for name in again], [system.mass[system.body(n)] for n in again]
    )
    whole = {name: again[name] for name, is_own in zip(again, own, strict=True) if is_own}
    assert largest_difference(expected, whole) < 1e-10


def test_what_urdf_cannot_hold_is_told_by_name(tmp_path):
    linkage = sb.build("four-bar")
    linkage.add_joint_force("spring", "crank-pin", stiffness=1.0, damping=0.5)
    linkage.add_joint_force("damper", "crank-pin", damping=0.25)
    linkage.add_point_force("line", "crank", "rocker", stiffness=1.0)
    state = sb.simulate(linkage.compile(), duration=0.1, step=0.01).state(-1)
    path = tmp_path / "linkage.urdf"
    with pytest.warns(ModelWarning) as caught:
        sb.write_robot(linkage, path, state)
    text = "\n".join(str(warning.message) for warning in caught)
    assert "URDF has no loops, these joints are left out: '" in text
    assert "stiffness and effort are left out, damping is written: 'spring'" in text
    assert "forces other than those of revolute and prismatic joints are left out: 'line'" in text
    assert "velocities are left out: 'crank'" in text
    assert "'damper'" not in text
    assert '<dynamics damping="0.75"' in path.read_text()


def test_all_solids_but_meshes_are_visuals(tmp_path):
    mechanism = sb.Mechanism("solids")
    mesh = sb.Mesh(np.eye(3), [[0, 1, 2]])
    shape = sb.CompoundShape([sb.Sphere(0.2, color=(1, 0.5, 0)), mesh, sb.Box((1.0, 2.0, 3.0))])
    mechanism.add_body("stone", mass=1.0, inertia=[1.0, 1.0, 1.0], shape=shape)
    with pytest.warns(ModelWarning, match=r"meshes are left out, MJCF .* holds them: 'stone'"):
        path = written(tmp_path, mechanism)
    geometry = xml.parse(path).getroot().findall("link/visual/geometry/*")
    (color,) = xml.parse(path).getroot().findall("link/visual/material/color")
    assert color.get("rgba") == "1.0 0.5 0.0 1.0"
    assert [(g.tag, g.attrib) for g in geometry] == [
        ("sphere", {"radius": "0.2"}),
        ("box", {"size": "1.0 2.0 3.0"}),
    ]


def test_joints_that_urdf_does_not_have_are_named(tmp_path):
    mechanism = random_tree(np.random.default_rng(0), 3, ("spherical",))
    with pytest.raises(ModelError, match=r"joint 'j0' is spherical; URDF has only .* write MJCF"):
        written(tmp_path, mechanism)
    assert list(tmp_path.iterdir()) == []
