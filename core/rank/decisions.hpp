// Which rows of A depend on others: methods of one file each, beside the multifrontal QR.
#pragma once

#include <utility>

#include "rank/rows.hpp"

namespace sparsebody {

// |R_ii| of the rows of components component_start[c] .. component_start[c + 1] - 1 of the joints, by free pivoting and
// joint by joint. Remainders up to `tolerance` are dependent.
std::pair<Array<double>, Array<double>> small_remainders(const PartOfRows& part, View<const Index> component_start,
                                                         double tolerance);

// Pivots of A A' + delta in a sweep through the bodies: rows are in the front from the first of their bodies on, and
// eliminated at the last one. At most `width` are in the front; each is on one body at least.
Array<double> schur_pivots(View<const Index> order, Index width, const PartOfRows& part, double delta);

// (threshold, ratio) of the widest gap between pivots, those up to delta counted as delta.
std::pair<double, double> largest_gap(View<const double> pivots, double delta);

// How many of the bars of each joint are independent in general position: the (k, k) pebble game of Lee and
// Streinu (2008). nodes (n_joints, 2) in 0 .. n - 1; bars (n_joints,), at most k each.
Array<Index> independent_bars(View<const Index, 2> nodes, View<const Index> bars, Index n, Index k);

}  // namespace sparsebody
