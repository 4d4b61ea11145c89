"""K and k about one origin for all loops, as in table 8.4. Featherstone (2008), sec. 8.7.

In base coordinates all vectors are about the world's origin, in floating-base coordinates about
the origin of the body that the tree of the loop begins with. Far from its origin such a vector
loses digits: moments there are differences of large numbers. The rows about the links' own origins
of loop_constraints.py lose none; these are the book's algorithm, and show what it costs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.tree.frames import body_rotation
from sparsebody.dynamics.tree.links import FIRST_VELOCITY, PARENT, Links
from sparsebody.dynamics.tree.motion import CENTER, OFFSET, TreeMotion
from sparsebody.dynamics.tree.problem import TreeProblem
from sparsebody.dynamics.tree.recursive_newton_euler import accelerations
from sparsebody.dynamics.tree.registers import dot6, load3, product, store3, times
from sparsebody.spatial.tuples import (
    INLINE,
    Rotation,
    Vector,
    add,
    cross,
    difference,
    load_rotation,
)


def fill_about_one_origin(
    problem: TreeProblem,
    row: IntArray,
    link: IntArray,
    is_floating: bool,
    row_start: IntArray,
    local: IntArray,
    values: FloatArray,
    k: FloatArray,
) -> None:
    """Fill values of K, packed as fill_loop_blocks does, and k (m,) with Baumgarte's terms.

    Parameters
    ----------
    problem : TreeProblem
        A mechanism at a state.
    row : (m,) int array
        Rows of the system.
    link : (m, 2) int array
        The tree's numbers of predecessor and successor, -1 for the world.
    is_floating : bool
        Whether the origin is that of the floating base, or the world's.
    """
    tree, system = problem.tree, problem.system
    velocity_product = np.empty((tree.n_bodies, 6))
    accelerations(problem.links, problem.motion, problem.driven_qdd, velocity_product)
    way, root = np.empty((tree.n_bodies, 3)), np.empty(tree.n_bodies, dtype=np.intp)
    _ways(problem.links, problem.motion, is_floating, way, root)
    joint = system.row_joint[row]
    _fill(
        problem.links,
        problem.motion,
        velocity_product,
        way,
        root,
        is_floating,
        link,
        system.successor_rotation[joint],
        system.successor_point[joint],
        problem.subspace[row],
        problem.shift[row] - problem.constraint.drift[row],
        row_start,
        local,
        values,
        k,
    )


@njit(cache=True)
def _ways(
    links: Links, motion: TreeMotion, is_floating: bool, way: FloatArray, root: IntArray
) -> None:
    """Fill the ways to the links' origins: from the world's, or from that of their root."""
    for i in range(way.shape[0]):
        p, d = links.integers[i, PARENT], load3(motion.place, i, OFFSET)
        root[i] = root[p] if p >= 0 else i
        if p >= 0:
            d = add(load3(way, p, 0), d)
        elif is_floating:
            d = (0.0, 0.0, 0.0)
        store3(way, i, 0, d)


@njit(**INLINE)
def _seen_from(
    motion: TreeMotion, way: FloatArray, root: IntArray, is_floating: bool, reference: int, i: int
) -> Vector:
    """Return the way to link i's origin, or to the world's, from that of the coordinates."""
    if i < 0 and not is_floating:
        return (0.0, 0.0, 0.0)
    base = load3(motion.place, reference, OFFSET)
    if i < 0:
        return difference((0.0, 0.0, 0.0), base)
    place = load3(way, i, 0)
    if is_floating and root[i] != reference:
        place = add(place, difference(load3(motion.place, root[i], OFFSET), base))
    return place


@njit(**INLINE)
def _about(array: FloatArray, i: int, place: Vector) -> tuple[Vector, Vector]:
    """Return the motion vector array[i] about the origin that sees its own at `place`."""
    w = load3(array, i, 0)
    return w, add(load3(array, i, 3), cross(place, w))


@njit(cache=True, error_model="numpy")
def _fill(
    links: Links,
    motion: TreeMotion,
    velocity_product: FloatArray,
    way: FloatArray,
    root: IntArray,
    is_floating: bool,
    link: IntArray,
    rotation: FloatArray,
    point: FloatArray,
    subspace: FloatArray,
    bias: FloatArray,
    row_start: IntArray,
    local: IntArray,
    values: FloatArray,
    k: FloatArray,
) -> None:
    """Featherstone (2008), table 8.4: T, S, v and a of the velocity products about one origin."""
    table, zero = links.integers, (0.0, 0.0, 0.0)
    for row in range(link.shape[0]):
        p, s = link[row, 0], link[row, 1]
        reference = root[s] if s >= 0 else root[p]
        at_p = _seen_from(motion, way, root, is_floating, reference, p)
        at_s = _seen_from(motion, way, root, is_floating, reference, s)
        n, f = _force_vector(links, motion, s, at_s, rotation[row], point[row], subspace[row])
        w_p, u_p, a_p, b_p = zero, zero, zero, zero
        w_s, u_s, a_s, b_s = zero, zero, zero, zero
        if p >= 0:
            w_p, u_p = _about(motion.velocity, p, at_p)
            a_p, b_p = _about(velocity_product, p, at_p)
        if s >= 0:
            w_s, u_s = _about(motion.velocity, s, at_s)
            a_s, b_s = _about(velocity_product, s, at_s)
        turn = add(difference(a_s, a_p), cross(w_s, w_p))
        push = add(difference(b_s, b_p), add(cross(w_s, u_p), cross(u_s, w_p)))
        k[row] = bias[row] - dot6(turn, push, n, f)
        while p != s:
            i = max(p, s)
            sign = 1.0 if i == s else -1.0
            place = _seen_from(motion, way, root, is_floating, reference, i)
            for c in range(table[i, FIRST_VELOCITY], table[i + 1, FIRST_VELOCITY]):
                w, u = _about(motion.subspace, c, place)
                values[row_start[row] + local[c]] = sign * dot6(w, u, n, f)
            if i == s:
                s = table[s, PARENT]
            else:
                p = table[p, PARENT]


@njit(cache=True)
def _force_vector(
    links: Links,
    motion: TreeMotion,
    s: int,
    at_s: Vector,
    rotation: FloatArray,
    point: FloatArray,
    subspace: FloatArray,
) -> tuple[Vector, Vector]:
    """Return a column of T, given in S coordinates, in those about the origin."""
    to_world: Rotation = load_rotation(rotation)
    place = (point[0], point[1], point[2])
    if s >= 0:
        R = body_rotation(links, motion, s)
        to_world, place = product(R, to_world), times(R, place)
        place = add(place, load3(motion.inertia, s, CENTER))
    place = add(at_s, place)
    f = times(to_world, (subspace[3], subspace[4], subspace[5]))
    n = times(to_world, (subspace[0], subspace[1], subspace[2]))
    return add(n, cross(place, f)), f
