"""The body-joint graph for other programs: GraphML of the mechanism, METIS of its blocks."""

from __future__ import annotations

from pathlib import Path

import networkx as nx

from sparsebody.corpus.corpus_problem import CorpusProblem
from sparsebody.model.mechanism import WORLD
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.writing import replaced


def body_joint_graph(problem: CorpusProblem) -> nx.MultiDiGraph:
    """Return bodies as nodes and joints as edges from predecessor to successor, all by name.

    A body weighs as many as it has freedoms, a joint as many as it has constraint rows; both have
    the number of their block, and a place x, y, z in the world [m]. The world weighs nothing.
    """
    system, place = problem.system, problem.positions().tolist()
    n, freedoms = system.n_bodies, system.freedoms.tolist()
    graph = nx.MultiDiGraph(name=problem.name)
    graph.add_node(WORLD, weight=0, block=-1)
    for i, name in enumerate(system.body_names):
        x, y, z = place[i]
        graph.add_node(name, weight=freedoms[i], block=i, x=x, y=y, z=z)
    names = [*system.body_names, WORLD]  # -1 is the last
    for j, name in enumerate(system.joint_names):
        x, y, z = place[n + j]
        rows = int(system.first_row[j + 1] - system.first_row[j])
        ends = names[system.predecessor[j]], names[system.successor[j]]
        graph.add_edge(*ends, key=name, weight=rows, block=n + j, x=x, y=y, z=z)
    return graph


def write_graphml(graph: nx.MultiDiGraph, path: Path) -> None:
    """Save a graph as GraphML.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    text = "\n".join(nx.generate_graphml(graph, named_key_ids=True))
    with replaced(path) as draft:
        draft.write_text(text + "\n", encoding="utf-8", newline="\n")


def write_metis(pattern: BlockPattern, path: Path) -> None:
    """Save the quotient graph, bodies before joints, as METIS takes it: vertices weigh their rows.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    indptr, indices = pattern.adjacency
    sizes, neighbours = pattern.block_sizes.tolist(), (indices + 1).tolist()
    lines = [f"{pattern.n_blocks} {len(indices) // 2} 010 1"]
    for i, size in enumerate(sizes):
        lines.append(" ".join(map(str, [size, *neighbours[indptr[i] : indptr[i + 1]]])))
    with replaced(path) as draft:
        draft.write_text("\n".join(lines) + "\n", newline="\n")
