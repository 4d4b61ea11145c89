"""Patterns of bodies and joints for tests: from graphs, random ones, shuffled ones."""

import networkx as nx
import numpy as np
from hypothesis import strategies as st

import sparsebody as sb
from sparsebody.sparse.elimination_tree import ordering_metrics


def pattern_of(ends, n_bodies, body_size=6, joint_size=5):
    """Return the pattern of bodies of one size and joints (n, 2) of one size; -1 is the world."""
    ends = np.array(ends, dtype=np.intp).reshape(-1, 2)
    sizes = np.r_[np.full(n_bodies, body_size), np.full(len(ends), joint_size)]
    return sb.BlockPattern(sizes.astype(np.intp), ends)


def graph_pattern(graph, joint_size=5):
    """Return the pattern whose bodies are the nodes of a NetworkX graph, and joints its edges."""
    graph = nx.convert_node_labels_to_integers(graph)
    return pattern_of(list(graph.edges()), len(graph), joint_size=joint_size)


def lattice(n, dimension=2, joint_size=3):
    """Return bodies on a grid, joined to their neighbours, and one of them to the world."""
    pattern = graph_pattern(nx.grid_graph([n] * dimension), joint_size)
    ends = np.append(pattern.ends, [[-1, 0]], axis=0)
    return pattern_of(ends, pattern.n_primal, joint_size=joint_size)


def networkx_graph(pattern):
    """Return the bodies and the joints between two of them as a NetworkX graph."""
    graph = nx.Graph()
    graph.add_nodes_from(range(pattern.n_primal))
    graph.add_edges_from((a, b) for a, b in pattern.ends.tolist() if a >= 0 and b >= 0 and a != b)
    return graph


def ladder(n_rungs):
    """Return the ladder of fig. 8.4, 5 n - 2 blocks: bodies 2 k and 2 k + 1 make a rung."""
    left = 2 * np.arange(n_rungs)
    rungs, rails = np.c_[left, left + 1], np.c_[left[:-1], left[:-1] + 2]
    return pattern_of(np.r_[rungs, rails, rails + 1], 2 * n_rungs, joint_size=3)


def renumbered(pattern, seed):
    """Return a pattern with bodies and joints renumbered, ends exchanged, and the new numbers."""
    generator = np.random.default_rng(seed)
    body, joint = generator.permutation(pattern.n_primal), generator.permutation(pattern.n_dual)
    ends = np.where(pattern.ends >= 0, np.append(body, 0)[pattern.ends], -1)[joint, ::-1]
    sizes = np.empty_like(pattern.block_sizes)
    sizes[body] = pattern.block_sizes[: pattern.n_primal]
    sizes[pattern.n_primal :] = pattern.block_sizes[pattern.n_primal :][joint]
    label = np.concatenate([body, pattern.n_primal + np.argsort(joint)])
    return sb.BlockPattern(sizes, np.ascontiguousarray(ends)), label


def shuffled(pattern, seed):
    """Return a pattern with bodies and joints renumbered, and ends exchanged."""
    return renumbered(pattern, seed)[0]


def metrics(pattern, ordering, *arguments):
    """Return what an order that a function gives costs."""
    return ordering_metrics(pattern, ordering(pattern, *arguments))


@st.composite
def patterns(draw, max_bodies=9, max_joints=14):
    """Draw sizes and ends: with world joints, parallel joints, isolated bodies, several parts."""
    n_bodies = draw(st.integers(0, max_bodies))
    end = st.integers(0, max(n_bodies - 1, 0))
    joint = st.one_of(st.tuples(end, end), st.tuples(end, st.just(-1)), st.tuples(st.just(-1), end))
    joints = draw(st.lists(joint, max_size=max_joints if n_bodies else 0))
    n_blocks = n_bodies + len(joints)
    sizes = draw(st.lists(st.integers(1, 6), min_size=n_blocks, max_size=n_blocks))
    return sb.BlockPattern(
        np.array(sizes, dtype=np.intp), np.array(joints, dtype=np.intp).reshape(-1, 2)
    )


@st.composite
def ordered_patterns(draw, **most):
    """Draw a pattern and any order of its blocks."""
    pattern = draw(patterns(**most))
    return pattern, np.array(draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)


def eliminated(pattern, order):
    """Return for each position the set of later positions that couple to it: brute force."""
    position = np.argsort(order)
    coupled = [{int(position[k]) for k in pattern.neighbours(block)} for block in order]
    columns = []
    for pivot in range(len(order)):
        below = {k for k in coupled[pivot] if k > pivot}
        for k in below:
            coupled[k] |= below - {k}
        columns.append(below)
    return columns


def scalar_factor(pattern, order):
    """Return the nonzeros of the lower triangle of A and of L, as dense boolean arrays."""
    size = pattern.block_sizes[order]
    block = np.repeat(np.arange(len(size)), size)  # of each scalar row
    coupled, filled = (np.eye(len(size), dtype=bool) for _ in range(2))
    position = np.argsort(order)
    for i in range(pattern.n_blocks):
        coupled[position[i], position[pattern.neighbours(i)]] = True
    for pivot, below in enumerate(eliminated(pattern, order)):
        filled[list(below), pivot] = True
    return tuple(np.tril(blocks[np.ix_(block, block)]) for blocks in (coupled, filled))
