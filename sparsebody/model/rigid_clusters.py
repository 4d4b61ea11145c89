"""Bodies without mass or moments of inertia, made part of the body that they are welded to.

The mass matrix of a System is regular body by body. A body whose own inertia is singular is
therefore accepted in two cases, both exact:

- Rigid Fixed joints weld it to a body, or to the world. It becomes part of that host: inertias add
  up, joints and forces on it go over to the host, and it is no body of the System, nor is the weld
  a joint.
- It is a point mass on which forces act in its center alone: by Spherical or ConstantDistance
  joints there, by point and external forces. As nothing turns it, any moments will do.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebody import errors, tolerances
from sparsebody._core import model
from sparsebody.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from sparsebody.model.bodies import BodyColumns, Frame, Frames, rotations, trusted
from sparsebody.model.columns import distinct
from sparsebody.model.connections import JointColumns
from sparsebody.model.forces import Beam, Bushing, ExternalForce, Force, JointForce, PointForce
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.spatial import principal_moments, quaternion_from_rotation, summed_inertias

# Joint types whose forces pass through the origins of the frames on predecessor and successor.
THROUGH_ORIGINS = {
    "spherical": (True, True),
    "constant-distance": (True, True),
    "point-on-line": (False, True),
    "point-on-plane": (False, True),
}
ENDS: dict[type[Force], tuple[tuple[str, str], ...]] = {  # bodies, and points or frames on them
    PointForce: (("first", "first_point"), ("second", "second_point")),
    ExternalForce: (("body", "point"),),
    Bushing: (("predecessor", "predecessor_frame"), ("successor", "successor_frame")),
    Beam: (("predecessor", "predecessor_frame"), ("successor", "successor_frame")),
}


def with_regular_inertias(mechanism: Mechanism) -> Mechanism:
    """Return the same mechanism without singular bodies.

    Raises ModelError naming the first body that stays singular, its mass or moments, and the
    remedy.
    """
    bodies, joints = mechanism.columns()
    is_singular = _are_singular(bodies)
    if not is_singular.any():
        return mechanism
    mechanism = _on_hosts(mechanism, _hosts(joints, is_singular))
    remaining = np.flatnonzero(_are_singular(mechanism.columns()[0]))
    return _with_moments(mechanism, remaining) if len(remaining) else mechanism


def _are_singular(bodies: BodyColumns) -> BoolArray:
    """Return (n,) the bodies without mass, or with a principal moment of zero."""
    low, _, high = principal_moments(distinct(bodies.inertia)).T
    return np.asarray((bodies.mass <= 0.0) | (low <= tolerances.MOMENT_TOLERANCE * high))


# ---- rigid clusters -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Hosts:
    """The body that each of n bodies is part of, itself included, and the world's, itself, last."""

    host: IntArray  # (n + 1,)
    rotation: FloatArray  # (n + 1, 3, 3) from the axes of bodies to those of their hosts
    offset: FloatArray  # (n + 1, 3) of the origins of the bodies' frames there [m]

    def moved(self, body: IntArray, frames: Frames) -> Frames:
        """Return frames on bodies in the frames of their hosts."""
        turn = self.rotation[body]
        origin = self.offset[body] + np.einsum("nij,nj->ni", turn, frames.origins)
        return trusted(Frames, origin, quaternion_from_rotation(turn @ frames.rotations))

    def point(self, body: int, point: ArrayLike) -> FloatArray:
        """Return a point (3,) on a body in the frame of its host [m]."""
        return np.asarray(self.offset[body] + self.rotation[body] @ np.asarray(point))


