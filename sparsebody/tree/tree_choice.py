"""Choice of the joints of a spanning tree, numbering of its bodies, least nonzeros of any H."""

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csgraph

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray, offsets
from sparsebody.errors import ModelError, check_name
from sparsebody.model import Free, System
from sparsebody.tree.fronts import least_fronts
from sparsebody.tree.spanning_tree import N_POSITIONS, N_VELOCITIES, AnyTree, SpanningTree

BREADTH_FIRST, DEPTH_FIRST, LEAST_DEPTH = 0, 1, 2
VIRTUAL = -1  # the joint of a body that no joint leads to
TREE_CHOICES = {
    "breadth-first": BREADTH_FIRST,
    "depth-first": DEPTH_FIRST,
    "minimum-depth": LEAST_DEPTH,
    "minimum-nonzeros": LEAST_DEPTH,  # from there downhill to fewer nonzeros of H
    "minimum-fronts": LEAST_DEPTH,  # or what has smaller fronts
}
MEDIAN_SIZE = 2000  # bodies among which the best root is looked for by trying all


def tree_of(system: System, tree: AnyTree) -> SpanningTree:
    """Return a tree that is chosen or given; ModelError for one of another system."""
    if isinstance(tree, str):
        return spanning_tree(system, tree)
    if tree.system is not system:
        raise ModelError(
            f"tree is of another system, {tree.system.name!r}; take spanning_tree of "
            f"{system.name!r}"
        )
    return tree


def spanning_tree(
    system: System,
    choice: str = "minimum-nonzeros",
    *,
    root: str | None = None,
    joints: Iterable[str] = (),
) -> SpanningTree:
    """Return a spanning tree of a mechanism. Featherstone (2008), sec. 8.6.

    Joints with springs, dampers, efforts or prescribed motions go into the tree as far as they can,
    so that loop joints are passive; free joints serve only where no other joint leads to a body.

    Parameters
    ----------
    system : System
        The mechanism.
    choice : {"breadth-first", "depth-first", "minimum-depth", "minimum-nonzeros", "minimum-fronts"}
        The first two take joints in the order of declaration. "minimum-depth" has the least number
        of velocity coordinates between the world and each body; "minimum-nonzeros" starts there and
        exchanges joints while H loses nonzeros, a heuristic. A part that is not joined to the world
        is rooted in the body declared first by the first two, in a central one by the next two.
        "minimum-fronts" takes one of these trees, or a depth-first sweep away from the world,
        whichever costs "loops-aba" the least work.
    root : str, optional
        A body that gets a virtual free joint; what joins its part to the world closes loops then.
    joints : iterable of str, optional
        Names of joints that must be in the tree.

    Raises
    ------
    UnknownNameError
        If there is no such choice.
    ModelError
        If there is no such body or joint, or the given joints close a loop.
    """
    check_name(choice, TREE_CHOICES, "tree")
    required = [system.joint(name) for name in joints]
    if choice != "minimum-fronts":
        return _grown(system, choice, root, required)
    sweeps = [_grown(system, choice, root, _sweep(system))] if root is None and not required else []
    others = (_grown(system, other, root, required) for other in TREE_CHOICES if other != choice)
    return least_fronts(chain(sweeps, others))


def _sweep(system: System) -> list[int]:
    """Return the joints of the sweep from the world, active ones before all."""
    graph, is_free = native.JointGraph(system.ends, system.n_bodies), system.joint_kind == Free.kind
    sweep = graph.sweep(~is_free)
    active = np.unique(system.coordinates.joint)
    joints = np.concatenate([active[~is_free[active]], sweep[sweep >= 0]])
    joints = joints[np.sort(np.unique(joints, return_index=True)[1])]
    return [int(j) for j in joints[graph.unite(joints)]]


def _tree_joints(
    system: System, graph: native.JointGraph, choice: str, root: str | None, required: list[int]
) -> IntArray:
    """Return the tree joint (n_bodies,) of every body; required joints form trees."""
    n, is_usable = system.n_bodies, np.ones(system.n_joints, dtype=bool)
    freedoms, is_free = joint_freedoms(system), system.joint_kind == Free.kind
    first = -1
    if root is not None:
        first = system.body(root)
        graph.unite_with_world(first)
        touches_world = np.minimum(system.predecessor, system.successor) < 0
        body = np.maximum(system.predecessor, system.successor)
        is_usable = ~(touches_world & np.isin(body, graph.connected(first)))
    is_required = np.zeros(system.n_joints, dtype=bool)
    chosen = np.array(required, dtype=np.intp)
    for j in chosen[~(graph.unite(chosen) & is_usable[chosen])]:
        raise ModelError(
            f"joint {system.joint_names[int(j)]!r} closes a loop with the other joints given "
            "for the tree, or with its root; leave it out"
        )
    active = np.setdiff1d(system.coordinates.joint, chosen)
    active = active[is_usable[active] & ~is_free[active]]
    is_required[chosen] = True
    is_required[active[graph.unite(active)]] = True
    tree_joint, depth = np.full(n, -2), np.zeros(n + 1, dtype=np.intp)
    roots = [n] if first < 0 else [n, first]
    while True:
        joints = freedoms, is_free, is_required, is_usable
        graph.grow(np.array(roots), TREE_CHOICES[choice], *joints, tree_joint, depth)
        remaining = np.flatnonzero(tree_joint == -2)
        if len(remaining) == 0:
            break
        part = graph.connected(int(remaining[0]))
        center = graph.median if len(part) <= MEDIAN_SIZE else graph.middle
        roots = [int(remaining[0]) if choice.endswith("-first") else center(part)]
    if choice == "minimum-nonzeros":
        graph.reduce_nonzeros(freedoms, is_usable & ~is_required & ~is_free, tree_joint)
    return tree_joint


