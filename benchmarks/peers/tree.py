"""What peers in joint coordinates need: a spanning tree at the current pose, and the loops.

Every tree joint has its zero position at the current pose, so that any engine starts from q = 0
and no angle is singular; its frame is the joint frame S in the world.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.kinematics.joint_motion import body_rotations, joint_motion
from sparsebody.study.families import Problem

TreeKind = Literal["breadth-first", "depth-first"]
CARRIAGE_MASS = 0.05  # part of a body's mass that goes to the carriage of a sphere on a plane


class UnsupportedError(NotImplementedError):
    """A peer cannot represent a mechanism."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Poses in the world at the current state; the world itself is the last body."""

    rotation: FloatArray  # (n_bodies + 1, 3, 3) body to world
    position: FloatArray  # (n_bodies + 1, 3) centers of mass
    joint_rotation: FloatArray  # (n_joints, 3, 3) S to world
    joint_position: FloatArray  # (n_joints, 3) origin of S
    plane: FloatArray  # (n_joints, 3, 3) P to world
    rate: FloatArray  # (n_joints, 6) v_J in S


@dataclass(frozen=True)
class TreeJoint:
    """A joint of the tree; `sign` is -1 where the tree runs from successor to predecessor."""

    joint: int
    parent: int  # body, -1 for the world
    body: int
    sign: float


@dataclass(frozen=True, eq=False)
class Tree:
    """Tree joints in depth-first order (subtrees contiguous), and the joints that close loops."""

    joints: tuple[TreeJoint, ...]
    loops: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Prepared:
    """An engine at a state: what is timed, and the accelerations that it gives."""

    evaluate: Callable[[], Any]
    accelerations: Callable[[], FloatArray]  # (n_bodies, 6) body coordinates, angular first
    detail: str = ""


class Timed(Prepared):
    """An engine that times itself: `evaluate` returns CPU and wall time [s] of one evaluation."""

    def measure(self) -> tuple[float, float]:
        """Return these times."""
        return self.evaluate()


class TreeModel:
    """A mechanism at a state for an engine in joint coordinates; every joint has q = 0 there."""

    def __init__(self, problem: Problem, kind: TreeKind = "breadth-first") -> None:
        self.problem = problem
        self.frames = frames(problem)
        self.tree = spanning_tree(problem, kind)
        check_loop_hinges(problem, self.tree.loops, self.frames)

    def fill(self) -> None:
        """Add all bodies with their tree joints, then close the loops."""
        masses = inertias(self.problem, self.tree.loops)
        for joint in self.tree.joints:
            self.add(joint, *(part[joint.body] for part in masses))
        for j in self.tree.loops:
            self.close(j)

    def add(self, tree: TreeJoint, mass: float, center: FloatArray, inertia: FloatArray) -> None:
        """Add the body of a tree joint; center from the body's frame, inertia about it."""
        raise NotImplementedError

    def close(self, j: int) -> None:
        """Hold the point of loop joint j."""
        raise NotImplementedError

    def is_a(self, kind: str, j: int) -> bool:
        """Tell whether joint j is of a type."""
        return bool(self.problem.system.joint_types[j].name == kind)

    def ends(self, j: int) -> tuple[int, int]:
        """Return predecessor and successor of joint j, -1 for the world."""
        return int(self.problem.system.predecessor[j]), int(self.problem.system.successor[j])

    def carriage(self, j: int) -> tuple[float, FloatArray]:
        """Return mass and velocity, in world axes, of the carriage of a sphere on a plane."""
        mass = CARRIAGE_MASS * float(self.problem.system.mass[self.ends(j)[1]])
        return mass, self.frames.joint_rotation[j] @ self.frames.rate[j, 3:]


def spatial(problem: Problem, angular: FloatArray, linear: FloatArray) -> FloatArray:
    """Return spatial accelerations in body coordinates, of classical ones (n, 3) in world axes."""
    R = body_rotations(problem.state)
    w, u = np.split(problem.state.velocity, 2, axis=1)
    angular, linear = (np.einsum("nij,ni->nj", R, part) for part in (angular, linear))
    return np.concatenate([angular, linear - np.cross(w, u)], axis=1)


