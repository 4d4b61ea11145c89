"""Between vectors of links (world axes, joint's origin) and of bodies (body axes, com)."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.joint_frames import transposed
from sparsebody.dynamics.tree.links import BODY, FRAME, Links
from sparsebody.dynamics.tree.motion import CENTER, ROTATION, TreeMotion
from sparsebody.dynamics.tree.registers import load3, load_matrix, moved, product, store3
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.spatial.tuples import INLINE, Rotation, add, cross, turned, turned_back


def link_forces(tree: SpanningTree, motion: TreeMotion, body_force: FloatArray) -> FloatArray:
    """Return wrenches on the links (n, 6) in the tree's order, from those on the system's bodies.

    In: body axes about the centers of mass; out: world axes about the links' origins.
    """
    force = np.empty((tree.n_bodies, 6))
    fill_link_forces(tree.links, motion, body_force, force)
    return force


def body_accelerations(
    tree: SpanningTree, motion: TreeMotion, acceleration: FloatArray
) -> FloatArray:
    """Return spatial accelerations (n, 6) of the system's bodies in body axes, from the links'."""
    result = np.empty((tree.n_bodies, 6))
    fill_body_accelerations(tree.links, motion, acceleration, result)
    return result


@njit(**INLINE)
def body_rotation(links: Links, motion: TreeMotion, i: int) -> Rotation:
    """Return the rotation from the body axes of link i to the world's."""
    F = load_matrix(links.constants, i, FRAME)
    return product(load_matrix(motion.place, i, ROTATION), transposed(F))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_link_forces(
    links: Links, motion: TreeMotion, body_force: FloatArray, force: FloatArray
) -> None:
    """Fill the wrenches on the links."""
    for i in range(force.shape[0]):
        b, R = links.integers[i, BODY], body_rotation(links, motion, i)
        push = turned(R, load3(body_force, b, 3))
        moment = turned(R, load3(body_force, b, 0))
        store3(force, i, 0, add(moment, cross(load3(motion.inertia, i, CENTER), push)))
        store3(force, i, 3, push)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_body_accelerations(
    links: Links, motion: TreeMotion, acceleration: FloatArray, result: FloatArray
) -> None:
    """Fill the accelerations of the bodies."""
    for i in range(acceleration.shape[0]):
        b, R = links.integers[i, BODY], body_rotation(links, motion, i)
        a_w = load3(acceleration, i, 0)
        a_u = moved(a_w, load3(acceleration, i, 3), load3(motion.inertia, i, CENTER))
        store3(result, b, 0, turned_back(R, a_w))
        store3(result, b, 3, turned_back(R, a_u))
