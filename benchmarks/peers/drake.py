"""Drake: a continuous plant for trees, one step of its discrete solver (SAP) for loops.

Loops exist in the discrete plant only, whose constraints are soft and act on velocities: the
accelerations are differences over a step, and not the exact ones.
"""

from itertools import chain
from typing import Any

import numpy as np
import pydrake.multibody.tree as mb
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.systems.analysis import Simulator

from benchmarks.peers.tree import TreeJoint, TreeModel, spatial
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem
from sparsebody.study.measure import Prepared

STEP = 1e-3  # [s]


class Model(TreeModel):
    """The plant of a mechanism at a state."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.plant = MultibodyPlant(time_step=STEP if self.tree.loops else 0.0)
        if self.tree.loops:
            self.plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        gravity = np.array(problem.system.gravity)
        self.plant.mutable_gravity_field().set_gravity_vector(gravity)
        self.bodies = {-1: self.plant.world_body()}
        poses = map(_pose, self.frames.rotation, self.frames.position)
        self.poses = dict(zip([*range(problem.system.n_bodies), -1], poses, strict=True))
        self.rates: list[tuple[Any, FloatArray]] = []
        self.fill()
        self.plant.Finalize()

    def add(self, tree: TreeJoint, moments: tuple[Any, ...], rate: FloatArray) -> None:
        """Add a body with a hinge or a ball."""
        mass, center, J = moments
        about_com = mb.RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        own = mb.SpatialInertia.MakeFromCentralInertia(float(mass), np.array(center), about_com)
        self.bodies[tree.body] = self.plant.AddRigidBody(f"body-{tree.body}", own)
        j, name = tree.joint, f"joint-{tree.joint}"
        world = _pose(self.frames.joint_rotation[j], self.frames.joint_position[j])
        ends = (self._frame(i, world, f"end-{i}-{name}") for i in (tree.parent, tree.body))
        axis = [[0, 0, 1]] * tree.is_hinge
        joint = (mb.RevoluteJoint if tree.is_hinge else mb.BallRpyJoint)(name, *ends, *axis)
        self.rates.append((self.plant.AddJoint(joint), rate))

    def _frame(self, i: int, world: RigidTransform, name: str) -> Any:
        local = self.poses[i].inverse().multiply(world)
        return self.plant.AddFrame(mb.FixedOffsetFrame(name, self.bodies[i].body_frame(), local))

    def close(self, j: int, body: int, other: int) -> None:
        """Add a ball constraint."""
        point = self.frames.joint_position[j]
        ends = ((self.bodies[i], self.poses[i].inverse().multiply(point)) for i in (body, other))
        self.plant.AddBallConstraint(*chain(*ends))

    def add_carriage(self, number: int, j: int, mass: float, velocity: FloatArray) -> None:
        """Add a small ball on a planar joint."""
        ball = mb.SpatialInertia(mass, np.zeros(3), mb.UnitInertia.SolidSphere(1e-2))
        body = self.bodies[number] = self.plant.AddRigidBody(f"carriage-{j}", ball)
        pose = self.poses[number] = _pose(self.frames.plane[j], self.frames.joint_position[j])
        ends = self._frame(-1, pose, f"plane-{j}"), body.body_frame()
        joint = self.plant.AddJoint(mb.PlanarJoint(f"slide-{j}", *ends))
        self.rates.append((joint, (self.frames.plane[j].T @ velocity) * [1.0, 1.0, 0.0]))


def _pose(rotation: FloatArray, position: FloatArray) -> RigidTransform:
    return RigidTransform(RotationMatrix.ProjectToRotationMatrix(rotation), position)


def discrete_update(problem: Problem) -> Prepared:
    """Return the plant of a mechanism: its time derivatives, or one step from the state."""
    model = Model(problem)
    plant, simulator = model.plant, Simulator(model.plant)
    simulator.Initialize()
    velocity = np.zeros(plant.num_velocities())
    for joint, rate in model.rates:
        velocity[joint.velocity_start() : joint.velocity_start() + len(rate)] = rate
    start = np.concatenate([np.zeros(plant.num_positions()), velocity])
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
        vectors = (of_body(context, body) for body in bodies)
        return np.array([[one.rotational(), one.translational()] for one in vectors])

    def accelerations() -> FloatArray:
        evaluate()
        if is_discrete:
            after = in_world("Velocity")
            plant.SetPositionsAndVelocities(simulator.get_mutable_context(), start)
            acceleration = (after - in_world("Velocity")) / STEP
        else:
            acceleration = in_world("Acceleration")
        return spatial(problem, acceleration[:, 0], acceleration[:, 1])

    detail = f"SAP, a step of {STEP:g} s" if is_discrete else "continuous plant"
    return Prepared(evaluate, accelerations, detail)
