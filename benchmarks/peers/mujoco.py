"""MuJoCo: mj_forward with the Newton solver on sparse matrices.

Its constraints are soft by design, so its accelerations are not the exact ones; they are made as
hard as it allows. Its compiler stops at a tree depth of 1024.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from benchmarks.peers.tree import (
    CARRIAGE_MASS,
    Frames,
    Tree,
    TreeJoint,
    check_loop_hinges,
    frames,
    inertias,
    spanning_tree,
)
from sparsebody.arrays import FloatArray
from sparsebody.spatial import quaternion_from_rotation
from sparsebody.study.families import Problem

HARDEST = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # the impedance that regularizes least


class Builder:
    """The specification of a mechanism at a state; every joint has q = 0 there."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.frames: Frames = frames(problem)
        self.tree: Tree = spanning_tree(problem, "breadth-first")
        check_loop_hinges(problem, self.tree.loops, self.frames)
        self.spec = mujoco.MjSpec()
        self.spec.compiler.balanceinertia = False
        option = self.spec.option
        option.gravity = np.array(problem.system.gravity)
        option.solver = mujoco.mjtSolver.mjSOL_NEWTON
        option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
        option.tolerance, option.iterations = 1e-12, 100
        self.bodies = {-1: self.spec.worldbody}
        self.rates: dict[str, FloatArray] = {}
        masses = inertias(problem, self.tree.loops)
        for joint in self.tree.joints:
            self._add(joint, *(part[joint.body] for part in masses))
        for j in self.tree.loops:
            self._close(j)

    def _add(self, tree: TreeJoint, mass: float, center: FloatArray, inertia: FloatArray) -> None:
        R, p = self.frames.rotation, self.frames.position
        local = R[tree.parent].T
        name = f"body-{tree.body}"
        body = self.bodies[tree.parent].add_body(
            name=name,
            pos=local @ (p[tree.body] - p[tree.parent]),
            quat=quaternion_from_rotation(local @ R[tree.body]),
            mass=mass,
            ipos=center,
            fullinertia=inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
            explicitinertial=True,
        )
        self.bodies[tree.body] = body
        S, point = self.frames.joint_rotation[tree.joint], self.frames.joint_position[tree.joint]
        place = R[tree.body].T @ (point - p[tree.body])
        rate = tree.sign * self.frames.rate[tree.joint]
        hinge = self.problem.system.joint_types[tree.joint].name == "revolute"
        if hinge:
            kind, axis = mujoco.mjtJoint.mjJNT_HINGE, R[tree.body].T @ S[:, 2]
            self.rates[name] = rate[2:3]
        else:
            kind, axis = mujoco.mjtJoint.mjJNT_BALL, np.array([0.0, 0.0, 1.0])
            self.rates[name] = R[tree.body].T @ S @ rate[:3]
        body.add_joint(name=name, type=kind, pos=place, axis=axis)

    def _close(self, j: int) -> None:
        system, frame = self.problem.system, self.frames
        first, second = int(system.predecessor[j]), int(system.successor[j])
        first, second = (second, first) if second < 0 else (first, second)
        names = ["world" if i < 0 else f"body-{i}" for i in (first, second)]
        anchor = frame.rotation[second].T @ (frame.joint_position[j] - frame.position[second])
        if system.joint_types[j].name == "point-on-plane":
            names[0] = self._carriage(j, float(system.mass[second]))
        equality = self.spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1=names[1],
            name2=names[0],
            solimp=np.array(HARDEST),
        )
        equality.data[:3] = anchor

    def _carriage(self, j: int, mass: float) -> str:
        """Add a point mass on two slides in the plane of joint j; return its body's name."""
        name, R = f"carriage-{j}", self.frames.plane[j]
        body = self.spec.worldbody.add_body(
            name=name,
            pos=self.frames.joint_position[j],
            mass=CARRIAGE_MASS * mass,
            inertia=np.full(3, 1e-9),  # it does not turn
            explicitinertial=True,
        )
        velocity = self.frames.joint_rotation[j] @ self.frames.rate[j, 3:]
        for a in (0, 1):
            slide = f"{name}-{a}"
            body.add_joint(name=slide, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=R[:, a])
            self.rates[slide] = R[:, a : a + 1].T @ velocity
        return name


@dataclass(frozen=True, eq=False)
class Prepared:
    """A compiled model at the state."""

    problem: Problem
    model: mujoco.MjModel
    data: mujoco.MjData
    detail: str = "Newton, sparse, impedance 0.9999"

    def evaluate(self) -> None:
        """Do all of one evaluation, from positions and velocities to accelerations."""
        mujoco.mj_forward(self.model, self.data)

    def accelerations(self) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        self.evaluate()
        mujoco.mj_rnePostConstraint(self.model, self.data)
        result = np.empty((self.problem.system.n_bodies, 6))
        found = np.empty(6)
        xbody = mujoco.mjtObj.mjOBJ_XBODY
        for i in range(len(result)):
            index = self.model.body(f"body-{i}").id
            mujoco.mj_objectAcceleration(self.model, self.data, xbody, index, found, 1)
            result[i] = found
        velocity = self.problem.state.velocity
        result[:, 3:] -= np.cross(velocity[:, :3], velocity[:, 3:])
        to_body = frames(self.problem).rotation[:-1]
        result[:, 3:] += np.einsum("nij,i->nj", to_body, self.problem.system.gravity)
        return result


def forward(problem: Problem) -> Prepared:
    """Return the model of a mechanism, ready for mj_forward."""
    builder = Builder(problem)
    model = builder.spec.compile()
    data = mujoco.MjData(model)
    for name, rate in builder.rates.items():
        start = model.joint(name).dofadr[0]
        data.qvel[start : start + len(rate)] = rate
    return Prepared(problem, model, data)
