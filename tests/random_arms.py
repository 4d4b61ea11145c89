"""Random arms and trees of hinges and slides, and the same for Pinocchio."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from pinocchio_models import PinocchioModel
from random_mechanisms import random_inertia

from sparsebody.classical import Arm
from sparsebody.spatial import rotation_about

RIGHT_ANGLES = np.pi / 2 * np.array([-1, 0, 0, 1, 2])


def random_table(rng, n, *, special=False):
    """DH parameters (theta, d, a, alpha), in general position or with many zeros."""
    table = rng.uniform(-1.0, 1.0, size=(n, 4)) * [np.pi, 0.5, 1.0, np.pi]
    if special:
        table[:, 3] = rng.choice(RIGHT_ANGLES, size=n)
        table[:, 1:3] *= rng.integers(0, 2, size=(n, 2))
    return table


def random_arm(rng, n, *, convention="standard", tree=False):
    """Joints of both kinds; gravity in any direction."""
    mass = rng.uniform(0.5, 2.0, size=n)
    return Arm.from_dh(
        random_table(rng, n, special=bool(rng.integers(2))),
        mass,
        0.3 * rng.normal(size=(n, 3)),
        [random_inertia(rng, m) for m in mass],
        joints="".join(rng.choice(list("RRP"), size=n)),
        convention=convention,
        parent=[int(rng.integers(-1, i)) for i in range(n)] if tree else None,
        gravity=5.0 * rng.normal(size=3),
    )


@dataclass(frozen=True, eq=False)
class Instant:
    """Coordinates, rates and wrenches at random."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    wrench: np.ndarray

    @classmethod
    def random(cls, rng, n):
        return cls(*rng.normal(size=(3, n)), rng.normal(size=(n, 6)))


class PinocchioArm:
    """The same links, numbered depth first as Pinocchio wants them."""

    def __init__(self, arm):
        system = arm.mechanism().compile()
        peer = PinocchioModel(system, system.initial_state)
        self.model, self.data = peer.model, peer.data
        self.index = np.array([peer.of_joint[i] for i in range(arm.n)])  # of Pinocchio's joints
        self.order = self.index - 1  # our joint -> Pinocchio's velocity

    def _theirs(self, ours):
        return ours[np.argsort(self.order)]

    def _forces(self, wrench):
        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        for index, f in zip(self.index, [] if wrench is None else wrench, strict=False):
            forces[int(index)] = pin.Force(f[3:], f[:3])
        return forces

    def rnea(self, at, wrench=None):
        q, qd, qdd = (self._theirs(x) for x in (at.q, at.qd, at.qdd))
        return pin.rnea(self.model, self.data, q, qd, qdd, self._forces(wrench))[self.order]

    def aba(self, at, tau, wrench=None):
        q, qd, tau = (self._theirs(x) for x in (at.q, at.qd, tau))
        return pin.aba(self.model, self.data, q, qd, tau, self._forces(wrench))[self.order]


@dataclass(frozen=True, eq=False)
class Case:
    """A random arm at an instant, and what Pinocchio finds."""

    arm: Arm
    at: Instant
    theirs: PinocchioArm

    @classmethod
    def random(cls, rng, n, *, tree=False, convention="modified"):
        arm = random_arm(rng, n, convention=convention, tree=tree)
        return cls(arm, Instant.random(rng, n), PinocchioArm(arm))

    @cached_property
    def tau(self):
        return self.theirs.rnea(self.at)

    @cached_property
    def loaded(self):
        """Tau with the wrenches on the links."""
        return self.theirs.rnea(self.at, self.at.wrench)

    @cached_property
    def qdd(self):
        return self.theirs.aba(self.at, self.tau)


def tip_pose(arm, q):
    """Rotation and position of the tip in the base, link by link."""
    motion = arm.motion(q, q, q)
    R, x = np.eye(3), np.zeros(3)
    for turn, shift in zip(motion.rotation, motion.translation, strict=True):
        R, x = R @ turn, x + R @ shift
    return R @ rotation_about([1, 0, 0], arm.tip_twist), x + arm.tip_length * R[:, 0]