def _hosts(joints: JointColumns, is_singular: BoolArray) -> Hosts:
    """Singular bodies become part of the world, or of the first regular body, of their cluster."""
    n = len(is_singular)
    is_fixed = np.array([kind.name == "fixed" for kind in joints.types], dtype=bool)
    is_fixed = is_fixed[joints.type_index]
    welds = np.flatnonzero(is_fixed & ~joints.compliance.any(axis=(1, 2)))
    frames = joints.predecessor_frame, joints.successor_frame
    cluster, _, rotation, offset = model.placement(
        n + 1,
        np.stack([joints.predecessor, joints.successor])[:, welds] % (n + 1),
        np.stack([of_side.rotations[welds] for of_side in frames]),
        np.stack([of_side.origins[welds] for of_side in frames]),
        n,
    )
    rank = np.append(1 + is_singular, 0)
    order = np.lexsort((rank, cluster))
    first = order[np.unique(cluster[order], return_index=True)[1]]
    host = np.where(rank == 2, first[cluster], np.arange(n + 1))
    turn = np.swapaxes(rotation[host], 1, 2)
    from_host = np.einsum("nij,nj->ni", turn, offset - offset[host])
    return Hosts(host.astype(np.intp), turn @ rotation, from_host)


def _on_hosts(mechanism: Mechanism, hosts: Hosts) -> Mechanism:
    """Return bodies with their members' inertias, and joints and forces between them."""
    host = hosts.host
    n = len(host) - 1
    is_body = host[:n] == np.arange(n)
    index = np.append(np.where(is_body, np.cumsum(is_body) - 1, -1), -1)  # the world is -1
    (bodies, joints), names = mechanism.columns(), mechanism.joint_names
    ends = np.stack([joints.predecessor, joints.successor])
    remaining = np.flatnonzero(host[ends[0]] != host[ends[1]])
    on_hosts = index[host[ends[:, remaining]]]
    chosen, of_remaining = np.flatnonzero(is_body), joints.take(remaining)
    of_remaining = replace(
        of_remaining,
        predecessor=on_hosts[0],
        successor=on_hosts[1],
        predecessor_frame=hosts.moved(of_remaining.predecessor, of_remaining.predecessor_frame),
        successor_frame=hosts.moved(of_remaining.successor, of_remaining.successor_frame),
    )
    moved = (_moved(force, mechanism, hosts) for force in mechanism.forces.values())
    return Mechanism.of_columns(
        mechanism,
        ([mechanism.body_names[i] for i in chosen.tolist()], _added_up(bodies, hosts, chosen)),
        ([names[j] for j in remaining.tolist()], of_remaining),
        [force for force in moved if force is not None],
    )


def _added_up(bodies: BodyColumns, hosts: Hosts, chosen: IntArray) -> BodyColumns:
    """Return chosen hosts with the inertias of all that is part of them."""
    n, host, R = len(bodies), hosts.host[:-1], hosts.rotation[:-1]
    center = hosts.offset[:-1] + np.einsum("nij,nj->ni", R, bodies.center_of_mass)
    turned = R @ bodies.inertia @ np.swapaxes(R, 1, 2)
    mass, middle, inertia = summed_inertias(host, n + 1, np.asarray(bodies.mass), center, turned)
    is_alone = (np.bincount(host, minlength=n + 1) == 1)[chosen]  # to the last bit as given
    columns = bodies.take(chosen)
    changes: dict[str, Any] = {"mass": mass[chosen]}
    for name, summed in (("center_of_mass", middle), ("inertia", inertia)):
        same = is_alone.reshape(-1, *[1] * (summed.ndim - 1))
        changes[name] = np.where(same, getattr(columns, name), summed[chosen])
    return replace(columns, **changes)


def _moved(force: Force, mechanism: Mechanism, hosts: Hosts) -> Force | None:
    """Return a force with hosts in place of bodies; None where it acts within one."""
    n, ends = mechanism.n_bodies, []
    changes: dict[str, Any] = {}
    for name, point_name in ENDS.get(type(force), ()):
        body = mechanism.body_names.find(getattr(force, name)) % (n + 1)
        host, point = int(hosts.host[body]), getattr(force, point_name)
        ends.append(host)
        changes[name] = WORLD if host == n else mechanism.body_names[host]
        if isinstance(point, Frame):
            changes[point_name] = hosts.moved(np.array([body]), Frames.repeated(point, 1))[0]
        else:
            center = mechanism.columns()[0].center_of_mass[body] if point is None else point
            changes[point_name] = hosts.point(body, center)
    if isinstance(force, ExternalForce):
        ends.append(n)
        turn = hosts.rotation[body] if force.axes == "body" else np.eye(3)
        changes |= {name: turn @ np.asarray(getattr(force, name)) for name in ("force", "moment")}
    return None if len(set(ends)) == 1 else replace(force, **changes)


