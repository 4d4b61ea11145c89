// The cost of factorizing in one order, and the shape of L. All arrays are by position; blocks count as dense.
#pragma once

#include <algorithm>

#include "graph/adjacency.hpp"
#include "graph/bit_rows.hpp"

namespace sparsebody {

// Operations of a dense LDL' factorization of n rows, the sum of m (m + 2) for m = 0 .. n - 1: m rows below a pivot
// take m divisions, and m (m + 1) / 2 multiplications and as many subtractions.
inline double pivot_flops(double n) { return (n - 1.0) * n * (2.0 * n - 1.0) / 6.0 + n * (n - 1.0); }

// Operations of eliminating the first `size` rows of a front of `front` rows.
inline double block_flops(Index front, Index size) {
  return pivot_flops(double(front)) - pivot_flops(double(front - size));
}

// (n,) the first nonzero of each row, the envelope of the matrix: the first node among each one and its neighbours.
inline Array<Index> first_coupled(const Graph& graph) {
  Array<Index> first(graph.size());
  for (Index i = 0; i < graph.size(); ++i) {
    first[i] = i;
    for (const Index j : graph[i]) first[i] = std::min(first[i], j);
  }
  return first;
}

inline Array<double> block_flops(Indices front, Indices size) {
  Array<double> flops(front.size());
  for (Index j = 0; j < front.size(); ++j) flops[j] = block_flops(front[j], size[j]);
  return flops;
}

// The sum of `weight` over each node and all its descendants, which come before it.
inline Array<Index> subtree_sums(Indices parent, Indices weight) {
  Array<Index> sum(parent.size());
  std::copy(weight.begin(), weight.end(), sum.begin());
  for (Index node = 0; node < sum.size(); ++node)
    if (parent[node] >= 0) sum[parent[node]] += sum[node];
  return sum;
}

// The distance of every node from its root; a parent is numbered after its children.
inline Array<Index> depths(Indices parent) {
  Array<Index> depth(parent.size());
  for (Index i = parent.size() - 1; i >= 0; --i)
    if (parent[i] >= 0) depth[i] = depth[parent[i]] + 1;
  return depth;
}

// The greatest, over a sequence of minors, of the least weight of any node with its neighbours; it bounds the
// weighted treewidth plus one. Minor-min-width: Gogate and Dechter (2004); Bodlaender and Koster (2011), Inf. Comput.
// 209, 7 ("least-c"). Of two contracted nodes the lighter weight stays: a bag of a minor holds one of them at least.
inline Index minor_min_width(const Graph& graph, Indices weight_) {
  const Index n = graph.size();
  std::vector<Index> weight(weight_.begin(), weight_.end());
  BitRows row(graph);
  std::vector<bool> contracted(n);
  std::vector<Index> closed_weight(n);  // of a node with its neighbours
  const auto weight_around = [&](Index i) {
    Index total = weight[i];
    row.for_each(i, [&](Index j) { total += weight[j]; });
    return total;
  };
  for (Index i = 0; i < n; ++i) closed_weight[i] = weight_around(i);
  Index widest = 0;
  for (Index step = 0; step < n; ++step) {
    Index lightest = -1, partner = -1, fewest = n + 1;
    for (Index i = 0; i < n; ++i)
      if (!contracted[i] && (lightest == -1 || closed_weight[i] < closed_weight[lightest])) lightest = i;
    widest = std::max(widest, closed_weight[lightest]);
    row.for_each(lightest, [&](Index j) {
      if (const Index n_shared = row.count_shared(lightest, j); n_shared < fewest) {
        partner = j;
        fewest = n_shared;
      }
    });
    contracted[lightest] = true;
    row.for_each(lightest, [&](Index j) {
      row.clear(j, lightest);
      if (j != partner) {
        row.set(j, partner);
        row.set(partner, j);
      }
    });
    if (partner < 0) continue;
    weight[partner] = std::min(weight[partner], weight[lightest]);
    closed_weight[partner] = weight_around(partner);
    for (Index j = 0; j < n; ++j)
      if (row.has(lightest, j) || row.has(partner, j)) closed_weight[j] = weight_around(j);
  }
  return widest;
}

}  // namespace sparsebody
