"""Drake: a continuous plant for trees, one step of its discrete solver (SAP) for loops.

Loops exist in the discrete plant only, whose constraints are soft and act on velocities: the
accelerations are differences over a step, and not the exact ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.multibody.tree import (
    BallRpyJoint,
    FixedOffsetFrame,
    PlanarJoint,
    RevoluteJoint,
    RotationalInertia,
    SpatialInertia,
    UnitInertia,
)
from pydrake.systems.analysis import Simulator

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
from sparsebody.study.families import Problem

STEP = 1e-3  # [s]


def _pose(rotation: FloatArray, position: FloatArray) -> RigidTransform:
    return RigidTransform(RotationMatrix.ProjectToRotationMatrix(rotation), position)


class Builder:
    """The plant of a mechanism at a state; every joint has q = 0 there."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.frames: Frames = frames(problem)
        self.tree: Tree = spanning_tree(problem, "breadth-first")
        check_loop_hinges(problem, self.tree.loops, self.frames)
        self.plant = MultibodyPlant(time_step=STEP if self.tree.loops else 0.0)
        if self.tree.loops:
            approximation = DiscreteContactApproximation.kSap
            self.plant.set_discrete_contact_approximation(approximation)
        gravity = np.array(problem.system.gravity)
        self.plant.mutable_gravity_field().set_gravity_vector(gravity)
        self.bodies = {-1: self.plant.world_body()}
        self.poses = {
            i: _pose(self.frames.rotation[i], self.frames.position[i])
            for i in range(-1, problem.system.n_bodies)
        }
        self.rates: list[tuple[Any, FloatArray]] = []
        masses = inertias(problem, self.tree.loops)
        for joint in self.tree.joints:
            self._add(joint, *(part[joint.body] for part in masses))
        for j in self.tree.loops:
            self._close(j)
        self.plant.Finalize()

    def _frame(self, i: int, world: RigidTransform, name: str) -> Any:
        local = self.poses[i].inverse().multiply(world)
        return self.plant.AddFrame(FixedOffsetFrame(name, self.bodies[i].body_frame(), local))

    def _add(self, tree: TreeJoint, mass: float, center: FloatArray, inertia: FloatArray) -> None:
        J = inertia
        about_com = RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        moments = SpatialInertia.MakeFromCentralInertia(float(mass), np.array(center), about_com)
        self.bodies[tree.body] = self.plant.AddRigidBody(f"body-{tree.body}", moments)
        world = self._joint_pose(tree.joint)
        ends = [
            self._frame(i, world, f"{name}-{tree.joint}")
            for name, i in (("before", tree.parent), ("after", tree.body))
        ]
        rate = tree.sign * self.frames.rate[tree.joint]
        if self.problem.system.joint_types[tree.joint].name == "revolute":
            joint = self.plant.AddJoint(RevoluteJoint(f"joint-{tree.joint}", *ends, [0, 0, 1]))
            self.rates.append((joint, rate[2:3]))
        else:
            joint = self.plant.AddJoint(BallRpyJoint(f"joint-{tree.joint}", *ends))
            self.rates.append((joint, rate[:3]))

    def _joint_pose(self, j: int) -> RigidTransform:
        return _pose(self.frames.joint_rotation[j], self.frames.joint_position[j])

    def _close(self, j: int) -> None:
        system = self.problem.system
        first, second = int(system.predecessor[j]), int(system.successor[j])
        point = self.frames.joint_position[j]
        other, place = self.bodies[first], self.poses[first].inverse().multiply(point)
        if system.joint_types[j].name == "point-on-plane":
            other, place = self._carriage(j, float(system.mass[second])), np.zeros(3)
        local = self.poses[second].inverse().multiply(point)
        self.plant.AddBallConstraint(self.bodies[second], local, other, place)

    def _carriage(self, j: int, mass: float) -> Any:
        """Add a small ball that slides in the plane of joint j."""
        ball = SpatialInertia(
            CARRIAGE_MASS * mass, np.zeros(3), UnitInertia.SolidSphere(1e-2)
        )  # it does not turn
        body = self.plant.AddRigidBody(f"carriage-{j}", ball)
        plane = _pose(self.frames.plane[j], self.frames.joint_position[j])
        before = self._frame(-1, plane, f"plane-{j}")
        joint = self.plant.AddJoint(PlanarJoint(f"slide-{j}", before, body.body_frame()))
        R = self.frames.plane[j].T @ self.frames.joint_rotation[j]
        rate = R @ self.frames.rate[j, 3:]
        self.rates.append((joint, np.array([rate[0], rate[1], 0.0])))
        return body

    def velocities(self) -> FloatArray:
        """Return Drake's v."""
        v = np.zeros(self.plant.num_velocities())
        for joint, rate in self.rates:
            v[joint.velocity_start() : joint.velocity_start() + len(rate)] = rate
        return v


@dataclass(frozen=True, eq=False)
class Prepared:
    """A finalized plant with a simulator at the state."""

    problem: Problem
    plant: MultibodyPlant
    bodies: list[Any]
    simulator: Simulator
    start: FloatArray  # positions and velocities
    detail: str

    def evaluate(self) -> None:
        """Evaluate the time derivatives, or step once from the state."""
        context = self.simulator.get_mutable_context()
        self.plant.SetPositionsAndVelocities(context, self.start)
        if self.plant.time_step() == 0.0:
            self.plant.EvalTimeDerivatives(context)
            return
        context.SetTime(0.0)
        self.simulator.Initialize()
        self.simulator.AdvanceTo(STEP)

    def accelerations(self) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        self.evaluate()
        context = self.simulator.get_context()
        if self.plant.time_step() == 0.0:
            found = [self._derivative(context, body) for body in self.bodies]
        else:
            after = np.array([self._velocity(context, body) for body in self.bodies])
            mutable = self.simulator.get_mutable_context()
            self.plant.SetPositionsAndVelocities(mutable, self.start)
            before = np.array([self._velocity(context, body) for body in self.bodies])
            found = list((after - before) / STEP)
        R = frames(self.problem).rotation[:-1]
        w, u = np.split(self.problem.state.velocity, 2, axis=1)
        angular, linear = (np.einsum("nij,ni->nj", R, part) for part in np.swapaxes(found, 0, 1))
        return np.concatenate([angular, linear - np.cross(w, u)], axis=1)

    def _velocity(self, context: Any, body: Any) -> FloatArray:
        v = self.plant.EvalBodySpatialVelocityInWorld(context, body)
        return np.stack([v.rotational(), v.translational()])

    def _derivative(self, context: Any, body: Any) -> FloatArray:
        a = self.plant.EvalBodySpatialAccelerationInWorld(context, body)
        return np.stack([a.rotational(), a.translational()])


def discrete_update(problem: Problem) -> Prepared:
    """Return the plant of a mechanism, ready to step."""
    builder = Builder(problem)
    simulator = Simulator(builder.plant)
    simulator.Initialize()
    start = np.concatenate([np.zeros(builder.plant.num_positions()), builder.velocities()])
    bodies = [builder.bodies[i] for i in range(problem.system.n_bodies)]
    discrete = builder.plant.time_step() > 0.0
    detail = f"SAP, a step of {STEP:g} s" if discrete else "continuous plant"
    return Prepared(problem, builder.plant, bodies, simulator, start, detail)
