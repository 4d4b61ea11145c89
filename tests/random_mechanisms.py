"""Random mechanisms with every joint type, in consistent poses and velocities, for the tests."""

from dataclasses import fields

import numpy as np

import sparsebody as sb
from sparsebody.spatial import (
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
            add_joint(
                copy,
                name,
                joint.type,
                (joint.predecessor, joint.successor)[::end],
                *(joint.predecessor_frame, joint.successor_frame)[::end],
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


def add_random_body(
    mechanism, rng, name, body_pose, *, size=1.0, arm=0.2, mass=(0.5, 2.0), **velocities
):
    """Add a body of about that size, its center of mass not quite at the origin of its frame."""
    R, x = body_pose
    m = float(rng.uniform(*mass)) * size**3
    mechanism.add_body(
        name,
        mass=m,
        inertia=size**2 * random_inertia(rng, m),
        center_of_mass=arm * size * rng.normal(size=3),
        position=x,
        orientation=quaternion_from_rotation(R),
        **velocities,
    )


def add_moving_body(mechanism, rng, name, position, size):
    """Add a body of about that size at a place, turned and moving at random."""
    linear, angular = size * rng.normal(size=3), rng.normal(size=3)
    velocities = {"linear_velocity": linear, "angular_velocity": angular}
    add_random_body(mechanism, rng, name, (random_rotation(rng), position), size=size, **velocities)


def add_joint(mechanism, name, joint_type, ends, near, far, **options):
    """Add a joint between frames in the predecessor and the successor."""
    frames = {"predecessor_frame": near, "successor_frame": far}
    mechanism.add_joint(name, joint_type, *ends, **frames, **options)


def add_loop(mechanism, rng, name, host, corners, axes, size=1.0):
    """Hinge bars from corner to corner, the first and the last one to the host; return them."""
    bars = [f"{name} bar {i}" for i in range(len(corners) - 1)]
    for bar, middle in zip(bars, (corners[:-1] + corners[1:]) / 2, strict=True):
        add_moving_body(mechanism, rng, bar, middle, size)
    names = [host, *bars, host]
    for i, (point, axis) in enumerate(zip(corners, axes, strict=True)):
        ends = names[i : i + 2]
        mechanism.add_joint(f"{name} hinge {i}", sb.Revolute(), *ends, point=point, axis=axis)
    return bars


def random_tree(rng, n_bodies, names=TREE_TYPES, *, moving=True, mass=(0.5, 2.0)):
    """A random tree in a random consistent pose; joint frames, types and velocities at random."""
    mechanism = sb.Mechanism("random tree", gravity=rng.normal(size=3))
    poses = {sb.WORLD: (np.eye(3), np.zeros(3))}
    twists = {sb.WORLD: np.zeros((2, 3))}  # angular; linear of the frame's origin, in world
    for i in range(n_bodies):
        parent = sb.WORLD if i == 0 else str(rng.choice(list(poses)))
        joint_type = random_type(rng, str(rng.choice(names)))
        near, far = random_frame(rng), random_frame(rng)
        q = random_position(rng, joint_type)
        R_S, x_S = other_end(poses[parent], near, joint_type, q)
        R = R_S @ far.rotation.T
        x = x_S - R @ far.origin
        v_J = joint_type.motion_subspace(q) @ rng.normal(size=joint_type.n_velocities) * moving
        (w_p, u_p), name = twists[parent], f"b{i}"
        w = w_p + R_S @ v_J[:3]
        u = u_p + np.cross(w_p, x_S - poses[parent][1]) + R_S @ v_J[3:] + np.cross(w, x - x_S)
        velocities = {"linear_velocity": u, "angular_velocity": w}
        add_random_body(mechanism, rng, name, (R, x), mass=mass, **velocities)
        add_joint(mechanism, f"j{i}", joint_type, (parent, name), near, far)
        poses[name], twists[name] = (R, x), (w, u)
    return mechanism


def pose(mechanism, name):
    """(R, x) of a body's frame in the world."""
    if name == sb.WORLD:
        return np.eye(3), np.zeros(3)
    body = mechanism.body(name)
    return rotation_from_quaternion(np.asarray(body.orientation)), np.asarray(body.position)


def frame_at(body_pose, R, x):
    """The joint frame with axes R at x in the world, as a body at a pose (R, x) sees it."""
    R_b, x_b = body_pose
    return sb.Frame(R_b.T @ (x - x_b), quaternion_from_rotation(R_b.T @ R))


def other_end(body_pose, near, joint_type, q):
    """Axes and origin of S in the world, where P is a frame of a body at a pose (R, x)."""
    (R, x), (E, r) = body_pose, joint_type.pose(q)
    return R @ near.rotation @ E.T, x + R @ (near.origin + near.rotation @ r)


def close_loop(mechanism, rng, name, joint_type, ends, near=None):
    """Add a loop joint that is closed in the present pose (its velocity error may be anything)."""
    q = random_position(rng, joint_type)
    near = near or random_frame(rng)
    first, second = (pose(mechanism, body) for body in ends)
    far = frame_at(second, *other_end(first, near, joint_type, q))
    add_joint(mechanism, name, joint_type, ends, near, far)


def random_loops(
    rng, n_bodies, n_loops, tree_names=TREE_TYPES, loop_names=tuple(sb.JOINT_TYPES), *, moving=False
):
    """A random tree with random loop joints, closed in the initial pose."""
    mechanism = random_tree(rng, n_bodies, tree_names, moving=moving)
    bodies = [sb.WORLD, *mechanism.bodies]
    for k in range(n_loops):
        ends = [bodies[i] for i in rng.choice(len(bodies), size=2, replace=False)]
        joint_type = random_type(rng, str(rng.choice(loop_names)))
        close_loop(mechanism, rng, f"loop{k}", joint_type, ends)
    return mechanism
