"""The same mechanism for Pinocchio: ABA on trees, constraintDynamics where loops are closed.

Pinocchio's spatial vectors are linear first, its joints are those of the parent tree, its body
frame is the joint frame S, and its constraint forces act on the first joint of a constraint.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sparsebody.kinematics.joint_motion import joint_motion
from sparsebody.spatial import quaternion_from_rotation, rotation_about

ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


def composite(*joints, last=None):
    """Several joints as one, `last` being placed in the frame of the one before."""
    model = pin.JointModelComposite()
    for joint in joints[:-1]:
        model.addJoint(joint)
    model.addJoint(joints[-1], last or pin.SE3.Identity())
    return model


def rod(joint_type):
    end = pin.SE3(np.eye(3), np.array([0.0, 0.0, joint_type.length]))
    return composite(pin.JointModelRX(), pin.JointModelRY(), pin.JointModelSpherical(), last=end)


# Pinocchio's q where S is seen from P at (E, r), of a joint type of ours.


def scalars(joint_type, E, r):
    return joint_type.coordinates(E, r)


def turn(_, E, r):
    """The quaternion (x, y, z, w) from S to P coordinates."""
    return np.roll(quaternion_from_rotation(E.T), -1)


def planar_position(joint_type, E, r):
    x, y, angle = scalars(joint_type, E, r)
    return np.array([x, y, math.cos(angle), math.sin(angle)])


def rod_position(_, E, r):
    """Angles (a, b) with r along Rx(a) Ry(b) e_z, and the turn of the other end."""
    a, b = math.atan2(-r[1], r[2]), math.asin(r[0] / np.linalg.norm(r))
    swung = rotation_about([1, 0, 0], a) @ rotation_about([0, 1, 0], b)
    return np.concatenate([[a, b], turn(_, E @ swung, r)])


def slid(*axes):
    """Slides along some axes, then a ball."""
    return lambda _, E, r: np.concatenate([r[list(axes)], turn(_, E, r)])


COUNTERPARTS = {  # besides "fixed", which merges two bodies into one
    "revolute": (lambda _: pin.JointModelRZ(), scalars),
    "prismatic": (lambda _: pin.JointModelPZ(), scalars),
    "helical": (lambda screw: pin.JointModelHZ(screw.parameter), scalars),
    "cylindrical": (lambda _: composite(pin.JointModelRZ(), pin.JointModelPZ()), scalars),
    "planar": (lambda _: pin.JointModelPlanar(), planar_position),
    "spherical": (lambda _: pin.JointModelSpherical(), turn),
    "universal": (lambda _: pin.JointModelUniversal(*np.eye(3)[:2]), scalars),
    "free": (lambda _: pin.JointModelFreeFlyer(), slid(0, 1, 2)),
    "point-on-line": (lambda _: composite(pin.JointModelPZ(), pin.JointModelSpherical()), slid(2)),
    "point-on-plane": (
        lambda _: composite(pin.JointModelPX(), pin.JointModelPY(), pin.JointModelSpherical()),
        slid(0, 1),
    ),
    "constant-distance": (rod, rod_position),
}


@dataclass(frozen=True, eq=False)
class Anchor:
    """Where a frame sits: the joint whose body carries it, and its placement there."""

    joint: int
    placement: pin.SE3

    def then(self, rotation, point):
        """The anchor of a frame placed in this one."""
        return Anchor(self.joint, self.placement * pin.SE3(np.array(rotation), np.array(point)))


@dataclass(frozen=True, eq=False)
class Solution:
    """What Pinocchio finds, in our conventions: angular first, body coordinates."""

    velocity: np.ndarray  # (n_bodies, 6)
    acceleration: np.ndarray  # (n_bodies, 6)


class PinocchioModel:
    """A mechanism at a state; tree joints are those that first reach their successor.

    A loop joint ends in a body of its own, which takes a share of the true successor's inertia and
    is welded to it.
    """

    def __init__(self, system, state):
        self.system, self.state = system, state
        self.joint_motion = joint_motion(system, state)
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(system.gravity), np.zeros(3))
        self.anchors = {-1: Anchor(0, pin.SE3.Identity())}  # of the com frames
        self.of_joint = {}  # our joint -> Pinocchio's
        self.welds = []
        self.tree = self._tree()
        self.loops = [
            j
            for j, kind in enumerate(system.joint_types)
            if j not in self.tree.values() and kind.name != "free"
        ]
        self.halves = Counter(int(system.successor[j]) for j in self.loops)
        self._add_children(-1)
        self.data = self.model.createData()
        assert self.model.check(self.data)

    def _tree(self):
        """The tree joint of every body."""
        tree = {}
        for j in range(self.system.n_joints):
            p, s = int(self.system.predecessor[j]), int(self.system.successor[j])
            if s >= 0 and s not in tree and (p < 0 or p in tree):
                tree[s] = j
        assert len(tree) == self.system.n_bodies, "declare the joints from the world outwards"
        return tree

    def _joint(self, j):
        of = self.joint_motion
        return self.system.joint_types[j], of.rotation[j], of.translation[j]

    def _add_children(self, body):
        """Depth first, because Pinocchio wants subtrees to be contiguous."""
        for child, j in self.tree.items():
            if self.system.predecessor[j] == body:
                share = 0.5 if self.halves[child] else 1.0
                self.anchors[child] = self._add_body(j, child, share)
                self._add_children(child)
        for j in self.loops:  # to be welded to the successor
            if self.system.predecessor[j] == body:
                end = int(self.system.successor[j])
                self.welds.append((self._add_body(j, end, 0.5 / self.halves[end]), end))

    def _add_body(self, j, body, share):
        """Add joint j with a body; return the anchor of its com frame."""
        joint, system = self._joint(j), self.system
        base = self.anchors[int(system.predecessor[j])]
        base = base.then(system.predecessor_rotation[j], system.predecessor_point[j])
        to_com = pin.SE3(system.successor_rotation[j], system.successor_point[j]).inverse()
        if joint[0].name == "fixed":
            anchor = base.then(joint[1].T, joint[2])
            anchor = Anchor(anchor.joint, anchor.placement * to_com)
        else:
            model = COUNTERPARTS[joint[0].name][0](joint[0])
            name = f"{system.joint_names[j]} {len(self.model.joints)}"
            index = self.model.addJoint(base.joint, model, base.placement, name)
            self.of_joint[j] = index
            anchor = Anchor(index, to_com)
        mass = share * (system.mass[body] if body >= 0 else 1.0)
        inertia = share * (system.inertia[body] if body >= 0 else np.eye(3))
        inertia = pin.Inertia(mass, np.zeros(3), np.array(inertia))
        self.model.appendBodyToJoint(anchor.joint, inertia, anchor.placement)
        return anchor

    def position(self):
        """Pinocchio's q."""
        q = pin.neutral(self.model)
        for j, index in self.of_joint.items():
            part, joint = self.model.joints[index], self._joint(j)
            q[part.idx_q : part.idx_q + part.nq] = COUNTERPARTS[joint[0].name][1](*joint)
        return q

    def along_joints(self, wrench, *, is_velocity=False):
        """Pinocchio's tau of wrenches in S, or its v of v_J: (n_joints, 6) both."""
        pin.forwardKinematics(self.model, self.data, self.position())
        result = np.zeros(self.model.nv)
        for j, index in self.of_joint.items():
            part = self.model.joints[index]
            S = self.data.joints[index].S.reshape(6, -1)[ANGULAR_FIRST]
            value = np.linalg.pinv(S) @ wrench[j] if is_velocity else S.T @ wrench[j]
            result[part.idx_v : part.idx_v + part.nv] = value
        return result

    def solve(self, active, body_force, *, mu=1e-10):
        """Accelerations with active joint wrenches (n_joints, 6) in S and wrenches on the bodies.

        ABA where there is no loop; `mu` is the regularization of the proximal iteration.
        """
        if self.model.nv == 0:  # Pinocchio crashes where all bodies are fixed
            at_rest = np.zeros((self.system.n_bodies, 6))
            return Solution(at_rest, at_rest)
        q, v = self.position(), self.along_joints(self.joint_motion.velocity, is_velocity=True)
        tau = self.along_joints(active) + self._generalized(q, body_force)
        contacts, contact_data = self._contacts()
        if contacts:
            pin.initConstraintDynamics(self.model, self.data, contacts, contact_data)
            settings = pin.ProximalSettings(1e-14, mu, 200)
            qdd = pin.constraintDynamics(
                self.model, self.data, q, v, tau, contacts, contact_data, settings
            )
        else:
            qdd = pin.aba(self.model, self.data, q, v, tau)
        pin.forwardKinematics(self.model, self.data, q, v, qdd)  # data.a without gravity
        return Solution(self._of_bodies(self.data.v), self._of_bodies(self.data.a))

    def _of_bodies(self, vectors):
        """Motion vectors of joints, seen from the com frames of the bodies."""
        anchors = [self.anchors[i] for i in range(self.system.n_bodies)]
        moved = [a.placement.actInv(vectors[a.joint]).vector for a in anchors]
        return np.array(moved)[:, ANGULAR_FIRST]

    def _generalized(self, q, body_force):
        """J' f of wrenches (n_bodies, 6) in com frames."""
        pin.computeJointJacobians(self.model, self.data, q)
        tau = np.zeros(self.model.nv)
        for i, wrench in enumerate(body_force):
            anchor = self.anchors[i]
            J = pin.getJointJacobian(self.model, self.data, anchor.joint, pin.LOCAL)
            tau += J.T @ anchor.placement.act(pin.Force(wrench[3:], wrench[:3])).vector
        return tau

    def _contacts(self):
        contacts, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for half, successor in self.welds:
            first, second = half, self.anchors[successor]
            if first.joint == 0:  # the world must be the second
                first, second = second, first
            ends = first.joint, first.placement, second.joint, second.placement
            kind = pin.ContactType.CONTACT_6D
            contact = pin.RigidConstraintModel(kind, self.model, *ends, pin.LOCAL)
            contacts.append(contact)
            data.append(contact.createData())
        return contacts, data
