"""Pinocchio: ABA on trees, constraintDynamics and LCABA where loops are closed.

Its spatial vectors are linear first. Balls are JointModelSpherical, but three hinges in a row for
ABA and LCABA: with JointModelSpherical, ABA's error grows with the depth of the tree (1e-9 at 25,
all digits at 60), and LCABA returns wrong accelerations. A sphere on a plane is a point
mass on two slides, taken from the body, with a ball between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from benchmarks.peers.tree import Prepared, TreeJoint, TreeKind, TreeModel, UnsupportedError
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


class Model(TreeModel):
    """A mechanism at a state, in Pinocchio's terms."""

    def __init__(
        self, problem: Problem, kind: TreeKind, balls_as_hinges: bool, with_data: bool = True
    ) -> None:
        super().__init__(problem, kind)
        self.balls_as_hinges = balls_as_hinges
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(problem.system.gravity), np.zeros(3))
        self.carrier = np.zeros(problem.system.n_bodies + 1, dtype=int)  # body -> joint
        self.to_com: dict[int, pin.SE3] = {-1: pin.SE3.Identity()}  # in the carrier's frame
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

    def _joint(self, parent: int, joint: pin.JointModel, pose: pin.SE3, rate: FloatArray) -> int:
        placement = self.world[parent].actInv(pose)
        index = self.model.addJoint(parent, joint, placement, f"joint {len(self.world)}")
        self.world[index] = pose
        self.rate.append(rate)
        return index

    def add(self, tree: TreeJoint, mass: float, center: FloatArray, inertia: FloatArray) -> None:
        """Add a body with a hinge, a ball or three hinges."""
        pose = self._pose(tree.joint)
        rate = tree.sign * self.frames.rate[tree.joint]
        index = int(self.carrier[tree.parent])
        if self.is_a("revolute", tree.joint):
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

    def close(self, j: int) -> None:
        """Hold the point of joint j; the world, if it is there, must be the second joint."""
        second, first = self.ends(j)
        first, second = (second, first) if first < 0 else (first, second)
        is_on_plane = self.is_a("point-on-plane", j)
        ends = int(self.carrier[first]), int(self.carrier[second])
        if is_on_plane:
            ends = ends[0], self._add_carriage(j)
        (i, place), (k, other_place) = (
            (end, self.world[end].actInv(self._pose(j))) for end in ends
        )
        kind = pin.ContactType.CONTACT_3D
        contact = pin.RigidConstraintModel(kind, self.model, i, place, k, other_place, pin.LOCAL)
        self.contacts.append(contact)
        self.contact_data.append(contact.createData())

    def _add_carriage(self, j: int) -> int:
        """Add a point mass on two slides in the plane of joint j; return its joint."""
        R, (mass, velocity) = self.frames.plane[j], self.carriage(j)
        pose, rate = pin.SE3(R, self.frames.joint_position[j]), R.T @ velocity
        index = self._joint(0, pin.JointModelPX(), pose, rate[:1])
        index = self._joint(index, pin.JointModelPY(), pose, rate[1:2])
        point = pin.Inertia(mass, np.zeros(3), np.zeros((3, 3)))
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
