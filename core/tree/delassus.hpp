// The Delassus matrix A = K H^-1 K' = X' X of loop forces, A lambda = b, through H = L' L and X = L'^-1 K'.
// Featherstone (2008), sec. 8.5, method 2.
//
// X has entries from the joints of a loop to the world, so that A couples loops whose paths to the world have a
// common joint, and no others: groups of them. Its columns are sorted by the bodies that the loops end at, so that
// those of each row are consecutive, [low, high), and only these are computed.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "base/dense.hpp"
#include "tree/branch_sparsity.hpp"
#include "tree/loop_constraints.hpp"

namespace sparsebody::tree {

// Python's Groups.
struct DelassusGroups {
  View<const Index> row;  // of K, in BlockLayout
  View<const Index> first_row;
  View<const Index> coordinate;  // velocity coordinates, ascending in each group
  View<const Index> first_coordinate;
  View<const Index> row_of_X;  // of each velocity coordinate in its group, -1 for those in none
  View<const Index> low, high;  // columns [low, high) of X reach a velocity coordinate
  View<const Index> start;  // where X of each group begins, (coordinates, rows of K)
  View<const Index> start_product;  // where A begins, (rows, rows), upper triangle

  Index size() const { return first_row.size() - 1; }
  Index n_rows(Index g) const { return first_row[g + 1] - first_row[g]; }
  View<const Index> rows(Index g) const { return row.slice(first_row[g], first_row[g + 1]); }
  View<const Index> coordinates(Index g) const {
    return coordinate.slice(first_coordinate[g], first_coordinate[g + 1]);
  }
  // The row of X that belongs to velocity coordinate k.
  template <class T>
  T* operator()(View<T> X, Index g, Index k) const { return X.data() + start[g] + row_of_X[k] * n_rows(g); }
};

constexpr int n_solves = 2;  // of each group: the first one, and one refinement
constexpr int panel = 8;  // rows of X that are combined at once

// The group of every coordinate from a loop to the world, else -1, and the rows [low, high) of the group that reach it.
inline std::tuple<std::vector<Index>, Array<Index>, Array<Index>> coordinate_groups(
    View<const Index> parent, View<const Index, 2> last, View<const Index> group, View<const Index> local) {
  std::vector<Index> owner(parent.size(), -1);
  Array<Index> low(parent.size()), high(parent.size());
  for (Index r = 0; r < local.size(); ++r)
    for (int e = 0; e < 2; ++e)
      for (Index k = last(r, e); k >= 0; k = parent[k]) {
        if (owner[k] < 0) owner[k] = group[r], low[k] = local[r];
        low[k] = std::min(low[k], local[r]);
        high[k] = std::max(high[k], local[r] + 1);
      }
  return {std::move(owner), std::move(low), std::move(high)};
}

// X = L'^-1 K', rows of K scaled by the factors of H = L' L, so that A = K H^-1 K' = X' X.
inline void fill_scaled_rows(const BlockLayout& blocks, const DelassusGroups& groups, View<const double> K,
                               const BranchPattern& pattern, View<const double> L, View<double> X) {
  std::fill(X.begin(), X.end(), 0.0);
  for (const Index g : range(0, groups.size())) {
    const View<const Index> rows = groups.rows(g);
    for (const Index l : range(0, rows.size())) {  // X = K'
      const double* K_l = blocks.row(K, rows[l]);
      for (const Index k : blocks.coordinates(rows[l])) {
        if (*K_l != 0.0) groups(X, g, k)[l] = *K_l;  // others need not be in the group
        ++K_l;
      }
    }
    // Leaves to root: X_k := X_k / L_kk, then X_i -= L_ki X_k for i on the support of k; of a chain of coordinates
    // several at once, whose columns are those of the first of them.
    const View<const Index> coordinates = groups.coordinates(g);
    for (Index e = coordinates.size() - 1; e >= 0;) {
      int n = 0;
      const double* X_k[panel];
      double factor[panel];
      Index k = coordinates[e], entry[panel];
      const Index first = [&] {
        Index top = k;
        while (k - top + 1 < panel && pattern.parent[top] == top - 1 && top > 0) --top;
        return top;
      }();
      for (; k >= first; --k, ++n) {
        double* own = groups(X, g, k);
        const Index low = groups.low[k], width = groups.high[k] - low, diagonal = pattern.diagonal(k);
        const double inverse = 1.0 / L[diagonal];
        for (Index l = low; l < low + width; ++l) own[l] *= inverse;
        for (Index i = k - 1; i >= first; --i)
          dense::add_scaled(groups(X, g, i) + low, -L[diagonal - (k - i)], own + low, width);
        X_k[n] = own + groups.low[first];
        entry[n] = diagonal - (k - first);
      }
      e -= n;
      const Index low = groups.low[first], width = groups.high[first] - low;
      for (Index i = pattern.parent[first]; i >= 0; i = pattern.parent[i]) {
        for (int r = 0; r < n; ++r) factor[r] = -L[--entry[r]];
        double* target = groups(X, g, i) + low;
        if (n == panel)
          dense::add_combination(width, factor, X_k, target);
        else
          for (int r = 0; r < n; ++r) dense::add_scaled(target, factor[r], X_k[r], width);
      }
    }
  }
}

// The upper triangle of A = X' X (m, m).
inline void fill_products(const DelassusGroups& groups, Index g, View<const double> X, double* A) {
  const Index m = groups.n_rows(g);
  const View<const Index> coordinates = groups.coordinates(g);
  std::fill(A, A + m * m, 0.0);
  for (Index e = 0; e < coordinates.size(); e += panel) {
    const Index n = std::min<Index>(panel, coordinates.size() - e);
    Index low = m, high = 0;
    const double* row[panel];
    for (Index r = 0; r < n; ++r) {
      const Index k = coordinates[e + r];
      low = std::min(low, groups.low[k]), high = std::max(high, groups.high[k]);
      row[r] = groups(X, g, k);
    }
    if (n == panel)
      dense::add_square<panel>(m, low, high, 1.0, row, A);
    else
      for (Index r = 0; r < n; ++r) dense::add_square<1>(m, low, high, 1.0, {row[r]}, A);
  }
}

// lambda of every group by Cholesky's method for A, and w = z + X lambda, which starts as z. A group whose A is nearly
// singular, at pivots of rows of unit length below `worst` or of rows shorter than `tolerance` of `size`, is left out.
inline Array<bool> solve_delassus(const DelassusGroups& groups, View<const double> X, View<double> A,
                                  View<const double> k, View<const double> size, double worst, double tolerance,
                                  View<double> force, View<double> w) {
  Array<bool> is_left_out(groups.size());
  std::vector<double> scale, least, b, total;
  for (const Index g : range(0, groups.size())) {
    const Index m = groups.n_rows(g);
    const View<const Index> rows = groups.rows(g), coordinates = groups.coordinates(g);
    double* A_g = A.data() + groups.start_product[g];
    fill_products(groups, g, X, A_g);
    scale.assign(m, 0.0), least.assign(m, std::numeric_limits<double>::infinity());
    for (Index i = 0; i < m; ++i)  // rows of unit length
      if (const double A_ii = A_g[i * m + i]; A_ii > 0.0) {
        scale[i] = 1.0 / std::sqrt(A_ii);
        const double shortest = tolerance * size[rows[i]] * scale[i];
        least[i] = std::max(worst, shortest * shortest);
      }
    for (Index i = 0; i < m; ++i)
      for (Index j = i; j < m; ++j) A_g[i * m + j] *= scale[i] * scale[j];
    if (dense::cholesky(m, A_g, least.data()) >= 0) {
      is_left_out[g] = true;
      continue;
    }
    total.assign(m, 0.0), b.resize(m);
    for (int pass = 0; pass < n_solves; ++pass) {
      for (Index i = 0; i < m; ++i) b[i] = k[rows[i]];
      for (const Index c : coordinates) {  // b = k - X' w
        const Index low = groups.low[c];
        dense::add_scaled(b.data() + low, -w[c], groups(X, g, c) + low, groups.high[c] - low);
      }
      for (Index i = 0; i < m; ++i) b[i] *= scale[i];
      dense::cholesky_solve(m, A_g, b.data());
      for (Index i = 0; i < m; ++i) total[i] += b[i] *= scale[i];
      for (const Index c : coordinates) {  // w += X lambda
        const Index low = groups.low[c];
        w[c] += dense::dot(groups(X, g, c) + low, b.data() + low, groups.high[c] - low);
      }
    }
    for (Index i = 0; i < m; ++i) force[rows[i]] = total[i];
  }
  return is_left_out;
}

}  // namespace sparsebody::tree
