#include "graph/adjacency.hpp"

#include <algorithm>
#include <numeric>

namespace sparsebody {

namespace {

// Where each of n rows begins to which visit(add) adds items.
template <class Visit>
std::vector<Index> starts(Index n, const Visit& visit) {
  std::vector<Index> start(n + 1);
  visit([&](Index row, auto...) { ++start[row + 1]; });
  std::partial_sum(start.begin(), start.end(), start.begin());
  return start;
}

// The rows of items that visit(add) adds, add(row, item), in their sequence.
template <class Visit>
GraphArrays listed(Index n, const Visit& visit) {
  std::vector<Index> start = starts(n, visit), next = start, items(start[n]);
  visit([&](Index row, Index item) { items[next[row]++] = item; });
  return {std::move(start), std::move(items)};
}

}  // namespace

Incidence incidence(Index n_nodes, View<const Index, 2> ends, World world) {
  const bool has_world = world == World::is_last_node;
  const auto node = [&](Index e, Index side) { return ends(e, side) < 0 && has_world ? n_nodes : ends(e, side); };
  const auto visit_ends = [&](auto&& visit) {  // visit(node, edge, the other node or -1)
    for (Index e = 0; e < ends.rows(); ++e) {
      const Index a = node(e, 0), b = node(e, 1);
      if (a >= 0) visit(a, e, a == b ? -1 : b);
      if (b >= 0 && a != b) visit(b, e, a);
    }
  };
  std::vector<Index> start = starts(n_nodes + has_world, visit_ends), next = start;
  std::vector<Index> edges(start.back()), others(start.back());
  visit_ends([&](Index here, Index edge, Index there) { edges[next[here]] = edge, others[next[here]++] = there; });
  return {std::move(start), std::move(edges), std::move(others)};
}

GraphArrays grouped(Index n, Indices key, Indices order) {
  return listed(n, [&](auto&& add) {
    for (const Index item : order)
      if (key[item] >= 0) add(key[item], item);
  });
}

GraphArrays grouped(Index n, Indices key) {
  return listed(n, [&](auto&& add) {
    for (Index item = 0; item < key.size(); ++item)
      if (key[item] >= 0) add(key[item], item);
  });
}

GraphArrays edges_at_nodes(Index n_nodes, View<const Index, 2> ends) {
  return listed(n_nodes, [&](auto&& add) {
    for (Index side = 0; side < 2; ++side)
      for (Index e = 0; e < ends.shape(1); ++e)
        if (ends(side, e) >= 0) add(ends(side, e), e);
  });
}

GraphArrays quotient_graph(Index n_nodes, View<const Index, 2> ends) {
  return listed(n_nodes + ends.rows(), [&](auto&& add) {
    for (Index e = 0; e < ends.rows(); ++e) {
      const auto [low, high] = std::minmax(ends(e, 0), ends(e, 1));
      for (const Index node : {low, high == low ? -1 : high})
        if (node >= 0) add(node, n_nodes + e), add(n_nodes + e, node);
    }
  });
}

GraphArrays dual_graph(const Graph& quotient, Index n_primal) {
  const Index n_dual = quotient.size() - n_primal;
  std::vector<Index> start(n_dual + 1), indices, seen_by(n_dual, -1);
  indices.reserve(4 * n_dual);
  for (Index j = 0; j < n_dual; ++j) {
    seen_by[j] = j;
    for (const Index primal : quotient[n_primal + j])
      for (const Index block : quotient[primal])
        if (const Index other = block - n_primal; seen_by[other] != j) {
          seen_by[other] = j;
          indices.push_back(other);
        }
    std::sort(indices.begin() + start[j], indices.end());
    start[j + 1] = Index(indices.size());
  }
  return {std::move(start), std::move(indices)};
}

GraphArrays reordered(const Graph& graph, Indices order) {
  const std::vector<Index> position = positions(order);
  std::vector<Index> start(graph.start.size()), indices(graph.indices.size());
  Index to = 0;
  for (Index p = 0; p < order.size(); ++p) {
    start[p] = to;
    for (const Index other : graph[order[p]]) indices[to++] = position[other];
  }
  start[order.size()] = to;
  return {std::move(start), std::move(indices)};
}

std::vector<Index> positions(Indices order) {
  std::vector<Index> position(order.size());
  for (Index p = 0; p < order.size(); ++p) position[order[p]] = p;
  return position;
}

}  // namespace sparsebody
