#include "graph/fill.hpp"

#include <algorithm>

#include "graph/bit_rows.hpp"

namespace sparsebody {

Array<Index> first_coupled(const Graph& graph) {
  Array<Index> first(graph.size());
  for (Index i = 0; i < graph.size(); ++i) {
    first[i] = i;
    for (const Index j : graph[i]) first[i] = std::min(first[i], j);
  }
  return first;
}

Array<double> block_flops(Indices front, Indices size) {
  Array<double> flops(front.size());
  for (Index j = 0; j < front.size(); ++j) flops[j] = block_flops(front[j], size[j]);
  return flops;
}

Array<Index> depths(Indices parent) {
  Array<Index> depth(parent.size());
  for (Index i = parent.size() - 1; i >= 0; --i)
    if (parent[i] >= 0) depth[i] = depth[parent[i]] + 1;
  return depth;
}

double critical_path(Indices parent, View<const double> flops) {
  std::vector<double> until(parent.size());  // before a node can begin
  double longest = 0.0;
  for (Index i = 0; i < parent.size(); ++i) {
    const double done = until[i] + flops[i];
    longest = std::max(longest, done);
    if (parent[i] >= 0) until[parent[i]] = std::max(until[parent[i]], done);
  }
  return longest;
}

Index widest_core(const Graph& graph, Indices weight_) {
  const Index n = graph.size();
  std::vector<Index> weight(weight_.begin(), weight_.end());
  BitRows row(graph);
  std::vector<bool> contracted(n);
  std::vector<Index> around(n);
  const auto weight_around = [&](Index i) {
    Index total = weight[i];
    row.for_each(i, [&](Index j) { total += weight[j]; });
    return total;
  };
  for (Index i = 0; i < n; ++i) around[i] = weight_around(i);
  Index widest = 0;
  for (Index step = 0; step < n; ++step) {
    Index light = -1, partner = -1, fewest = n + 1;
    for (Index i = 0; i < n; ++i)
      if (!contracted[i] && (light == -1 || around[i] < around[light])) light = i;
    widest = std::max(widest, around[light]);
    row.for_each(light, [&](Index j) {
      if (const Index n_shared = row.count_shared(light, j); n_shared < fewest) {
        partner = j;
        fewest = n_shared;
      }
    });
    contracted[light] = true;
    row.for_each(light, [&](Index j) {
      row.clear(j, light);
      if (j != partner) {
        row.set(j, partner);
        row.set(partner, j);
      }
    });
    if (partner < 0) continue;
    weight[partner] = std::min(weight[partner], weight[light]);
    around[partner] = weight_around(partner);
    for (Index j = 0; j < n; ++j)
      if (row.has(light, j) || row.has(partner, j)) around[j] = weight_around(j);
  }
  return widest;
}

}  // namespace sparsebody
