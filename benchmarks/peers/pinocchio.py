"""Pinocchio: ABA on trees, constraintDynamics and LCABA where loops are closed.

Its spatial vectors are linear first. Balls are JointModelSpherical, but three hinges in a row for
ABA and LCABA: with JointModelSpherical, ABA's error grows with the depth of the tree (1e-9 at 25,
all digits at 60), and LCABA returns wrong accelerations. A sphere on a plane is a point
mass on two slides, taken from the body, with a ball between them.

The wheel allocates four nv x nv x nv arrays for second derivatives, so that it stops near nv = 550.
No algorithm here uses them: "lean" is Pinocchio compiled from its headers with those arrays empty,
which is its best case. That program is built once, in out/, by `lean/Makefile`.
"""

import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from benchmarks.peers.tree import TreeJoint, TreeKind, TreeModel, UnsupportedError
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem
from sparsebody.study.measure import Prepared

PROGRAM = Path("out") / "pinocchio-lean" / "lean"


class Settings(NamedTuple):
    """Tree and proximal parameters, from scans on these very mechanisms."""

    tree: TreeKind
    mu: float
    iterations: int
    tolerance: float = 1e-12  # of the proximal iteration

    def __str__(self) -> str:
        return f"{self.tree} tree, mu {self.mu:g}, tolerance {self.tolerance:g}"


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

    def __init__(self, problem: Problem, kind: TreeKind, balls_as_hinges: bool) -> None:
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
        self.q, self.v = pin.neutral(self.model), np.concatenate(self.rate)
        self.tau = np.zeros(self.model.nv)

    @cached_property
    def data(self) -> pin.Data:
        """Work arrays, some of them cubic: not to be made for the compiled program."""
        return self.model.createData()

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
        if tree.is_hinge:
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
        positions = ((end, self.world[end].actInv(self._pose(j))) for end in ends)
        kind = pin.ContactType.CONTACT_3D
        contact = pin.RigidConstraintModel(kind, self.model, *chain(*positions), pin.LOCAL)
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
            result[i] = *a.angular, *a.linear
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


def derivatives(problem: Problem) -> Prepared:
    """Derivatives of the articulated-body algorithm by positions, velocities and forces."""
    model = Model(problem, "breadth-first", balls_as_hinges=True)
    return Prepared(
        lambda: pin.computeABADerivatives(*model.arguments)[0],
        lambda: model.accelerations(pin.aba(*model.arguments)),
    )


def crba(problem: Problem) -> Prepared:
    """Composite-rigid-body algorithm and U D U'."""
    peer = Model(problem, "breadth-first", balls_as_hinges=False)
    model, data, q, v, _ = peer.arguments

    def factor() -> FloatArray:
        pin.crba(model, data, q)
        return np.asarray(pin.cholesky.decompose(model, data))

    def accelerations() -> FloatArray:
        bias = pin.nonLinearEffects(model, data, q, v)
        factor()
        return peer.accelerations(pin.cholesky.solve(model, data, -bias))

    return Prepared(factor, accelerations)


Scans = Mapping[str, Settings]


def _chosen(problem: Problem, settings: Scans) -> Settings:
    return settings.get(problem.mechanism, settings[ANY])


def constraint_dynamics(problem: Problem) -> Prepared:
    """Sparse Cholesky factorization in joint space."""
    chosen = _chosen(problem, DIRECT)
    model = Model(problem, chosen.tree, balls_as_hinges=False)
    pin.initConstraintDynamics(model.model, model.data, model.contacts, model.contact_data)
    return _iterated(model, pin.constraintDynamics, chosen)


def lcaba(problem: Problem, settings: Scans = FASTEST) -> Prepared:
    """Loop-constrained articulated-body algorithm with its fastest settings."""
    chosen = _chosen(problem, settings)
    model = Model(problem, chosen.tree, balls_as_hinges=True)
    pin.computeJointMinimalOrdering(model.model, model.data, model.contacts)
    return _iterated(model, pin.lcaba, chosen)


lcaba_accurate = partial(lcaba, settings=ACCURATE)  # more, better conditioned iterations


def _iterated(model: Model, algorithm: Callable[..., FloatArray], of: Settings) -> Prepared:
    settings = pin.ProximalSettings(of.tolerance, of.mu, of.iterations)
    arguments = (*model.arguments, model.contacts, model.contact_data, settings)
    return prepared(model, lambda: algorithm(*arguments), str(of))


# ---- the same algorithms, compiled without cubic arrays ------------------------------------------


def _numbers(*arrays: FloatArray | float) -> str:
    return " ".join(repr(float(x)) for array in arrays for x in np.asarray(array).ravel())


def _pose(position: pin.SE3) -> str:
    return _numbers(position.rotation, position.translation)


def _lines(model: Model, algorithm: str, of: Settings) -> Iterator[str]:
    """Write a model as the program reads it."""
    yield f"{algorithm} {of.tolerance!r} {of.mu!r} {of.iterations}"
    yield _numbers(model.model.gravity.linear)
    yield str(model.model.njoints - 1)
    for i in range(1, model.model.njoints):
        yield f"{model.model.joints[i].shortname()} {model.model.parents[i]}"
        yield _pose(model.model.jointPlacements[i])
        inertia = model.model.inertias[i]
        yield _numbers(inertia.mass, inertia.lever, inertia.inertia)
    yield _numbers(model.v)
    yield str(len(model.contacts))
    for contact in model.contacts:
        yield f"{contact.joint1_id} {_pose(contact.joint1_placement)}"
        yield f"{contact.joint2_id} {_pose(contact.joint2_placement)}"


def _lean(
    problem: Problem, *, algorithm: str, settings: Scans, balls_as_hinges: bool = True
) -> Prepared:
    of = _chosen(problem, settings)
    if not PROGRAM.exists():  # two minutes that no measured case may take
        raise ImportError("not compiled yet: make -f benchmarks/peers/lean/Makefile")
    model = Model(problem, of.tree, balls_as_hinges)
    text = "\n".join(_lines(model, algorithm, of))
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGKILL:  # by the system; the limit makes it std::bad_alloc
        raise MemoryError("killed for want of memory")
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()[-200:]}")
    cpu_and_wall, *rest = done.stdout.strip().splitlines()
    cpu = float(cpu_and_wall.split()[0])
    joints = [pin.Motion(np.array(line.split(), dtype=float)) for line in rest]
    return Prepared(lambda: cpu, lambda: model.of_bodies(joints), f"C++, {of}", times_itself=True)


lean_aba = partial(_lean, algorithm="aba", settings={ANY: Settings("breadth-first", 0.0, 1)})
lean_constraint_dynamics = partial(
    _lean, algorithm="constraint-dynamics", settings=DIRECT, balls_as_hinges=False
)
lean_lcaba = partial(_lean, algorithm="lcaba", settings=FASTEST)
lean_lcaba_accurate = partial(_lean, algorithm="lcaba", settings=ACCURATE)
