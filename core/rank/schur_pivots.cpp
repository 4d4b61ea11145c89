#include "rank/decisions.hpp"

#include <algorithm>

#include "base/dense.hpp"
#include "rank/tolerances.hpp"

namespace sparsebody {

namespace {

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

  // Eliminate some columns (ascending), one after the other: S -= s_i s_i' / d_i. The last rows and columns take their
  // places.
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

}  // namespace sparsebody
