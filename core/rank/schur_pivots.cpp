#include "rank/decisions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dense.hpp"
#include "rank/tolerances.hpp"

namespace sparsebody {

using Pack = dense::Lanes;

namespace {

constexpr Index lanes = dense::lane_count;

// S -= sum_i f_i s_i' in R rows of a lower triangle, f (R, k) and s (k, stride); values above it are lost.
template <int R>
void subtract_outer(double* S, Index stride, Index n, const double* f, const double* s, Index k) {
  for (Index c = 0; c < n; c += lanes) {
    Pack sum[R];
    for (Index i = 0; i < k; ++i) {
      const Pack x = Pack::load(s + i * stride + c);
      unrolled<0, R>([&](auto r) SB_UNROLL { sum[r] = sum[r] + x * f[r * k + i]; });
    }
    unrolled<0, R>([&](auto r) SB_UNROLL { (Pack::load(S + r * stride + c) - sum[r]).store(S + r * stride + c); });
  }
}

// The Schur complement of the rows that touch a body already met and one still to come; a lower triangle.
class SchurFront {
 public:
  explicit SchurFront(Index width)
      : stride_((width + lanes - 1) / lanes * lanes), values_((width + 1) * stride_), row_(width), joint_(width) {}

  Index size() const { return n_; }
  Index joint(Index column) const { return joint_[column]; }
  Index row(Index column) const { return row_[column]; }
  Index stride() const { return stride_; }

  void append(Index row, Index joint, double delta) {
    std::fill(&at(n_, 0), &at(n_, 0) + n_, 0.0);
    at(n_, n_) = delta;
    row_[n_] = row;
    joint_[n_++] = joint;
  }

  // S += B B', B the parts of the rows on one body, (size, n) by columns of the front
  void add_products(const std::vector<double>& parts, Index size, const std::vector<Index>& touching) {
    for (const Index r : touching) {
      double* S = &at(r, 0);
      for (Index a = 0; a < size; ++a) {
        const double* B = parts.data() + a * stride_;
        dense::add_scaled(S, B[r], B, r + 1);
      }
    }
  }

  // Eliminate some columns (ascending), one after the other: S -= s_i s_i' / d_i. The last rows and columns take their
  // places.
  void eliminate(const std::vector<Index>& columns, View<double> pivots) {
    const Index k = Index(columns.size());
    if (k == 0) return;
    s_.assign(k * stride_, 0.0);
    for (Index i = 0; i < k; ++i) {
      double* s = s_.data() + i * stride_;
      for (Index c = 0; c <= columns[i]; ++c) s[c] = at(columns[i], c);
      for (Index r = columns[i] + 1; r < n_; ++r) s[r] = at(r, columns[i]);
    }
    inverse_.resize(k);
    for (Index i = 0; i < k; ++i) {
      const double* s = s_.data() + i * stride_;
      const double pivot = pivots[row_[columns[i]]] = std::max(s[columns[i]], least_pivot);
      inverse_[i] = 1.0 / pivot;
      for (Index j = i + 1; j < k; ++j)
        dense::add_scaled(s_.data() + j * stride_, -inverse_[i] * s[columns[j]], s, n_);
    }
    for (Index i = k - 1; i >= 0; --i) remove(columns[i]);
    f_.resize(rows_at_once * k);
    for (Index r = 0; r < n_; r += rows_at_once) {
      const Index n_rows = std::min(rows_at_once, n_ - r);
      for (Index q = 0; q < n_rows; ++q)
        for (Index i = 0; i < k; ++i) f_[q * k + i] = inverse_[i] * s_[i * stride_ + r + q];
      if (n_rows == rows_at_once) {
        subtract_outer<rows_at_once>(&at(r, 0), stride_, r + rows_at_once, f_.data(), s_.data(), k);
      } else {
        for (Index q = 0; q < n_rows; ++q)
          subtract_outer<1>(&at(r + q, 0), stride_, r + q + 1, f_.data() + q * k, s_.data(), k);
      }
    }
  }

 private:
  static constexpr Index rows_at_once = 4;

  double& at(Index r, Index c) { return values_[r * stride_ + c]; }

  // Let the last row and column take the place of this one, in S and in the columns to eliminate.
  void remove(Index column) {
    const Index last = --n_;
    for (Index c = 0; c < column; ++c) at(column, c) = at(last, c);
    for (Index r = column + 1; r < last; ++r) at(r, column) = at(last, r);
    at(column, column) = at(last, last);
    for (double* s = s_.data(); s < s_.data() + s_.size(); s += stride_) {
      s[column] = s[last];
      s[last] = 0.0;
    }
    row_[column] = row_[last];
    joint_[column] = joint_[last];
  }

  Index stride_, n_ = 0;
  std::vector<double> values_;
  std::vector<Index> row_, joint_;  // of each column
  std::vector<double> s_, f_, inverse_;
};

}  // namespace

Array<double> schur_pivots(const Sweep& sweep, const PartOfRows& part, double delta) {
  const auto& [rows, ends, first_row, sizes] = part;
  Array<double> pivots(rows.rows());
  SchurFront front(sweep.width);
  const Index stride = front.stride();
  std::vector<double> parts(rows.shape(2) * stride);
  std::vector<Index> touching, complete;
  for (Index step = 0; step < sweep.order.size(); ++step) {
    const Index body = sweep.order[step], size = sizes[body];
    for (Index k = sweep.start[step]; k < sweep.start[step + 1]; ++k) {
      const Index j = sweep.entering[k];
      for (Index r = first_row[j]; r < first_row[j + 1]; ++r) front.append(r, j, delta);
    }
    for (Index a = 0; a < size; ++a) std::fill_n(parts.begin() + a * stride, front.size(), 0.0);
    touching.clear();
    complete.clear();
    for (Index column = 0; column < front.size(); ++column) {
      const Index j = front.joint(column);
      if (sweep.last[j] == step) complete.push_back(column);
      for (int side = 0; side < 2; ++side) {
        if (ends(j, side) != body) continue;
        for (Index a = 0; a < size; ++a) parts[a * stride + column] += rows(front.row(column), side, a);
        if (touching.empty() || touching.back() != column) touching.push_back(column);
      }
    }
    front.add_products(parts, size, touching);
    front.eliminate(complete, pivots);
  }
  return pivots;
}

std::pair<double, double> largest_gap(View<const double> pivots, double delta) {
  // The least and the largest pivot of each octave above delta: a gap of more than 2 lies between octaves.
  constexpr Index n_octaves = 1100;
  std::vector<double> least(n_octaves, std::numeric_limits<double>::infinity()), largest(n_octaves, 0.0);
  least[0] = largest[0] = delta;
  for (const double pivot : pivots) {
    const double ratio = std::max(pivot / delta, 1.0);
    const Index octave = std::ilogb(ratio);
    least[octave] = std::min(least[octave], ratio * delta);
    largest[octave] = std::max(largest[octave], ratio * delta);
  }
  double threshold = delta, widest = 1.0, below = delta;
  for (Index octave = 0; octave < n_octaves; ++octave) {
    if (largest[octave] <= 0.0) continue;
    if (least[octave] > widest * below) {
      threshold = std::sqrt(least[octave] * below);
      widest = least[octave] / below;
    }
    below = largest[octave];
  }
  return {threshold, widest};
}

}  // namespace sparsebody
