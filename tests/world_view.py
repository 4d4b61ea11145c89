"""Mechanisms in world axes, one body, joint and load at a time: what oracles see."""

import numpy as np

from sparsebody.spatial import rotation_from_quaternion


class WorldView:
    """Poses, velocities and joint frames in world axes, one body and one joint at a time."""

    def __init__(self, system, state):
        self.system = system
        orientation = [*state.orientation, [1.0, 0.0, 0.0, 0.0]]  # the last one is the world
        self.rotation = [rotation_from_quaternion(np.array(q)) for q in orientation]
        self.center, velocity = (
            [*x, np.zeros(x.shape[1])] for x in (state.position, state.velocity)
        )
        self.spin = [R @ v[:3] for R, v in zip(self.rotation, velocity, strict=True)]
        self.speed = [R @ v[3:] for R, v in zip(self.rotation, velocity, strict=True)]

    def position(self, body, point):
        """Where a point of a body is."""
        return self.center[body] + self.rotation[body] @ point

    def joint_frame(self, j, side):
        """Axes (columns) and origin of P or S."""
        name = {"P": "predecessor", "S": "successor"}[side]
        body, R, x = (getattr(self.system, name + of)[j] for of in ("", "_rotation", "_point"))
        return self.rotation[body] @ R, self.position(body, x)

    def point_velocity(self, body, position):
        """Velocity of the point of a body that is at `place`."""
        return self.speed[body] + np.cross(self.spin[body], position - self.center[body])

    def relative_pose(self, j):
        """(E, r) of S seen from P."""
        (R_P, x_P), (R_S, x_S) = self.joint_frame(j, "P"), self.joint_frame(j, "S")
        return R_S.T @ R_P, R_P.T @ (x_S - x_P)

    def joint_velocity(self, j):
        """v_J in S coordinates."""
        R, position = self.joint_frame(j, "S")
        p, s = self.system.predecessor[j], self.system.successor[j]
        speed = self.point_velocity(s, position) - self.point_velocity(p, position)
        return np.concatenate([R.T @ (self.spin[s] - self.spin[p]), R.T @ speed])


def active_wrenches(system, state):
    """T_a tau (n_joints, 6) in S, of springs, dampers and efforts on joint coordinates."""
    view, forces, tracked = WorldView(system, state), system.joint_forces, system.coordinates
    wrench = np.zeros((system.n_joints, 6))
    for k, item in enumerate(forces.item):
        j, i = tracked.joint[item], tracked.index[item]
        joint_type = system.joint_types[j]
        q = joint_type.coordinates(*view.relative_pose(j))
        T_a = joint_type.active_force_subspace(q)[:, i]
        tau = forces.effort[k](state.time)[0]
        tau -= forces.damping[k] * (T_a @ view.joint_velocity(j))
        if forces.stiffness[k]:  # a quaternion, if any, comes before the scalars
            value = q[i + joint_type.n_positions - joint_type.n_velocities]
            if tracked.is_angle[item]:
                value += 2 * np.pi * np.round((state.coordinate[item] - value) / (2 * np.pi))
            tau -= forces.stiffness[k] * (value - forces.rest[k])
        wrench[j] += T_a * tau
    return wrench


def joint_loads(view, wrench):
    """Yield (body, place, moment, force) of wrenches (n_joints, 6) on the successors, in S."""
    for j, (p, s) in enumerate(zip(view.system.predecessor, view.system.successor, strict=True)):
        R, position = view.joint_frame(j, "S")
        moment, force = wrench[j].reshape(2, 3) @ R.T
        yield s, position, moment, force
        yield p, position, -moment, -force


def applied_loads(system, state):
    """Yield (body, place, moment, force) of gravity, loads, and springs but elastic elements."""
    view, nothing = WorldView(system, state), np.zeros(3)
    for i, mass in enumerate(system.mass):
        yield i, view.center[i], nothing, mass * system.gravity
    loads, lines = system.external_forces, system.point_forces
    for i, wrench, point, in_world in zip(
        loads.body, loads.wrench, loads.point, loads.in_world, strict=True
    ):
        axes = np.eye(3) if in_world else view.rotation[i]
        yield i, view.position(i, point), *(wrench.reshape(2, 3) @ axes.T)
    yield from joint_loads(view, active_wrenches(system, state))
    for k in range(len(lines.first)):
        bodies, points = (lines.first[k], lines.second[k]), (lines.first_point, lines.second_point)
        start, end = (view.position(i, of[k]) for i, of in zip(bodies, points, strict=True))
        length = np.linalg.norm(end - start)
        along = (end - start) / length
        speeds = [view.point_velocity(i, x) for i, x in zip(bodies, (start, end), strict=True)]
        pull = lines.stiffness[k] * (length - lines.rest_length[k])
        pull += lines.damping[k] * ((speeds[1] - speeds[0]) @ along)
        pull -= lines.effort[k](state.time)[0]
        yield bodies[0], start, nothing, pull * along
        yield bodies[1], end, nothing, -pull * along
