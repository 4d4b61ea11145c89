"""Pinocchio: ABA on trees, constraintDynamics and LCABA where loops are closed.

Its spatial vectors are linear first. Balls are JointModelSpherical, but three hinges in a row for
ABA and LCABA: with JointModelSpherical, ABA's error grows with the depth of the tree (1e-9 at 25,
all digits at 60), and LCABA returns wrong accelerations. A sphere on a plane is a point
mass on two slides, taken from the body, with a ball between them.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from benchmarks.peers.tree import Prepared, TreeJoint, TreeKind, TreeModel, UnsupportedError
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem


class Settings(NamedTuple):
    """Tree and proximal parameters, from scans on these very mechanisms."""

    tree: TreeKind
    mu: float
    iterations: int
    tolerance: float = 1e-12  # of the proximal iteration


ANY = "any"
FASTEST = {  # errors of 1e-6 to 1e-4; a stricter tolerance costs time and no error changes
    "scissor": Settings("depth-first", 1e-10, 100, 1e-7),
    ANY: Settings("breadth-first", 1e-6, 100, 1e-5),
}
ACCURATE = {  # errors of 1e-9 to 1e-7, as long as it converges
    "scissor": Settings("breadth-first", 1e-8, 1000, 1e-12),
    ANY: Settings("breadth-first", 1e-4, 1000, 1e-9),
}
DIRECT = {
    "ladder": Settings("breadth-first", 0.0, 1),  # no dependent rows
    ANY: Settings("breadth-first", 1e-10, 20),
}


class Model(TreeModel):
    """A mechanism at a state, in Pinocchio's terms."""

    def __init__(
        self, problem: Problem, kind: TreeKind, balls_as_hinges: bool, with_data: bool = True
    ) -> None:
        super().__init__(problem, kind)
        self.balls_as_hinges = balls_as_hinges
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(problem.system.gravity), np.zeros(3))
        self.carrier = {-1: 0}  # body -> joint
        self.to_com: dict[int, pin.SE3] = {}  # in the carrier's frame
        self.world: dict[int, pin.SE3] = {0: pin.SE3.Identity()}  # poses of Pinocchio's joints
        self.rate: list[FloatArray] = []
        self.contacts = pin.StdVec_RigidConstraintModel()
        self.contact_data = pin.StdVec_RigidConstraintData()
        self.fill()
        self.data = self.model.createData() if with_data else None
        self.q, self.v = pin.neutral(self.model), np.concatenate(self.rate)
        self.tau = np.zeros(self.model.nv)

    @property
    def arguments(self) -> tuple[object, ...]:
        """What Pinocchio's algorithms take."""
        return self.model, self.data, self.q, self.v, self.tau

    def _pose(self, j: int) -> pin.SE3:
        return pin.SE3(self.frames.joint_rotation[j], self.frames.joint_position[j])

    def _add(
        self, body: int, index: int, joints: list[Any], pose: pin.SE3, rate: FloatArray
    ) -> None:
        """Add the joints of a body, one after the other at the same pose, after a joint."""
        for joint in joints:
            placement = self.world[index].actInv(pose)
            index = self.model.addJoint(index, joint, placement, f"joint {len(self.world)}")
            self.world[index] = pose
        self.carrier[body] = index
        self.rate.append(rate)

    def add(self, tree: TreeJoint, moments: tuple[Any, ...], rate: FloatArray) -> None:
        """Add a body with a hinge, a ball or three hinges."""
        pose = self._pose(tree.joint)
        if self.is_hinge(tree):
            joints = [pin.JointModelRZ()]
        elif self.balls_as_hinges:
            joints = [pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ()]
        else:
            joints = [pin.JointModelSpherical()]
        self._add(tree.body, self.carrier[tree.parent], joints, pose, rate)
        body = pin.SE3(self.frames.rotation[tree.body], self.frames.position[tree.body])
        self.to_com[tree.body] = pose.actInv(body)
        mass, center, inertia = moments
        own = pin.Inertia(float(mass), np.array(center), np.array(inertia))
        self.model.appendBodyToJoint(self.carrier[tree.body], own, self.to_com[tree.body])

    def close(self, j: int, body: int, other: int) -> None:
        """Hold the point of joint j; the world, if it is there, must be the second joint."""
        ends = self.carrier[body], self.carrier[other]
        places = ((end, self.world[end].actInv(self._pose(j))) for end in ends)
        kind = pin.ContactType.CONTACT_3D
        contact = pin.RigidConstraintModel(kind, self.model, *chain(*places), pin.LOCAL)
        self.contacts.append(contact)
        self.contact_data.append(contact.createData())

    def add_carriage(self, number: int, j: int, mass: float, velocity: FloatArray) -> None:
        """Add a point mass on two slides."""
        pose = pin.SE3(self.frames.plane[j], self.frames.joint_position[j])
        slides = [pin.JointModelPX(), pin.JointModelPY()]
        self._add(number, 0, slides, pose, (pose.rotation.T @ velocity)[:2])
        point = pin.Inertia(mass, np.zeros(3), np.zeros((3, 3)))
        self.model.appendBodyToJoint(self.carrier[number], point, pin.SE3.Identity())

    def accelerations(self, qdd: FloatArray) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        pin.forwardKinematics(self.model, self.data, self.q, self.v, qdd)
        return self.of_bodies(self.data.a)

    def of_bodies(self, joints: Sequence[pin.Motion]) -> FloatArray:
        """Return spatial accelerations of the bodies, given those of Pinocchio's joints."""
        result = np.empty((self.problem.system.n_bodies, 6))
        for i in range(len(result)):
            a = self.to_com[i].actInv(joints[self.carrier[i]])
            result[i, :3], result[i, 3:] = a.angular, a.linear
        return result


