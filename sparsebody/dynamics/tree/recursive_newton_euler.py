"""Inverse dynamics by the recursive Newton-Euler algorithm. Featherstone (2008), sec. 5.3."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.links import FIRST_VELOCITY, MASS, PARENT, Links
from sparsebody.dynamics.tree.motion import CENTER, OFFSET, TENSOR, TreeMotion
from sparsebody.dynamics.tree.registers import (
    add3,
    dot6,
    load3,
    momentum,
    moved,
    plus_scaled,
    store3,
)
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.spatial.tuples import (
    INLINE,
    Triangle,
    Vector,
    add,
    cross,
    difference,
    load_triangle,
)


def inverse_dynamics(
    tree: SpanningTree,
    motion: TreeMotion,
    qdd: FloatArray,
    force: FloatArray | None = None,
) -> FloatArray:
    """Return tau (n_velocities,) that the tree joints must exert for accelerations qdd.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    motion : TreeMotion
        Of its links.
    qdd : (n_velocities,) float array
        Rates of qd [rad/s^2, m/s^2].
    force : (n_bodies, 6) float array, optional
        Other forces on the links besides gravity, as from `link_forces`.

    Returns
    -------
    (n_velocities,) float array
        tau = H qdd + C [N m, N]; loop joints exert nothing.

    References
    ----------
    Featherstone (2008), table 5.1.
    """
    return recursion(tree, motion, qdd, force)[0]


def joint_space_bias_force(
    tree: SpanningTree, motion: TreeMotion, force: FloatArray | None = None
) -> FloatArray:
    """Return C (n_velocities,) of H qdd + C = tau; gravity and other forces are part of it."""
    return inverse_dynamics(tree, motion, np.zeros(tree.n_velocities), force)


def recursion(
    tree: SpanningTree,
    motion: TreeMotion,
    qdd: FloatArray,
    force: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return tau, and of every link the acceleration and the wrench through its tree joint.

    Both (n_bodies, 6) in world axes about the link's origin; accelerations are true ones, without
    the fictitious one of gravity.
    """
    tau = np.empty(tree.n_velocities)
    acceleration, transmitted = np.empty((tree.n_bodies, 6)), np.empty((tree.n_bodies, 6))
    given = NO_FORCE if force is None else force
    newton_euler(tree.links, motion, qdd, given, acceleration, transmitted, tau)
    return tau, acceleration, transmitted


NO_FORCE = np.zeros((0, 6))


@njit(**INLINE)
def bias_force(
    mass: float, com: Vector, inertia: Triangle, w: Vector, u: Vector
) -> tuple[Vector, Vector]:
    """Return v x* (I v). Featherstone (2008), eq. (2.32)."""
    angular, linear = momentum(mass, com, inertia, w, u)
    return add(cross(w, angular), cross(u, linear)), cross(w, linear)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def newton_euler(
    links: Links,
    motion: TreeMotion,
    qdd: FloatArray,
    force: FloatArray,
    acceleration: FloatArray,
    transmitted: FloatArray,
    tau: FloatArray,
) -> None:
    """Fill accelerations outwards, then wrenches and tau inwards."""
    accelerations(links, motion, qdd, acceleration)
    table, constants, S = links.integers, links.constants, motion.subspace
    gravity = (links.gravity[0], links.gravity[1], links.gravity[2])
    n = constants.shape[0]
    for i in range(n):
        mass = constants[i, MASS]
        com, tensor = load3(motion.inertia, i, CENTER), load_triangle(motion.inertia, i, TENSOR)
        w, u = load3(motion.velocity, i, 0), load3(motion.velocity, i, 3)
        felt = difference(load3(acceleration, i, 3), gravity)
        inertial = momentum(mass, com, tensor, load3(acceleration, i, 0), felt)
        bias = bias_force(mass, com, tensor, w, u)
        moment, push = add(inertial[0], bias[0]), add(inertial[1], bias[1])
        if force.shape[0]:
            moment = difference(moment, load3(force, i, 0))
            push = difference(push, load3(force, i, 3))
        store3(transmitted, i, 0, moment)
        store3(transmitted, i, 3, push)
    for i in range(n - 1, -1, -1):
        moment, push = load3(transmitted, i, 0), load3(transmitted, i, 3)
        for k in range(table[i, FIRST_VELOCITY], table[i + 1, FIRST_VELOCITY]):
            tau[k] = dot6(load3(S, k, 0), load3(S, k, 3), moment, push)
        p = table[i, PARENT]
        if p >= 0:
            add3(transmitted, p, 0, add(moment, cross(load3(motion.place, i, OFFSET), push)))
            add3(transmitted, p, 3, push)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def accelerations(
    links: Links, motion: TreeMotion, qdd: FloatArray, acceleration: FloatArray
) -> None:
    """Fill a_i = a_parent + drift + S qdd (n, 6), in world axes about the links' origins.

    With qdd = 0 these are the velocity-product accelerations, (dJ/dt) qd.
    """
    table, S = links.integers, motion.subspace
    for i in range(motion.place.shape[0]):
        a_w, a_u = load3(motion.drift, i, 0), load3(motion.drift, i, 3)
        p = table[i, PARENT]
        if p >= 0:
            w = load3(acceleration, p, 0)
            a_u = add(a_u, moved(w, load3(acceleration, p, 3), load3(motion.place, i, OFFSET)))
            a_w = add(a_w, w)
        for k in range(table[i, FIRST_VELOCITY], table[i + 1, FIRST_VELOCITY]):
            a_w = plus_scaled(a_w, qdd[k], load3(S, k, 0))
            a_u = plus_scaled(a_u, qdd[k], load3(S, k, 3))
        store3(acceleration, i, 0, a_w)
        store3(acceleration, i, 3, a_u)
