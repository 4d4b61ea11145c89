// Cycles of a graph of nodes (bodies, -1 for the world, which is the last) and edges (joints); searches around nodes.
#pragma once

#include <tuple>

#include "graph/adjacency.hpp"

namespace sparsebody {

// The depth of every node in a breadth-first forest from the world, and which edges are in the forest.
std::pair<std::vector<Index>, Array<bool>> breadth_first_forest(Index n_nodes, View<const Index, 2> ends);

// (start, edge, sign): the shortest cycle that every chord closes with the edges in `is_usable`; chords become usable,
// one after the other, if `grows`.
std::tuple<Array<Index>, std::vector<Index>, std::vector<Index>> closed_cycles(Index n_nodes, View<const Index, 2> ends,
                                                                   View<const bool> is_usable,
                                                                   View<const Index> chords, bool grows);

// Up to n_nodes nodes around each seed, breadth first; label[node] is the position in the result, -1 before.
std::vector<Index> nodes_around(const Graph& graph, Indices seeds, Index n_nodes, View<Index> label);

}  // namespace sparsebody
