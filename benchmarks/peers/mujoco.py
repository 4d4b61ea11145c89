"""MuJoCo: mj_forward with the Newton solver on sparse matrices.

Its constraints are soft by design, so its accelerations are not the exact ones; they are made as
hard as it allows. Its compiler stops at a tree depth of 1024.
"""

from typing import Any

import mujoco
import numpy as np

from benchmarks.peers.tree import TreeJoint, TreeModel, spatial
from sparsebody.arrays import FloatArray
from sparsebody.spatial import quaternion_from_rotation
from sparsebody.study.families import Problem
from sparsebody.study.measure import Prepared

HARDEST = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # the impedance that regularizes least


class Model(TreeModel):
    """The specification of a mechanism at a state."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.spec = mujoco.MjSpec()
        self.spec.compiler.balanceinertia = False
        option = self.spec.option
        option.gravity = np.array(problem.system.gravity)
        option.solver = mujoco.mjtSolver.mjSOL_NEWTON
        option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
        option.tolerance, option.iterations = 1e-12, 100
        self.bodies = {-1: self.spec.worldbody}
        self.rates: dict[str, FloatArray] = {}  # of the joints by their names
        self.fill()

    def add(self, tree: TreeJoint, moments: tuple[Any, ...], rate: FloatArray) -> None:
        """Add a body with a hinge or a ball."""
        R, p = self.frames.rotation, self.frames.position
        local, name = R[tree.parent].T, f"body-{tree.body}"
        mass, center, inertia = moments
        body = self.bodies[tree.body] = self.bodies[tree.parent].add_body(
            name=name,
            pos=local @ (p[tree.body] - p[tree.parent]),
            quat=quaternion_from_rotation(local @ R[tree.body]),
            mass=mass,
            ipos=center,
            fullinertia=inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
            explicitinertial=True,
        )
        S, point = self.frames.joint_rotation[tree.joint], self.frames.joint_position[tree.joint]
        kind, axis = mujoco.mjtJoint.mjJNT_HINGE, R[tree.body].T @ S[:, 2]
        if not tree.is_hinge:
            kind, rate = mujoco.mjtJoint.mjJNT_BALL, R[tree.body].T @ S @ rate
        position = R[tree.body].T @ (point - p[tree.body])
        body.add_joint(name=name, type=kind, pos=position, axis=axis)
        self.rates[name] = rate

    def close(self, j: int, body: int, other: int) -> None:
        """Connect two bodies at a point."""
        equality = self.spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1=self.bodies[body].name,
            name2=self.bodies[other].name,
            solimp=np.array(HARDEST),
        )
        arm = self.frames.joint_position[j] - self.frames.position[body]
        equality.data[:3] = self.frames.rotation[body].T @ arm

    def add_carriage(self, number: int, j: int, mass: float, velocity: FloatArray) -> None:
        """Add a point mass on two slides."""
        name, R = f"carriage-{j}", self.frames.plane[j]
        body = self.bodies[number] = self.spec.worldbody.add_body(
            name=name,
            pos=self.frames.joint_position[j],
            mass=mass,
            inertia=np.full(3, 1e-9),  # it does not turn
            explicitinertial=True,
        )
        for a in (0, 1):
            slide = f"{name}-{a}"
            body.add_joint(name=slide, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=R[:, a])
            self.rates[slide] = R[:, a : a + 1].T @ velocity


def compiled(problem: Problem) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Return the model of a mechanism, at its state."""
    specified = Model(problem)
    model = specified.spec.compile()
    data = mujoco.MjData(model)
    for name, rate in specified.rates.items():
        start = model.joint(name).dofadr[0]
        data.qvel[start : start + len(rate)] = rate
    return model, data


def forward(problem: Problem) -> Prepared:
    """Return the model of a mechanism, ready for mj_forward."""
    model, data = compiled(problem)

    def accelerations() -> FloatArray:
        mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        result = np.empty((problem.system.n_bodies, 6))  # in world axes, without gravity
        for i, of_body in enumerate(result):
            index = model.body(f"body-{i}").id
            mujoco.mj_objectAcceleration(model, data, mujoco.mjtObj.mjOBJ_XBODY, index, of_body, 0)
        return spatial(problem, result[:, :3], result[:, 3:] + problem.system.gravity)

    detail = "Newton, sparse, impedance 0.9999"
    return Prepared(lambda: mujoco.mj_forward(model, data), accelerations, detail)
