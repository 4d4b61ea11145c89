"""The recursions on a tree. Featherstone (2008), tables 5.1, 6.2 to 6.5 and 7.1.

Vectors of links are in world axes about each link's own origin, which makes every transform a shift
between neighbouring origins, without rotations; none is taken about the world's origin, which would
lose digits on long mechanisms. Vectors of bodies are in body axes about the centers of mass.
"""

import math
from typing import NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import ModelError, ShapeError, SingularSystemError
from sparsebody.model.system import State, body_arrays, check_state
from sparsebody.tree.spanning_tree import FIRST_SCALAR, N_SURPLUS, BranchPattern, SpanningTree

NO_FORCE = np.zeros((0, 6))  # besides gravity
NONE_PRESCRIBED = np.zeros(0, dtype=np.bool_)
MOST_ENTRIES = 2**28  # of H: 2 GB

# --- motion: v_i = v_parent + S qd ---


class TreeMotion(NamedTuple):
    """Poses, velocities and motion subspaces of the links of a tree, all in world axes.

    Spatial vectors are about the origin of their link, which is that of its joint frame.
    """

    pose: FloatArray  # (n, 12) rotation of the link's axes to the world's; d, from the parent's
    #   origin to the link's (from the world's origin, if the world is the parent) [m]
    subspace: FloatArray  # (n_velocities, 6) S', with the sign of the tree's direction
    velocity: FloatArray  # (n, 6) v
    drift: FloatArray  # (n, 6) c = v x v_J + c_J, c_J the apparent derivative of S (in moving axes)
    #   times qd: a_i = X a_parent + c + S qdd
    inertia: FloatArray  # (n, 9) com from the origin; rotational inertia about the com, lower
    #   triangle
    rate: FloatArray  # (n_velocities,) qd


def empty_motion(tree: SpanningTree) -> TreeMotion:
    """Return arrays of the right shapes."""
    n, n_v = tree.n_bodies, tree.n_velocities
    shapes = (n, 12), (n_v, 6), (n, 6), (n, 6), (n, 9), (n_v,)
    return TreeMotion(*(np.zeros(shape) for shape in shapes))


def motion_at_state(tree: SpanningTree, state: State) -> TreeMotion:
    """Return the motion of the links at a (consistent) state of the bodies."""
    motion = empty_motion(tree)
    native.motion_from_bodies(tree.links, body_arrays(tree.system, state), motion)
    return motion


def motion_at_coordinates(tree: SpanningTree, q: FloatArray, qd: FloatArray) -> TreeMotion:
    """Return the motion of the links at joint coordinates. Featherstone (2008), table 5.1."""
    motion = empty_motion(tree)
    native.motion_from_coordinates(tree.links, q, qd, motion)
    return motion


# --- between the links, in the tree's order, and the bodies, in the system's ---


def link_forces(tree: SpanningTree, motion: TreeMotion, body_force: FloatArray) -> FloatArray:
    """Return wrenches on the links (n, 6) from those on the bodies."""
    force = np.empty((tree.n_bodies, 6))
    native.link_forces(tree.links, motion, body_force, force)
    return force


def link_accelerations(tree: SpanningTree, motion: TreeMotion, qdd: FloatArray) -> FloatArray:
    """Return spatial accelerations (n, 6) of links for qdd, without gravity's fictitious one."""
    acceleration = np.empty((tree.n_bodies, 6))
    native.link_accelerations(tree.links, motion, qdd, acceleration)
    return acceleration


def body_accelerations(tree: SpanningTree, motion: TreeMotion, of_links: FloatArray) -> FloatArray:
    """Return spatial accelerations (n, 6) of the bodies from those of the links."""
    acceleration = np.empty((tree.n_bodies, 6))
    native.body_accelerations(tree.links, motion, of_links, acceleration)
    return acceleration


def joint_accelerations(tree: SpanningTree, motion: TreeMotion, a: FloatArray) -> FloatArray:
    """Return qdd (n_velocities,) of accelerations a (n, 6) by least squares on S.

    Parts of the accelerations that tree joints do not admit are ignored.
    """
    qdd = np.empty(tree.n_velocities)
    native.joint_accelerations(tree.links, motion, a, qdd)
    return qdd


def powers(tree: SpanningTree, motion: TreeMotion, link: IntArray, force: FloatArray) -> FloatArray:
    """Return powers (m, n_velocities) of wrenches (m, 2, 6) on links (m, 2). Table 8.4."""
    m, n = len(link), tree.n_velocities
    K = np.zeros(m * n)
    native.fill_loop_blocks(tree.links, motion, link, force, n * np.arange(m), np.arange(n), K)
    return K.reshape(m, n)


