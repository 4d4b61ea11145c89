"""Which joints are in the spanning tree, and how its bodies are numbered."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import IntArray
from sparsebody.equations.system_motion import joint_ends
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model.joints import Free
from sparsebody.model.system import System
from sparsebody.tree.fronts import least_fronts
from sparsebody.tree.spanning_tree import N_POSITIONS, N_VELOCITIES, SpanningTree, offsets

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


def spanning_tree(
    system: System,
    choice: str = "minimum-nonzeros",
    *,
    root: str | None = None,
    joints: Iterable[str] = (),
) -> SpanningTree:
    """Return a spanning tree of a mechanism. Featherstone (2008), sec. 8.6.

    Joints with springs, dampers, efforts or drives go into the tree as far as they can, so that
    loop joints are passive; free joints serve only where no other joint leads to a body.

    Parameters
    ----------
    system : System
        The mechanism.
    choice : {"breadth-first", "depth-first", "minimum-depth", "minimum-nonzeros", "minimum-fronts"}
        Joints in the order of declaration, breadth or depth first; least number of velocity
        coordinates between the world and each body; from there downhill to fewer nonzeros in the
        joint-space inertia, a heuristic. The next two look for a central root in parts that are
        not joined to the world; the former take the body declared first. The last takes one of
        these, or a depth-first sweep away from the world, for the least work of "loops-aba".
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
    if choice not in TREE_CHOICES:
        raise UnknownNameError(f"tree is {choice!r}; give one of {', '.join(TREE_CHOICES)}")
    required = [system.joint(name) for name in joints]
    if choice != "minimum-fronts":
        return _grown(system, choice, root, required)
    sweeps = [_grown(system, choice, root, _sweep(system))] if root is None and not required else []
    others = (_grown(system, other, root, required) for other in TREE_CHOICES if other != choice)
    return least_fronts(chain(sweeps, others))


def _grown(system: System, choice: str, root: str | None, required: list[int]) -> SpanningTree:
    """Return the tree of a choice that grows."""
    graph = _joint_graph(system)
    tree_joint = _tree_joints(system, graph, choice, root, required)
    body, parent = graph.preorder(tree_joint)
    return _numbered(system, choice, tree_joint, body, parent)


def _sweep(system: System) -> list[int]:
    """Return the joints of the sweep from the world, those with forces or drives before all."""
    graph, is_free = _joint_graph(system), system.joint_kind == Free.kind
    sweep = graph.sweep(~is_free)
    active = np.unique(system.coordinates.joint)
    joints = np.concatenate([active[~is_free[active]], sweep[sweep >= 0]])
    joints = joints[np.sort(np.unique(joints, return_index=True)[1])]
    return [int(j) for j in joints[graph.unite(joints)]]


def _joint_graph(system: System) -> native.JointGraph:
    return native.JointGraph(joint_ends(system, np.arange(system.n_joints)), system.n_bodies)


def _tree_joints(
    system: System, graph: native.JointGraph, choice: str, root: str | None, required: list[int]
) -> IntArray:
    """Return the tree joint (n_bodies,) of every body of the system.

    Required joints form trees: groups of bodies, each entered by one other joint at most.
    """
    n, is_usable = system.n_bodies, np.ones(system.n_joints, dtype=bool)
    freedoms, is_free = joint_freedoms(system), system.joint_kind == Free.kind
    first = -1
    if root is not None:
        first = system.body(root)
        graph.unite_with_world(first)
        touches_world = np.minimum(system.predecessor, system.successor) < 0
        outer = np.maximum(system.predecessor, system.successor)
        is_usable = ~(touches_world & np.isin(outer, graph.connected(first)))
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


def _numbered(
    system: System, choice: str, tree_joint: IntArray, body: IntArray, parent: IntArray
) -> SpanningTree:
    """Return the tree with everything in its own numbering."""
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
