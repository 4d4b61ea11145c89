// The joints at every body, or the edges at every node of a multigraph.
#pragma once

#include <span>
#include <vector>

#include "base/array.hpp"

namespace sparsebody::model {

// Edges by their first ends, then by their second ends; an edge with both ends at one node is listed twice.
struct JointIncidence {
  std::vector<Index> start, edge;

  // node(side, e) is the node of edge e at that side.
  template <class Node>
  JointIncidence(Index n_nodes, Index n_edges, Node node) : start(n_nodes + 1), edge(2 * n_edges) {
    for (int side = 0; side < 2; ++side)
      for (Index e = 0; e < n_edges; ++e) ++start[node(side, e) + 1];
    for (Index i = 0; i < n_nodes; ++i) start[i + 1] += start[i];
    std::vector<Index> next(start.begin(), start.end() - 1);
    for (int side = 0; side < 2; ++side)
      for (Index e = 0; e < n_edges; ++e) edge[next[node(side, e)]++] = e;
  }
  JointIncidence(Index n_nodes, View<const Index, 2> ends)
      : JointIncidence(n_nodes, ends.shape(1), [&](int side, Index e) { return ends(side, e); }) {}

  std::span<const Index> operator[](Index node) const {
    return {edge.data() + start[node], edge.data() + start[node + 1]};
  }
};

}  // namespace sparsebody::model
