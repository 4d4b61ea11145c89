// Dependent rows in components of a few rows, by Gram-Schmidt with pivoting.
#pragma once

#include <tuple>

#include "base/array.hpp"

namespace sparsebody {

// (keep, least clear gap, least remainder kept, largest one dropped) of components component_start[c] ..
// component_start[c + 1] - 1 of the joints. Remainders up to `tolerance` are dependent; `noise` stands for the largest
// one where none is. A choice made joint by joint holds in other poses as well, and is taken where its least remainder
// is more than `share` of that of free pivoting.
std::tuple<Array<bool>, double, double, double> small_components(View<const double, 3> rows, View<const Index, 2> ends,
                                                                 View<const Index> first_row,
                                                                 View<const Index> component_start, double tolerance,
                                                                 double noise, double share);

}  // namespace sparsebody
