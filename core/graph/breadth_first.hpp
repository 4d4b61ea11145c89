// Breadth-first search, the only one of this package.
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

}  // namespace sparsebody
