"""Accelerations of bodies in the world: of a mechanism, and of the file written of it by others."""

import mujoco
import numpy as np

import sparsebody as sb
from sparsebody.kinematics.joint_motion import body_rotations


def frame_accelerations(system, state):
    """By the name of each body: angular acceleration, and that of its frame's origin."""
    a, R, v = sb.forward_dynamics(system, state).acceleration, body_rotations(state), state.velocity
    w, arm = v[:, :3], -system.center_of_mass
    linear = a[:, 3:] + np.cross(w, v[:, 3:])  # spatial -> that of a point
    linear = linear + np.cross(a[:, :3], arm) + np.cross(w, np.cross(w, arm))
    parts = (np.einsum("nij,nj->ni", R, part) for part in (a[:, :3], linear))
    return dict(zip(system.body_names, np.concatenate(list(parts), axis=1), strict=True))


def in_mujoco(path, keyframe=None):
    """MuJoCo's own model and data of a file, at its start or a keyframe."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    if keyframe is not None:
        mujoco.mj_resetDataKeyframe(model, data, keyframe)
    mujoco.mj_forward(model, data)
    return model, data


def joint_accelerations(model, data):
    """MuJoCo's joint accelerations where equality constraints are rigid, and at rest: J a = 0."""
    M, qacc = np.zeros((model.nv, model.nv)), data.qacc_smooth
    mujoco.mj_fullM(model, data, M)
    J, W = data.efc_J.reshape(-1, model.nv), np.linalg.inv(M)
    return qacc + W @ J.T @ np.linalg.lstsq(J @ W @ J.T, -J @ qacc, rcond=1e-11)[0]


def point_acceleration(model, data, body, position, qacc):
    """Angular acceleration of a body, and that of its point at a place."""
    jacobian, rate = (np.zeros((2, 3, model.nv)) for _ in range(2))
    mujoco.mj_jac(model, data, jacobian[1], jacobian[0], position, body)
    mujoco.mj_jacDot(model, data, rate[1], rate[0], position, body)
    return (jacobian @ qacc + rate @ data.qvel).ravel()


def mujoco_accelerations(path):
    """Those of the frames of bodies of a file, at its keyframe if it has one."""
    keyframe = 0 if mujoco.MjModel.from_xml_path(str(path)).nkey else None
    model, data = in_mujoco(path, keyframe)
    qacc = joint_accelerations(model, data) if data.nefc else data.qacc_smooth
    return {
        model.body(i).name: point_acceleration(model, data, i, data.xpos[i], qacc)
        for i in range(1, model.nbody)
    }


def largest_difference(some, others):
    """Of the bodies that both have, relative to the largest acceleration."""
    names = [name for name in some if name in others]
    first, second = (np.array([of[name] for name in names]) for of in (some, others))
    assert len(names) > 0
    return np.abs(first - second).max() / np.abs(first).max()