def prepared(model: Model, algorithm: Callable[[], FloatArray], detail: str = "") -> Prepared:
    """Return an algorithm that gives the accelerations of the joints."""
    return Prepared(algorithm, lambda: model.accelerations(np.array(algorithm())), detail)


def aba(problem: Problem) -> Prepared:
    """Articulated-body algorithm; trees only."""
    model = Model(problem, "breadth-first", balls_as_hinges=True)
    if model.tree.loops:
        raise UnsupportedError("ABA takes trees only")
    return prepared(model, lambda: pin.aba(*model.arguments))


def constraint_dynamics(problem: Problem) -> Prepared:
    """Sparse Cholesky factorization in joint space."""
    chosen = DIRECT.get(problem.mechanism, DIRECT[ANY])
    model = Model(problem, chosen.tree, balls_as_hinges=False)
    pin.initConstraintDynamics(model.model, model.data, model.contacts, model.contact_data)
    return _iterated(model, pin.constraintDynamics, chosen)


def lcaba(problem: Problem, settings: Mapping[str, Settings] = FASTEST) -> Prepared:
    """Loop-constrained articulated-body algorithm with its fastest settings."""
    chosen = settings.get(problem.mechanism, settings[ANY])
    model = Model(problem, chosen.tree, balls_as_hinges=True)
    pin.computeJointMinimalOrdering(model.model, model.data, model.contacts)
    return _iterated(model, pin.lcaba, chosen)


def lcaba_accurate(problem: Problem) -> Prepared:
    """Loop-constrained articulated-body algorithm with more, better conditioned iterations."""
    return lcaba(problem, ACCURATE)


def _iterated(model: Model, algorithm: Callable[..., FloatArray], of: Settings) -> Prepared:
    settings = pin.ProximalSettings(of.tolerance, of.mu, of.iterations)
    arguments = (*model.arguments, model.contacts, model.contact_data, settings)
    detail = f"{of.tree} tree, mu {of.mu:g}, tolerance {of.tolerance:g}"
    return prepared(model, lambda: algorithm(*arguments), detail)
