// Rows of A on the two ends of each joint: parts of them, and their scales.
#pragma once

#include <tuple>

#include "base/array.hpp"

namespace sparsebody {

// Rows of some joints, each on both ends.
struct PartOfRows {
  View<const double, 3> rows;  // (n_rows, 2, width)
  View<const Index, 2> ends;   // (n_joints, 2) bodies, -1 for none
  View<const Index> first_row, sizes;  // (n_joints + 1,); (n_bodies,) freedoms
};

// The primal blocks that some dual ones touch, in the sequence in which they are met; label[block] is the position.
std::vector<Index> touched_blocks(View<const Index, 2> ends, View<const Index> dual, View<Index> label);

// `dual` sorted by the lower new number of their ends, then by the higher one.
Array<Index> sorted_by_first_end(View<const Index, 2> ends, View<const Index> dual, View<const Index> label,
                                 Index n_primal);

// The rows `index` of A, (n, 2, width), scaled to unit norm; zero rows stay. ends (n_joints, 2) and first_row
// (n_joints + 1,) are those of the part. A row with both ends on one body has its sum on the first end.
Array<double, 3> unit_rows(View<const double, 3> rows, View<const Index> index, View<const Index, 2> ends,
                           View<const Index> first_row, View<const Index> sizes, int threads);

// Rows A become W A S with S = L^-T on each body, L L' the Gram matrix of the weighted rows there, and W such that rows have unit
// norm: a few passes towards even rows and columns. Pivots of L L' are at least `own_pivot` of their own diagonal
// entry and `largest_pivot` of the largest one, so that no direction is enlarged without bound.
// Van der Sluis (1969), Numer. Math. 14:14; Ruiz (2001), RAL-TR-2001-034.
void equilibrate(View<double, 3> rows, View<const Index, 2> ends, View<const Index> first_row, View<const Index> sizes,
                 int passes, double own_pivot, double largest_pivot, int threads);

}  // namespace sparsebody
