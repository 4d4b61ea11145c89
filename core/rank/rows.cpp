#include "rank/rows.hpp"

#include <algorithm>
#include <cmath>

namespace sparsebody {

Array<Index> touched_blocks(View<const Index, 2> ends, View<const Index> dual, View<Index> label) {
  std::vector<Index> touched;
  for (const Index j : dual) {
    for (int side = 0; side < 2; ++side) {
      const Index block = ends(j, side);
      if (block < 0 || label[block] >= 0) continue;
      label[block] = Index(touched.size());
      touched.push_back(block);
    }
  }
  return Array<Index>(touched);
}

namespace {

// `order` sorted by keys in 0 .. n - 1, equal ones as they were.
std::vector<Index> counting_sort(const std::vector<Index>& keys, const std::vector<Index>& order, Index n) {
  std::vector<Index> following(n + 1), sorted(order.size());
  for (const Index key : keys) ++following[key + 1];
  for (Index k = 0; k < n; ++k) following[k + 1] += following[k];
  for (const Index k : order) sorted[following[keys[k]]++] = k;
  return sorted;
}

}  // namespace

Array<Index> sorted_by_first_end(View<const Index, 2> ends, View<const Index> dual, View<const Index> label,
                                 Index n_primal) {
  const Index n = dual.size();
  std::vector<Index> lower(n), higher(n), order(n);
  for (Index k = 0; k < n; ++k) {
    const Index a = ends(dual[k], 0), b = ends(dual[k], 1);
    const Index one = label[a >= 0 ? a : b], other = b >= 0 ? label[b] : one;
    lower[k] = std::min(one, other);
    higher[k] = std::max(one, other);
    order[k] = k;
  }
  order = counting_sort(lower, counting_sort(higher, order, n_primal), n_primal);
  Array<Index> sorted(n);
  for (Index k = 0; k < n; ++k) sorted[k] = dual[order[k]];
  return sorted;
}

Array<double, 3> unit_rows(View<const double, 3> rows, View<const Index> index, View<const Index, 2> ends,
                           View<const Index> first_row, View<const Index> sizes) {
  const Index width = rows.shape(2);
  Array<double, 3> unit({index.size(), 2, width});
  for (Index j = 0; j < ends.rows(); ++j) {
    for (Index k = first_row[j]; k < first_row[j + 1]; ++k) {
      double* row = &unit(k, 0, 0);
      double square = 0.0;
      for (int side = 0; side < 2; ++side) {
        if (ends(j, side) < 0) continue;
        double* to = row + (ends(j, side) == ends(j, 0) ? 0 : width);
        for (Index a = 0; a < sizes[ends(j, side)]; ++a) to[a] += rows(index[k], side, a);
      }
      for (Index a = 0; a < 2 * width; ++a) square += row[a] * row[a];
      if (square > 0.0)
        for (Index a = 0; a < 2 * width; ++a) row[a] *= 1.0 / std::sqrt(square);
    }
  }
  return unit;
}

namespace {

// The loops of one width W of all rows and sizes, or 0 if it is known only at run time.
template <int W>
class Equilibration {
 public:
  Equilibration(View<const double, 3> rows, View<const Index, 2> ends, View<const Index> first_row,
                View<const Index> sizes, double own_pivot, double largest_pivot)
      : rows_(rows), ends_(ends), first_row_(first_row), sizes_(sizes), own_(own_pivot), largest_(largest_pivot),
        weight_(rows.rows(), 1.0), gram_(sizes.size() * width() * width()) {}

