"""The joint-space inertia H by the composite-rigid-body algorithm. Featherstone (2008), ch. 6."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.articulated_body import about_origin
from sparsebody.dynamics.tree.branch_sparsity import BranchPattern
from sparsebody.dynamics.tree.links import FIRST_VELOCITY, MASS, PARENT, Links
from sparsebody.dynamics.tree.motion import CENTER, OFFSET, TENSOR, TreeMotion
from sparsebody.dynamics.tree.registers import (
    dot6,
    load3,
    plus_scaled,
    store3,
    store6,
    symmetric_times,
)
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.errors import ModelError
from sparsebody.spatial.tuples import (
    INLINE,
    Triangle,
    Vector,
    add,
    cross,
    dot,
    load_triangle,
    scaled,
)

MOST_ENTRIES = 2**28  # of H: 2 GB
SIZE = 10  # of a composite inertia: A (6), first moment h (3), mass


def joint_space_inertia(tree: SpanningTree, motion: TreeMotion) -> FloatArray:
    """Return H, packed by rows as `tree.pattern` tells. Featherstone (2008), table 6.2.

    Raises
    ------
    ModelError
        If it has more than MOST_ENTRIES entries.
    """
    H = empty_inertia(tree)
    composite_rigid_body(tree.links, motion, tree.pattern, empty_composite(tree), H)
    return H


def empty_composite(tree: SpanningTree) -> FloatArray:
    """Return work space (n_bodies, SIZE) of composite_rigid_body."""
    return np.empty((tree.n_bodies, SIZE))


def empty_inertia(tree: SpanningTree) -> FloatArray:
    """Return room for H; errors as in joint_space_inertia."""
    n_entries = tree.n_inertia_nonzeros
    if n_entries > MOST_ENTRIES:
        raise ModelError(
            f"the joint-space inertia of {tree.system.name!r} has {n_entries:.2g} entries on a "
            f"{tree.choice} tree of depth {tree.depth.max()}; use method 'sparse'"
        )
    return np.empty(n_entries)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def composite_rigid_body(
    links: Links,
    motion: TreeMotion,
    pattern: BranchPattern,
    composite: FloatArray,
    H: FloatArray,
) -> None:
    """Fill the packed H; `composite` (n, SIZE) is work space."""
    table, constants, S = links.integers, links.constants, motion.subspace
    n = constants.shape[0]
    for i in range(n):
        mass, com = constants[i, MASS], load3(motion.inertia, i, CENTER)
        tensor = load_triangle(motion.inertia, i, TENSOR)
        store6(composite, i, 0, about_origin(mass, com, tensor))
        store3(composite, i, 6, scaled(mass, com))
        composite[i, 9] = mass
    for i in range(n - 1, -1, -1):
        a, h = load_triangle(composite, i, 0), load3(composite, i, 6)
        mass = composite[i, 9]
        first = table[i, FIRST_VELOCITY]
        for k in range(first, table[i + 1, FIRST_VELOCITY]):
            w, u = load3(S, k, 0), load3(S, k, 3)
            n_k = add(symmetric_times(a, w), cross(h, u))
            f_k = plus_scaled(cross(w, h), mass, u)
            place = pattern.start[k] + pattern.depth[k]  # of the entry (k, k), going left
            for j in range(k, first - 1, -1):
                H[place] = dot6(load3(S, j, 0), load3(S, j, 3), n_k, f_k)
                place -= 1
            i_above = i
            while table[i_above, PARENT] >= 0:
                n_k = add(n_k, cross(load3(motion.place, i_above, OFFSET), f_k))
                i_above = table[i_above, PARENT]
                start, stop = table[i_above, FIRST_VELOCITY], table[i_above + 1, FIRST_VELOCITY]
                for j in range(stop - 1, start - 1, -1):
                    H[place] = dot6(load3(S, j, 0), load3(S, j, 3), n_k, f_k)
                    place -= 1
        p = table[i, PARENT]
        if p >= 0:
            d = load3(motion.place, i, OFFSET)
            moved_a = about_moved_origin(a, h, mass, d)
            for e in range(6):
                composite[p, e] += moved_a[e]
            h = plus_scaled(h, mass, d)
            for e in range(3):
                composite[p, 6 + e] += h[e]
            composite[p, 9] += mass


@njit(**INLINE)
def about_moved_origin(a: Triangle, h: Vector, mass: float, d: Vector) -> Triangle:
    """Return the inertia about the origin at -d, of a rigid body with first moment h."""
    g = plus_scaled(h, mass, d)
    spread = dot(d, add(h, g))
    x, y, z = d
    return (
        a[0] + spread - (h[0] * x + x * g[0]),
        a[1] - (h[1] * x + y * g[0]),
        a[2] + spread - (h[1] * y + y * g[1]),
        a[3] - (h[2] * x + z * g[0]),
        a[4] - (h[2] * y + z * g[1]),
        a[5] + spread - (h[2] * z + z * g[2]),
    )
