// Branch-induced sparsity: H and its factors as packed rows of their supports. Featherstone (2008), secs. 6.4, 6.5.
#pragma once

#include <algorithm>
#include <cmath>
#include <ranges>
#include <vector>

#include "base/dense.hpp"
#include "tree/motion.hpp"

namespace sparsebody::tree {

// Row k of a lower triangle has an entry for every velocity coordinate between the world and k, k itself the last:
// the supports of two coordinates on one branch begin alike, so that rows are combined as they lie in memory.
struct BranchPattern {
  View<const Index> parent;  // lambda(k), the expanded parent array
  View<const Index> depth;   // number of coordinates before k on its support
  View<const Index> start;   // where row k begins; entry (k, j) is at start[k] + depth[j]

  Index size() const { return parent.size(); }
  Index diagonal(Index k) const { return start[k] + depth[k]; }
};

// The dense symmetric matrix of a packed lower triangle.
inline Array<double, 2> symmetric(const BranchPattern& pattern, View<const double> values) {
  Array<double, 2> dense({pattern.size(), pattern.size()});
  for (const Index k : range(0, pattern.size()))
    for (Index j = k, entry = pattern.diagonal(k); j >= 0; j = pattern.parent[j])
      dense(k, j) = dense(j, k) = values[entry--];
  return dense;
}

// y = H x of the symmetric H with this lower triangle.
inline void multiply(const BranchPattern& pattern, View<const double> H, View<const double> x, View<double> y) {
  for (const Index k : range(0, pattern.size())) {
    Index entry = pattern.diagonal(k);
    y[k] = H[entry] * x[k];
    for (Index j = pattern.parent[k]; j >= 0; j = pattern.parent[j]) {
      const double H_kj = H[--entry];
      y[k] += H_kj * x[j];
      y[j] += H_kj * x[k];
    }
  }
}

// Rows and columns of prescribed coordinates become those of the identity.
inline void decouple(const BranchPattern& pattern, View<const bool> is_prescribed, View<double> H) {
  for (const Index k : range(0, pattern.size()))
    for (Index j = k, entry = pattern.diagonal(k); j >= 0; j = pattern.parent[j], --entry)
      if (is_prescribed[k] || is_prescribed[j]) H[entry] = j == k ? 1.0 : 0.0;
}

// H = L' L and H = L' D L with branch-induced sparsity: no fill-in. Featherstone (2008), sec. 6.5, tables 6.3 to 6.5.
//
// Factorizations return -1, or the coordinate whose pivot is not positive.

// y -= s x, of n entries
inline void subtract_scaled(Index n, double s, const double* __restrict x, double* __restrict y) {
  for (Index e = 0; e < n; ++e) y[e] -= s * x[e];
}

// L of H = L' L, in place of H. Table 6.3, left; two rows at a time where a coordinate follows its parent.
inline Index factorize_ltl(const BranchPattern& pattern, View<double> H) {
  const auto scale = [&](Index k) {
    double* row = &H[pattern.start[k]];
    const Index n = pattern.depth[k];
    if (!(row[n] > 0.0)) return false;
    row[n] = std::sqrt(row[n]);                                               // L_kk = sqrt(H_kk)
    for (Index e = 0; e < n; ++e) row[e] /= row[n];                           // L_ki = H_ki / L_kk
    return true;
  };
  for (Index k = pattern.size() - 1; k >= 0; --k) {
    if (!scale(k)) return k;
    const double* x = &H[pattern.start[k]];
    const Index l = pattern.parent[k];
    if (l < 0 || l < k - 1) {
      for (Index i = l; i >= 0; i = pattern.parent[i]) {
        const Index n = pattern.depth[i];
        subtract_scaled(n + 1, x[n], x, &H[pattern.start[i]]);                // H_ij -= L_ki L_kj
      }
      continue;
    }
    double* y = &H[pattern.start[l]];
    subtract_scaled(pattern.depth[k], x[pattern.depth[l]], x, y);
    if (!scale(l)) return l;
    for (Index i = pattern.parent[l]; i >= 0; i = pattern.parent[i]) {
      const Index n = pattern.depth[i];
      const double s = x[n], t = y[n];
      double* __restrict target = &H[pattern.start[i]];
      for (Index e = 0; e <= n; ++e) target[e] -= s * x[e] + t * y[e];        // H_ij -= L_ki L_kj + L_li L_lj
    }
    k = l;
  }
  return -1;
}

// L, with D in place of its diagonal of ones, of H = L' D L, in place of H. Table 6.3, right.
inline Index factorize_ltdl(const BranchPattern& pattern, View<double> H) {
  for (Index k = pattern.size() - 1; k >= 0; --k) {
    double* row = &H[pattern.start[k]];
    Index n = pattern.depth[k];
    const double D_k = row[n];
    if (!(D_k > 0.0)) return k;
    for (Index i = pattern.parent[k]; i >= 0; i = pattern.parent[i]) {
      --n;
      const double a = row[n] / D_k;                                   // a = H_ki / D_k
      subtract_scaled(n + 1, a, row, &H[pattern.start[i]]);            // H_ij -= a H_kj
      row[n] = a;                                                      // L_ki = a
    }
  }
  return -1;
}

// Every row b of `rows` becomes L'^-1 b. Only coordinates that support those where b is not zero are visited.
template <bool has_unit_diagonal = false>
void solve_upper(const BranchPattern& pattern, View<const double> L, View<double, 2> rows) {
  for (Index r = 0; r < rows.rows(); ++r) {
    const View<double> x = rows[r];
    for (Index k = pattern.size() - 1; k >= 0; --k) {
      if (x[k] == 0.0) continue;
      const double* entry = &L[pattern.diagonal(k)];
      if constexpr (!has_unit_diagonal) x[k] /= *entry;                                         // x_k /= L_kk
      const double x_k = x[k];
      for (Index i = pattern.parent[k]; i >= 0; i = pattern.parent[i]) x[i] -= *--entry * x_k;  // x_i -= L_ki x_k
    }
  }
}

// Every row b of `rows` becomes L^-1 b.
template <bool has_unit_diagonal = false>
void solve_lower(const BranchPattern& pattern, View<const double> L, View<double, 2> rows) {
  for (Index r = 0; r < rows.rows(); ++r) {
    const View<double> x = rows[r];
    for (Index k = 0; k < pattern.size(); ++k) {
      const double* entry = &L[pattern.diagonal(k)];
      const double L_kk = has_unit_diagonal ? 1.0 : *entry;
      double sum = x[k];
      for (Index i = pattern.parent[k]; i >= 0; i = pattern.parent[i]) sum -= *--entry * x[i];  // x_k -= L_ki x_i
      x[k] = sum / L_kk;
    }
  }
}

// Every row b of `rows` becomes (L' D L)^-1 b. Table 6.5.
inline void solve_ltdl(const BranchPattern& pattern, View<const double> LD, View<double, 2> rows) {
  solve_upper<true>(pattern, LD, rows);
  for (Index r = 0; r < rows.rows(); ++r)
    for (Index k = 0; k < pattern.size(); ++k) rows(r, k) /= LD[pattern.diagonal(k)];
  solve_lower<true>(pattern, LD, rows);
}

// ---- X becomes (L' L)^-1 X: blocks of up to four successive coordinates of a branch at a time, in registers, and strips
// of columns whose rows fit the level-1 cache.

inline constexpr Index most_rows = 4, strip_columns = 64;

// For R successive coordinates k and G coordinates j of their support: x_j -= L_kj x_k if is_upper, else x_k -= L_kj
// x_j.
template <bool is_upper, int R, int G>
void subtract_block(const BranchPattern& pattern, View<const double> L, Index first, const Index* support, double* X,
                    Index stride, Index width) {
  constexpr int n_from = is_upper ? R : G, n_to = is_upper ? G : R;
  double P[n_from][n_to];
  const double* from[n_from];
  double* to[n_to];
  for (int r = 0; r < R; ++r)
    for (int g = 0; g < G; ++g)
      P[is_upper ? r : g][is_upper ? g : r] = -L[pattern.start[first + r] + pattern.depth[support[g]]];
  for (int k = 0; k < n_from; ++k) from[k] = X + (is_upper ? first + k : support[k]) * stride;
  for (int k = 0; k < n_to; ++k) to[k] = X + (is_upper ? support[k] : first + k) * stride;
  dense::add_products<n_from, n_to>(width, P, from, to);
}

inline void solve_ltl_columns(const BranchPattern& pattern, View<const double> L, View<double, 2> matrix) {
  const Index n = pattern.size(), stride = matrix.shape(1);
  std::vector<Index> first_rows, support(n);
  for (Index k = 0; k < n; ++k)  // rows [first, next first) follow each other on a branch
    if (first_rows.empty() || pattern.parent[k] != k - 1 || k - first_rows.back() == most_rows) first_rows.push_back(k);
  first_rows.push_back(n);
  const auto solve_block = [&]<bool is_upper>(std::bool_constant<is_upper>, Index block, double* X, Index width) {
    const Index first = first_rows[block], end = first_rows[block + 1];
    const auto subtract_support = [&] {
      Index depth = 0, j = 0;
      for (Index i = pattern.parent[first]; i >= 0; i = pattern.parent[i]) support[depth++] = i;
      with_constant<4, 3, 2, 1>(end - first, [&](auto R) {
        for (; j + most_rows <= depth; j += most_rows)
          subtract_block<is_upper, R, most_rows>(pattern, L, first, &support[j], X, stride, width);
        for (; j < depth; ++j) subtract_block<is_upper, R, 1>(pattern, L, first, &support[j], X, stride, width);
      });
    };
    if (!is_upper) subtract_support();
    for (Index r = 0; r < end - first; ++r) {
      const Index k = is_upper ? end - 1 - r : first + r;
      double* const x = X + k * stride;
      for (Index i = is_upper ? end - 1 : first; i != k; i += is_upper ? -1 : 1) {  // solved before k
        const Index row = std::max(k, i), column = std::min(k, i);
        dense::add_scaled(x, -L[pattern.start[row] + pattern.depth[column]], X + i * stride, width);
      }
      const double inverse = 1.0 / L[pattern.diagonal(k)];
      for (Index c = 0; c < width; ++c) x[c] *= inverse;
    }
    if (is_upper) subtract_support();
  };
  for (Index c = 0; c < stride; c += strip_columns) {
    const Index width = std::min(strip_columns, stride - c), n_blocks = Index(first_rows.size()) - 1;
    for (Index b = n_blocks - 1; b >= 0; --b) solve_block(std::true_type{}, b, matrix.data() + c, width);
    for (Index b = 0; b < n_blocks; ++b) solve_block(std::false_type{}, b, matrix.data() + c, width);
  }
}

}  // namespace sparsebody::tree
