#include "graph/adjacency.hpp"

#include <algorithm>
#include <numeric>

namespace sparsebody {

namespace {
// Turns counts, one place further on, into the starts of rows.
template <class Starts>
void accumulate_counts(Starts& start) {
  std::partial_sum(start.begin(), start.end(), start.begin());
}
}  // namespace

Incidence incidence(Index n_nodes, View<const Index, 2> ends, World world) {
  const Index n = n_nodes + (world == World::is_last_node);
  const auto node = [&](Index e, Index side) {
    return ends(e, side) < 0 && world == World::is_last_node ? n_nodes : ends(e, side);
  };
  const auto visit_ends = [&](auto visit) {  // visit(edge, node, the other node or -1)
    for (Index e = 0; e < ends.rows(); ++e) {
      const Index a = node(e, 0), b = node(e, 1);
      if (a >= 0) visit(e, a, a == b ? -1 : b);
      if (b >= 0 && a != b) visit(e, b, a);
    }
  };
  Incidence at;
  at.start.assign(n + 1, 0);
  visit_ends([&](Index, Index here, Index) { ++at.start[here + 1]; });
  accumulate_counts(at.start);
  std::vector<Index> next(at.start.begin(), at.start.end() - 1);
  at.edge.resize(at.start[n]);
  at.other.resize(at.start[n]);
  visit_ends([&](Index edge, Index here, Index there) {
    at.edge[next[here]] = edge;
    at.other[next[here]++] = there;
  });
  return at;
}

Groups grouped(Index n, Indices key, Indices order) {
  std::vector<Index> start(n + 1);
  for (const Index item : order)
    if (key[item] >= 0) ++start[key[item] + 1];
  accumulate_counts(start);
  std::vector<Index> next(start.begin(), start.end() - 1), items(start[n]);
  for (const Index item : order)
    if (key[item] >= 0) items[next[key[item]]++] = item;
  return {std::move(start), std::move(items)};
}

Groups grouped(Index n, Indices key) {
  std::vector<Index> all(key.size());
  std::iota(all.begin(), all.end(), Index(0));
  return grouped(n, key, all);
}

Groups edges_at_nodes(Index n_nodes, View<const Index, 2> ends) {
  Groups edges = grouped(n_nodes, {ends.data(), ends.size()});
  for (Index& edge : edges.items) edge %= ends.shape(1);
  return edges;
}

GraphArrays quotient_graph(Index n_nodes, View<const Index, 2> ends) {
  const Index n_edges = ends.rows();
  const Incidence at = incidence(n_nodes, ends);
  Array<Index> start(n_nodes + n_edges + 1), indices(2 * at.start[n_nodes]);
  std::copy(at.start.begin(), at.start.end(), start.begin());
  std::transform(at.edge.begin(), at.edge.end(), indices.begin(), [=](Index edge) { return n_nodes + edge; });
  Index entry = at.start[n_nodes];
  for (Index e = 0; e < n_edges; ++e) {
    const auto [low, high] = std::minmax(ends(e, 0), ends(e, 1));
    if (low >= 0) indices[entry++] = low;
    if (high >= 0 && high != low) indices[entry++] = high;
    start[n_nodes + e + 1] = entry;
  }
  return {std::move(start), std::move(indices)};
}

GraphArrays dual_graph(const Graph& quotient, Index n_primal) {
  const Index n_dual = quotient.size() - n_primal;
  Array<Index> start(n_dual + 1);
  std::vector<Index> indices, seen_by(n_dual, -1);
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
  return {std::move(start), Array<Index>(indices)};
}

GraphArrays reordered(const Graph& graph, Indices order) {
  const std::vector<Index> position = positions(order);
  Array<Index> start(graph.start.size()), indices(graph.indices.size());
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