def body_jacobian(tree: SpanningTree, motion: TreeMotion, body: int) -> FloatArray:
    """Return J (6, n_velocities): v = J qd of a body of the system, in body coordinates.

    Featherstone (2008), eq. (4.27); the columns beyond the body's support are zero.
    """
    ends, unit = np.full((6, 2), -1), np.zeros((6, 2, 6))
    ends[:, 0], unit[:, 0] = tree.index[body], np.eye(6)
    native.rows_to_links(tree.links, motion, ends, unit)
    return powers(tree, motion, ends, unit)


def velocity_product_accelerations(tree: SpanningTree, motion: TreeMotion) -> FloatArray:
    """Return (dJ/dt) qd (n_bodies, 6) of the bodies: their accelerations where qdd = 0."""
    of_links = link_accelerations(tree, motion, np.zeros(tree.n_velocities))
    return body_accelerations(tree, motion, of_links)


# --- table 5.1, the recursive Newton-Euler algorithm: tau = H qdd + C ---


def recursive_newton_euler(
    tree: SpanningTree, motion: TreeMotion, qdd: FloatArray, force: FloatArray = NO_FORCE
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return tau, and every link's acceleration and wrench through its tree joint. Table 5.1.

    a_i = X a_parent + S qdd + c_J + v_i x v_J,  f_i = I (a_i - a_g) + v_i x* I v_i - f_x, then from
    leaves to root tau_i = S' f_i and f_parent += X' f_i (c_J: apparent derivative of S, times qd;
    a_g: gravity), of qdd (n_velocities,) [rad/s^2, m/s^2] and other forces on the links besides
    gravity, `force` (n_bodies, 6) as from `link_forces`.

    tau (n_velocities,) is what tree joints must exert [N m, N]; loop joints exert nothing.
    Acceleration and wrench (n_bodies, 6) are in world axes about the link's origin, accelerations
    without the fictitious one of gravity.
    """
    tau = np.empty(tree.n_velocities)
    acceleration, transmitted = np.empty((tree.n_bodies, 6)), np.empty((tree.n_bodies, 6))
    native.recursive_newton_euler(tree.links, motion, qdd, force, acceleration, transmitted, tau)
    return tau, acceleration, transmitted


def inverse_dynamics(
    tree: SpanningTree, motion: TreeMotion, qdd: FloatArray, force: FloatArray = NO_FORCE
) -> FloatArray:
    """Return only tau (n_velocities,) of `recursive_newton_euler`."""
    return recursive_newton_euler(tree, motion, qdd, force)[0]


def joint_space_bias_force(
    tree: SpanningTree, motion: TreeMotion, force: FloatArray = NO_FORCE
) -> FloatArray:
    """Return C (n_velocities,) of H qdd + C = tau; gravity and other forces are part of it."""
    return inverse_dynamics(tree, motion, np.zeros(tree.n_velocities), force)


# --- table 6.2, the composite-rigid-body algorithm: H ---


def joint_space_inertia(tree: SpanningTree, motion: TreeMotion) -> FloatArray:
    """Return H, packed by rows as in `tree.pattern`; ModelError if too large. Table 6.2.

    I^c_i is the sum of the inertias of link i and its subtree; F = I^c_i S_i, H_ii = S_i' F and,
    towards the root, H_ij = F' S_j for every j on the support.
    """
    H = empty_inertia(tree)
    native.composite_rigid_body(tree.links, motion, tree.pattern, empty_composite(tree), H)
    return H


def empty_composite(tree: SpanningTree) -> FloatArray:
    """Return (n, 10) for composites: triangle of the inertia, first moment h, mass."""
    return np.empty((tree.n_bodies, 10))


def empty_inertia(tree: SpanningTree) -> FloatArray:
    """Return an array for H; raise ModelError if it would be too large."""
    n_entries = tree.n_inertia_nonzeros
    if n_entries > MOST_ENTRIES:
        raise ModelError(
            f"the joint-space inertia of {tree.system.name!r} has {n_entries:.2g} entries on a "
            f"{tree.choice} tree of depth {tree.depth.max()}; use method 'sparse'"
        )
    return np.empty(n_entries)


def dense_inertia(tree: SpanningTree, motion: TreeMotion) -> FloatArray:
    """Return H (n_velocities, n_velocities); ModelError if it is too large."""
    n = tree.n_velocities
    if n**2 > MOST_ENTRIES:
        raise ModelError(
            f"the joint-space inertia of {tree.system.name!r} has {n} rows, too many for a dense "
            "matrix; take the packed one of tree.joint_space_inertia, or method 'sparse'"
        )
    return symmetric(tree.pattern, joint_space_inertia(tree, motion))


def symmetric(pattern: BranchPattern, values: FloatArray) -> FloatArray:
    """Return the dense symmetric matrix (n, n) of a packed lower triangle, such as H."""
    return native.symmetric(pattern, values)


# --- tables 6.3 to 6.5: H = L' L and H = L' D L without fill-in ---


def ltl_factor(tree: SpanningTree, H: FloatArray) -> FloatArray:
    """Return L of H = L' L, packed as H: L_kk = sqrt(H_kk), L_ki = H_ki / L_kk, H_ij -= L_ki L_kj.

    For k = n, ..., 1 and i, j on its support, table 6.3. Raises SingularSystemError, naming the
    coordinate, if H is not positive definite.
    """
    L = H.copy()
    check_pivots(tree, native.factorize_ltl(tree.pattern, L))
    return L


def ltdl_factor(tree: SpanningTree, H: FloatArray) -> FloatArray:
    """Return L, with D in place of its diagonal of ones, of H = L' D L; errors as in ltl_factor."""
    LD = H.copy()
    check_pivots(tree, native.factorize_ltdl(tree.pattern, LD))
    return LD


def ltl_solve(tree: SpanningTree, L: FloatArray, right: FloatArray) -> FloatArray:
    """Return H^-1 right for right (n,), or (m, n) with one right-hand side per row. Table 6.5."""
    x = np.array(right, dtype=float, order="C")
    rows = np.atleast_2d(x)
    native.solve_upper(tree.pattern, L, rows)
    native.solve_lower(tree.pattern, L, rows)
    return x


def ltdl_solve(tree: SpanningTree, LD: FloatArray, right: FloatArray) -> FloatArray:
    """Return H^-1 right from the factors of ltdl_factor; shapes as in ltl_solve."""
    x = np.array(right, dtype=float, order="C")
    native.solve_ltdl(tree.pattern, LD, np.atleast_2d(x))
    return x


def check_pivots(tree: SpanningTree, k: int) -> None:
    """Raise SingularSystemError if a factorization ended at coordinate k >= 0."""
    if k >= 0:
        raise SingularSystemError(
            f"the joint-space inertia is not positive definite at {tree.velocity_name(k)}: "
            "look at the masses and inertias of the bodies that it moves, and at its joint's pose"
        )


# --- table 7.1, the articulated-body algorithm: qdd ---


class Articulated(NamedTuple):
    """Articulated inertias and bias forces, and what the elimination of each coordinate leaves."""

    link: FloatArray  # (n, 27) I^A = [A B; B' D], triangles of A and D, and p^A; world axes
    coordinate: FloatArray  # (n_velocities, 8) U = I^A S, 1 / (S' U), u = tau - S' p^A
    acceleration: FloatArray  # (n, 6) spatial ones without gravity's fictitious one; world axes,
    #   about the links' origins


def empty_articulated(tree: SpanningTree) -> Articulated:
    """Return arrays of the right shapes."""
    n, n_v = tree.n_bodies, tree.n_velocities
    return Articulated(np.zeros((n, 27)), np.zeros((n_v, 8)), np.zeros((n, 6)))


def forward_dynamics_tree(
    tree: SpanningTree, motion: TreeMotion, tau: FloatArray, force: FloatArray = NO_FORCE
) -> FloatArray:
    """Return qdd (n_velocities,) of the tree, its loop joints exerting nothing. Table 7.1.

    I^A = I and p^A = v x* I v - f_x at first; from the leaves to the root, and back, transforms X
    between origins left out::

        U = I^A S,  D = S' U,  u = tau - S' p^A,  I^a = I^A - U D^-1 U'
        I^A_parent += I^a,  p^A_parent += p^A + I^a c + U D^-1 u
        a0 = a_parent + c,  qdd = D^-1 (u - U' a0),  a = a0 + S qdd

    The world has a = -a_g; a_g, gravity, is added to the accelerations at the end.
    `tau` (n_velocities,) are forces of the tree joints [N m, N]; other arguments as of
    `recursive_newton_euler`.
    """
    qdd, work = np.empty(tree.n_velocities), empty_articulated(tree)
    native.articulated_body(tree.links, motion, tau, force, NONE_PRESCRIBED, work, qdd)
    return qdd


# --- joint coordinates q and qd of a state, and back ---

# Spherical and free joints have quaternions as positions and angular velocities as velocities, so
# that qd is not dq/dt = Q(q) qd. Featherstone (2008), eqs. (3.6) and (3.7), sec. 4.6.


def joint_coordinates(tree: SpanningTree, state: State) -> tuple[FloatArray, FloatArray]:
    """Return q (n_positions,) and qd (n_velocities,) of the tree joints of a state.

    q is as JointType.coordinates of each joint [rad, m]: angles are as near as whole turns allow to
    the tracked (unwrapped, continuous in time) ones of the state, and in (-pi, pi] where they are
    not tracked. qd is as the columns of JointType.motion_subspace [rad/s, m/s]. Parts of the
    motion that the joints do not admit are ignored.
    """
    check_state(tree.system, state)
    motion, q = motion_at_state(tree, state), np.empty(tree.n_positions)
    native.positions_of_motion(tree.links, motion, q)
    items, index_in_q, is_angle = _tracked(tree)
    difference = (state.coordinate[items] - q[index_in_q])[is_angle]
    q[index_in_q[is_angle]] += 2.0 * math.pi * np.round(difference / (2.0 * math.pi))
    return q, motion.rate


def tree_state(tree: SpanningTree, q: FloatArray, qd: FloatArray, *, time: float = 0.0) -> State:
    """Return the state with the given tree coordinates; loops need not be closed.

    q (n_positions,) are joint positions, whose quaternions need not be of unit length, qd
    (n_velocities,) velocities; `time` [s]. Raises ShapeError or ModelError if there are too many or
    too few, or one is not finite.
    """
    q = checked_coordinates(tree, q, "q", tree.n_positions)
    qd = checked_coordinates(tree, qd, "qd", tree.n_velocities)
    n = tree.n_bodies
    position, orientation, velocity = np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 6))
    motion = motion_at_coordinates(tree, q, qd)
    native.bodies_from_motion(tree.links, motion, position, orientation, velocity)
    tracked = np.zeros(len(tree.system.coordinates.joint))
    state = State(position, orientation, velocity, tracked, time)
    if len(tracked):
        tracked[:] = SystemMotion(tree.system, state).coordinates.value
        items, index_in_q, _ = _tracked(tree)
        tracked[items] = q[index_in_q]
    return state


