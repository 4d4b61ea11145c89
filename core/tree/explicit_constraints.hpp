// Explicit constraints qdd = G ydd + g, all solutions of K qdd = k, by Gaussian elimination with complete pivoting in
// every loop cluster by itself. Featherstone (2008), secs. 8.8 and 8.9.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/dense.hpp"
#include "tree/branch_sparsity.hpp"
#include "tree/loop_constraints.hpp"

namespace sparsebody::tree {

// The rows of G: consecutive entries for a dependent coordinate, a one for an independent. Python's GBlocks.
struct ExplicitRows {
  View<const double> values;  // packed as K: L and U in K[:r, :r] of a block, entries of G in K[:r, r:]
  View<const Index> entry;    // where a dependent row begins in `values`, -1 for independent ones
  View<const Index> first;    // its first index in y, or its only one
  View<const Index> size;     // its number of entries
  View<const double> g;
};

inline void exchange_columns(View<double, 2> K, View<Index> order, Index s, Index t) {
  if (s == t) return;
  for (Index i = 0; i < K.rows(); ++i) std::swap(K(i, s), K(i, t));
  std::swap(order[s], order[t]);
}

inline void exchange_rows(View<double, 2> K, View<double> k, View<Index> order, std::vector<double>& size, Index p,
                          Index q) {
  if (p == q) return;
  std::swap_ranges(K[p].begin(), K[p].end(), K[q].begin());
  std::swap(k[p], k[q]);
  std::swap(order[p], order[q]);
  std::swap(size[p], size[q]);
}

// K P = L [U_11 U_12] with complete pivoting; returns the rank r, or -1 if required columns depend.
//
// Leaves L and U_11 in K[:r, :r], K_11^-1 K_12 in K[:r, r:], K_11^-1 k_1 in k[:r]. The orders, which start as any
// numbers of rows and columns, follow the exchanges; columns that must be independent are no pivots.
inline Index eliminate(View<double, 2> K, View<double> k, View<const bool> is_independent, double tolerance,
                       View<Index> row_order, View<Index> column_order) {
  const Index m = K.rows(), n = K.shape(1);
  Index n_usable = n;
  for (Index j = n - 1; j >= 0; --j)  // columns that must be independent go to the end
    if (is_independent[column_order[j]]) exchange_columns(K, column_order, j, --n_usable);
  std::vector<double> size(m);  // the largest entry of each row among the pivots to come
  for (Index i = 0; i < m; ++i) size[i] = dense::largest(K[i].data(), n_usable);
  Index rank = 0;
  for (Index s = 0; s < std::min(m, n_usable); ++s) {
    double pivot = tolerance;
    Index row = -1;
    for (Index i = s; i < m; ++i)
      if (size[i] > pivot) pivot = size[i], row = i;
    if (row < 0) break;
    Index column = s;
    while (std::abs(K(row, column)) < pivot) ++column;
    exchange_rows(K, k, row_order, size, s, row);
    exchange_columns(K, column_order, s, column);
    for (Index i = s + 1; i < m; ++i) {  // K_i -= (K_is / K_ss) K_s
      const double factor = K(i, s) / K(s, s);
      if (factor == 0.0) continue;
      K(i, s) = factor;
      k[i] -= factor * k[s];
      double* own = K[i].data() + s + 1;
      dense::add_scaled(own, -factor, K[s].data() + s + 1, n - s - 1);
      size[i] = dense::largest(own, n_usable - s - 1);
    }
    ++rank;
  }
  for (Index i = rank; i < m; ++i)
    if (dense::largest(K[i].data() + rank, n - rank) > tolerance) return -1;
  for (Index s = rank - 1; s >= 0; --s) {  // U_11^-1 [U_12, k_1]
    double* own = K[s].data() + rank;
    for (Index t = s + 1; t < rank; ++t) {
      k[s] -= K(s, t) * k[t];
      dense::add_scaled(own, -K(s, t), K[t].data() + rank, n - rank);
    }
    k[s] /= K(s, s);
    for (Index j = 0; j < n - rank; ++j) own[j] /= K(s, s);
  }
  return rank;
}

// x[:r] := K_11'^-1 x[:r]
inline void solve_transposed(const double* LU, Index n, Index rank, double* x) {
  for (Index s = 0; s < rank; ++s) {  // U'
    x[s] /= LU[s * n + s];
    dense::add_scaled(x + s + 1, -x[s], LU + s * n + s + 1, rank - s - 1);
  }
  for (Index s = rank - 1; s > 0; --s) dense::add_scaled(x, -x[s], LU + s * n, s);  // L'
}

// Eliminates every block in units in which columns have `weight` and rows `row_size`; leaves the entries of G in K, and
// those of g over `weight` in k. Returns the cluster whose required columns depend, or -1; rank of the blocks; the
// orders.
inline std::tuple<Index, Array<Index>, Array<Index>, Array<Index>> eliminate_blocks(
    const BlockLayout& blocks, View<const Index> first_row, View<const bool> is_independent, View<const double> weight,
    View<const double> row_size, double tolerance, View<double> K, View<double> k) {
  const Index n_clusters = first_row.size() - 1;
  Array<Index> rank(n_clusters), row_order(k.size()), column_order(blocks.coordinate.size());
  std::copy(blocks.coordinate.begin(), blocks.coordinate.end(), column_order.begin());
  Index failed = -1;
  for (Index c = 0; c < n_clusters && failed < 0; ++c) {
    const Index r0 = first_row[c], m = first_row[c + 1] - r0;
    const Index c0 = blocks.first_column[c], n_c = blocks.first_column[c + 1] - c0;
    const View<double, 2> K_c(blocks.row(K, r0), {m, n_c});
    const View<Index> columns = column_order.view().slice(c0, c0 + n_c), rows = row_order.view().slice(r0, r0 + m);
    std::iota(rows.begin(), rows.end(), 0);
    for (Index i = 0; i < m; ++i) {
      k[r0 + i] /= row_size[r0 + i];
      for (Index j = 0; j < n_c; ++j) K_c(i, j) *= weight[columns[j]] / row_size[r0 + i];
    }
    const Index r = eliminate(K_c, k.slice(r0, r0 + m), is_independent, tolerance, rows, columns);
    if (r < 0) failed = c;
    rank[c] = std::max<Index>(r, 0);
    for (Index s = 0; s < r; ++s)  // G_1 = -K_11^-1 K_12, back in the units of x
      for (Index j = r; j < n_c; ++j) K_c(s, j) *= -weight[columns[s]] / weight[columns[j]];
  }
  return {failed, std::move(rank), std::move(row_order), std::move(column_order)};
}

// lambda with K' lambda = force, zero at dependent rows.
inline Array<double> block_multipliers(const BlockLayout& blocks, View<const Index> first_row, View<const double> K,
                                       View<const Index> rank, View<const Index> row_order,
                                       View<const Index> column_order, View<const double> row_size,
                                       View<const double> weighted_force) {
  Array<double> multiplier(row_order.size());
  std::vector<double> x;
  for (Index c = 0; c < rank.size(); ++c) {
    const Index r0 = first_row[c], c0 = blocks.first_column[c], n_c = blocks.first_column[c + 1] - c0;
    x.resize(rank[c]);
    for (Index s = 0; s < rank[c]; ++s) x[s] = weighted_force[column_order[c0 + s]];
    solve_transposed(blocks.row(K, r0), n_c, rank[c], x.data());
    for (Index s = 0; s < rank[c]; ++s) {
      const Index row = r0 + row_order[r0 + s];
      multiplier[row] = x[s] / row_size[row];
    }
  }
  return multiplier;
}

// y += factor G_k
inline void add_row(const ExplicitRows& G, Index k, double factor, double* y) {
  if (G.entry[k] < 0)
    y[G.first[k]] += factor;
  else
    dense::add_scaled(y + G.first[k], factor, G.values.data() + G.entry[k], G.size[k]);
}

// G, dense
inline Array<double, 2> unpack_g(const ExplicitRows& G, Index n_independent) {
  Array<double, 2> dense({G.g.size(), n_independent});
  for (Index k = 0; k < G.g.size(); ++k) add_row(G, k, 1.0, dense.data() + k * n_independent);
  return dense;
}

// x = G y + g
inline Array<double> expand(const ExplicitRows& G, View<const double> y) {
  Array<double> x(G.g.size());
  for (Index k = 0; k < x.size(); ++k) {
    const double* own = y.data() + G.first[k];
    x[k] = G.g[k] + (G.entry[k] < 0 ? *own : dense::dot(G.values.data() + G.entry[k], own, G.size[k]));
  }
  return x;
}

// u = G' force (8.45)
inline Array<double> project(const ExplicitRows& G, Index n_independent, View<const double> force) {
  Array<double> u(n_independent);
  for (Index k = 0; k < force.size(); ++k) add_row(G, k, force[k], u.data());
  return u;
}

// The upper triangle of G' H G from the entries that H has.
inline Array<double, 2> projected_inertia(const BranchPattern& pattern, View<const double> H, const ExplicitRows& G,
                                          Index n_independent) {
  const Index n = G.g.size(), m = n_independent;
  Array<double, 2> HG({n, m}), product({m, m});
  for (Index k = 0; k < n; ++k) {
    Index entry = pattern.diagonal(k);
    add_row(G, k, H[entry], HG.data() + k * m);
    for (Index j = pattern.parent[k]; j >= 0; j = pattern.parent[j]) {
      const double H_kj = H[--entry];
      add_row(G, j, H_kj, HG.data() + k * m);
      add_row(G, k, H_kj, HG.data() + j * m);
    }
  }
  for (Index k = 0; k < n; ++k)
    for (Index e = 0; e < G.size[k]; ++e) {
      const Index i = G.first[k] + e;
      const double G_ki = G.entry[k] < 0 ? 1.0 : G.values[G.entry[k] + e];
      dense::add_scaled(product.data() + i * m + i, G_ki, HG.data() + k * m + i, m - i);
    }
  return product;
}

}  // namespace sparsebody::tree
