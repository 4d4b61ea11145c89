"""Slow, dense and clear: what the sparse system must give, found in other ways."""

import numpy as np
from textbook import assemble

from sparsebody.kinematics.joint_motion import prescribed_motion
from sparsebody.spatial import rotation_from_quaternion
from sparsebody.tree.loop_constraints import loop_rows
from sparsebody.tree.recursions import link_accelerations, powers

_RANK_TOLERANCE = 1e-9  # of singular values, relative to the largest


def gauss_accelerations(system, state, body_force=None, shift=0.0):
    """Accelerations (n_bodies, 6) and the smallest multipliers, by Gauss's principle.

    Minimize (a - a_free)' I (a - a_free) subject to A a = gamma + shift, in world coordinates, by
    the pseudo-inverse of A, rows of unit norm in the metric of I: they may depend on each other,
    and where they contradict each other the sum of squares is least.
    """
    book = assemble(system, state)
    n = 6 * system.n_bodies
    inertia, A, right = book.inertia.toarray(), book.rows, np.array(book.right_hand_side)
    if body_force is not None:
        to_body = book.world_to_body
        right[:n] += np.einsum("nij,ni->nj", to_body, body_force).ravel()
    free = np.linalg.solve(inertia, right[:n])
    L = np.linalg.cholesky(inertia)
    whitened = np.linalg.solve(L, A.T).T  # A L^-T
    norm = np.linalg.norm(whitened, axis=1)
    gap = (right[n:] + shift - A @ free) / norm
    correction = np.linalg.lstsq(whitened / norm[:, None], gap, rcond=_RANK_TOLERANCE)[0]
    force = L @ correction  # I (a - a_free) = A' lambda
    multiplier = np.linalg.lstsq(A.T, force, rcond=_RANK_TOLERANCE)[0]
    a = (free + np.linalg.solve(L.T, correction)).reshape(-1, 6)
    return np.einsum("nij,nj->ni", book.world_to_body, a), multiplier


def rank(system, state):
    """Rank of the constraint rows, by singular values."""
    A = assemble(system, state).rows
    return int(np.linalg.matrix_rank(A, tol=_RANK_TOLERANCE * np.linalg.norm(A, 2)))


def null_multipliers(system, state):
    """Orthonormal multipliers (n_rows, k) that exert no force on any body."""
    U, size, _ = np.linalg.svd(assemble(system, state).rows)
    return U[:, np.count_nonzero(size > _RANK_TOLERANCE * size.max(initial=0.0)) :]


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

    def place(self, body, point):
        """Where a point of a body is."""
        return self.center[body] + self.rotation[body] @ point

    def joint_frame(self, j, side):
        """Axes (columns) and origin of P or S."""
        name = {"P": "predecessor", "S": "successor"}[side]
        body, R, x = (getattr(self.system, name + of)[j] for of in ("", "_rotation", "_point"))
        return self.rotation[body] @ R, self.place(body, x)

    def point_velocity(self, body, place):
        """Velocity of the point of a body that is at `place`."""
        return self.speed[body] + np.cross(self.spin[body], place - self.center[body])

    def relative_pose(self, j):
        """(E, r) of S seen from P."""
        (R_P, x_P), (R_S, x_S) = self.joint_frame(j, "P"), self.joint_frame(j, "S")
        return R_S.T @ R_P, R_P.T @ (x_S - x_P)

    def joint_velocity(self, j):
        """v_J in S coordinates."""
        R, place = self.joint_frame(j, "S")
        p, s = self.system.predecessor[j], self.system.successor[j]
        speed = self.point_velocity(s, place) - self.point_velocity(p, place)
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
            tau -= forces.stiffness[k] * (value - forces.rest[k])
        wrench[j] += T_a * tau
    return wrench


