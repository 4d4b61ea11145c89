// Mechanisms whose bodies move within displacement subgroups about the world: the choice of rows on the freedoms that
// these leave, and the reactions outside them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/dense.hpp"
#include "graph/adjacency.hpp"
#include "graph/searches.hpp"

namespace sparsebody {

inline constexpr int most_rows = 6;  // of a joint

// y with a_1 y_1 + ... + a_n y_n = b in the sense of least squares; 0 for columns that depend on others. Columns, and at
// last b, are rows of `equations`, followed by the unit vectors e_1, ..., e_n and 0: what orthogonalization makes of the
// last row is the residual and -y. Bjoerck (1996), sec. 2.4.
inline void solve_least_squares(View<double, 2> equations, double* y) {
  const Index n = equations.rows() - 1;
  double moment = 0.0, force = 0.0, largest = 0.0;
  for (Index c = 0; c < n; ++c)
    moment = std::max(moment, dense::largest(&equations(c, 0), 3)),
    force = std::max(force, dense::largest(&equations(c, 3), 3));
  const double scale = moment > 0.0 && force > 0.0 ? force / moment : 1.0;  // moments in units of forces
  for (Index c = 0; c <= n; ++c) {
    for (int a = 0; a < 3; ++a) equations(c, a) *= scale;
    if (c == n) continue;
    equations(c, 6 + c) = 1.0;
    largest = std::max(largest, std::sqrt(dense::dot(&equations(c, 0), &equations(c, 0), 6)));
  }
  std::vector<Index> waiting = dense::first_numbers(n + 1);
  dense::orthogonalize(equations, 6, waiting, n, 6 * std::numeric_limits<double>::epsilon() * largest, [](Index, double) {});
  for (Index c = 0; c < n; ++c) y[c] = -equations(n, 6 + c);
}

// Adds the multipliers of the joints that hold bodies within their subgroups, the outermost bodies first: where all
// other wrenches on a body are known, its equation of motion gives that of the joint, in the least-squares sense.
// bodies, joints (m,) from the world outwards; joint_rows (m, k): rows that take part, up to the first -1;
// A (n_rows, 2, 6); required (n, 6): the sum of the wrenches of all constraints on each body, overwritten.
inline void fill_complementary_reactions(View<const Index> bodies, View<const Index> joints,
                                         View<const Index, 2> joint_rows, View<const Index> predecessor,
                                         View<const Index> successor, View<const Index> row_joint,
                                         View<const double, 3> A, View<double, 2> required, View<double> multiplier) {
  // Subtracts the wrenches of a row from what its bodies require.
  const auto subtract = [&](Index k, double size) {
    const Index ends[2] = {predecessor[row_joint[k]], successor[row_joint[k]]};
    for (int side = 0; side < 2; ++side)
      if (ends[side] >= 0)
        for (int a = 0; a < 6; ++a) required(ends[side], a) -= size * A(k, side, a);
  };
  for (Index k = 0; k < multiplier.size(); ++k) subtract(k, multiplier[k]);
  for (Index i = bodies.size() - 1; i >= 0; --i) {
    const Index body = bodies[i], side = successor[joints[i]] == body ? 1 : 0;
    const View<const Index> rows = joint_rows[i];
    const Index n = std::find(rows.begin(), rows.end(), -1) - rows.begin();
    double numbers[(most_rows + 1) * (6 + most_rows)] = {}, y[most_rows];
    const View<double, 2> equations(numbers, {n + 1, 6 + n});
    for (Index c = 0; c < n; ++c) std::copy_n(&A(rows[c], side, 0), 6, &equations(c, 0));
    std::copy_n(&required(body, 0), 6, &equations(n, 0));
    solve_least_squares(equations, y);
    for (Index c = 0; c < n; ++c) {
      multiplier[rows[c]] += y[c];
      subtract(rows[c], y[c]);
    }
  }
}

// ---- The choice of rows

inline constexpr double row_tolerance = 1e-9;  // relative part of a row that is rounding

// Fills `reduced` with rows A (n_rows, 2, 6) on the freedoms of their bodies, ends (n_joints, 2), -1 for the world:
// to_freedoms (n, 6, 6) is W^-1 Q and `inverse` W^-1, W maps twists to units in which inertias are identities. Rows
// below row_tolerance, relative, become zero. Returns (n_rows,) the norms of the rows with all freedoms, 0 for rows that are zero.
inline Array<double> rows_on_freedoms(View<const Index> row_joint, View<const Index, 2> ends, View<const double, 3> A,
                                      View<const double, 3> to_freedoms, View<const double, 3> inverse,
                                      View<double, 3> reduced) {
  Array<double> size(A.rows());
  for (Index k = 0; k < A.rows(); ++k) {
    double square[2] = {}, unreduced_square = 0.0;
    for (int side = 0; side < 2; ++side) {
      const Index body = ends(row_joint[k], side);
      if (body < 0) continue;
      for (int c = 0; c < 6; ++c) {
        double total = 0.0, unreduced = 0.0;
        for (int a = 0; a < 6; ++a) {
          total += A(k, side, a) * to_freedoms(body, a, c);
          unreduced += A(k, side, a) * inverse(body, a, c);
        }
        reduced(k, side, c) = total;
        square[side] += total * total;
        unreduced_square += unreduced * unreduced;
      }
    }
    for (int side = 0; side < 2; ++side) {
      if (square[side] > row_tolerance * row_tolerance * unreduced_square) size[k] = std::sqrt(unreduced_square);
      else std::fill_n(&reduced(k, side, 0), 6, 0.0);
    }
  }
  return size;
}

// Chooses independent rows of each joint that `is_within` a subgroup, by a pivoted orthogonalization of its rows on
// the freedoms of both its bodies; prescribed rows stay. Returns (n_rows,) which ones, and (n_joints,) how many
// others there are.
inline std::tuple<Array<bool>, Array<Index>> locally_independent_rows(View<const Index> first_row,
                                                                      View<const bool> is_within,
                                                                      View<const double, 3> reduced,
                                                                      View<const double> size,
                                                                      View<const bool> is_prescribed) {
  Array<bool> keep(size.size());
  Array<Index> n_dropped(is_within.size());
  std::fill(keep.begin(), keep.end(), true);
  std::vector<double> numbers;
  std::vector<Index> waiting, row;
  const Index width = 2 * reduced.shape(2);
  for (Index j = 0; j < is_within.size(); ++j) {
    if (!is_within[j]) continue;
    numbers.clear(), waiting.clear(), row.clear();
    for (Index k = first_row[j]; k < first_row[j + 1] && !is_prescribed[k]; ++k) {  // prescribed rows are the last ones
      keep[k] = false;
      if (size[k] == 0.0) continue;
      waiting.push_back(Index(row.size())), row.push_back(k);
      for (const double x : reduced[k]) numbers.push_back(x / size[k]);
    }
    const Index n = Index(row.size());
    dense::orthogonalize({numbers.data(), {n, width}}, width, waiting, n, row_tolerance,
                         [&](Index i, double) { keep[row[i]] = true; });
    for (Index k = first_row[j]; k < first_row[j + 1]; ++k) n_dropped[j] += !keep[k];
  }
  return {std::move(keep), std::move(n_dropped)};
}

// Breadth-first search from the world of the bodies with less than six freedoms (n,), along joints, ends (n_joints, 2),
// with at least 6 - freedoms dropped rows. Returns bodies in that order, and the joints that reach them.
inline std::pair<std::vector<Index>, std::vector<Index>> reaction_tree(View<const Index, 2> ends, Indices freedoms,
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
