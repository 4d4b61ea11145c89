// Cycles of a graph of nodes (bodies, the world last) and edges (joints), and searches around nodes.
#pragma once

#include <tuple>

#include "base/array.hpp"

namespace sparsebody {

// A graph by its edges: ends (n_edges, 2), and the edges of node i at incident[first[i]] .. incident[first[i + 1] - 1].
struct EdgeGraph {
  View<const Index, 2> ends;
  View<const Index> first, incident;

  Index n_nodes() const { return first.size() - 1; }
  Index other_end(Index edge, Index node) const { return ends(edge, 0) + ends(edge, 1) - node; }
};

// The depth of every node in a breadth-first forest from the last node, and which edges are in the forest.
std::tuple<Array<Index>, Array<bool>> breadth_first_forest(const EdgeGraph& graph);

// (start, edge, sign): the shortest cycle that every chord closes with the edges in `is_usable`; chords become usable,
// one after the other, if `grows`.
std::tuple<Array<Index>, Array<Index>, Array<Index>> closed_cycles(const EdgeGraph& graph, View<const bool> is_usable,
                                                                   View<const Index> chords, bool grows);

// Up to n_nodes nodes around each seed, breadth first; label[node] is the position in the result, -1 before.
Array<Index> nodes_around(View<const Index> indptr, View<const Index> indices, View<const Index> seeds,
                          Index n_nodes, View<Index> label);

}  // namespace sparsebody