def checked_coordinates(tree: SpanningTree, values: FloatArray, name: str, n: int) -> FloatArray:
    """Return (n,) coordinates as the kernels take them."""
    values = np.ascontiguousarray(values, dtype=float)
    if values.shape != (n,):
        raise ShapeError(f"{name} has shape {values.shape}, the tree needs ({n},)")
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        where = tree.velocity_name(bad) if n == tree.n_velocities else f"position {bad}"
        raise ModelError(f"{name} of {where} is {values[bad]}; it must be finite")
    return values


def position_rates(tree: SpanningTree, q: FloatArray, qd: FloatArray) -> FloatArray:
    """Return dq/dt (n_positions,) = Q(q) qd; quaternions keep their length."""
    q = checked_coordinates(tree, q, "q", tree.n_positions)
    qd = checked_coordinates(tree, qd, "qd", tree.n_velocities)
    rate = np.empty(tree.n_positions)
    native.position_rates(tree.links, q, qd, rate)
    return rate


def velocities_of_rates(
    tree: SpanningTree, q: FloatArray, rate: FloatArray, second: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return qd and qdd (n_velocities,) of q (n_positions,) and its derivatives in time."""
    qd, qdd = np.empty(tree.n_velocities), np.empty(tree.n_velocities)
    native.velocities_of_rates(tree.links, q, rate, second, qd, qdd)
    return qd, qdd


def _tracked(tree: SpanningTree) -> tuple[IntArray, IntArray, IntArray]:
    """Return tracked scalar coordinates of tree joints, their index in q, and which are angles."""
    coordinates, system = tree.system.coordinates, tree.system
    joint, index = coordinates.joint, coordinates.index
    kind, of_tree = system.joint_kind[joint], tree.tree_index[joint]
    # of joints without compliant rows: with them, they are of the declared type, not of the tree's
    is_declared = system.coordinate_types[0][joint] == kind
    items = np.flatnonzero((of_tree >= 0) & is_declared & (index >= FIRST_SCALAR[kind]))
    first = tree.first_position[of_tree[items]] + N_SURPLUS[kind[items]]  # after a quaternion
    index_in_q = first + index[items]
    return items, index_in_q, np.flatnonzero(coordinates.is_angle[items])
