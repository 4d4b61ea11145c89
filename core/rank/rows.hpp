// Rows of A on the two ends of each joint: parts of them, and their scales.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/array.hpp"
#include "base/threads.hpp"
#include "base/vec.hpp"
#include "graph/adjacency.hpp"

namespace sparsebody {

// Rows of some joints, each on both ends.
struct PartOfRows {
  View<const double, 3> rows;  // (n_rows, 2, width)
  View<const Index, 2> ends;   // (n_joints, 2) bodies, -1 for none
  View<const Index> first_row, sizes;  // (n_joints + 1,); (n_bodies,) degrees of freedom
};

// Alternating equilibration of rows and bodies i: L_i L_i' = sum w_k^2 r r' over the parts r of rows on body i,
// M_i = L_i^-1, then w_k = 1 / |M r|; the last pass stores w_k M r. Columns beyond a body's degrees of freedom stay zero.
template <int W>
class Equilibration {
 public:
  Equilibration(View<double, 3> rows, View<const Index, 2> ends, View<const Index> first_row, Index n_bodies,
                double own_pivot, double largest_pivot, int threads)
      : rows_(rows), ends_(ends), first_row_(first_row), own_(own_pivot), largest_(largest_pivot), threads_(threads),
        at_body_(incidence(n_bodies, ends)), weight_(rows.rows(), 1.0),
        inverse_(Array<double>::uninitialized({n_bodies * triangle(W)})) {}

  void pass(bool is_last) {
    for_each(Index(at_body_.start.size()) - 1, threads_, [&](Index body) { invert_gram(body); });
    for_each(ends_.rows(), threads_, [&](Index j) {
      for (Index k = first_row_[j]; k < first_row_[j + 1]; ++k) weigh(j, k, is_last);
    });
  }

 private:
  static constexpr Index triangle(Index n) { return n * (n + 1) / 2; }
  double* inverse(Index body) { return inverse_.data() + body * triangle(W); }

  // G, its Cholesky factor L with 1 / L_jj on the diagonal, and L^-1, in the same lower triangle by rows.
  void invert_gram(Index body) {
    double G[triangle(W)] = {}, r[W];
    for (Index entry = at_body_.start[body]; entry < at_body_.start[body + 1]; ++entry) {
      const Index j = at_body_.edge[entry];
      for (Index k = first_row_[j]; k < first_row_[j + 1]; ++k) {
        const double* row = &rows_(k, ends_(j, 0) == body ? 0 : 1, 0);
        unrolled<0, W>([&](auto a) SB_UNROLL { r[a] = weight_[k] * row[a]; });
        unrolled<0, W>([&](auto a) SB_UNROLL {
          unrolled<0, a + 1>([&](auto b) SB_UNROLL { G[triangle(a) + b] += r[a] * r[b]; });
        });
      }
    }
    double largest = 0.0;
    unrolled<0, W>([&](auto a) SB_UNROLL { largest = std::max(largest, G[triangle(a) + a]); });
    if (largest == 0.0) largest = 1.0;
    unrolled<0, W>([&](auto i) SB_UNROLL {  // pivots are bounded from below
      const double least = std::max(own_ * G[triangle(i) + i], largest_ * largest);
      unrolled<0, i + 1>([&](auto j) SB_UNROLL {
        double value = G[triangle(i) + j];
        unrolled<0, j>([&](auto k) SB_UNROLL { value -= G[triangle(i) + k] * G[triangle(j) + k]; });
        G[triangle(i) + j] = j == i ? 1.0 / std::sqrt(std::max(value, least)) : value * G[triangle(j) + j];
      });
    });
    unrolled<0, W>([&](auto i) SB_UNROLL {  // row i of L^-1 from the rows above it
      unrolled<0, i>([&](auto j) SB_UNROLL {
        double value = 0.0;
        unrolled<j, i>([&](auto k) SB_UNROLL { value -= G[triangle(i) + k] * G[triangle(k) + j]; });
        r[j] = value * G[triangle(i) + i];
      });
      unrolled<0, i>([&](auto j) SB_UNROLL { G[triangle(i) + j] = r[j]; });
    });
    std::copy_n(G, triangle(W), inverse(body));
  }

