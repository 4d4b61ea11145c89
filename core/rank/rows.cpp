#include "rank/rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/threads.hpp"
#include "base/vec.hpp"
#include "graph/adjacency.hpp"

namespace sparsebody {

std::vector<Index> touched_blocks(View<const Index, 2> ends, View<const Index> dual, View<Index> label) {
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

Array<Index> sorted_by_first_end(View<const Index, 2> ends, View<const Index> dual, View<const Index> label,
                                 Index n_primal) {
  const Index n = dual.size();
  std::vector<Index> lower(n), higher(n), sequence(n);
  for (Index k = 0; k < n; ++k) {
    const Index a = ends(dual[k], 0), b = ends(dual[k], 1);
    const Index one = label[a >= 0 ? a : b], other = b >= 0 ? label[b] : one;
    lower[k] = std::min(one, other);
    higher[k] = std::max(one, other);
    sequence[k] = k;
  }
  const Groups by_lower = grouped(n_primal, lower, grouped(n_primal, higher, sequence).items);
  Array<Index> sorted(n);
  for (Index k = 0; k < n; ++k) sorted[k] = dual[by_lower.items[k]];
  return sorted;
}

Array<double, 3> unit_rows(View<const double, 3> rows, View<const Index> index, View<const Index, 2> ends,
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

namespace {

// Calls body(0), ..., body(end - 1): unrolled, with constants, where `end` is one.
template <class End, class Body>
SB_INLINE void times(End end, Body&& body) {
  if constexpr (requires { End::value; }) unrolled<0, End::value>(body);
  else for (Index i = 0; i < end; ++i) body(i);
}

// i + 1
SB_INLINE Index after(Index i) { return i + 1; }
template <int i>
SB_INLINE auto after(std::integral_constant<int, i>) { return std::integral_constant<int, i + 1>{}; }

// `most` numbers, or n where that is only known at run time (0).
template <int most>
auto numbers(Index n) {
  if constexpr (most > 0) return std::array<double, most>{};
  else return std::vector<double>(n);
}

// Rows of unit norm: their weights w_k, and the inverse factors M_i = L^-1 of the bodies' sums of w_k^2 r r', r the
// part of a row on body i, by turns; at last the rows w_k M r. W is the width of all rows and bodies, 0 if they differ.
template <int W>
class Equilibration {
 public:
  Equilibration(View<double, 3> rows, View<const Index, 2> ends, View<const Index> first_row,
                View<const Index> sizes, double own_pivot, double largest_pivot, int threads)
      : rows_(rows), ends_(ends), first_row_(first_row), sizes_(sizes), own_(own_pivot), largest_(largest_pivot),
        threads_(threads), at_body_(incidence(sizes.size(), ends)), weight_(rows.rows(), 1.0),
        inverse_(Array<double>::uninitialized({sizes.size() * triangle(rows.shape(2))})) {}

  void pass(bool is_last) {
    for_each(sizes_.size(), threads_, [&](Index body) { invert_gram(body); });
    for_each(ends_.rows(), threads_, [&](Index j) {
      for (Index k = first_row_[j]; k < first_row_[j + 1]; ++k) weigh(j, k, is_last);
    });
  }

 private:
  static constexpr Index triangle(Index n) { return n * (n + 1) / 2; }
  auto size(Index body) const {
    if constexpr (W > 0) return std::integral_constant<int, W>{};
    else return sizes_[body];
  }
  double* inverse(Index body) { return inverse_.data() + body * triangle(rows_.shape(2)); }

  // G, its Cholesky factor L with 1 / L_jj on the diagonal, and L^-1, in the same lower triangle by rows.
  void invert_gram(Index body) {
    const auto n = size(body);
    auto G = numbers<triangle(W)>(triangle(n));
    auto r = numbers<W>(n);
    for (Index entry = at_body_.start[body]; entry < at_body_.start[body + 1]; ++entry) {
      const Index j = at_body_.edge[entry];
      for (Index k = first_row_[j]; k < first_row_[j + 1]; ++k) {
        const double* row = &rows_(k, ends_(j, 0) == body ? 0 : 1, 0);
        times(n, [&](auto a) SB_UNROLL { r[a] = weight_[k] * row[a]; });
        times(n, [&](auto a) SB_UNROLL {
          times(after(a), [&](auto b) SB_UNROLL { G[triangle(a) + b] += r[a] * r[b]; });
        });
      }
    }
    double largest = 0.0;
    times(n, [&](auto a) SB_UNROLL { largest = std::max(largest, G[triangle(a) + a]); });
    if (largest == 0.0) largest = 1.0;
    times(n, [&](auto i) SB_UNROLL {  // no pivot is too small
      const double least = std::max(own_ * G[triangle(i) + i], largest_ * largest);
      times(after(i), [&](auto j) SB_UNROLL {
        double value = G[triangle(i) + j];
        times(j, [&](auto k) SB_UNROLL { value -= G[triangle(i) + k] * G[triangle(j) + k]; });
        G[triangle(i) + j] = j == i ? 1.0 / std::sqrt(std::max(value, least)) : value * G[triangle(j) + j];
      });
    });
    times(n, [&](auto i) SB_UNROLL {  // row i of L^-1 is made of those above it
      times(i, [&](auto j) SB_UNROLL {
        double value = 0.0;
        times(i, [&](auto k) SB_UNROLL { if (k >= j) value -= G[triangle(i) + k] * G[triangle(k) + j]; });
        r[j] = value * G[triangle(i) + i];
      });
      times(i, [&](auto j) SB_UNROLL { G[triangle(i) + j] = r[j]; });
    });
    std::copy(G.begin(), G.end(), inverse(body));
  }

  // The weight of row k with the present factors, and the row itself at last.
  void weigh(Index j, Index k, bool is_last) {
    const Index w = rows_.shape(2);
    auto y = numbers<2 * W>(2 * w);
    double square = 0.0;
    for (int side = 0; side < 2; ++side) {
      const Index body = ends_(j, side);
      if (body < 0) continue;
      const double *row = &rows_(k, side, 0), *M = inverse(body);
      times(size(body), [&](auto a) SB_UNROLL {
        double value = 0.0;
        times(after(a), [&](auto b) SB_UNROLL { value += M[triangle(a) + b] * row[b]; });
        y[side * w + a] = value;
        square += value * value;
      });
    }
    if (square > 0.0) weight_[k] = 1.0 / std::sqrt(square);
    if (!is_last) return;
    const double scale = square > 0.0 ? weight_[k] : 1.0;
    for (Index a = 0; a < 2 * w; ++a) (&rows_(k, 0, 0))[a] = scale * y[a];
  }

  View<double, 3> rows_;
  View<const Index, 2> ends_;
  View<const Index> first_row_, sizes_;
  double own_, largest_;
  int threads_;
  Incidence at_body_;
  std::vector<double> weight_;
  Array<double> inverse_;
};

template <int W>
void equilibrate_with(View<double, 3> rows, View<const Index, 2> ends, View<const Index> first_row,
                      View<const Index> sizes, int passes, double own_pivot, double largest_pivot, int threads) {
  Equilibration<W> equilibration(rows, ends, first_row, sizes, own_pivot, largest_pivot, threads);
  for (int pass = 1; pass <= passes; ++pass) equilibration.pass(pass == passes);
}

}  // namespace

void equilibrate(View<double, 3> rows, View<const Index, 2> ends, View<const Index> first_row,
                 View<const Index> sizes, int passes, double own_pivot, double largest_pivot, int threads) {
  const Index width = rows.shape(2);
  const bool is_full = std::all_of(sizes.begin(), sizes.end(), [=](Index size) { return size == width; });
  auto kernel = is_full && width == 6   ? &equilibrate_with<6>
                : is_full && width == 3 ? &equilibrate_with<3>
                                        : &equilibrate_with<0>;
  kernel(rows, ends, first_row, sizes, passes, own_pivot, largest_pivot, threads);
}

}  // namespace sparsebody
