// Breadth-first and depth-first search, the only ones of this package.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// Appends to the queue what can be reached from its nodes [begin, end); returns the new end.
//
// reach(node, other, entry): called for every neighbour `other` of `node`, which is indices[entry] of the
//   graph; returns true, once for each node, to append `other`. The roots are marked by the caller.
// finish(k, first, end): called after the neighbours of queue[k], which are queue[first .. end) if new.
template <class Reach, class Finish = decltype([](Index, Index, Index) {})>
Index breadth_first(const Graph& graph, View<Index> queue, Index begin, Index end, Reach reach, Finish finish = {}) {
  for (Index head = begin; head < end; ++head) {
    const Index node = queue[head], first = end;
    for (Index entry = graph.start[node]; entry < graph.start[node + 1]; ++entry) {
      const Index other = graph.indices[entry];
      if (other >= 0 && reach(node, other, entry)) queue[end++] = other;
    }
    finish(head, first, end);
  }
  return end;
}

// Searches from one root, and writes the distance of every node from it; -1 marks those not reached yet.
inline Index distances_from(Index root, const Graph& graph, View<Index> queue, Index begin, View<Index> distance) {
  queue[begin] = root;
  distance[root] = 0;
  return breadth_first(graph, queue, begin, begin + 1, [&](Index node, Index other, Index) {
    if (distance[other] >= 0) return false;
    distance[other] = distance[node] + 1;
    return true;
  });
}

// ---- Depth-first search without recursion, the only one of this package.

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
