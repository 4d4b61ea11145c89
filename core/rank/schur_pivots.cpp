#include "rank/schur_pivots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rank/dense.hpp"

namespace sparsebody {
namespace {

constexpr double least_pivot = 1e-300;  // a divisor

// The Schur complement of the rows that touch a body already met and one still to come; a lower triangle.
class SchurFront {
 public:
  explicit SchurFront(Index width) : width_(width), values_(width * width), row_(width), joint_(width), scaled_(width) {}

  Index size() const { return n_; }
  Index joint(Index column) const { return joint_[column]; }
  Index row(Index column) const { return row_[column]; }
  double pivot(Index column) { return std::max(at(column, column), least_pivot); }

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
        const double* B = parts.data() + a * width_;
        dense::add_scaled(S, B[r], B, r + 1);
      }
    }
  }

  // S -= s s' / pivot, s a column; the last row and column take its place.
  void eliminate(Index column) {
    std::vector<double>& s = scaled_;
    for (Index c = 0; c <= column; ++c) s[c] = at(column, c);
    for (Index r = column + 1; r < n_; ++r) s[r] = at(r, column);
    const double scale = 1.0 / std::max(s[column], least_pivot);
    for (Index r = 0; r < n_; ++r)
      if (const double factor = scale * s[r]; factor != 0.0) dense::add_scaled(&at(r, 0), -factor, s.data(), r + 1);
    const Index last = --n_;
    for (Index c = 0; c < column; ++c) at(column, c) = at(last, c);
    for (Index r = column + 1; r < last; ++r) at(r, column) = at(last, r);
    at(column, column) = at(last, last);
    row_[column] = row_[last];
    joint_[column] = joint_[last];
  }

 private:
  double& at(Index r, Index c) { return values_[r * width_ + c]; }

  Index width_, n_ = 0;
  std::vector<double> values_;
  std::vector<Index> row_, joint_;  // of each column
  std::vector<double> scaled_;
};

}  // namespace

Array<double> schur_pivots(const Sweep& sweep, View<const Index, 2> ends, View<const Index> first_row,
                           View<const Index> sizes, View<const double, 3> rows, double delta) {
  Array<double> pivots(rows.rows());
  SchurFront front(sweep.width);
  std::vector<double> parts(rows.shape(2) * sweep.width);
  std::vector<Index> touching;
  for (Index step = 0; step < sweep.order.size(); ++step) {
    const Index body = sweep.order[step], size = sizes[body];
    for (Index k = sweep.start[step]; k < sweep.start[step + 1]; ++k) {
      const Index j = sweep.entering[k];
      for (Index r = first_row[j]; r < first_row[j + 1]; ++r) front.append(r, j, delta);
    }
    for (Index a = 0; a < size; ++a) std::fill_n(parts.begin() + a * sweep.width, front.size(), 0.0);
    touching.clear();
    for (Index column = 0; column < front.size(); ++column) {
      const Index j = front.joint(column);
      for (int side = 0; side < 2; ++side) {
        if (ends(j, side) != body) continue;
        for (Index a = 0; a < size; ++a) parts[a * sweep.width + column] += rows(front.row(column), side, a);
        if (touching.empty() || touching.back() != column) touching.push_back(column);
      }
    }
    front.add_products(parts, size, touching);
    for (Index column = 0; column < front.size();) {
      if (sweep.last[front.joint(column)] != step) {
        ++column;
        continue;
      }
      pivots[front.row(column)] = front.pivot(column);
      front.eliminate(column);
    }
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
