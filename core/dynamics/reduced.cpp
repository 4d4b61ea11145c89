#include "dynamics/reduced.hpp"

#include <algorithm>
#include <cmath>

#include "base/gram_schmidt.hpp"
#include "graph/breadth_first.hpp"

namespace sparsebody {
namespace {

constexpr double row_tolerance = 1e-9;  // part of a row that is rounding

}  // namespace

Array<double> rows_on_freedoms(View<const Index> row_joint, View<const Index, 2> ends, View<const double, 3> A,
                               View<const double, 3> to_freedoms, View<const double, 3> inverse,
                               View<double, 3> reduced) {
  Array<double> size(A.rows());
  for (Index k = 0; k < A.rows(); ++k) {
    double square[2] = {}, whole_square = 0.0;
    for (int side = 0; side < 2; ++side) {
      const Index body = ends(row_joint[k], side);
      if (body < 0) continue;
      for (int c = 0; c < 6; ++c) {
        double total = 0.0, whole = 0.0;
        for (int a = 0; a < 6; ++a) {
          total += A(k, side, a) * to_freedoms(body, a, c);
          whole += A(k, side, a) * inverse(body, a, c);
        }
        reduced(k, side, c) = total;
        square[side] += total * total;
        whole_square += whole * whole;
      }
    }
    size[k] = std::sqrt(whole_square);
    for (int side = 0; side < 2; ++side)
      if (square[side] <= row_tolerance * row_tolerance * whole_square)
        for (int c = 0; c < 6; ++c) reduced(k, side, c) = 0.0;
  }
  return size;
}

std::tuple<Array<bool>, Array<Index>> locally_independent_rows(View<const Index> first_row,
                                                               View<const bool> is_within,
                                                               View<const double, 3> reduced,
                                                               View<const double> size,
                                                               View<const bool> is_prescribed) {
  Array<bool> keep(size.size());
  Array<Index> n_dropped(is_within.size());
  std::fill(keep.begin(), keep.end(), true);
  std::vector<double> numbers;
  for (Index j = 0; j < is_within.size(); ++j) {
    if (!is_within[j]) continue;
    numbers.clear();
    for (Index k = first_row[j]; k < first_row[j + 1] && !is_prescribed[k]; ++k) {  // prescribed rows are the last ones
      for (const double x : reduced[k]) numbers.push_back(x / std::max(size[k], 1e-300));
      keep[k] = false;
    }
    const Index n = Index(numbers.size()) / 12;
    std::vector<Index> waiting = dense::first_numbers(n);
    dense::orthogonalize({numbers.data(), {n, 12}}, 12, waiting, n, row_tolerance,
                         [&](Index i, double) { keep[first_row[j] + i] = true; });
    for (Index k = first_row[j]; k < first_row[j + 1]; ++k) n_dropped[j] += !keep[k];
  }
  return {std::move(keep), std::move(n_dropped)};
}

std::pair<std::vector<Index>, std::vector<Index>> reaction_tree(View<const Index, 2> ends, Indices freedoms,
                                                                Indices n_dropped) {
  const Index world = freedoms.size();
  const Incidence at = incidence(world, ends, World::is_last_node);
  std::vector<Index> queue(world + 1, world), joint(world + 1, -1);
  const Index end = breadth_first(at.graph(), queue, 0, 1, [&](Index, Index other, Index entry) {
    const Index j = at.edge[entry];
    if (other == world || joint[other] >= 0 || freedoms[other] == 6 || n_dropped[j] < 6 - freedoms[other]) return false;
    joint[other] = j;
    return true;
  });
  std::vector<Index> bodies(queue.begin() + 1, queue.begin() + end), joints;
  for (const Index body : bodies) joints.push_back(joint[body]);
  return {std::move(bodies), std::move(joints)};
}

}  // namespace sparsebody
