"""Cycle bases of the graph of primal and dual blocks: short ones, minimum ones, and faces.

Cycles are sets of edges, bits of an integer, and are added by symmetric difference.
"""

import heapq
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import networkx as nx
import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Cycles:
    """A cycle basis; edges are dual blocks, nodes primal ones and the world."""

    start: IntArray  # (n_cycles + 1,)
    edge: IntArray  # edges of cycle c at start[c] .. start[c+1]-1, one after the other around it
    sign: IntArray  # +1 where an edge is passed from its first end to its second

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, c: int) -> IntArray:
        if not 0 <= c < len(self):
            raise IndexError(c)
        return self.edge[self.start[c] : self.start[c + 1]]

    @property
    def cycle(self) -> IntArray:
        """The cycle of each entry of `edge`."""
        return np.repeat(np.arange(len(self), dtype=np.intp), np.diff(self.start))


def short_cycles(n_nodes: int, ends: IntArray) -> Cycles:
    """Return a basis of short cycles, in linear time where shortest cycles are short.

    Edges have ends (n_edges, 2) among n_nodes nodes, -1 being the world. A breadth-first tree from
    the world comes first. Every other edge, the nearest first, closes the shortest cycle with edges
    that came before it, so that no cycle depends on others. Each cycle starts with an edge that is
    in no earlier one. Pohl (1971), Bi-directional search, Machine Intelligence 6:127.
    """
    depth, is_tree = kernels.breadth_first_forest(n_nodes, ends)
    chords = np.flatnonzero(~is_tree)
    # depth[-1] is that of the world
    chords = chords[np.argsort(depth[ends[chords]].max(axis=1), kind="stable")]
    return Cycles(*kernels.closed_cycles(n_nodes, ends, is_tree, chords, True))


def fundamental_cycles(n_nodes: int, ends: IntArray, is_tree: BoolArray) -> Cycles:
    """Return the cycle that every edge outside of a forest, is_tree (n_edges,), closes with it.

    Each cycle starts with its edge outside of the forest, passed from its first end to its second.
    ValueError if the forest does not connect the ends of such an edge.
    """
    chords = np.flatnonzero(~is_tree)
    return Cycles(*kernels.closed_cycles(n_nodes, ends, is_tree, chords, False))


def _is_new(bits: int, independent: dict[int, int]) -> bool:
    """Return whether a cycle is no sum of earlier ones, stored by highest edge; store it then."""
    while bits:
        other = independent.get(bits.bit_length())
        if other is None:
            independent[bits.bit_length()] = bits
            return True
        bits ^= other
    return False


def minimum_cycles(n_nodes: int, ends: IntArray, weight: IntArray) -> Cycles:
    """Return a basis of the least total weight (n_edges,), and of the fewest edges among these.

    A cycle of a minimum basis consists of the shortest paths from any of its nodes to the ends of
    one of its edges, and of that edge. Such cycles, the lightest first, are taken if they are no
    sum of others. None is heavier than the heaviest of any other basis, which bounds the search.
    Weights are not negative. Horton (1987), SIAM J. Comput. 16:358.
    """
    known = short_cycles(n_nodes, ends)
    both = (weight * (len(ends) + 1) + 1).tolist()  # weights, then numbers of edges
    most = max((sum(both[e] for e in known[c]) for c in range(len(known))), default=0)
    at = np.where(ends < 0, n_nodes, ends).tolist()
    incident: list[list[tuple[int, int]]] = [[] for _ in range(n_nodes + 1)]
    for e, (a, b) in enumerate(at):
        incident[a].append((e, b))
        incident[b].append((e, a))
    candidates: dict[int, int] = {}
    for root in range(n_nodes + 1):
        candidates |= _cycles_through(root, incident, both, most)
    independent: dict[int, int] = {}
    chosen: list[int] = []
    for bits in sorted(candidates, key=lambda bits: (candidates[bits], bits)):
        if len(chosen) == len(known):
            break
        if _is_new(bits, independent):
            chosen.append(bits)
    return _as_cycles([_around(bits, at) for bits in chosen], at)


