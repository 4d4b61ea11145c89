"""Pinocchio: ABA on trees, constraintDynamics and LCABA where loops are closed.

Its spatial vectors are linear first. Balls are JointModelSpherical, but three hinges in a row for
ABA and LCABA: with JointModelSpherical, ABA's error grows with the depth of the tree (1e-9 at 25,
all digits at 60), and LCABA returns wrong accelerations. A sphere on a plane is a point
mass on two slides, taken from the body, with a ball between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from benchmarks.peers.tree import (
    CARRIAGE_MASS,
    Frames,
    Tree,
    TreeJoint,
    TreeKind,
    UnsupportedError,
    check_loop_hinges,
    frames,
    inertias,
    spanning_tree,
)
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem


@dataclass(frozen=True)
class Settings:
    """Tree and proximal parameters, from scans on these very mechanisms."""

    tree: TreeKind
    mu: float
    iterations: int
    tolerance: float = 1e-12  # of the proximal iteration


ANY = "any"
FASTEST = {  # errors of 1e-6 to 1e-4; a stricter tolerance costs time and no error changes
    "ladder": Settings("breadth-first", 1e-6, 100, 1e-5),
    "scissor": Settings("depth-first", 1e-10, 100, 1e-7),
    ANY: Settings("breadth-first", 1e-6, 100, 1e-5),
}
ACCURATE = {  # errors of 1e-9 to 1e-7, as long as it converges
    "ladder": Settings("breadth-first", 1e-4, 1000, 1e-9),
    "scissor": Settings("breadth-first", 1e-8, 1000, 1e-12),
    ANY: Settings("breadth-first", 1e-4, 1000, 1e-9),
}
DIRECT = {
    "ladder": Settings("breadth-first", 0.0, 1),  # no dependent rows
    ANY: Settings("breadth-first", 1e-10, 20),
}


class Model:
    """A mechanism at a state, in Pinocchio's terms; every joint has q = 0 there."""

    def __init__(
        self, problem: Problem, kind: TreeKind, balls_as_hinges: bool, with_data: bool = True
    ) -> None:
        self.problem = problem
        self.balls_as_hinges = balls_as_hinges
        self.frames: Frames = frames(problem)
        self.tree: Tree = spanning_tree(problem, kind)
        check_loop_hinges(problem, self.tree.loops, self.frames)
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(problem.system.gravity), np.zeros(3))
        self.carrier = np.zeros(problem.system.n_bodies + 1, dtype=int)  # body -> joint
        self.to_com: dict[int, pin.SE3] = {-1: pin.SE3.Identity()}  # in the carrier's frame
        self.world: dict[int, pin.SE3] = {0: pin.SE3.Identity()}  # poses of Pinocchio's joints
        self.rate: list[FloatArray] = []
        masses = inertias(problem, self.tree.loops)
        for joint in self.tree.joints:
            self._add(joint, *(part[joint.body] for part in masses))
        self.contacts, self.contact_data = self._close()
        self.data = self.model.createData() if with_data else None
        self.q, self.v = pin.neutral(self.model), np.concatenate(self.rate)
        self.tau = np.zeros(self.model.nv)

    def _pose(self, j: int) -> pin.SE3:
        return pin.SE3(self.frames.joint_rotation[j], self.frames.joint_position[j])

    def _joint(self, parent: int, joint: pin.JointModel, pose: pin.SE3, rate: FloatArray) -> int:
        placement = self.world[parent].actInv(pose)
        index = self.model.addJoint(parent, joint, placement, f"joint {len(self.world)}")
        self.world[index] = pose
        self.rate.append(rate)
        return index

    def _add(self, tree: TreeJoint, mass: float, center: FloatArray, inertia: FloatArray) -> None:
        pose = self._pose(tree.joint)
        rate = tree.sign * self.frames.rate[tree.joint]
        index = int(self.carrier[tree.parent])
        if self.problem.system.joint_types[tree.joint].name == "revolute":
            index = self._joint(index, pin.JointModelRZ(), pose, rate[2:3])
        elif self.balls_as_hinges:
            axes = (pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ())
            for a, axis in enumerate(axes):
                index = self._joint(index, axis, pose, rate[a : a + 1])
        else:
            index = self._joint(index, pin.JointModelSpherical(), pose, rate[:3])
        body = pin.SE3(self.frames.rotation[tree.body], self.frames.position[tree.body])
        self.carrier[tree.body] = index
        self.to_com[tree.body] = pose.actInv(body)
        moments = pin.Inertia(float(mass), np.array(center), np.array(inertia))
        self.model.appendBodyToJoint(index, moments, self.to_com[tree.body])

    def _close(self) -> tuple[pin.StdVec_RigidConstraintModel, pin.StdVec_RigidConstraintData]:
        contacts = pin.StdVec_RigidConstraintModel()
        data = pin.StdVec_RigidConstraintData()
        for j in self.tree.loops:
            contacts.append(self._contact(j))
            data.append(contacts[-1].createData())
        return contacts, data

    def _contact(self, j: int) -> pin.RigidConstraintModel:
        """Hold the point of joint j; the world, if it is there, must be the second joint."""
        system = self.problem.system
        first, second = int(system.successor[j]), int(system.predecessor[j])
        first, second = (second, first) if first < 0 else (first, second)
        other = int(self.carrier[second])
        if system.joint_types[j].name == "point-on-plane":
            other = self._carriage(j, float(system.mass[first]))
        pose = self._pose(j)
        ends = (int(self.carrier[first]), other)
        places = [self.world[end].actInv(pose) for end in ends]
        return pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D,
            self.model,
            ends[0],
            places[0],
            ends[1],
            places[1],
            pin.LOCAL,
        )

    def _carriage(self, j: int, mass: float) -> int:
        """Add a point mass on two slides in the plane of joint j; return its joint."""
        R = self.frames.plane[j]
        pose = pin.SE3(R, self.frames.joint_position[j])
        rate = R.T @ self.frames.joint_rotation[j] @ self.frames.rate[j, 3:]
        index = self._joint(0, pin.JointModelPX(), pose, rate[:1])
        index = self._joint(index, pin.JointModelPY(), pose, rate[1:2])
        point = pin.Inertia(CARRIAGE_MASS * mass, np.zeros(3), np.zeros((3, 3)))
        self.model.appendBodyToJoint(index, point, pin.SE3.Identity())
        return index

    def accelerations(self, qdd: FloatArray) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        pin.forwardKinematics(self.model, self.data, self.q, self.v, qdd)
        return self.of_bodies(self.data.a)

    def of_bodies(self, joints: Sequence[pin.Motion]) -> FloatArray:
        """Return spatial accelerations of the bodies, given those of Pinocchio's joints."""
        result = np.empty((self.problem.system.n_bodies, 6))
        for i in range(len(result)):
            a = self.to_com[i].actInv(joints[int(self.carrier[i])])
            result[i, :3], result[i, 3:] = a.angular, a.linear
        return result


