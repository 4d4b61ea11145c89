// Breadth-first searches: Cuthill-McKee orders, distances from landmarks, recursive bisection by levels.
#pragma once

#include <algorithm>
#include <numeric>

#include "graph/adjacency.hpp"
#include "graph/searches.hpp"

namespace sparsebody {

// The nodes breadth first, one connected component after the other; each begins with a node at its periphery,
// and neighbours of few edges come first. Cuthill and McKee (1969). If `towards_world`, a component whose edges to
// the world, -1, lie nearer to its beginning is listed from its other end.
inline Array<Index> cuthill_mckee(const Graph& listed, bool towards_world) {
  constexpr int most_searches = 8;  // for a node at the periphery: they end when the depth no longer grows
  const Index n = listed.size();
  std::vector<Index> indices = sorted_entries(listed, [&](Index other) { return other < 0 ? 0 : listed.degree(other); });
  for (Index& other : indices) other = listed.indices[other];
  std::vector<Index> distance(n, -1);
  const Graph graph{listed.start, indices};
  Array<Index> order(n);
  Index begin = 0;
  for (Index seed = 0; seed < n; ++seed) {
    if (distance[seed] >= 0) continue;
    const View<Index> queue = order.view().slice(begin, n);
    const Index start = peripheral_node(seed, graph, most_searches, queue, distance);
    const View<Index> part = search_from(start, graph, queue, distance);
    Index balance = 0;  // of edges to the world: how far they are beyond the middle
    for (Index i = 0; i < part.size(); ++i)
      balance += std::ranges::count(graph[part[i]], -1) * (2 * i - (part.size() - 1));
    if (towards_world && balance < 0) search_from(end_search(graph, part, distance), graph, queue, distance);
    begin += part.size();
  }
  return order;
}

// Distances from one node; -1 where there is no path.
inline std::vector<Index> distances(const Graph& graph, Index source) {
  std::vector<Index> distance(graph.size(), -1), queue(graph.size());
  search_from(source, graph, queue, distance);
  return distance;
}

// Distances (n, n_landmarks) from landmarks of each component, each the node farthest from those before; an offset makes
// the distances of components differ. In `component_order` components are contiguous and begin with their first landmark.
// Gonzalez (1985), Theor. Comput. Sci. 38:293.
inline Array<double, 2> landmark_distances(const Graph& graph, Indices component_order, Index n_landmarks) {
  const Index n = graph.size();
  Array<double, 2> distances({n, n_landmarks});
  std::vector<Index> queue(n), distance(n, -1), nearest(n);
  Index offset = 0;
  for (Index begin = 0, end = 0; begin < n; begin = end) {
    Index source = component_order[begin], farthest = 0;
    for (Index k = 0; k < n_landmarks; ++k) {
      const View<Index> part = search_from(source, graph, queue, distance);
      end = begin + part.size();
      farthest = std::max(farthest, distance[part[part.size() - 1]]);
      source = component_order[begin];
      for (const Index node : component_order.slice(begin, end))
        nearest[node] = k == 0 ? distance[node] : std::min(nearest[node], distance[node]);
      for (const Index node : component_order.slice(begin, end)) {
        if (nearest[node] > nearest[source]) source = node;
        distances(node, k) = double(distance[node] + offset);
        distance[node] = -1;
      }
    }
    offset += farthest + 1;
  }
  return distances;
}

// The nodes in an order by recursive bisection: [a, b) is cut at m = (a + b) / 2, in breadth-first order from the
// periphery of the part or, if `from_farthest_of_another`, from the node farthest from an arbitrary one.
// George (1973); George and Liu (1978), SIAM J. Numer. Anal. 15, 5 (automatic dissection).
inline Array<Index> bisected(const Graph& graph, bool from_farthest_of_another) {
  const int n_searches = from_farthest_of_another ? 1 : 3;  // for a node at the periphery of a part
  const Index n = graph.size();
  Array<Index> order(n);
  std::iota(order.begin(), order.end(), Index(0));
  std::vector<Index> part_of(n, n);  // the end of the part that contains a node
  std::vector<bool> seen(n);
  std::vector<Index> queue(n);
  std::vector<std::pair<Index, Index>> parts{{0, n}};
  while (!parts.empty()) {
    const auto [first, end_of_part] = parts.back();
    parts.pop_back();
    const Index size = end_of_part - first;
    if (size < 3) continue;
    Index begin = 0;
    const auto search = [&, label = end_of_part](Index start) {
      queue[begin] = start;
      seen[start] = true;
      return breadth_first(graph, queue, begin, begin + 1, [&](Index, Index other, Index) {
        if (seen[other] || part_of[other] != label) return false;
        seen[other] = true;
        return true;
      });
    };
    for (Index k = 0; k < size; ++k) {
      // an arbitrary node, not the first, which is at the periphery of the part or next to the last cut
      Index start = order[first + (from_farthest_of_another ? (k + size / 3) % size : k)];
      if (seen[start]) continue;
      for (int i = 0; i < n_searches; ++i) {
        const Index end = search(start);
        start = queue[end - 1];
        for (Index q = begin; q < end; ++q) seen[queue[q]] = false;
      }
      begin = search(start);
    }
    const Index middle = (first + end_of_part) / 2;
    for (Index k = 0; k < size; ++k) {
      order[first + k] = queue[k];
      seen[queue[k]] = false;
      if (first + k < middle) part_of[queue[k]] = middle;
    }
    parts.emplace_back(first, middle);
    parts.emplace_back(middle, end_of_part);
  }
  return order;
}

}  // namespace sparsebody
