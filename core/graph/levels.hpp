// Breadth-first orders of a graph: narrow bands, distances, nested halves.
#pragma once

#include <algorithm>
#include <numeric>

#include "graph/adjacency.hpp"
#include "graph/searches.hpp"

namespace sparsebody {

struct Levels {
  Index end;         // of the queue
  Index depth;       // of the last level
  Index last_level;  // where it begins
};

// Appends the component of `start`; new neighbours of a node come by their degrees, then as they are listed.
inline Levels search_by_degree(const Graph& graph, Index start, std::vector<bool>& seen, View<Index> queue,
                               Index begin) {
  Index depth = 0, level = begin, level_end = begin + 1;
  queue[begin] = start;
  seen[start] = true;
  const Index end = breadth_first(
      graph, queue, begin, begin + 1,
      [&](Index, Index other, Index) {
        if (seen[other]) return false;
        seen[other] = true;
        return true;
      },
      [&](Index head, Index first, Index end) {
        for (Index i = first + 1; i < end; ++i) {  // stable insertion: a node has few neighbours, mostly
          const Index node = queue[i], degree = graph.degree(node);
          Index k = i;
          for (; k > first && graph.degree(queue[k - 1]) > degree; --k) queue[k] = queue[k - 1];
          queue[k] = node;
        }
        if (head + 1 == level_end && end > level_end) {
          level = level_end;
          level_end = end;
          ++depth;
        }
      });
  return {end, depth, level};
}

// The nodes breadth first, one connected component after the other; each begins with a node at its periphery,
// and neighbours of few edges come first. Cuthill and McKee (1969); George and Liu (1979) for the periphery. With
// `towards_world` it begins at the other end if the edges to the world, -1, are nearer to this one.
inline Array<Index> cuthill_mckee(const Graph& graph, bool towards_world) {
  constexpr int most_searches = 8;  // for a node at the periphery
  const Index n = graph.size();
  Array<Index> order(n);
  std::vector<bool> seen(n);
  Index begin = 0;
  for (Index seed = 0; seed < n; ++seed) {
    if (seen[seed]) continue;
    Index start = seed, depth = -1;
    const auto forget = [&](const Levels& levels) {  // returns a node at the end of a search
      for (Index i = begin; i < levels.end; ++i) seen[order[i]] = false;
      return *std::min_element(order.begin() + levels.last_level, order.begin() + levels.end,
                               [&](Index a, Index b) { return graph.degree(a) < graph.degree(b); });
    };
    for (int k = 0; k < most_searches; ++k) {
      const Levels levels = search_by_degree(graph, start, seen, order, begin);
      const Index end = forget(levels);
      if (levels.depth <= depth) break;
      depth = levels.depth;
      start = end;
    }
    Levels levels = search_by_degree(graph, start, seen, order, begin);
    Index balance = 0;  // of edges to the world: how far they are beyond the middle
    for (Index i = begin; i < levels.end; ++i)
      balance += std::ranges::count(graph[order[i]], -1) * (2 * i - (begin + levels.end - 1));
    if (towards_world && balance < 0) {
      const Index end = forget(levels);
      levels = search_by_degree(graph, end, seen, order, begin);
    }
    begin = levels.end;
  }
  return order;
}

// Distances from one node; -1 where there is no path.
inline std::vector<Index> distances(const Graph& graph, Index source) {
  std::vector<Index> distance(graph.size(), -1), queue(graph.size());
  distances_from(source, graph, queue, 0, distance);
  return distance;
}

// Distances (n, n_landmarks) from landmarks of each component, far apart from each other; components are set
// apart by an offset. In `sequence` every component is in one piece, its first landmark in front.
inline Array<double, 2> landmark_distances(const Graph& graph, Indices sequence, Index n_landmarks) {
  const Index n = graph.size();
  Array<double, 2> distances({n, n_landmarks});
  std::vector<Index> queue(n), distance(n, -1), nearest(n);
  Index offset = 0;
  for (Index begin = 0, end = 0; begin < n; begin = end) {
    Index source = sequence[begin], farthest = 0;
    for (Index k = 0; k < n_landmarks; ++k) {
      end = distances_from(source, graph, queue, begin, distance);
      farthest = std::max(farthest, distance[queue[end - 1]]);
      source = sequence[begin];
      for (const Index node : sequence.slice(begin, end))
        nearest[node] = k == 0 ? distance[node] : std::min(nearest[node], distance[node]);
      for (const Index node : sequence.slice(begin, end)) {
        if (nearest[node] > nearest[source]) source = node;
        distances(node, k) = double(distance[node] + offset);
        distance[node] = -1;
      }
    }
    offset += farthest + 1;
  }
  return distances;
}

// The nodes in an order of nested halves: [a, b) is cut at m = (a + b) / 2, in breadth-first order from the
// periphery of the part or, if `from_farthest_of_another`, from what is farthest from another of its nodes.
// George (1973); George and Liu (1978), SIAM J. Numer. Anal. 15, 5 (automatic dissection).
inline Array<Index> bisected(const Graph& graph, bool from_farthest_of_another) {
  const int n_searches = from_farthest_of_another ? 1 : 3;  // for a node at the periphery of a part
  const Index n = graph.size();
  Array<Index> order(n);
  std::iota(order.begin(), order.end(), Index(0));
  std::vector<Index> part_of(n, n);  // the end of the part that holds a node
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