# ---- point masses ---------------------------------------------------------------------------


def _with_moments(mechanism: Mechanism, remaining: IntArray) -> Mechanism:
    """Return moments of m (1 m)^2, and no rotation, for point masses that nothing turns."""
    (bodies, joints), names = mechanism.columns(), mechanism.body_names
    is_turned = _turned(mechanism)
    inertia, angular = np.array(bodies.inertia), np.array(bodies.angular_velocity)
    linear = np.array(bodies.linear_velocity)
    for i in remaining.tolist():
        mass, moments = float(bodies.mass[i]), principal_moments(bodies.inertia[i : i + 1])[0]
        who = f"body {names[i]!r}"
        if mass <= 0.0:
            raise errors.ModelError(
                f"{who}: mass {mass} kg; give a positive one, weld it by a Fixed joint to a body, "
                "or leave it out: a Universal joint stands for a massless cross, a "
                "ConstantDistance for a massless rod"
            )
        if is_turned[i] or moments.any():
            raise errors.ModelError(
                f"{who}: the rotational inertia has principal moments "
                f"{', '.join(f'{moment:.9g}' for moment in moments)} kg m^2 and is not positive "
                "definite; give every axis a positive moment (a thin rod: a small radius), weld it "
                "by a Fixed joint to a body, or let forces act on a point mass in its center only"
            )
        inertia[i] = mass * np.eye(3)
        arm = rotations(bodies.orientation[i : i + 1])[0] @ bodies.center_of_mass[i]
        linear[i] += np.cross(angular[i], arm)
        angular[i] = 0.0
    moving = replace(bodies, inertia=inertia, linear_velocity=linear, angular_velocity=angular)
    return Mechanism.of_columns(mechanism, (names, moving), (mechanism.joint_names, joints))


def _turned(mechanism: Mechanism) -> BoolArray:
    """Return (n,) whether a joint or a force can turn a body about its center of mass."""
    (bodies, joints), forces = mechanism.columns(), mechanism.forces.values()
    center = np.append(bodies.center_of_mass, np.zeros((1, 3)), axis=0)
    is_turned = np.zeros(len(center), dtype=bool)  # the world last, at -1

    def act(body: IntArray, point: FloatArray, has_moment: BoolArray) -> None:
        arm = np.linalg.norm(point - center[body], axis=1)
        is_off = arm > tolerances.ELEMENT_TOLERANCE * (1.0 + np.linalg.norm(point, axis=1))
        is_turned[body[is_off | has_moment]] = True

    table = [THROUGH_ORIGINS.get(kind.name, (False, False)) for kind in joints.types]
    has_moment = ~np.array(table, dtype=bool).reshape(-1, 2)[joints.type_index]
    has_moment[joints.compliance.any(axis=(1, 2))] = True
    forced = [force.joint for force in forces if isinstance(force, JointForce)]
    has_moment[mechanism.joint_names.find_all(forced)] = True
    act(joints.predecessor, joints.predecessor_frame.origins, has_moment[:, 0])
    act(joints.successor, joints.successor_frame.origins, has_moment[:, 1])
    for force in forces:
        for name, point_name in ENDS.get(type(force), ()):
            body = mechanism.body_names.find_all([getattr(force, name)])
            point = getattr(force, point_name)
            is_moment = isinstance(point, Frame) or np.any(getattr(force, "moment", 0.0))
            at_center = center[body] if isinstance(point, Frame) or point is None else point[None]
            act(body, at_center, np.array([is_moment]))
    return is_turned[:-1]
