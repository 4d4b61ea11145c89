// Products with a saddle-point matrix [D A'; A 0] whose blocks are stored one by one.
#pragma once

#include "base/array.hpp"

namespace sparsebody {

// D by blocks (n_primal, width, width), A by rows on either end (n_dual_rows, 2, width); a block i of fewer than
// `width` rows uses the leading part of its storage. offsets (n_blocks + 1,) are first scalar rows, primal ones first.
struct Saddle {
  View<const Index> offsets;
  View<const Index, 2> ends;
  View<const double, 3> diagonal, rows;

  Index n_primal() const { return diagonal.rows(); }
  Index n_primal_rows() const { return offsets[n_primal()]; }
  Index size(Index block) const { return offsets[block + 1] - offsets[block]; }
};

// residual -= [D A'; A 0] x, both (n_rows, n_columns).
void subtract_product(const Saddle& K, View<const double, 2> x, View<double, 2> residual);

// What the primal and the dual residual of each column are measured against: the largest entry of f and D x, and that
// of g and A D^-1 f, for right-hand sides (f, g).
Array<double, 2> residual_scales(const Saddle& K, View<const double, 3> inverse, View<const double, 2> x,
                                 View<const double, 2> rhs);

// The largest entry relative to the scale of its half; NaN if an entry is.
double relative_size(View<const double, 2> residual, Index n_primal_rows, View<const double, 2> scales);

// right - K (high + low) of a compressed matrix, accumulated in 31 digits and rounded once.
Array<double> exact_residual(View<const Index> indptr, View<const Index> indices, View<const double> data,
                             View<const double> right, View<const double> high, View<const double> low);

}  // namespace sparsebody
