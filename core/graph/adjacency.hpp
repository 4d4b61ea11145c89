// Graphs in compressed rows, the edges at the nodes of a multigraph, and the graphs that follow from them.
#pragma once

#include <algorithm>
#include <numeric>
#include <ranges>
#include <vector>

#include "base/array.hpp"

namespace sparsebody {

using Indices = View<const Index>;

// Neighbours of node i: indices[start[i]] .. indices[start[i + 1] - 1]; -1 stands for none.
struct Graph {
  Indices start, indices;

  Index size() const { return start.size() - 1; }
  Index degree(Index node) const { return start[node + 1] - start[node]; }
  Indices operator[](Index node) const { return indices.slice(start[node], start[node + 1]); }
};

// A graph that owns its rows; or the items of every group, one after the other.
struct GraphArrays {
  std::vector<Index> start, indices;

  Graph graph() const { return {start, indices}; }
  Index degree(Index node) const { return graph().degree(node); }
  Indices operator[](Index node) const { return graph()[node]; }
};

// positions[order[p]] = p.
inline std::vector<Index> positions(Indices order) {
  std::vector<Index> position(order.size());
  for (Index p = 0; p < order.size(); ++p) position[order[p]] = p;
  return position;
}

// Those items start[g], ..., start[g + 1] - 1 of some groups g that are selected, group by group, and how many each group has.
inline std::pair<std::vector<Index>, std::vector<Index>> selected_items(Indices start, View<const bool> is_selected,
                                                                        Indices groups) {
  std::vector<Index> items, sizes(groups.size());
  items.reserve(is_selected.size());
  for (Index g = 0; g < groups.size(); ++g) {
    for (Index item = start[groups[g]]; item < start[groups[g] + 1]; ++item)
      if (is_selected[item]) items.push_back(item), ++sizes[g];
  }
  return {std::move(items), std::move(sizes)};
}

enum class World { is_no_node, is_last_node };

// The edges at every node of a multigraph, by their numbers, and the node at the other end of each:
// -1 where the edge leads to no other node. An edge with both ends at one node is listed once.
struct Incidence {
  std::vector<Index> start, edge, other;

  Graph graph() const { return {start, other}; }
};

// Offsets of n rows to which visit(add) adds items.
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

// ends(e, 0), ends(e, 1): the nodes of edge e; -1 is the world, which may be one more node, n_nodes.
inline Incidence incidence(Index n_nodes, View<const Index, 2> ends, World world = World::is_no_node) {
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

// Items by their groups key[item] in 0 .. n - 1, those of a group in the sequence of `items`, by default 0, 1, ...
// Items of key -1 are in no group.
template <class Items>
GraphArrays grouped(Index n, Indices key, const Items& items) {
  return listed(n, [&](auto&& add) {
    for (const Index item : items)
      if (key[item] >= 0) add(key[item], item);
  });
}
inline GraphArrays grouped(Index n, Indices key) { return grouped(n, key, std::views::iota(Index(0), key.size())); }

// The edges at every node: first those that begin there, then those that end there. ends (2, n_edges), -1 for none; an
// edge with both ends at one node is listed twice.
inline GraphArrays edges_at_nodes(Index n_nodes, View<const Index, 2> ends) {
  return listed(n_nodes, [&](auto&& add) {
    for (Index side = 0; side < 2; ++side)
      for (Index e = 0; e < ends.shape(1); ++e)
        if (ends(side, e) >= 0) add(ends(side, e), e);
  });
}

// The quotient graph of [D A'; A 0]: edges become nodes n_nodes + e, next to their ends. Rows are sorted.
inline GraphArrays quotient_graph(Index n_nodes, View<const Index, 2> ends) {
  return listed(n_nodes + ends.rows(), [&](auto&& add) {
    for (Index e = 0; e < ends.rows(); ++e) {
      const auto [low, high] = std::minmax(ends(e, 0), ends(e, 1));
      for (const Index node : {low, high == low ? -1 : high})
        if (node >= 0) add(node, n_nodes + e), add(n_nodes + e, node);
    }
  });
}

// The line graph: dual blocks are joined where they share a primal one. Rows are sorted.
inline GraphArrays dual_graph(const Graph& quotient, Index n_primal) {
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

// The entries of the rows of a graph, those of every node sorted by key(neighbour), equal ones as they are listed.
template <class Key>
std::vector<Index> sorted_entries(const Graph& graph, Key key) {
  std::vector<std::pair<decltype(key(Index())), Index>> keyed;
  keyed.reserve(graph.indices.size());
  for (const Index other : graph.indices) keyed.emplace_back(key(other), Index(keyed.size()));
  for (Index node = 0; node < graph.size(); ++node)
    std::sort(keyed.begin() + graph.start[node], keyed.begin() + graph.start[node + 1]);
  std::vector<Index> entries(keyed.size());
  std::ranges::transform(keyed, entries.begin(), [](const auto& entry) { return entry.second; });
  return entries;
}

// The same graph in positions: node order[p] becomes p. Rows are not sorted.
inline GraphArrays reordered(const Graph& graph, Indices order) {
  const std::vector<Index> position = positions(order);
  std::vector<Index> start(graph.start.size()), indices(graph.indices.size());
  for (Index p = 0, to = 0; p < order.size(); ++p) {
    for (const Index other : graph[order[p]]) indices[to++] = position[other];
    start[p + 1] = to;
  }
  return {std::move(start), std::move(indices)};
}

}  // namespace sparsebody
