// Dependent rows by the pivots of A A' + delta in a sweep through the bodies.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dense.hpp"
#include "graph/adjacency.hpp"
#include "rank/rows.hpp"

namespace sparsebody {

// Stands for pivots that are zero or negative by rounding: near the underflow limit of 2e-308, with a finite inverse.
inline constexpr double least_pivot = 1e-300;

// The Schur complement of the rows that touch a body already met and one still to come; an upper triangle.
class SchurFront {
 public:
  explicit SchurFront(Index width)
      : stride_((width + dense::tile_lanes - 1) / dense::tile_lanes * dense::tile_lanes), values_(width * stride_),
        row_(width), joint_(width) {}

  Index size() const { return n_; }
  Index joint(Index column) const { return joint_[column]; }
  Index row(Index column) const { return row_[column]; }
  Index stride() const { return stride_; }

  void append(Index row, Index joint, double delta) {
    for (Index r = 0; r < n_; ++r) at(r, n_) = 0.0;
    at(n_, n_) = delta;
    row_[n_] = row;
    joint_[n_++] = joint;
  }

  // S += B B', B the parts of the rows on one body, (size, n) by columns of the front
  void add_products(const std::vector<double>& parts, Index size, const std::vector<Index>& touching) {
    for (const Index r : touching)
      for (Index a = 0; a < size; ++a) {
        const double* B = parts.data() + a * stride_;
        dense::add_scaled(&at(r, r), B[r], B + r, n_ - r);
      }
  }

  // Eliminate some columns (ascending), one after the other: S -= s_i s_i' / d_i. The last rows and columns move into
  // the gaps.
  void eliminate(const std::vector<Index>& columns, View<double> pivots) {
    const Index k = Index(columns.size());
    s_.assign(k * stride_, 0.0);
    inverse_.resize(k);
    for (Index i = 0; i < k; ++i)
      for (Index c = 0; c < n_; ++c) s_[i * stride_ + c] = at(std::min(c, columns[i]), std::max(c, columns[i]));
    for (Index i = 0; i < k; ++i) {
      const double* s = s_.data() + i * stride_;
      const double pivot = pivots[row_[columns[i]]] = std::max(s[columns[i]], least_pivot);
      inverse_[i] = 1.0 / pivot;
      for (Index j = i + 1; j < k; ++j)
        dense::add_scaled(s_.data() + j * stride_, -inverse_[i] * s[columns[j]], s, n_);
    }
    for (Index i = k - 1; i >= 0; --i) remove(columns[i]);
    dense::subtract_square(k, n_, s_.data(), stride_, inverse_.data(), true, values_.data(), stride_);
  }

 private:
  double& at(Index r, Index c) { return values_[r * stride_ + c]; }

  // Let the last row and column take the place of this one, in S and in the columns to eliminate.
  void remove(Index column) {
    const Index last = --n_;
    for (Index r = 0; r < column; ++r) at(r, column) = at(r, last);
    for (Index c = column + 1; c < last; ++c) at(column, c) = at(c, last);
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
  std::vector<double> s_, inverse_;
};

// Pivots of A A' + delta in a sweep through the bodies: rows are in the front from the first of their bodies on, and
// eliminated at the last one. At most `width` are in the front; each is on one body at least.
inline Array<double> schur_pivots(View<const Index> order, Index width, const PartOfRows& part, double delta) {
  const auto& [rows, ends, first_row, sizes] = part;
  const Incidence at = incidence(sizes.size(), ends);
  std::vector<bool> is_met(sizes.size());
  const auto is_met_or_none = [&](Index body) { return body < 0 || is_met[body]; };
  Array<double> pivots(rows.rows());
  SchurFront front(width);
  const Index stride = front.stride();
  std::vector<double> parts(rows.shape(2) * stride);
  std::vector<Index> touching, complete;
  for (const Index body : order) {
    for (Index entry = at.start[body]; entry < at.start[body + 1]; ++entry)
      if (const Index j = at.edge[entry], other = at.other[entry]; other < 0 || !is_met[other])
        for (Index r = first_row[j]; r < first_row[j + 1]; ++r) front.append(r, j, delta);
    is_met[body] = true;
    for (Index a = 0; a < sizes[body]; ++a) std::fill_n(parts.begin() + a * stride, front.size(), 0.0);
    touching.clear();
    complete.clear();
    for (Index column = 0; column < front.size(); ++column) {
      const Index j = front.joint(column), r = front.row(column);
      if (ends(j, 0) != body && ends(j, 1) != body) continue;
      touching.push_back(column);
      if (is_met_or_none(ends(j, 0)) && is_met_or_none(ends(j, 1))) complete.push_back(column);
      for (int side = 0; side < 2; ++side)
        for (Index a = 0; a < (ends(j, side) == body ? sizes[body] : 0); ++a)
          parts[a * stride + column] += rows(r, side, a);
    }
    front.add_products(parts, sizes[body], touching);
    front.eliminate(complete, pivots);
  }
  return pivots;
}

// (threshold, ratio) of the widest gap between pivots, those up to delta counted as delta; (delta, 1) for pivots that
// are not finite.
inline std::pair<double, double> largest_gap(View<const double> pivots, double delta) {
  // The least and the largest pivot of each octave above delta, within which no gap exceeds 2.
  constexpr Index n_octaves = std::numeric_limits<double>::max_exponent;
  std::vector<double> least(n_octaves, std::numeric_limits<double>::infinity()), largest(n_octaves, 0.0);
  least[0] = largest[0] = delta;
  for (const double pivot : pivots) {
    const double ratio = std::max(pivot / delta, 1.0);
    if (!std::isfinite(ratio)) return {delta, 1.0};
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
