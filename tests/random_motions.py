"""Random mechanisms in motion with loops, springs, drives, loads and elastic elements."""

from dataclasses import replace

import numpy as np
from compliant_mechanisms import deformed, semidefinite
from random_mechanisms import add_joint, random_frame, random_loops, random_type
from scipy.spatial.transform import Rotation

import sparsebody as sb
from sparsebody.dynamics import Formulation, ForwardDynamics
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.model.joints import ConstantDistance, Helical

SCALAR = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar")
SYMMETRIC = (0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)


def with_forces(mechanism, rng):
    """Springs on some coordinates, between points, loads, a bushing and a drive."""
    bodies = list(mechanism.bodies)
    joints = [name for name, joint in mechanism.joints.items() if joint.type.name in SCALAR]
    for k, joint in enumerate(joints[1:]):
        spring = dict(
            zip(("stiffness", "rest", "damping", "effort"), rng.normal(size=4), strict=True)
        )
        spring |= {"stiffness": abs(spring["stiffness"]), "damping": abs(spring["damping"])}
        mechanism.add_joint_force(f"spring {k}", joint, **spring)
    for k in range(2):
        first, second = rng.choice([sb.WORLD, *bodies], size=2, replace=False)
        points = dict(zip(("first_point", "second_point"), rng.normal(size=(2, 3)), strict=True))
        numbers = {"stiffness": 2.0, "rest_length": 0.3, "damping": 0.4, "effort": 0.5}
        mechanism.add_point_force(f"line {k}", str(first), str(second), **points, **numbers)
    for axes in ("world", "body"):
        load = dict(zip(("force", "moment", "point"), rng.normal(size=(3, 3)), strict=True))
        mechanism.add_external_force(f"load {axes}", str(rng.choice(bodies)), **load, axes=axes)
    frames = {"predecessor_frame": random_frame(rng), "successor_frame": random_frame(rng)}
    matrices = {"stiffness": semidefinite(rng, 6), "damping": semidefinite(rng, 6)}
    mechanism.add_bushing("bush", bodies[0], sb.WORLD, **frames, **matrices)
    return mechanism


def random_motion(seed, n_bodies=6, n_loops=2):
    """A system, a state with velocities that close no loop, and wrenches on the bodies."""
    rng = np.random.default_rng(seed)
    mechanism = random_loops(rng, n_bodies, n_loops, moving=True)
    driven = random_type(rng, "revolute")
    near, far = random_frame(rng), random_frame(rng)
    name = str(rng.choice(list(mechanism.bodies)))
    mechanism.add_body(
        "driven", mass=1.0, inertia=[0.1, 0.2, 0.15], angular_velocity=rng.normal(size=3)
    )
    add_joint(
        mechanism,
        "drive",
        driven,
        (name, "driven"),
        near,
        far,
        prescribed=lambda t: (t * t, 2.0 * t, 2.0),
    )
    system = with_forces(mechanism, rng).compile()
    return system, system.initial_state, rng.normal(size=(system.n_bodies, 6))


def compliant_motion(seed):
    """Damped compliant joints, bushings and a beam, deformed and in motion."""
    rng = np.random.default_rng(seed)
    names = rng.choice(["revolute", "spherical", "universal", "fixed", "point-on-plane"], size=3)
    system = deformed(seed, [str(name) for name in names], damping=True).compile()
    return system, system.initial_state, rng.normal(size=(system.n_bodies, 6))


def motion_of_type(kind):
    """Three bodies, two in a chain, on joints of a type between random frames, and a spring."""
    rng = np.random.default_rng(len(kind))
    mechanism = sb.Mechanism(kind)
    for k in range(3):
        spin, speed = rng.normal(size=(2, 3))
        mechanism.add_body(
            f"body {k}", mass=1.0 + k, inertia=[0.3, 0.4, 0.5], position=rng.normal(size=3),
            angular_velocity=spin, linear_velocity=speed,
        )  # fmt: skip
    for k, ends in enumerate((("world", "body 0"), ("body 0", "body 1"), ("body 2", "world"))):
        frames = random_frame(rng), random_frame(rng)
        add_joint(mechanism, f"joint {k}", random_type(rng, kind), ends, *frames)
    if kind in SCALAR:
        numbers = {"stiffness": 2.0, "rest": 0.3, "damping": 0.4}
        mechanism.add_joint_force("spring", "joint 1", **numbers)
    system = mechanism.compile()
    return system, system.initial_state, rng.normal(size=(3, 6))


def unreduced(system, state):
    """Forward dynamics in which all bodies have six freedoms."""
    return ForwardDynamics(
        system, state, reactions="basic", formulation=Formulation(reduction="none")
    )


def with_moved_frames(system, side, of_joints, of_free_elements):
    """The system with frames moved by twists in their own axes; those of its elements as well."""

    def moved(of, twist):
        rotation, point = (getattr(of, f"{side}_{part}") for part in ("rotation", "point"))
        turn = Rotation.from_rotvec(twist[:, :3]).as_matrix()
        shift = np.einsum("nij,nj->ni", rotation, twist[:, 3:])
        return {f"{side}_rotation": rotation @ turn, f"{side}_point": point + shift}

    elastic = system.elastic
    of_elements = np.where(elastic.joint[:, None] >= 0, of_joints[elastic.joint], of_free_elements)
    elastic = replace(elastic, **moved(elastic, of_elements))
    return replace(system, elastic=elastic, **moved(system, of_joints))