def _cycles_through(
    root: int, incident: Sequence[Sequence[tuple[int, int]]], weight: Sequence[int], most: int
) -> dict[int, int]:
    """Return the weights of cycles of an edge and two shortest paths from a root to its ends."""
    cycles, distance, path, branch = dict[int, int](), dict[int, int](), {root: 0}, {root: -1}
    queue = [(0, root, -1, root)]  # distance, node, edge to it, node before it
    while queue:
        d, node, edge, before = heapq.heappop(queue)
        if node in distance:
            continue
        distance[node] = d
        if edge >= 0:
            path[node] = path[before] | 1 << edge
            branch[node] = edge if before == root else branch[before]
        for e, other in incident[node]:
            if other in distance:
                total = d + distance[other] + weight[e]
                is_simple = branch[node] != branch[other] and not path[node] >> e & 1
                if is_simple and total <= most:
                    cycles[path[node] | path[other] | 1 << e] = total
            elif 2 * (d + weight[e]) <= most + weight[e]:
                heapq.heappush(queue, (d + weight[e], other, e, node))
    return cycles


def _around(bits: int, at: Sequence[Sequence[int]]) -> list[int]:
    """Return the edges of a simple cycle one after the other."""
    edges = [e for e in range(bits.bit_length()) if bits >> e & 1]
    of_node: dict[int, list[int]] = {}
    for e in edges:
        for node in at[e]:
            of_node.setdefault(node, []).append(e)
    around, node = [edges[0]], at[edges[0]][1]
    while len(around) < len(edges):
        around.append(sum(of_node[node]) - around[-1])  # the other one of its two edges
        node = sum(at[around[-1]]) - node
    return around


def _as_cycles(around: Sequence[Sequence[int]], at: Sequence[Sequence[int]]) -> Cycles:
    """Return cycles given by their edges, one after the other."""
    sign = []
    for edges in around:
        first, second = at[edges[0]]
        node = first if second in at[edges[1]] else second
        for e in edges:
            is_forwards = at[e][0] == node
            sign.append(1 if is_forwards else -1)
            node = at[e][1] if is_forwards else at[e][0]
    start = np.cumsum([0, *map(len, around)]).astype(np.intp)
    edge = np.array([e for edges in around for e in edges], dtype=np.intp)
    return Cycles(start, edge, np.array(sign, dtype=np.intp))


def face_cycles(
    n_nodes: int, ends: IntArray, weight: IntArray, drawing: FloatArray | None = None
) -> Cycles | None:
    """Return all faces except the heaviest of each biconnected component; None if not planar.

    `drawing` (n_nodes + 1 + n_edges, 2): points of the nodes, the world and the edges in a plane.
    Faces are those of the drawing where its lines do not cross, else of any embedding.
    """
    at = np.where(ends < 0, n_nodes, ends).tolist()
    graph = nx.Graph()  # edges are nodes too, numbered after the others: some may be parallel
    for e, pair in enumerate(at):
        graph.add_edges_from((node, n_nodes + 1 + e) for node in pair)
    around = []
    for part in nx.biconnected_component_edges(graph):
        edges = list(part)
        if len(edges) > 1:
            embedding = _embedding(nx.Graph(edges), drawing)
            if embedding is None:
                return None
            passed: set[tuple[int, int]] = set()
            nodes = (
                embedding.traverse_face(*edge, mark_half_edges=passed)
                for edge in embedding.edges()
                if edge not in passed
            )
            faces = [[k - n_nodes - 1 for k in face if k > n_nodes] for face in nodes]
            heaviest = max(range(len(faces)), key=lambda k: (sum(weight[faces[k]]), len(faces[k])))
            around += faces[:heaviest] + faces[heaviest + 1 :]
    return _as_cycles(around, at)


def _embedding(graph: nx.Graph, drawing: FloatArray | None) -> nx.PlanarEmbedding | None:
    """Return the clockwise order of the edges at each node; None if the graph is not planar."""
    if drawing is not None:
        embedding, clockwise = nx.PlanarEmbedding(), {}
        for node in graph:
            others = np.array(graph[node])
            x, y = (drawing[others] - drawing[node]).T
            clockwise[node] = others[np.argsort(-np.arctan2(y, x), kind="stable")].tolist()
        embedding.set_data(clockwise)
        with suppress(nx.NetworkXException):
            embedding.check_structure()
            return embedding
    return nx.check_planarity(graph)[1]