  void pass(View<double, 3> scaled, bool is_last) {
    const Index w = width();
    std::fill(gram_.begin(), gram_.end(), 0.0);
    for (Index j = 0; j < ends_.rows(); ++j)
      for (int side = 0; side < 2; ++side)
        if (ends_(j, side) >= 0)
          for (Index k = first_row_[j]; k < first_row_[j + 1]; ++k)
            add_square(weight_[k] * weight_[k], &rows_(k, side, 0), gram(ends_(j, side)));
    for (Index body = 0; body < sizes_.size(); ++body) factorize(gram(body), size(body));
    std::vector<double> row(2 * w);
    for (Index j = 0; j < ends_.rows(); ++j) {
      for (Index k = first_row_[j]; k < first_row_[j + 1]; ++k) {
        std::fill(row.begin(), row.end(), 0.0);
        double square = 0.0;
        for (int side = 0; side < 2; ++side)
          if (const Index body = ends_(j, side); body >= 0)
            square += solve(gram(body), size(body), &rows_(k, side, 0), row.data() + side * w);
        if (square > 0.0) weight_[k] = 1.0 / std::sqrt(square);
        const double factor = square > 0.0 ? weight_[k] : 1.0;
        if (is_last)
          for (Index a = 0; a < 2 * w; ++a) scaled.data()[2 * w * k + a] = factor * row[a];
      }
    }
  }

 private:
  Index width() const { return W ? W : rows_.shape(2); }
  Index size(Index body) const { return W ? W : sizes_[body]; }
  double* gram(Index body) { return gram_.data() + body * width() * width(); }

  // G += weight r r', its lower triangle
  void add_square(double weight, const double* row, double* G) const {
    const Index w = width();
    for (Index a = 0; a < w; ++a)
      for (Index b = 0; b < (W ? W : a + 1); ++b) G[a * w + b] += weight * row[a] * row[b];
  }

  // The Cholesky factor in place of G, no pivot too small; 1 / L_jj on the diagonal.
  void factorize(double* G, Index n) const {
    const Index w = width();
    double largest = 0.0;
    for (Index j = 0; j < n; ++j) largest = std::max(largest, G[j * w + j]);
    if (largest == 0.0) largest = 1.0;
    for (Index j = 0; j < n; ++j) {
      const double least = std::max(own_ * G[j * w + j], largest_ * largest);
      for (Index i = j; i < n; ++i) {
        double value = G[i * w + j];
        for (Index k = 0; k < j; ++k) value -= G[i * w + k] * G[j * w + k];
        G[i * w + j] = i == j ? 1.0 / std::sqrt(std::max(value, least)) : value * G[j * w + j];
      }
    }
  }

  // y = L^-1 r; returns y'y.
  double solve(const double* L, Index n, const double* row, double* y) const {
    const Index w = width();
    double square = 0.0;
    for (Index a = 0; a < w; ++a) {
      double value = row[a];
      if (a < n) {
        for (Index b = 0; b < a; ++b) value -= L[a * w + b] * y[b];
        value *= L[a * w + a];
      }
      y[a] = value;
      square += value * value;
    }
    return square;
  }

  View<const double, 3> rows_;
  View<const Index, 2> ends_;
  View<const Index> first_row_, sizes_;
  double own_, largest_;
  std::vector<double> weight_, gram_;
};

template <int W>
Array<double, 3> equilibrated_with(View<const double, 3> rows, View<const Index, 2> ends, View<const Index> first_row,
                                   View<const Index> sizes, int passes, double own_pivot, double largest_pivot) {
  Array<double, 3> scaled(rows.shape());
  Equilibration<W> equilibration(rows, ends, first_row, sizes, own_pivot, largest_pivot);
  for (int pass = 1; pass <= passes; ++pass) equilibration.pass(scaled, pass == passes);
  return scaled;
}

}  // namespace

Array<double, 3> equilibrated_rows(View<const double, 3> rows, View<const Index, 2> ends, View<const Index> first_row,
                                   View<const Index> sizes, int passes, double own_pivot, double largest_pivot) {
  const Index width = rows.shape(2);
  const bool is_full = std::all_of(sizes.begin(), sizes.end(), [=](Index size) { return size == width; });
  auto kernel = is_full && width == 6   ? &equilibrated_with<6>
                : is_full && width == 3 ? &equilibrated_with<3>
                                        : &equilibrated_with<0>;
  return kernel(rows, ends, first_row, sizes, passes, own_pivot, largest_pivot);
}

}  // namespace sparsebody
