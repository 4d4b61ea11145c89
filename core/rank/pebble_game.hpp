// The rank that a graph of bodies and bars has in general position.
#pragma once

#include "base/array.hpp"

namespace sparsebody {

// How many of the bars of each joint are independent in general position: the (k, k) pebble game of Lee and
// Streinu (2008). nodes (n_joints, 2) in 0 .. n - 1; bars (n_joints,), at most k each.
Array<Index> independent_bars(View<const Index, 2> nodes, View<const Index> bars, Index n, Index k);

}  // namespace sparsebody
