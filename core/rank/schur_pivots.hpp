// Pivots of the Schur complement A A' + delta, body by body along a sweep.
#pragma once

#include <utility>

#include "base/array.hpp"

namespace sparsebody {

// A sweep: the bodies in `order`; the joints entering[start[k]] .. entering[start[k + 1] - 1] enter with the k-th, and
// last[joint] is the step at which a joint is eliminated. At most `width` rows are in the front.
struct Sweep {
  View<const Index> order, entering, start, last;
  Index width;
};

Array<double> schur_pivots(const Sweep& sweep, View<const Index, 2> ends, View<const Index> first_row,
                           View<const Index> sizes, View<const double, 3> rows, double delta);

// (threshold, ratio) of the widest gap between pivots, those up to delta counted as delta.
std::pair<double, double> largest_gap(View<const double> pivots, double delta);

}  // namespace sparsebody