def frames(problem: Problem) -> Frames:
    """Return all frames in the world."""
    system, state = problem.system, problem.state
    rotation = np.concatenate([body_rotations(state), np.eye(3)[None]])
    position = np.concatenate([state.position, np.zeros((1, 3))])
    s, p = system.successor, system.predecessor
    return Frames(
        rotation,
        position,
        rotation[s] @ system.successor_rotation,
        position[s] + np.einsum("nij,nj->ni", rotation[s], system.successor_point),
        rotation[p] @ system.predecessor_rotation,
        joint_motion(system, state).velocity,
    )


def spanning_tree(problem: Problem, kind: TreeKind) -> Tree:
    """Return a spanning tree from the world, spheres on planes being left to the loops.

    Breadth first makes it as shallow as can be, depth first as deep; joints are listed depth
    first in both.
    """
    children: dict[int, list[TreeJoint]] = {}
    for joint in _reached(_adjacency(problem), kind):
        children.setdefault(joint.parent, []).append(joint)
    ordered, stack = [], list(reversed(children.get(-1, [])))
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(reversed(children.get(joint.body, [])))
    if len(ordered) != problem.system.n_bodies:
        raise UnsupportedError("some bodies hang on the world by no hinge or ball")
    used = {joint.joint for joint in ordered}
    return Tree(tuple(ordered), tuple(j for j in range(problem.system.n_joints) if j not in used))


def _adjacency(problem: Problem) -> dict[int, list[TreeJoint]]:
    system = problem.system
    near: dict[int, list[TreeJoint]] = {}
    for j, kind in enumerate(system.joint_types):
        p, s = int(system.predecessor[j]), int(system.successor[j])
        if kind.name in ("revolute", "spherical"):
            near.setdefault(p, []).append(TreeJoint(j, p, s, 1.0))
            near.setdefault(s, []).append(TreeJoint(j, s, p, -1.0))
        elif kind.name != "point-on-plane" or p >= 0:
            raise UnsupportedError(f"joint type {kind.name} is not converted")
    return near


def _reached(near: dict[int, list[TreeJoint]], kind: TreeKind) -> list[TreeJoint]:
    """Return the joints by which a search from the world first comes to each body."""
    seen, tree = {-1}, []
    fringe = deque([iter(near.get(-1, []))])
    while fringe:
        at = 0 if kind == "breadth-first" else -1
        joint = next((joint for joint in fringe[at] if joint.body not in seen), None)
        if joint is None:
            del fringe[at]
            continue
        seen.add(joint.body)
        tree.append(joint)
        fringe.append(iter(near.get(joint.body, [])))
    return tree


def check_loop_hinges(problem: Problem, loops: tuple[int, ...], frame: Frames) -> None:
    """Raise UnsupportedError unless holding the points of loop hinges is enough.

    That is so where all hinges of the mechanism are parallel: the tree keeps them so.
    """
    kinds = [joint_type.name for joint_type in problem.system.joint_types]
    if not any(kinds[j] == "revolute" for j in loops):
        return
    axes = frame.joint_rotation[[kind == "revolute" for kind in kinds], :, 2]
    if "spherical" in kinds or np.abs(np.cross(axes, axes[0])).max() > 1e-9:
        raise UnsupportedError("a loop of hinges that are not parallel is not converted")


def inertias(problem: Problem, loops: tuple[int, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mass, center (from the com, body axes) and inertia about it of every body.

    Where a body ends on a plane, the carriage takes a point mass from it: the same motion.
    """
    system = problem.system
    mass, inertia = system.mass.copy(), system.inertia.copy()
    center = np.zeros((system.n_bodies, 3))
    for j in loops:
        if system.joint_types[j].name != "point-on-plane":
            continue
        body, arm = int(system.successor[j]), system.successor_point[j]
        part = CARRIAGE_MASS * mass[body]
        about_com = inertia[body] - part * _point_inertia(arm)
        mass[body] -= part
        center[body] = -part / mass[body] * arm
        inertia[body] = about_com - mass[body] * _point_inertia(center[body])
    return mass, center, inertia


def _point_inertia(arm: FloatArray) -> FloatArray:
    return (arm @ arm) * np.eye(3) - np.outer(arm, arm)