def direction_of(system, name, shape, rng):
    """A random direction of a variable; of elastic elements, on the rows that give way."""
    if not name.startswith("elastic") or name.endswith("_frame"):
        return rng.normal(size=shape)
    elastic = system.elastic
    rows = np.arange(6) < elastic.n_rows[:, None]
    S = rng.uniform(-0.3, 0.3, size=shape) * rows[:, :, None] * rows[:, None]
    S += np.swapaxes(S, 1, 2)
    factor = np.linalg.pinv(elastic.root) if name.endswith("compliance") else elastic.root
    if name.endswith("compliance"):
        return factor @ S @ np.swapaxes(factor, 1, 2)
    return np.swapaxes(factor, 1, 2) @ S @ factor


def with_elastic_change(system, name, step):
    """The system with other matrices: K = B' (1 + S) B, C = B^+ (1 + S) B^+', or B' (D + S) B."""
    elastic = system.elastic
    B, inverse = elastic.root, np.linalg.pinv(elastic.root)
    if name == "elastic_damping":
        damping = elastic.damping + np.swapaxes(inverse, 1, 2) @ step @ inverse
        return replace(system, elastic=replace(elastic, damping=damping))
    if name == "elastic_compliance":
        S = B @ step @ np.swapaxes(B, 1, 2)
        L = np.linalg.inv(np.linalg.cholesky(np.eye(6) + S)).swapaxes(1, 2)
    else:
        S = np.swapaxes(inverse, 1, 2) @ step @ inverse
        L = np.linalg.cholesky(np.eye(6) + S)
    inner = np.linalg.inv(L)
    damping = inner @ elastic.damping @ np.swapaxes(inner, 1, 2)
    root = np.swapaxes(L, 1, 2) @ B
    return replace(system, elastic=replace(elastic, root=root, damping=damping))


def with_changed_pitches(system, step):
    """The system with other pitches of its helical joints."""
    parameter, T, index = (
        system.parameter.copy(),
        [*system.subspace_rows],
        system.subspace_index.copy(),
    )
    for j, change in zip(np.flatnonzero(system.joint_kind == Helical.kind), step, strict=True):
        row = system.first_row[j] + 4
        T.append(system.subspace[row] - [0.0, 0.0, change, 0.0, 0.0, 0.0])
        parameter[j], index[row] = parameter[j] + change, len(T) - 1
    return replace(system, parameter=parameter, subspace_rows=np.array(T), subspace_index=index)


def with_changed_lines(system, name, step):
    """The system with other numbers of the springs between points."""
    lines = system.point_forces
    if name == "effort":  # the same force by the rest length
        name, step = "rest_length", step / lines.stiffness
    return replace(system, point_forces=replace(lines, **{name: getattr(lines, name) + step}))


def slope(along, step):
    """The derivative of a function of one number at zero, by the formula of five points."""
    first, second = ((along(h) - along(-h)) / (2.0 * h) for h in (step, 2.0 * step))
    return (4.0 * first - second) / 3.0


def changed(system, state, force, name, step):
    """System, state and wrenches after a change of a variable."""
    if name.endswith("_frame"):
        side, zero = name.removesuffix("_frame"), np.zeros((system.n_joints, 6))
        steps = (zero, step) if name.startswith("elastic") else (step, 0.0)
        return with_moved_frames(system, side.removeprefix("elastic_"), *steps), state, force
    if name.startswith("elastic"):
        return with_elastic_change(system, name, step), state, force
    if name == "position":
        return system, displaced(state, step), force
    if name == "velocity":
        return system, state.with_(velocity=state.velocity + step), force
    if name == "force":
        return system, state, force + step
    if name == "inertia":
        inertia = system.inertia.copy()
        for k, (i, j) in enumerate(SYMMETRIC):
            inertia[:, i, j] += step[:, k]
            inertia[:, j, i] = inertia[:, i, j]
        return replace(system, inertia=inertia), state, force
    if name in ("mass", "gravity"):
        return replace(system, **{name: getattr(system, name) + step}), state, force
    if name == "length":
        parameter = system.parameter.copy()
        parameter[system.joint_kind == ConstantDistance.kind] += step
        return replace(system, parameter=parameter), state, force
    if name == "pitch":
        return with_changed_pitches(system, step), state, force
    if name in ("first_point", "second_point"):
        return with_changed_lines(system, name, step), state, force
    if name.startswith("point"):
        return with_changed_lines(system, name.removeprefix("point_"), step), state, force
    springs = system.joint_forces
    if name == "effort":  # the same force by the numbers of the springs
        rest = springs.rest + step / springs.stiffness
        return replace(system, joint_forces=replace(springs, rest=rest)), state, force
    numbers = {name: getattr(springs, name) + step}
    return replace(system, joint_forces=replace(springs, **numbers)), state, force
