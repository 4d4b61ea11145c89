"""Bases of loops, and the nonzeros that loop closure has with each.

The joint velocities around a loop add up to zero, Featherstone (2008), sec. 8.5,

    sum_j sign_j X_j S_j qd_j = 0,    X_j from joint j to one frame of the loop:

six rows of K, with a block of 6 x n_j in each of its joints j. The rows of all bases span the same
space, and differ in their nonzeros.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from sparsebody._core import tree as native
from sparsebody.analysis.reactions import constrained_joints
from sparsebody.arrays import BoolArray, IntArray
from sparsebody.errors import ModelError, check_name
from sparsebody.kinematics.joint_motion import joint_frames
from sparsebody.model import Mechanism, System
from sparsebody.sparse import cycles as graph_cycles
from sparsebody.sparse.cycles import Cycles
from sparsebody.tree import TREE_CHOICES, SpanningTree, spanning_tree

MOST_LOOPS = 5_000  # whose pairs are counted
RANDOM_TREE = "random"
FUNDAMENTAL = tuple(f"{name} tree" for name in (*TREE_CHOICES, RANDOM_TREE))
LOOP_BASES = ("minimum", "short", "faces", *FUNDAMENTAL)
_GENERAL = "breadth-first"  # the tree of H where the basis has none


@dataclass(frozen=True)
class LoopBasisLine:
    """What one basis of loops costs; blocks are taken as dense."""

    name: str
    tree: str  # that of H
    loops: int
    joints: int  # in all loops together
    longest: int  # joints in the longest loop
    nnz_k: int  # of K on the velocities of all joints
    nnz_coupling: int  # of K W K', W a block for each joint: loops that share a joint
    nnz_product: int  # of K H^-1 K', H of the tree with armature on loop joints
    nnz_h: int  # of the lower triangle of H
    nnz_tree_k: int | None  # of K in the velocities of tree joints, for fundamental loops

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {"basis": self.name, **{k: v for k, v in vars(self).items() if k != "name"}}


@dataclass(frozen=True, eq=False)
class LoopBasisComparison:
    """The bases of one mechanism, the one with the fewest nonzeros of K first."""

    lines: tuple[LoopBasisLine, ...]
    cycles: dict[str, Cycles]  # of the system's joints
    dimension: int  # joints with rows - nodes + connected components
    is_planar: bool | None  # whether the body-joint graph is; None if faces were not asked for


def _cycles(system: System, name: str, tree: SpanningTree) -> Cycles | None:
    """Return the basis; the tree is that of fundamental loops."""
    joints, ends = constrained_joints(system)
    freedoms = _freedoms(system)[joints]
    cycles: Cycles | None
    if name in FUNDAMENTAL:
        in_tree_first = np.argsort(tree.tree_index[joints] < 0, kind="stable")
        is_tree = np.zeros(len(joints), dtype=bool)  # constrained joints in place of free ones
        is_tree[in_tree_first] = _united(in_tree_first, ends, tree.n_bodies)
        cycles = graph_cycles.fundamental_cycles(system.n_bodies, ends, is_tree)
    elif name == "minimum":
        cycles = graph_cycles.minimum_cycles(system.n_bodies, ends, freedoms)
    elif name == "short":
        cycles = graph_cycles.short_cycles(system.n_bodies, ends)
    else:  # the drawing shows bodies, world and joints in the plane along which they spread most
        state = system.initial_state
        point, to_world = joint_frames(system, state)[1][1][joints], np.any(ends < 0, axis=1)
        world = point[to_world].mean(axis=0) if to_world.any() else np.zeros(3)
        points = np.concatenate([state.position, world[None], point])
        spread = points - points.mean(axis=0)
        drawing = spread @ np.linalg.svd(spread, full_matrices=False)[2][:2].T
        cycles = graph_cycles.face_cycles(system.n_bodies, ends, freedoms, drawing)
    return None if cycles is None else Cycles(cycles.start, joints[cycles.edge], cycles.sign)


def _freedoms(system: System) -> IntArray:
    """Return (n_joints,) freedoms left by the rows of joints and of prescribed motions."""
    return np.maximum(6 - np.diff(system.first_row), 0).astype(np.intp)


def _tree(system: System, name: str, seed: int) -> SpanningTree:
    """Return the spanning tree that a basis is named after, or a breadth-first one."""
    choice = name.removesuffix(" tree") if name in FUNDAMENTAL else _GENERAL
    if choice != RANDOM_TREE:
        return spanning_tree(system, choice)
    joints, ends = constrained_joints(system)
    shuffled = np.random.default_rng(seed).permutation(len(joints))
    tree_joints = shuffled[_united(shuffled, ends, system.n_bodies)]
    names = [system.joint_names[int(j)] for j in joints[tree_joints]]
    return spanning_tree(system, _GENERAL, joints=names)


def _united(sequence: IntArray, ends: IntArray, n_bodies: int) -> BoolArray:
    """Return which joints, one after the other, close no loop with earlier ones."""
    return native.JointGraph(ends, n_bodies).unite(sequence)


def compare_loop_bases(
    mechanism: Mechanism | System, names: Sequence[str] = (), *, seed: int = 0
) -> LoopBasisComparison:
    """Return the nonzeros of K and K H^-1 K' with each basis of loops, counted on the graph.

    Parameters
    ----------
    mechanism : Mechanism or System
        Joints without constraint rows close no loops.
    names : sequence of str
        From LOOP_BASES; default: all.
    seed : int
        Of the random tree.

    Raises
    ------
    UnknownNameError
        For an unknown basis.
    ModelError
        If there are more than MOST_LOOPS loops, or the seed is negative.
    """
    system = mechanism.compile() if isinstance(mechanism, Mechanism) else mechanism
    if seed < 0:
        raise ModelError(f"seed is {seed}; give a number that is not negative")
    for name in names:
        check_name(name, LOOP_BASES, "loop basis")
    joints, ends = constrained_joints(system)
    dimension = int(np.sum(~_united(np.arange(len(joints)), ends, system.n_bodies)))
    if dimension > MOST_LOOPS:
        raise ModelError(
            f"{system.name} has {dimension} loops, more than {MOST_LOOPS}; take a smaller one"
        )
    trees = {name: _tree(system, name, seed) for name in dict.fromkeys(names or LOOP_BASES)}
    bases = {name: _cycles(system, name, tree) for name, tree in trees.items()}
    cycles = {name: one for name, one in bases.items() if one is not None}
    lines = [_line(name, one, trees[name]) for name, one in cycles.items()]
    is_planar = bases["faces"] is not None if "faces" in bases else None
    lines.sort(key=lambda line: (line.nnz_k, line.nnz_product))
    return LoopBasisComparison(tuple(lines), cycles, dimension, is_planar)


def _line(name: str, cycles: Cycles, tree: SpanningTree) -> LoopBasisLine:
    system = tree.system
    freedoms, length = _freedoms(system), np.diff(cycles.start)
    closing = cycles.edge[cycles.start[:-1]]  # rows of these alone: Featherstone (2008), table 8.4
    total = np.bincount(cycles.cycle, freedoms[cycles.edge], minlength=len(cycles))
    nnz_tree_k = int(np.diff(system.first_row)[closing] @ (total - freedoms[closing]))
    shared, reach = _shared(cycles, freedoms), _reach(cycles, freedoms, tree)
    return LoopBasisLine(
        name=name,
        tree=name.removesuffix(" tree") if name in FUNDAMENTAL else _GENERAL,
        loops=len(cycles),
        joints=len(cycles.edge),
        longest=int(length.max(initial=0)),
        nnz_k=6 * int(freedoms[cycles.edge].sum()),
        nnz_coupling=36 * int((shared @ shared.T).nnz),
        nnz_product=36 * int((reach @ reach.T).nnz),
        nnz_h=tree.n_inertia_nonzeros,
        nnz_tree_k=nnz_tree_k if name in FUNDAMENTAL else None,
    )


def _shared(cycles: Cycles, freedoms: IntArray) -> csr_array:
    """Return (n_cycles, n_joints) the joints of each cycle that can move."""
    moves = freedoms[cycles.edge] > 0
    where = cycles.cycle[moves], cycles.edge[moves]
    shape = len(cycles), len(freedoms)
    return coo_array((np.ones(moves.sum(), dtype=np.int32), where), shape=shape).tocsr()


def _reach(cycles: Cycles, freedoms: IntArray, tree: SpanningTree) -> csr_array:
    """Return what couples loops in K H^-1 K': loop joints, and the joints that trees stand on.

    With H = L' L, rows of K L^-1 have entries from the joints of a loop to the world. Two of
    them overlap if they stand on the same joint nearest to the world that can move.
    """
    base = np.full(tree.n_bodies, -1, dtype=np.intp)
    moves = (tree.joint < 0) | (freedoms[tree.joint] > 0)  # virtual joints, and those that can
    for i, parent in enumerate(tree.parent.tolist()):
        of_parent = base[parent] if parent >= 0 else -1
        base[i] = i if of_parent < 0 and moves[i] else of_parent
    shared = _shared(cycles, freedoms).tocoo()
    index = tree.tree_index[shared.col]
    column = np.where(index >= 0, base[index], tree.n_bodies + shared.col)
    shape = len(cycles), tree.n_bodies + len(freedoms)
    return coo_array((np.ones(len(column), dtype=np.int32), (shared.row, column)), shape).tocsr()
