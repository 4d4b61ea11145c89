// Depth-first search without recursion, the only one of this package.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// Walks what can be reached from a root, which the caller has marked.
//
// next[i]: the first entry of node i not looked at yet, at first start[i]; path: room for the way to a node.
// descend(node, other, entry): as `reach` of breadth_first, but also called with other = -1.
// ascend(node, parent): called when a node is left for the one before it; not called for the root.
template <class Descend, class Ascend>
void depth_first(const Graph& graph, Index root, View<Index> next, View<Index> path, Descend descend, Ascend ascend) {
  Index depth = 1;
  path[0] = root;
  while (depth > 0) {
    const Index node = path[depth - 1];
    if (next[node] < graph.start[node + 1]) {
      const Index entry = next[node]++, other = graph.indices[entry];
      if (descend(node, other, entry)) path[depth++] = other;
    } else if (--depth > 0) {
      ascend(node, path[depth - 1]);
    }
  }
}

}  // namespace sparsebody
