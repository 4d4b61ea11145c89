"""Spanning trees at the current pose, with the loops, for peers in joint coordinates.

Every tree joint has its zero position at the current pose, so that any engine starts from q = 0
and no angle is singular; its frame is the joint frame S in the world.
"""

from typing import Literal, NamedTuple

import networkx as nx
import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.kinematics.joint_motion import body_rotations, joint_frames, joint_motion
from sparsebody.spatial.inertia import summed_inertias
from sparsebody.study.families import Problem

TreeKind = Literal["breadth-first", "depth-first"]
CARRIAGE_MASS = 0.05  # part of a body's mass that goes to the carriage of a sphere on a plane


class UnsupportedError(NotImplementedError):
    """A peer cannot represent a mechanism."""


class Frames:
    """Poses in the world at the current state; the world itself is the last body."""

    def __init__(self, problem: Problem) -> None:
        system, state = problem.system, problem.state
        self.kinds = np.array([joint_type.name for joint_type in system.joint_types])
        world = np.eye(3)[None]
        self.rotation = np.concatenate([body_rotations(state), world])  # body to world
        self.position = np.concatenate([state.position, np.zeros((1, 3))])  # centers of mass
        # (n_joints, 3, 3) P and S to world, and (n_joints, 3) origins of S
        (self.plane, _), (self.joint_rotation, self.joint_position) = joint_frames(system, state)
        self.rate = joint_motion(system, state).velocity  # (n_joints, 6) v_J in S


class TreeJoint(NamedTuple):
    """A joint of the tree; `sign` is -1 where the tree runs from successor to predecessor."""

    joint: int
    parent: int  # body, -1 for the world
    body: int
    sign: float
    is_hinge: bool  # or a ball


class Tree(NamedTuple):
    """Tree joints in depth-first order (subtrees contiguous), and the joints that close loops."""

    joints: list[TreeJoint]
    loops: list[int]


def spanning_tree(problem: Problem, kind: TreeKind) -> Tree:
    """Return a spanning tree from the world, spheres on planes being left to the loops.

    Breadth first makes it as shallow as can be, depth first as deep.
    """
    system, graph = problem.system, nx.Graph()
    graph.add_node(-1)
    ends = zip(system.predecessor.tolist(), system.successor.tolist(), strict=True)
    for j, ((p, s), joint_type) in enumerate(zip(ends, system.joint_types, strict=True)):
        if joint_type.name in ("revolute", "spherical"):
            if not graph.has_edge(p, s):
                graph.add_edge(p, s, joint=j)
        elif joint_type.name != "point-on-plane" or p >= 0:
            raise UnsupportedError(f"joint type {joint_type.name} is not converted")
    search = nx.bfs_edges if kind == "breadth-first" else nx.dfs_edges
    joints = []
    for parent, body in nx.dfs_edges(nx.DiGraph(search(graph, -1)), -1):
        j = graph.edges[parent, body]["joint"]
        sign = 1.0 if system.successor[j] == body else -1.0
        joints.append(TreeJoint(j, parent, body, sign, system.joint_types[j].name == "revolute"))
    if len(joints) != system.n_bodies:
        raise UnsupportedError("some bodies hang on the world by no hinge or ball")
    return Tree(joints, sorted({*range(system.n_joints)} - {joint.joint for joint in joints}))


class TreeModel:
    """A mechanism at a state for an engine in joint coordinates; every joint has q = 0 there.

    Raises UnsupportedError where holding the points of loop joints is not enough: it is for balls,
    and for hinges if all of the mechanism are parallel, because the tree keeps them so.

    Engines define `add(tree, moments, rate)`: the body of a tree joint, a hinge (one rate) or a
    ball (three), with its mass, center from the center of mass that it has alone, and inertia about
    it; `add_carriage(number, j, mass, velocity)`: a body that slides in the plane of joint j and
    does not turn; `close(j, body, other)`: hold the point of loop joint j on both, of which `other`
    may be the world or a carriage. Velocities are in the world.
    """

    def __init__(self, problem: Problem, kind: TreeKind = "breadth-first") -> None:
        self.problem, self.frames = problem, Frames(problem)
        self.tree = spanning_tree(problem, kind)
        kinds = self.frames.kinds
        axes = self.frames.joint_rotation[kinds == "revolute", :, 2]
        if (kinds[self.tree.loops] == "revolute").any() and (
            "spherical" in kinds or np.abs(np.cross(axes, axes[0])).max() > 1e-9
        ):
            raise UnsupportedError("a loop of hinges that are not parallel is not converted")

    def fill(self) -> None:
        """Add all bodies with their tree joints, then close the loops."""
        system = self.problem.system
        on_planes = self.frames.kinds == "point-on-plane"
        moments = list(zip(*inertias(self.problem, on_planes), strict=True))
        for tree in self.tree.joints:
            rate = tree.sign * self.frames.rate[tree.joint]
            self.add(tree, moments[tree.body], rate[2:3] if tree.is_hinge else rate[:3])
        for j in self.tree.loops:
            other, body = int(system.predecessor[j]), int(system.successor[j])
            if on_planes[j]:
                other = system.n_bodies + j
                velocity = self.frames.joint_rotation[j] @ self.frames.rate[j, 3:]
                self.add_carriage(other, j, CARRIAGE_MASS * float(system.mass[body]), velocity)
            self.close(j, *((other, body) if body < 0 else (body, other)))


def inertias(problem: Problem, on_planes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mass, center (from the com, body axes) and inertia about it of every body.

    Where a body ends on a plane, by joints (n_joints,), the carriage takes a point mass from it:
    the same motion.
    """
    system, body = problem.system, problem.system.successor[on_planes]
    n, part, own = system.n_bodies, CARRIAGE_MASS * system.mass[body], np.arange(system.n_bodies)
    return summed_inertias(
        np.concatenate([own, body]),
        n,
        np.concatenate([system.mass, -part]),
        np.concatenate([np.zeros((n, 3)), system.successor_point[on_planes]]),
        np.concatenate([system.inertia, np.zeros((len(body), 3, 3))]),
    )


def spatial(problem: Problem, angular: FloatArray, linear: FloatArray) -> FloatArray:
    """Return spatial accelerations in body coordinates, of classical ones (n, 3) in world axes."""
    R = body_rotations(problem.state)
    w, u = np.split(problem.state.velocity, 2, axis=1)
    angular, linear = (np.einsum("nij,ni->nj", R, part) for part in (angular, linear))
    return np.concatenate([angular, linear - np.cross(w, u)], axis=1)
