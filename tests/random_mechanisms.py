"""Random mechanisms with every joint type, in consistent poses and velocities, for the tests."""

from dataclasses import fields

import numpy as np

import sparsebody as sb
from sparsebody.spatial import (
    plucker_parts,
    quaternion_from_rotation,
    rotation_exponential,
    rotation_from_quaternion,
)

TREE_TYPES = tuple(name for name in sb.JOINT_TYPES if name not in ("free",))


def copied(mechanism, *, masses=1.0, without=(), prescribed=None, rng=None, reversed_joints=False):
    """The mechanism with masses times a factor, for all bodies or each, or with other joints.

    `without` are joints that are left out, `prescribed` the motions given to some; a generator
    `rng` makes the order of declaration random. Reversed joints exchange their ends.
    """
    end = -1 if reversed_joints else 1
    bodies, _ = mechanism.columns()
    factor, drives = np.broadcast_to(masses, len(bodies)), prescribed or {}
    given = {field.name: getattr(bodies, field.name) for field in fields(bodies)}
    given |= {"mass": factor * bodies.mass, "inertia": factor[:, None, None] * bodies.inertia}
    copy = sb.Mechanism(mechanism.name, mechanism.gravity)
    names, joints = np.array(mechanism.body_names), list(mechanism.joints.items())
    order = np.arange(len(names)) if rng is None else rng.permutation(len(names))
    copy.add_bodies(names[order].tolist(), **{key: value[order] for key, value in given.items()})
    for j in range(len(joints)) if rng is None else rng.permutation(len(joints)):
        name, joint = joints[j]
        if name not in without:
            frames = (joint.predecessor_frame, joint.successor_frame)[::end]
            copy.add_joint(
                name,
                joint.type,
                *(joint.predecessor, joint.successor)[::end],
                **dict(zip(("predecessor_frame", "successor_frame"), frames, strict=True)),
                prescribed=drives.get(name, joint.prescribed),
            )
    return copy


def random_rotation(rng):
    return rotation_exponential(rng.normal(size=3))


def random_frame(rng, size=0.5):
    return sb.Frame(size * rng.normal(size=3), quaternion_from_rotation(random_rotation(rng)))


def random_inertia(rng, mass):
    moments = np.sort(rng.uniform(0.5, 1.0, size=3)) * mass * 0.1
    R = random_rotation(rng)
    return R @ np.diag(moments) @ R.T


def random_type(rng, name):
    if name == "helical":
        return sb.Helical(float(rng.uniform(0.05, 0.3)))
    if name == "constant-distance":
        return sb.ConstantDistance(float(rng.uniform(0.3, 1.0)))
    return sb.JOINT_TYPES[name]()


def random_position(rng, joint_type):
    """A joint position q that lies on the joint's manifold."""
    q = rng.uniform(-1.0, 1.0, size=joint_type.n_positions)
    if joint_type.n_positions >= 4:
        q[:4] /= np.linalg.norm(q[:4])
    return q


def random_tree(rng, n_bodies, names=TREE_TYPES, *, moving=True, mass=(0.5, 2.0)):
    """A random tree in a random consistent pose; joint frames, types and velocities at random."""
    mechanism = sb.Mechanism("random tree", gravity=rng.normal(size=3))
    pose = {sb.WORLD: (np.eye(3), np.zeros(3))}
    twist = {
        sb.WORLD: (np.zeros(3), np.zeros(3))
    }  # angular; linear of the frame's origin, in world
    for i in range(n_bodies):
        parent = sb.WORLD if i == 0 else str(rng.choice(list(pose)))
        joint_type = random_type(rng, str(rng.choice(names)))
        frames = random_frame(rng), random_frame(rng)
        q = random_position(rng, joint_type)
        E, r = plucker_parts(joint_type.transform(q))
        R_P, x_P = (
            pose[parent][0] @ frames[0].rotation,
            pose[parent][1] + pose[parent][0] @ frames[0].origin,
        )
        R_S, x_S = R_P @ E.T, x_P + R_P @ r
        R = R_S @ frames[1].rotation.T
        x = x_S - R @ frames[1].origin
        v_J = joint_type.motion_subspace(q) @ rng.normal(size=joint_type.n_velocities) * moving
        w_p, u_p = twist[parent]
        w = w_p + R_S @ v_J[:3]
        u_S = u_p + np.cross(w_p, x_S - pose[parent][1]) + R_S @ v_J[3:]
        u = u_S + np.cross(w, x - x_S)
        name = f"b{i}"
        m = float(rng.uniform(*mass))
        mechanism.add_body(
            name,
            mass=m,
            inertia=random_inertia(rng, m),
            center_of_mass=0.2 * rng.normal(size=3),
            position=x,
            orientation=quaternion_from_rotation(R),
            linear_velocity=u,
            angular_velocity=w,
        )
        mechanism.add_joint(
            f"j{i}",
            joint_type,
            parent,
            name,
            predecessor_frame=frames[0],
            successor_frame=frames[1],
        )
        pose[name], twist[name] = (R, x), (w, u)
    return mechanism


def close_loop(mechanism, rng, name, joint_type_name, predecessor, successor):
    """Add a loop joint that is closed in the present pose (its velocity error may be anything)."""
    joint_type = random_type(rng, joint_type_name)
    q = random_position(rng, joint_type)
    E, r = plucker_parts(joint_type.transform(q))
    pose = {sb.WORLD: (np.eye(3), np.zeros(3))}
    for body in (predecessor, successor):
        if body != sb.WORLD:
            b = mechanism.body(body)
            pose[body] = (
                rotation_from_quaternion(np.asarray(b.orientation)),
                np.asarray(b.position),
            )
    frame = random_frame(rng)
    R_p, x_p = pose[predecessor]
    R_s, x_s = pose[successor]
    R_S = R_p @ frame.rotation @ E.T
    x_S = x_p + R_p @ (frame.origin + frame.rotation @ r)
    mechanism.add_joint(
        name,
        joint_type,
        predecessor,
        successor,
        predecessor_frame=frame,
        successor_frame=sb.Frame(R_s.T @ (x_S - x_s), quaternion_from_rotation(R_s.T @ R_S)),
    )


def random_loops(
    rng, n_bodies, n_loops, tree_names=TREE_TYPES, loop_names=tuple(sb.JOINT_TYPES), *, moving=False
):
    """A random tree with random loop joints, closed in the initial pose."""
    mechanism = random_tree(rng, n_bodies, tree_names, moving=moving)
    bodies = [sb.WORLD, *mechanism.bodies]
    for k in range(n_loops):
        first, second = rng.choice(len(bodies), size=2, replace=False)
        close_loop(
            mechanism, rng, f"loop{k}", str(rng.choice(loop_names)), bodies[first], bodies[second]
        )
    return mechanism
