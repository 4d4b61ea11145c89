// Biconnected components of multigraphs.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// The biconnected component of every edge; two edges are in one if a simple cycle passes through both.
// Bridges, and edges with both ends at one node, are components by themselves. The world is a node.
// Hopcroft and Tarjan (1973), Algorithm 447.
Array<Index> biconnected_components(Index n_nodes, View<const Index, 2> ends);

}  // namespace sparsebody
