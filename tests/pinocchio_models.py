"""The same mechanism for Pinocchio: ABA on trees, constraintDynamics where loops are closed.

Pinocchio's spatial vectors are linear first, its joints are those of the parent tree, its body
frame is the joint frame S, and its constraint forces act on the first joint of a constraint.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

import sparsebody as sb
from sparsebody.kinematics.joint_motion import joint_motion
from sparsebody.spatial import quaternion_from_rotation, rotation_about

Joint = tuple[
    sb.JointType, np.ndarray, np.ndarray
]  # the type, and the pose (E, r) of S seen from P


def unit_columns(*axes):
    """Columns of the 6x6 identity: angular axes 0, 1, 2 and linear axes 3, 4, 5."""
    return np.eye(6)[:, list(axes)]


def composite(*joints, last=None):
    """Several joints as one, `last` being placed in the frame of the one before."""
    model = pin.JointModelComposite()
    for joint in joints[:-1]:
        model.addJoint(joint)
    model.addJoint(joints[-1], last or pin.SE3.Identity())
    return model


def scalars(joint):
    """Our own coordinates of the joint."""
    joint_type, E, r = joint
    return joint_type.coordinates(E, r)


def turn(R):
    """The quaternion (x, y, z, w) of a rotation from S to P coordinates."""
    return np.roll(quaternion_from_rotation(R), -1)


def our_subspace(joint):
    """S of our own coordinates."""
    return joint[0].motion_subspace(scalars(joint))


def slides_then_ball(*axes):
    """S of slides along axes of P followed by a ball."""

    def subspace(joint):
        S = np.zeros((6, len(axes) + 3))
        S[3:, : len(axes)] = joint[1][:, list(axes)]
        S[:3, len(axes) :] = np.eye(3)
        return S

    return subspace


def planar_position(joint):
    x, y, angle = scalars(joint)
    return np.array([x, y, math.cos(angle), math.sin(angle)])


def rod_angles(r):
    """Angles (a, b) with r along Rx(a) Ry(b) e_z."""
    return math.atan2(-r[1], r[2]), math.asin(r[0] / np.linalg.norm(r))


def rod_position(joint):
    _, E, r = joint
    a, b = rod_angles(r)
    swung = rotation_about([1, 0, 0], a) @ rotation_about([0, 1, 0], b)
    return np.concatenate([[a, b], turn(swung.T @ E.T)])


def rod_subspace(joint):
    """S of two hinges at P, the second along the turned y axis, and a ball at the other end."""
    _, E, r = joint
    arms = np.column_stack([[1.0, 0.0, 0.0], rotation_about([1, 0, 0], rod_angles(r)[0])[:, 1]])
    S = np.zeros((6, 5))
    S[:3, :2] = E @ arms
    S[3:, :2] = E @ np.cross(arms.T, r).T
    S[:3, 2:] = np.eye(3)
    return S


def rod(joint_type):
    assert isinstance(joint_type, sb.ConstantDistance)
    end = pin.SE3(np.eye(3), np.array([0.0, 0.0, joint_type.length]))
    return composite(pin.JointModelRX(), pin.JointModelRY(), pin.JointModelSpherical(), last=end)


@dataclass(frozen=True)
class Counterpart:
    """What Pinocchio calls a joint type: its model, its position and its S (angular first)."""

    model: Callable[[sb.JointType], pin.JointModel]
    position: Callable[[Joint], np.ndarray] = scalars
    subspace: Callable[[Joint], np.ndarray] = our_subspace


COUNTERPARTS = {
    "revolute": Counterpart(lambda _: pin.JointModelRZ()),
    "prismatic": Counterpart(lambda _: pin.JointModelPZ()),
    "helical": Counterpart(lambda screw: pin.JointModelHZ(screw.parameter)),
    "cylindrical": Counterpart(lambda _: composite(pin.JointModelRZ(), pin.JointModelPZ())),
    "planar": Counterpart(
        lambda _: pin.JointModelPlanar(), planar_position, lambda _: np.eye(6)[:, [3, 4, 2]]
    ),
    "spherical": Counterpart(
        lambda _: pin.JointModelSpherical(),
        lambda joint: turn(joint[1].T),
        lambda _: np.eye(6)[:, [0, 1, 2]],
    ),
    "universal": Counterpart(
        lambda _: pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]))
    ),
    "free": Counterpart(
        lambda _: pin.JointModelFreeFlyer(),
        lambda joint: np.concatenate([joint[2], turn(joint[1].T)]),
        lambda _: np.eye(6)[:, [3, 4, 5, 0, 1, 2]],
    ),
    "point-on-line": Counterpart(
        lambda _: composite(pin.JointModelPZ(), pin.JointModelSpherical()),
        lambda joint: np.concatenate([joint[2][2:], turn(joint[1].T)]),
        slides_then_ball(2),
    ),
    "point-on-plane": Counterpart(
        lambda _: composite(pin.JointModelPX(), pin.JointModelPY(), pin.JointModelSpherical()),
        lambda joint: np.concatenate([joint[2][:2], turn(joint[1].T)]),
        slides_then_ball(0, 1),
    ),
    "constant-distance": Counterpart(rod, rod_position, rod_subspace),
}  # besides "fixed", which merges two bodies into one


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


def motion(vector):
    return np.concatenate([vector.angular, vector.linear])


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

    def _successor_frame(self, j):
        """S in the successor's com frame."""
        return pin.SE3(self.system.successor_rotation[j], self.system.successor_point[j])

    def _predecessor_anchor(self, j):
        system = self.system
        carrier = self.anchors[int(system.predecessor[j])]
        return carrier.then(system.predecessor_rotation[j], system.predecessor_point[j])

    def _add_children(self, body):
        """Depth first, because Pinocchio wants subtrees to be contiguous."""
        for child, j in self.tree.items():
            if self.system.predecessor[j] == body:
                share = 0.5 if self.halves[child] else 1.0
                self.anchors[child] = self._add_body(j, child, share)
                self._add_children(child)
        for j in self.loops:
            if self.system.predecessor[j] == body:
                self._add_half(j)

    def _add_body(self, j, body, share):
        """Add joint j with a body; return the anchor of its com frame."""
        joint = self._joint(j)
        base = self._predecessor_anchor(j)
        to_com = self._successor_frame(j).inverse()
        if joint[0].name == "fixed":
            anchor = base.then(joint[1].T, joint[2])
            anchor = Anchor(anchor.joint, anchor.placement * to_com)
        else:
            model = COUNTERPARTS[joint[0].name].model(joint[0])
            name = f"{self.system.joint_names[j]} {len(self.model.joints)}"
            index = self.model.addJoint(base.joint, model, base.placement, name)
            self.of_joint[j] = index
            anchor = Anchor(index, to_com)
        mass = share * (self.system.mass[body] if body >= 0 else 1.0)
        inertia = share * (self.system.inertia[body] if body >= 0 else np.eye(3))
        inertia = pin.Inertia(mass, np.zeros(3), np.array(inertia))
        self.model.appendBodyToJoint(anchor.joint, inertia, anchor.placement)
        return anchor

    def _add_half(self, j):
        """Add a body of its own at the end of a loop joint, to be welded to the successor."""
        successor = int(self.system.successor[j])
        self.welds.append((self._add_body(j, successor, 0.5 / self.halves[successor]), successor))

    def position(self):
        """Pinocchio's q."""
        q = pin.neutral(self.model)
        for j, index in self.of_joint.items():
            part, joint = self.model.joints[index], self._joint(j)
            q[part.idx_q : part.idx_q + part.nq] = COUNTERPARTS[joint[0].name].position(joint)
        return q

    def _along_joints(self, wrench, velocity):
        """Pinocchio's v from v_J, or its tau from wrenches in S: (n_joints, 6) both."""
        result = np.zeros(self.model.nv)
        for j, index in self.of_joint.items():
            part, joint = self.model.joints[index], self._joint(j)
            S = COUNTERPARTS[joint[0].name].subspace(joint)
            value = np.linalg.pinv(S) @ wrench[j] if velocity else S.T @ wrench[j]
            result[part.idx_v : part.idx_v + part.nv] = value
        return result

    def solve(self, active, body_force, *, mu=1e-10):
        """Accelerations with active joint wrenches (n_joints, 6) in S and wrenches on the bodies.

        ABA where there is no loop; `mu` is the regularization of the proximal iteration.
        """
        if self.model.nv == 0:  # Pinocchio crashes where all bodies are fixed
            at_rest = np.zeros((self.system.n_bodies, 6))
            return Solution(at_rest, at_rest)
        q, v = self.position(), self._along_joints(self.joint_motion.velocity, velocity=True)
        tau = self._along_joints(active, velocity=False) + self._generalized(q, body_force)
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
        return np.array([motion(a.placement.actInv(vectors[a.joint])) for a in anchors])

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
