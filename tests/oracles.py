"""Slow, dense and clear: what the sparse system must give, found in other ways."""

import numpy as np
from textbook import assemble
from world_view import WorldView, applied_loads, joint_loads

from sparsebody.kinematics.joint_motion import prescribed_motion
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
    scaled = np.linalg.solve(L, A.T).T  # A L^-T, I = L L'
    norm = np.linalg.norm(scaled, axis=1)
    g = (right[n:] + shift - A @ free) / norm
    pseudo_inverse = np.linalg.pinv(scaled / norm[:, None], rcond=_RANK_TOLERANCE)
    correction = pseudo_inverse @ g
    correction += pseudo_inverse @ (g - scaled @ correction / norm)
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


def newton_euler_imbalance(system, state, acceleration, joint_wrench, body_force=None):
    """Largest violation of Newton's and Euler's laws of any body, relative to the largest term.

    m x'' = sum of forces, d(R I R' w)/dt = sum of moments about the com, in world axes. Joint
    wrenches, active ones included, act at the origin of S: on the successor, and backwards on
    the predecessor.
    """
    view = WorldView(system, state)
    terms = [[] for _ in range(system.n_bodies + 1)]  # the last one is the world

    def act(body, position, moment, force):
        about_com = moment + np.cross(position - view.center[body], force)
        terms[body].append(np.concatenate([about_com, force]))

    for i, (v, a) in enumerate(zip(state.velocity, acceleration, strict=True)):
        I_c, w, R = system.inertia[i], v[:3], view.rotation[i]
        change_of_spin = R @ (I_c @ a[:3] + np.cross(w, I_c @ w))
        change_of_speed = R @ (a[3:] + np.cross(w, v[3:]))
        terms[i].append(-np.concatenate([change_of_spin, system.mass[i] * change_of_speed]))
        if body_force is not None:
            act(i, view.center[i], R @ body_force[i, :3], R @ body_force[i, 3:])
    for load in (*applied_loads(system, state), *joint_loads(view, joint_wrench)):
        act(*load)
    largest = max(np.abs(term).max() for of_body in terms[:-1] for term in of_body)
    return max(float(np.abs(sum(of_body)).max()) for of_body in terms[:-1]) / largest


def prescribed_velocities(system, time):
    """The velocity T' v_J (n_rows,) that each row asks for; zero but on drives."""
    velocity, tracked = np.zeros(system.n_rows), system.coordinates
    velocity[tracked.row[tracked.prescribed]] = prescribed_motion(system, time)[:, 1]
    return velocity


def relative_difference(result, expected, least=0.0):
    """The largest difference relative to the largest number expected, or to the `least` size."""
    size = max(float(np.abs(expected).max(initial=0.0)), least)
    return float(np.abs(result - expected).max(initial=0.0)) / (size if size > 0.0 else 1.0)


def assert_same_dynamics(result, expected, tolerance):
    """Accelerations, multipliers and joint wrenches, and a small residual."""
    for field in ("acceleration", "multiplier", "joint_wrench"):
        difference = relative_difference(getattr(result, field), getattr(expected, field), 1.0)
        assert difference <= tolerance, field
    assert result.residual < tolerance


def loop_system(problem):
    """The rows of loop joints, and K and k of K qdd = k as powers of their wrenches. (8.15)."""
    rows = loop_rows(problem)
    K = powers(problem.tree, problem.free_motion, rows.link, rows.wrench)
    a = link_accelerations(problem.tree, problem.motion, problem.prescribed_qdd)
    ends = np.concatenate([a, np.zeros((1, 6))])[rows.link]
    return rows, K, rows.gamma - np.einsum("mea,mea->m", rows.wrench, ends)
