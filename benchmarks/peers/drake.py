"""Drake: a continuous plant for trees, one step of its discrete solver (SAP) for loops.

Loops exist in the discrete plant only, whose constraints are soft and act on velocities: the
accelerations are differences over a step, and not the exact ones.
"""

from __future__ import annotations

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

from benchmarks.peers.tree import Prepared, TreeJoint, TreeModel, spatial
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem

STEP = 1e-3  # [s]


def _pose(rotation: FloatArray, position: FloatArray) -> RigidTransform:
    return RigidTransform(RotationMatrix.ProjectToRotationMatrix(rotation), position)


class Model(TreeModel):
    """The plant of a mechanism at a state."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
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
        self.fill()
        self.plant.Finalize()

    def add(self, tree: TreeJoint, mass: float, center: FloatArray, inertia: FloatArray) -> None:
        """Add a body with a hinge or a ball."""
        J = inertia
        about_com = RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        moments = SpatialInertia.MakeFromCentralInertia(float(mass), np.array(center), about_com)
        self.bodies[tree.body] = self.plant.AddRigidBody(f"body-{tree.body}", moments)
        world = _pose(
            self.frames.joint_rotation[tree.joint], self.frames.joint_position[tree.joint]
        )
        ends = [
            self._frame(i, world, f"{name}-{tree.joint}")
            for name, i in (("before", tree.parent), ("after", tree.body))
        ]
        rate = tree.sign * self.frames.rate[tree.joint]
        if self.is_a("revolute", tree.joint):
            joint = self.plant.AddJoint(RevoluteJoint(f"joint-{tree.joint}", *ends, [0, 0, 1]))
            self.rates.append((joint, rate[2:3]))
        else:
            joint = self.plant.AddJoint(BallRpyJoint(f"joint-{tree.joint}", *ends))
            self.rates.append((joint, rate[:3]))

    def _frame(self, i: int, world: RigidTransform, name: str) -> Any:
        local = self.poses[i].inverse().multiply(world)
        return self.plant.AddFrame(FixedOffsetFrame(name, self.bodies[i].body_frame(), local))

    def close(self, j: int) -> None:
        """Add a ball constraint."""
        first, second = self.ends(j)
        point = self.frames.joint_position[j]
        other, place = self.bodies[first], self.poses[first].inverse().multiply(point)
        if self.is_a("point-on-plane", j):
            other, place = self._add_carriage(j), np.zeros(3)
        local = self.poses[second].inverse().multiply(point)
        self.plant.AddBallConstraint(self.bodies[second], local, other, place)

    def _add_carriage(self, j: int) -> Any:
        """Add a small ball that slides in the plane of joint j, and does not turn."""
        R, (mass, velocity) = self.frames.plane[j], self.carriage(j)
        ball = SpatialInertia(mass, np.zeros(3), UnitInertia.SolidSphere(1e-2))
        body = self.plant.AddRigidBody(f"carriage-{j}", ball)
        before = self._frame(-1, _pose(R, self.frames.joint_position[j]), f"plane-{j}")
        joint = self.plant.AddJoint(PlanarJoint(f"slide-{j}", before, body.body_frame()))
        rate = R.T @ velocity
        self.rates.append((joint, np.array([rate[0], rate[1], 0.0])))
        return body

    def velocities(self) -> FloatArray:
        """Return Drake's v."""
        v = np.zeros(self.plant.num_velocities())
        for joint, rate in self.rates:
            v[joint.velocity_start() : joint.velocity_start() + len(rate)] = rate
        return v


def discrete_update(problem: Problem) -> Prepared:
    """Return the plant of a mechanism: its time derivatives, or one step from the state."""
    model = Model(problem)
    plant, simulator = model.plant, Simulator(model.plant)
    simulator.Initialize()
    start = np.concatenate([np.zeros(plant.num_positions()), model.velocities()])
    bodies = [model.bodies[i] for i in range(problem.system.n_bodies)]
    is_discrete = plant.time_step() > 0.0

    def evaluate() -> None:
        context = simulator.get_mutable_context()
        plant.SetPositionsAndVelocities(context, start)
        if is_discrete:
            context.SetTime(0.0)
            simulator.Initialize()
            simulator.AdvanceTo(STEP)
        else:
            plant.EvalTimeDerivatives(context)

    def in_world(quantity: str) -> FloatArray:
        """Return angular and linear velocities or accelerations (n, 2, 3) of bodies."""
        context = simulator.get_context()
        of_body = getattr(plant, f"EvalBodySpatial{quantity}InWorld")
        found = [of_body(context, body) for body in bodies]
        return np.array([[one.rotational(), one.translational()] for one in found])

    def accelerations() -> FloatArray:
        evaluate()
        if is_discrete:
            after = in_world("Velocity")
            plant.SetPositionsAndVelocities(simulator.get_mutable_context(), start)
            found = (after - in_world("Velocity")) / STEP
        else:
            found = in_world("Acceleration")
        return spatial(problem, found[:, 0], found[:, 1])

    detail = f"SAP, a step of {STEP:g} s" if is_discrete else "continuous plant"
    return Prepared(evaluate, accelerations, detail)