def point_pulls(system, state):
    """(body, place), (body, place) and the force on the first, of forces between points."""
    view, forces = WorldView(system, state), system.point_forces
    pulls = []
    for k in range(len(forces.first)):
        ends = [
            (int(body[k]), view.place(body[k], point[k]))
            for body, point in (
                (forces.first, forces.first_point),
                (forces.second, forces.second_point),
            )
        ]
        line = ends[1][1] - ends[0][1]
        length = float(np.linalg.norm(line))
        speeds = [view.point_velocity(*end) for end in ends]
        pull = forces.stiffness[k] * (length - forces.rest_length[k])
        pull += forces.damping[k] * ((speeds[1] - speeds[0]) @ line / length)
        pull -= forces.effort[k](state.time)[0]
        pulls.append((ends[0], ends[1], pull * line / length))
    return pulls


def newton_euler_imbalance(system, state, acceleration, joint_wrench, body_force=None):
    """Largest violation of Newton's and Euler's laws of any body, relative to the largest term.

    m x'' = sum of forces, d(R I R' w)/dt = sum of moments about the com, in world axes. Joint
    wrenches, active ones included, act at the origin of S: on the successor, and backwards on
    the predecessor.
    """
    view = WorldView(system, state)
    terms = [[] for _ in range(system.n_bodies + 1)]  # the last one is the world

    def act(body, place, moment, force):
        about_com = moment + np.cross(place - view.center[body], force)
        terms[body].append(np.concatenate([about_com, force]))

    for i, (v, a) in enumerate(zip(state.velocity, acceleration, strict=True)):
        I_c, w, R = system.inertia[i], v[:3], view.rotation[i]
        change_of_spin = R @ (I_c @ a[:3] + np.cross(w, I_c @ w))
        change_of_speed = R @ (a[3:] + np.cross(w, v[3:]))
        terms[i].append(-np.concatenate([change_of_spin, system.mass[i] * change_of_speed]))
        act(i, view.center[i], np.zeros(3), system.mass[i] * system.gravity)
        if body_force is not None:
            act(i, view.center[i], R @ body_force[i, :3], R @ body_force[i, 3:])
    loads = system.external_forces
    for i, wrench, point, in_world in zip(
        loads.body, loads.wrench, loads.point, loads.in_world, strict=True
    ):
        axes = np.eye(3) if in_world else view.rotation[i]
        act(i, view.place(i, point), *(wrench.reshape(2, 3) @ axes.T))
    for first, second, force in point_pulls(system, state):
        act(*first, np.zeros(3), force)
        act(*second, np.zeros(3), -force)
    total = joint_wrench + active_wrenches(system, state)
    for j in range(system.n_joints):
        R, place = view.joint_frame(j, "S")
        wrench = total[j].reshape(2, 3) @ R.T
        act(system.successor[j], place, *wrench)
        act(system.predecessor[j], place, *-wrench)
    largest = max(np.abs(term).max() for of_body in terms[:-1] for term in of_body)
    return max(float(np.abs(sum(of_body)).max()) for of_body in terms[:-1]) / largest


def prescribed_velocities(system, time):
    """The velocity T' v_J (n_rows,) that each row asks for; zero but on drives."""
    velocity, tracked = np.zeros(system.n_rows), system.coordinates
    velocity[tracked.row[tracked.prescribed]] = prescribed_motion(system, time)[:, 1]
    return velocity


def relative_gap(result, expected, least=0.0):
    """The largest difference relative to the largest number expected, or to the `least` size."""
    size = max(float(np.abs(expected).max(initial=0.0)), least)
    return float(np.abs(result - expected).max(initial=0.0)) / (size if size > 0.0 else 1.0)


def assert_same_dynamics(result, expected, tolerance):
    """Accelerations, multipliers and joint wrenches, and a small residual."""
    for field in ("acceleration", "multiplier", "joint_wrench"):
        gap = relative_gap(getattr(result, field), getattr(expected, field), 1.0)
        assert gap <= tolerance, field
    assert result.residual < tolerance


def loop_system(problem):
    """The rows of loop joints, and K and k of K qdd = k as powers of their wrenches. (8.15)."""
    rows = loop_rows(problem)
    K = powers(problem.tree, problem.free_motion, rows.link, rows.wrench)
    a = link_accelerations(problem.tree, problem.motion, problem.prescribed_qdd)
    ends = np.concatenate([a, np.zeros((1, 6))])[rows.link]
    return rows, K, rows.gamma - np.einsum("mea,mea->m", rows.wrench, ends)
