// Which rows of A depend on others: methods of one file each, beside the multifrontal QR.
#pragma once

#include <tuple>

#include "rank/rows.hpp"

namespace sparsebody {

// (keep, least clear gap, least remainder kept, largest one dropped) of components component_start[c] ..
// component_start[c + 1] - 1 of the joints. Remainders up to `tolerance` are dependent; `noise` stands for the largest
// one where none is. A choice made joint by joint holds in other poses as well, and is taken where its least remainder
// is more than `share` of that of free pivoting.
std::tuple<Array<bool>, double, double, double> small_components(const PartOfRows& part,
                                                                 View<const Index> component_start, double tolerance,
                                                                 double noise, double share);

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