@dataclass(frozen=True, eq=False)
class Prepared:
    """An algorithm ready to be called at the state."""

    model: Model
    evaluate: Callable[[], FloatArray]
    detail: str

    def accelerations(self) -> FloatArray:
        """Evaluate, and convert."""
        return self.model.accelerations(np.array(self.evaluate()))


def aba(problem: Problem) -> Prepared:
    """Articulated-body algorithm; trees only."""
    model = Model(problem, "breadth-first", balls_as_hinges=True)
    if model.tree.loops:
        raise UnsupportedError("ABA takes trees only")
    arguments = (model.model, model.data, model.q, model.v, model.tau)
    return Prepared(model, lambda: pin.aba(*arguments), "")


def constraint_dynamics(problem: Problem) -> Prepared:
    """Sparse Cholesky factorization in joint space."""
    chosen = DIRECT.get(problem.mechanism, DIRECT[ANY])
    model = Model(problem, chosen.tree, balls_as_hinges=False)
    pin.initConstraintDynamics(model.model, model.data, model.contacts, model.contact_data)
    settings = pin.ProximalSettings(chosen.tolerance, chosen.mu, chosen.iterations)
    return _iterated(model, pin.constraintDynamics, settings, chosen)


def lcaba(problem: Problem) -> Prepared:
    """Loop-constrained articulated-body algorithm with its fastest settings."""
    return _lcaba(problem, FASTEST.get(problem.mechanism, FASTEST[ANY]))


def lcaba_accurate(problem: Problem) -> Prepared:
    """Loop-constrained articulated-body algorithm with more, better conditioned iterations."""
    return _lcaba(problem, ACCURATE.get(problem.mechanism, ACCURATE[ANY]))


def _lcaba(problem: Problem, chosen: Settings) -> Prepared:
    model = Model(problem, chosen.tree, balls_as_hinges=True)
    pin.computeJointMinimalOrdering(model.model, model.data, model.contacts)
    settings = pin.ProximalSettings(chosen.tolerance, chosen.mu, chosen.iterations)
    return _iterated(model, pin.lcaba, settings, chosen)


def _iterated(
    model: Model, algorithm: Callable[..., FloatArray], settings: pin.ProximalSettings, of: Settings
) -> Prepared:
    arguments = (
        model.model,
        model.data,
        model.q,
        model.v,
        model.tau,
        model.contacts,
        model.contact_data,
        settings,
    )
    detail = f"{of.tree} tree, mu {of.mu:g}, tolerance {of.tolerance:g}"
    return Prepared(model, lambda: algorithm(*arguments), detail)