  // The weight of row k with the present factors, and the row itself at last.
  void weigh(Index j, Index k, bool is_last) {
    double y[2 * W] = {}, square = 0.0;
    for (int side = 0; side < 2; ++side) {
      const Index body = ends_(j, side);
      if (body < 0) continue;
      const double *row = &rows_(k, side, 0), *M = inverse(body);
      unrolled<0, W>([&](auto a) SB_UNROLL {
        double value = 0.0;
        unrolled<0, a + 1>([&](auto b) SB_UNROLL { value += M[triangle(a) + b] * row[b]; });
        y[side * W + a] = value;
        square += value * value;
      });
    }
    if (square > 0.0) weight_[k] = 1.0 / std::sqrt(square);
    if (!is_last) return;
    const double scale = square > 0.0 ? weight_[k] : 1.0;
    for (Index a = 0; a < 2 * W; ++a) (&rows_(k, 0, 0))[a] = scale * y[a];
  }

  View<double, 3> rows_;
  View<const Index, 2> ends_;
  View<const Index> first_row_;
  double own_, largest_;
  int threads_;
  Incidence at_body_;
  std::vector<double> weight_;
  Array<double> inverse_;
};

// The primal blocks at the ends of some dual ones, in order of first occurrence; `label`, -1 before, is the position
// in that list.
inline std::vector<Index> touched_blocks(View<const Index, 2> ends, View<const Index> dual, View<Index> label) {
  std::vector<Index> touched;
  for (const Index j : dual) {
    for (int side = 0; side < 2; ++side) {
      const Index block = ends(j, side);
      if (block < 0 || label[block] >= 0) continue;
      label[block] = Index(touched.size());
      touched.push_back(block);
    }
  }
  return touched;
}

// `dual` sorted by the (lower, higher) label of their ends.
inline Array<Index> sorted_by_first_end(View<const Index, 2> ends, View<const Index> dual, View<const Index> label,
                                        Index n_primal) {
  const Index n = dual.size();
  std::vector<Index> lower(n), higher(n);
  for (Index k = 0; k < n; ++k) {
    const Index a = ends(dual[k], 0), b = ends(dual[k], 1);
    const Index one = label[a >= 0 ? a : b], other = b >= 0 ? label[b] : one;
    lower[k] = std::min(one, other);
    higher[k] = std::max(one, other);
  }
  const GraphArrays by_lower = grouped(n_primal, lower, grouped(n_primal, higher).indices);
  Array<Index> sorted(n);
  for (Index k = 0; k < n; ++k) sorted[k] = dual[by_lower.indices[k]];
  return sorted;
}

// The rows `index` of A, (n, 2, width), scaled to unit norm; zero rows stay. ends (n_joints, 2) and first_row
// (n_joints + 1,) are those of the part. A row with both ends on one body has its sum on the first end.
inline Array<double, 3> unit_rows(View<const double, 3> rows, View<const Index> index, View<const Index, 2> ends,
                                  View<const Index> first_row, View<const Index> sizes, int threads) {
  const Index width = rows.shape(2);
  auto unit = Array<double, 3>::uninitialized({index.size(), 2, width});
  for_each(ends.rows(), threads, [&](Index j) {
    for (Index k = first_row[j]; k < first_row[j + 1]; ++k) {
      double* row = &unit(k, 0, 0);
      std::fill_n(row, 2 * width, 0.0);
      for (int side = 0; side < 2; ++side) {
        if (ends(j, side) < 0) continue;
        double* to = row + (ends(j, side) == ends(j, 0) ? 0 : width);
        for (Index a = 0; a < sizes[ends(j, side)]; ++a) to[a] += rows(index[k], side, a);
      }
      double square = 0.0;
      for (Index a = 0; a < 2 * width; ++a) square += row[a] * row[a];
      if (square > 0.0)
        for (Index a = 0; a < 2 * width; ++a) row[a] *= 1.0 / std::sqrt(square);
    }
  });
  return unit;
}

// Rows A become W A S with S = L^-T on each body, L L' the Gram matrix of the weighted rows there, and W such that rows
// have unit norm: a few passes towards even rows and columns. Pivots of L L' are at least `own_pivot` of their own diagonal
// entry and `largest_pivot` of the largest one, so that no direction is enlarged without bound.
// Van der Sluis (1969), Numer. Math. 14:14; Ruiz (2001), RAL-TR-2001-034.
inline void equilibrate(View<double, 3> rows, View<const Index, 2> ends, View<const Index> first_row,
                        View<const Index> sizes, int passes, double own_pivot, double largest_pivot, int threads) {
  with_constant<6, 3, 1, 2, 4, 5>(rows.shape(2), [&](auto width) {
    Equilibration<width> equilibration(rows, ends, first_row, sizes.size(), own_pivot, largest_pivot, threads);
    for (int pass = 1; pass <= passes; ++pass) equilibration.pass(pass == passes);
  });
}

}  // namespace sparsebody
