"""Random mechanisms in motion with loops, springs, drives, loads and elastic elements."""

from dataclasses import replace

import numpy as np
from compliant_mechanisms import deformed, semidefinite
from random_mechanisms import add_joint, random_frame, random_loops, random_type

import sparsebody as sb
from sparsebody.dynamics import Formulation, ForwardDynamics
from sparsebody.kinematics.joint_motion import displaced

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


def unreduced(system, state):
    """Forward dynamics in which all bodies have six freedoms."""
    return ForwardDynamics(
        system, state, reactions="basic", formulation=Formulation(reduction="none")
    )


def changed(system, state, force, name, step):
    """System, state and wrenches after a change of a variable."""
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
    springs = system.joint_forces
    if name == "effort":  # the same force by the numbers of the springs
        rest = springs.rest + step / springs.stiffness
        return replace(system, joint_forces=replace(springs, rest=rest)), state, force
    numbers = {name: getattr(springs, name) + step}
    return replace(system, joint_forces=replace(springs, **numbers)), state, force
