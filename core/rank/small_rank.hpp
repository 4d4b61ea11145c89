// Dependent rows of small components, by dense orthogonalization.
#pragma once

#include "base/dense.hpp"
#include "graph/adjacency.hpp"
#include "rank/rows.hpp"

namespace sparsebody {

struct DenseRows {
  std::vector<double> values;
  Index n = 0, width = 0;
  double* operator[](Index i) { return values.data() + i * width; }
};

// The rows of joints begin .. end - 1 as a dense matrix; label (n_bodies,): work, all -1 before and after.
inline void gather(const PartOfRows& part, Index begin, Index end, std::vector<Index>& label, DenseRows& dense) {
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
inline void fill_remainders(DenseRows& rows, Indices group_start, double tolerance, double* remainder) {
  const View<double, 2> x(rows.values.data(), {rows.n, rows.width});
  std::vector<Index> waiting = dense::first_numbers(rows.n);
  for (Index g = 0; g + 1 < group_start.size(); ++g) {
    const Index n_before = Index(waiting.size()), n = group_start[g + 1] - group_start[g];
    dense::orthogonalize(x, rows.width, waiting, n, tolerance, [&](Index i, double size) { remainder[i] = size; });
    const auto dependent_end = waiting.begin() + (n - (n_before - Index(waiting.size())));
    for (auto i = waiting.begin(); i < dependent_end; ++i)
      remainder[*i] = std::sqrt(dense::dot(rows[*i], rows[*i], rows.width));
    waiting.erase(waiting.begin(), dependent_end);
  }
}

// |R_ii| of the rows of components component_start[c] .. component_start[c + 1] - 1 of the joints, by free pivoting and
// joint by joint. Remainders up to `tolerance` are dependent.
inline std::pair<Array<double>, Array<double>> small_remainders(const PartOfRows& part,
                                                                View<const Index> component_start, double tolerance) {
  const auto& [rows, ends, first_row, sizes] = part;
  Array<double> free(rows.rows()), by_joint(rows.rows());
  DenseRows dense;
  std::vector<Index> label(sizes.size(), -1), starts;
  for (Index c = 0; c + 1 < component_start.size(); ++c) {
    const Index begin = component_start[c], end = component_start[c + 1], start = first_row[begin];
    gather(part, begin, end, label, dense);
    starts = {0, dense.n};
    fill_remainders(dense, starts, tolerance, free.data() + start);
    gather(part, begin, end, label, dense);
    starts.clear();
    for (Index j = begin; j <= end; ++j) starts.push_back(first_row[j] - start);
    fill_remainders(dense, starts, tolerance, by_joint.data() + start);
  }
  return {std::move(free), std::move(by_joint)};
}

}  // namespace sparsebody
