#include "rank/decisions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dense.hpp"
#include "rank/tolerances.hpp"

namespace sparsebody {
namespace {

struct DenseRows {
  std::vector<double> values;
  Index n = 0, width = 0;
  double* operator[](Index i) { return values.data() + i * width; }
};

// The rows of joints begin .. end - 1 as a dense matrix; label (n_bodies,) is -1 throughout, before and after.
void gather(const PartOfRows& part, Index begin, Index end, std::vector<Index>& label, DenseRows& dense) {
  const auto& [rows, ends, first_row, sizes] = part;
  const Index width = rows.shape(2), start = first_row[begin];
  Index n_bodies = 0;
  for (Index j = begin; j < end; ++j)
    for (int side = 0; side < 2; ++side)
      if (const Index body = ends(j, side); body >= 0 && label[body] < 0) label[body] = n_bodies++;
  dense.n = first_row[end] - start;
  dense.width = n_bodies * width;
  dense.values.assign(dense.n * dense.width, 0.0);
  for (Index j = begin; j < end; ++j)
    for (int side = 0; side < 2; ++side)
      if (const Index body = ends(j, side); body >= 0)
        for (Index k = first_row[j]; k < first_row[j + 1]; ++k)
          for (Index a = 0; a < width; ++a) dense[k - start][width * label[body] + a] += rows(k, side, a);
  for (Index j = begin; j < end; ++j)
    for (int side = 0; side < 2; ++side)
      if (const Index body = ends(j, side); body >= 0) label[body] = -1;
}

// |R_ii| of rows, group by group, the largest remainder of a group first; overwrites `rows`.
// Golub and Van Loan (2013), sec. 5.2.8 (modified Gram-Schmidt) and 5.4.2 (pivoting).
void gram_schmidt(DenseRows& rows, const std::vector<Index>& group, double tolerance, double* remainder) {
  std::vector<Index> waiting(rows.n);
  for (Index i = 0; i < rows.n; ++i) waiting[i] = i;
  while (!waiting.empty()) {
    Index lowest = std::numeric_limits<Index>::max();
    for (const Index i : waiting) lowest = std::min(lowest, group[i]);
    double largest = -1.0;
    std::size_t chosen = 0;
    for (std::size_t w = 0; w < waiting.size(); ++w) {
      if (group[waiting[w]] != lowest) continue;
      const double square = dense::dot(rows[waiting[w]], rows[waiting[w]], rows.width);
      if (square > largest * tie_ratio) {
        largest = square;
        chosen = w;
      }
    }
    const Index best = waiting[chosen];
    waiting.erase(waiting.begin() + chosen);
    remainder[best] = std::sqrt(largest);
    if (remainder[best] <= tolerance) continue;
    double* q = rows[best];
    for (Index a = 0; a < rows.width; ++a) q[a] /= remainder[best];
    for (const Index i : waiting)  // r_i -= (q' r_i) q
      dense::add_scaled(rows[i], -dense::dot(rows[i], q, rows.width), q, rows.width);
  }
}

}  // namespace

std::pair<Array<double>, Array<double>> small_remainders(const PartOfRows& part, View<const Index> component_start,
                                                         double tolerance) {
  const auto& [rows, ends, first_row, sizes] = part;
  Array<double> free(rows.rows()), by_joint(rows.rows());
  DenseRows dense;
  std::vector<Index> label(sizes.size(), -1), group;
  for (Index c = 0; c + 1 < component_start.size(); ++c) {
    const Index begin = component_start[c], end = component_start[c + 1], start = first_row[begin];
    gather(part, begin, end, label, dense);
    group.assign(dense.n, 0);
    gram_schmidt(dense, group, tolerance, free.data() + start);
    gather(part, begin, end, label, dense);
    for (Index j = begin; j < end; ++j)
      std::fill(group.begin() + (first_row[j] - start), group.begin() + (first_row[j + 1] - start), j);
    gram_schmidt(dense, group, tolerance, by_joint.data() + start);
  }
  return {std::move(free), std::move(by_joint)};
}

}  // namespace sparsebody
