// Which rows of A depend on others: methods of one file each, beside the multifrontal QR.
#pragma once

#include <utility>

#include "rank/rows.hpp"

namespace sparsebody {

// |R_ii| of the rows of components component_start[c] .. component_start[c + 1] - 1 of the joints, by free pivoting and
// joint by joint. Remainders up to `tolerance` are dependent.
std::pair<Array<double>, Array<double>> small_remainders(const PartOfRows& part, View<const Index> component_start,
                                                         double tolerance);

// A sweep: the bodies in `order`; the joints entering[start[k]] .. entering[start[k + 1] - 1] enter with the k-th, and
// last[joint] is the step at which a joint is eliminated. At most `width` rows are in the front.
struct Sweep {
  View<const Index> order, entering, start, last;
  Index width;
};

Array<double> schur_pivots(const Sweep& sweep, const PartOfRows& part, double delta);

// How many of the bars of each joint are independent in general position: the (k, k) pebble game of Lee and
// Streinu (2008). nodes (n_joints, 2) in 0 .. n - 1; bars (n_joints,), at most k each.
Array<Index> independent_bars(View<const Index, 2> nodes, View<const Index> bars, Index n, Index k);

}  // namespace sparsebody
