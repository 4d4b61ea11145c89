// Breadth-first and depth-first search.
#pragma once

#include <algorithm>

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

// Breadth-first search from the first n_roots nodes of the queue. Returns the queue of all nodes reached, with their
// distances from the roots; -1 marks nodes not reached yet.
inline View<Index> search(const Graph& graph, Index n_roots, View<Index> queue, View<Index> distance) {
  for (const Index root : queue.slice(0, n_roots)) distance[root] = 0;
  return queue.slice(0, breadth_first(graph, queue, 0, n_roots, [&](Index node, Index other, Index) {
    if (distance[other] >= 0) return false;
    distance[other] = distance[node] + 1;
    return true;
  }));
}
inline View<Index> search_from(Index root, const Graph& graph, View<Index> queue, View<Index> distance) {
  queue[0] = root;
  return search(graph, 1, queue, distance);
}
// Returns the first node of the fewest edges in the last level of a search, and resets its distances to -1.
inline Index end_search(const Graph& graph, Indices reached, View<Index> distance) {
  const Index depth = distance[reached[reached.size() - 1]];
  const auto last_level = std::ranges::lower_bound(reached, depth, {}, [&](Index node) { return distance[node]; });
  for (const Index node : reached) distance[node] = -1;
  return *std::ranges::min_element(last_level, reached.end(), {}, [&](Index node) { return graph.degree(node); });
}
// A pseudo-peripheral node, of nearly the greatest eccentricity: each search begins at a node of the last level of the
// one before, as long as they get deeper. George and Liu (1979), ACM TOMS 5:284.
inline Index peripheral_node(Index seed, const Graph& graph, int most_searches, View<Index> queue, View<Index> distance) {
  Index node = seed, eccentricity = -1;
  for (int k = 0; k < most_searches; ++k) {
    const View<Index> reached = search_from(node, graph, queue, distance);
    const Index depth = distance[reached[reached.size() - 1]], end = end_search(graph, reached, distance);
    if (depth <= eccentricity) break;
    eccentricity = depth;
    node = end;
  }
  return node;
}

// ---- Depth-first search without recursion.

// Visits all nodes that can be reached from a root, which the caller has marked.
//
// next[i]: the first entry of node i not looked at yet, at first start[i]; path: room for the path to a node.
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
