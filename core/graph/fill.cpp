#include "graph/fill.hpp"

#include <algorithm>

#include "graph/bit_rows.hpp"
#include "graph/elimination_tree.hpp"

namespace sparsebody {

OrderCost order_cost(const Graph& graph, Indices parent, Indices front, Indices size) {
  const Index n = size.size();
  OrderCost cost{};
  std::vector<Index> start(n + 1);  // first scalar row
  for (Index i = 0; i < n; ++i) {
    start[i + 1] = start[i] + size[i];
    const Index triangle = size[i] * (size[i] - 1) / 2;
    Index first = i;
    for (const Index j : graph[i]) first = std::min(first, j);
    cost.n_entries += size[i] * front[i] - triangle;
    cost.flops += block_flops(front[i], size[i]);
    cost.block_bandwidth = std::max(cost.block_bandwidth, i - first);
    cost.scalar_bandwidth = std::max(cost.scalar_bandwidth, start[i + 1] - 1 - start[first]);
    cost.profile += size[i] * (start[i] - start[first]) + triangle;
    cost.largest_front = std::max(cost.largest_front, front[i]);
  }
  cost.tree_height = tree_height(parent);
  return cost;
}

Array<double> block_flops(Indices front, Indices size) {
  Array<double> flops(front.size());
  for (Index j = 0; j < front.size(); ++j) flops[j] = block_flops(front[j], size[j]);
  return flops;
}

Array<Index> wavefronts(const Graph& graph, Indices size) {
  Index n_rows = 0;
  for (const Index s : size) n_rows += s;
  Array<Index> wavefront(n_rows);
  std::vector<bool> has_begun(size.size());
  Index row = 0, waiting = 0;  // rows of later blocks that couple to this block or one before
  for (Index i = 0; i < size.size(); ++i) {
    if (has_begun[i]) waiting -= size[i];
    has_begun[i] = true;
    for (const Index j : graph[i])
      if (!has_begun[j]) {
        has_begun[j] = true;
        waiting += size[j];
      }
    for (Index k = 0; k < size[i]; ++k) wavefront[row++] = size[i] - k + waiting;
  }
  return wavefront;
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