def joint_freedoms(system: System) -> IntArray:
    """Return the number of velocity coordinates of every joint."""
    return N_VELOCITIES[system.joint_kind]


def _grown(system: System, choice: str, root: str | None, required: list[int]) -> SpanningTree:
    """Return the tree that grows by a choice; its arrays are in its own numbering of links."""
    graph = native.JointGraph(system.ends, system.n_bodies)
    tree_joint = _tree_joints(system, graph, choice, root, required)
    body, parent = graph.preorder(tree_joint)
    joint = tree_joint[body]
    kind = np.append(system.joint_kind, Free.kind)[joint]
    is_loop = np.ones(system.n_joints + 1, dtype=bool)
    is_loop[joint] = False  # the last one is that of virtual joints
    is_reversed = (joint != VIRTUAL) & (np.append(system.successor, -2)[joint] != body)
    return SpanningTree(
        system=system,
        choice=choice,
        body=body,
        joint=joint,
        parent=parent,
        direction=np.where(is_reversed, -1, 1),
        kind=kind,
        first_velocity=offsets(N_VELOCITIES[kind]),
        first_position=offsets(N_POSITIONS[kind]),
        loop_joint=np.flatnonzero(is_loop[:-1]),
    )


# ---- nonzeros that H has on every tree -----------------------------------------------------------

# The support of a body is a path from the root, which has as many freedoms as the shortest one of
# the graph at least. So each body has its least share of H by itself: with joint j to a body u at
# distance D(u) at least f_j D(u) + f_j (f_j + 1) / 2, and the least of these over its joints. Such
# a path of d joints passes d layers of bodies, equally many joints away from the root. If none has
# more than b bodies, the n supports have n^2 / (2 b) joints or more, and nnz(H) grows as n^2.

MOST_BODIES = 2_000  # in a part whose distances are all looked at
_FREE = 6  # freedoms of a virtual joint


class NonzeroBound(NamedTuple):
    """What every spanning tree of a mechanism has at least."""

    nonzeros: int  # of the lower triangle of H, its diagonal included
    from_world: int  # the same where no body hangs on a virtual joint that needs none
    widest_layer: int  # most bodies equally many joints away from the root, whatever it is


def nonzero_bound(system: System) -> NonzeroBound:
    """Return the bound over all trees, rooted in the world or in a body with a virtual free joint.

    Attained if all joints have equally many freedoms. ModelError for parts of more than 2,000
    bodies.
    """
    ends = system.ends
    freedoms = joint_freedoms(system)
    pairs, n = ends[(ends >= 0).all(axis=1)].T, system.n_bodies
    graph = coo_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(n, n))
    label = csgraph.connected_components(graph, False)[1]
    parts = (np.flatnonzero(label == part) for part in range(label.max(initial=-1) + 1))
    bounds = [_bound_of_part(bodies, ends, freedoms, system.name) for bodies in parts]
    return NonzeroBound(*map(sum, zip(*bounds, strict=True)))


def _bound_of_part(bodies: IntArray, ends: IntArray, freedoms: IntArray, name: str) -> NonzeroBound:
    """Return the bound of one connected part of the graph without the world."""
    n = len(bodies)
    if n > MOST_BODIES:
        raise ModelError(
            f"{name} has a part of {n} bodies; nonzeros are bounded in parts of {MOST_BODIES} at "
            "most, so look at a smaller one"
        )
    inside = np.flatnonzero(np.isin(ends, bodies).any(axis=1) & (ends[:, 0] != ends[:, 1]))
    node = np.where(ends[inside] < 0, n, np.searchsorted(bodies, ends[inside]))
    joint = freedoms[inside]
    is_world = (node == n).any(axis=1)
    within = node[~is_world]
    from_body = _distances(within, joint[~is_world], n)
    widest = _widest_layer(_distances(within, np.ones_like(joint[~is_world]), n))
    floating = min(
        int(_shares(within, joint[~is_world], _FREE + from_body[root], root).sum())
        for root in range(n)
    )
    if not is_world.any():
        return NonzeroBound(floating, floating, widest)
    layers = _distances(node, np.ones_like(joint), n + 1)[n:, :n]
    distance = _distances(node, joint, n + 1)[n]
    from_world = int(_shares(node, joint, distance, n).sum())
    widest = max(widest, _widest_layer(layers))
    return NonzeroBound(min(floating, from_world), from_world, widest)


def _distances(node: IntArray, length: IntArray, n: int) -> FloatArray:
    """Return the lengths (n, n) of shortest paths."""
    shortest = np.full((n, n), np.inf)
    np.minimum.at(shortest, tuple(node.T), length)  # of parallel joints the one of fewest freedoms
    return csgraph.dijkstra(csgraph.csgraph_from_dense(shortest, null_value=np.inf), directed=False)


def _widest_layer(distances: FloatArray) -> int:
    """Return the most equal entries of any row of distances."""
    return max(int(np.bincount(row.astype(np.intp)).max()) for row in distances)


def _shares(node: IntArray, freedoms: IntArray, distance: FloatArray, root: int) -> FloatArray:
    """Return the least nonzeros of each node's rows; those of a virtual joint at a root body."""
    share = np.full(len(distance), np.inf)
    for end, other_end in ((0, 1), (1, 0)):
        rows = freedoms * distance[node[:, other_end]] + freedoms * (freedoms + 1) / 2
        np.minimum.at(share, node[:, end], rows)
    share[root] = distance[root] * (distance[root] + 1) / 2
    return share
