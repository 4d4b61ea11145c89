// Biconnected components of multigraphs.
#pragma once

#include <algorithm>

#include "graph/adjacency.hpp"
#include "graph/depth_first.hpp"

namespace sparsebody {

// The biconnected component of every edge; two edges are in one if a simple cycle passes through both.
// Bridges, and edges with both ends at one node, are components by themselves. The world is a node.
// Hopcroft and Tarjan (1973), Algorithm 447.
inline Array<Index> biconnected_components(Index n_nodes, View<const Index, 2> ends) {
  const Incidence at = incidence(n_nodes, ends, World::is_last_node);
  const Index n = n_nodes + 1, n_edges = ends.rows();
  Array<Index> component(n_edges);
  std::vector<bool> used(n_edges);
  std::vector<Index> discovery(n, -1);  // when a node was reached first
  std::vector<Index> low(n);            // the earliest node that its subtree reaches
  std::vector<Index> tree_edge(n, -1), next(at.start.begin(), at.start.end() - 1), path(n), open;
  Index time = 0, count = 0;
  const auto discover = [&](Index node) { discovery[node] = low[node] = time++; };
  for (Index root = 0; root < n; ++root) {
    if (discovery[root] >= 0) continue;
    discover(root);
    depth_first(
        at.graph(), root, next, path,
        [&](Index node, Index other, Index entry) {
          const Index edge = at.edge[entry];
          if (used[edge]) return false;
          used[edge] = true;
          if (other < 0) {
            component[edge] = count++;
            return false;
          }
          open.push_back(edge);
          if (discovery[other] >= 0) {
            low[node] = std::min(low[node], discovery[other]);
            return false;
          }
          discover(other);
          tree_edge[other] = edge;
          return true;
        },
        [&](Index node, Index parent) {
          low[parent] = std::min(low[parent], low[node]);
          if (low[node] < discovery[parent]) return;
          while (true) {  // nothing below reaches past the parent: the open edges down from it are a component
            const Index edge = open.back();
            open.pop_back();
            component[edge] = count;
            if (edge == tree_edge[node]) break;
          }
          ++count;
        });
  }
  return component;
}

}  // namespace sparsebody
