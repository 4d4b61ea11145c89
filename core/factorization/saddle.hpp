// The saddle-point matrix [D A'; A 0] of blocks: its products, scales, values in flat arrays, coordinates in which D is
// one, and the Schur complement A D^-1 A' of the dual rows. Vavasis (1994), SIAM J. Matrix Anal. Appl. 15:1108.
#pragma once

#include <utility>

#include "base/array.hpp"

namespace sparsebody {

// Blocks of scalar rows, primal ones first, and the two primal blocks that each dual one touches, -1 for none.
struct SaddlePattern {
  View<const Index> offsets;  // (n_blocks + 1,) first row of each block
  View<const Index, 2> ends;  // (n_dual, 2)

  Index n_dual() const { return ends.rows(); }
  Index n_primal() const { return offsets.size() - 1 - n_dual(); }
  Index n_primal_rows() const { return offsets[n_primal()]; }
  Index size(Index block) const { return offsets[block + 1] - offsets[block]; }

  // Calls visit(row, side, block) for each row of A, counted from 0, and each primal block that it touches;
  // visit_none(row, side) where there is none.
  template <class F, class G>
  void for_each_part(F&& visit, G&& visit_none) const {
    const Index first = n_primal_rows();
    for (Index j = 0; j < n_dual(); ++j)
      for (Index row = offsets[n_primal() + j]; row < offsets[n_primal() + j + 1]; ++row)
        for (Index side = 0; side < 2; ++side)
          if (ends(j, side) >= 0) visit(row - first, side, ends(j, side));
          else visit_none(row - first, side);
  }
  template <class F>
  void for_each_part(F&& visit) const {
    for_each_part(visit, [](Index, Index) {});
  }
};

using Blocks = View<const double, 3>;   // (n_primal, width, width)
using ARows = View<const double, 3>;    // (n_dual_rows, 2, width) of A, on the first and the second end
using Columns = View<const double, 2>;  // vectors (n_rows, k)

// D and A; a block of fewer than `width` rows uses the leading part of its storage.
struct Saddle {
  View<const Index> offsets;
  View<const Index, 2> ends;
  Blocks diagonal;
  ARows rows;

  SaddlePattern pattern() const { return {offsets, ends}; }
};

// ---- products ----------------------------------------------------------------------------------------------------

// A x, and A' y.
Array<double> constraint_product(const SaddlePattern& pattern, ARows rows, View<const double> x);
Array<double> constraint_forces(const SaddlePattern& pattern, ARows rows, View<const double> y);
// residual -= [D A'; A 0] x.
void subtract_product(const Saddle& K, Columns x, View<double, 2> residual);
// (k, 2): what the primal and the dual residual of each column are measured against: the largest entry of f and D x,
// and that of g and A D^-1 f, for right-hand sides (f, g).
Array<double, 2> residual_scales(const Saddle& K, Blocks inverse, Columns x, Columns rhs);
// right - K (high + low) of a compressed matrix, accumulated in 31 digits and rounded once.
Array<double> exact_residual(View<const Index> indptr, View<const Index> indices, View<const double> data,
                             View<const double> right, View<const double> high, View<const double> low);

// ---- coordinates L' x with D = L L', in which D is one ----------------------------------------------------------

// Fills `unit` with A L'^-1, and `inverse_root`, zero before, with L^-1. Returns -1 or the first block of D that is
// not positive definite.
Index unit_rows(const Saddle& K, View<double, 3> unit, View<double, 3> inverse_root);
// The primal part of a right-hand side (n_rows,) becomes L^-1 times that.
void to_unit(View<const Index> offsets, Blocks inverse_root, View<double> x);
// The primal part of a solution (n_rows,) becomes L'^-1 times that.
void from_unit(View<const Index> offsets, Blocks inverse_root, View<double> x);

// ---- values ------------------------------------------------------------------------------------------------------

// Row of every element of blocks (row, column) at base + c * stride + r.
Array<std::int32_t> row_indices(View<const Index> offsets, View<const Index> row, View<const Index> column,
                                View<const Index> base, View<const Index> stride, Index n_values);
// Fills the scale (n_rows,) of rows and columns that makes units and masses irrelevant: D_aa ** -0.5 of primal ones,
// the same of A D^-1 A' of dual ones. Returns -1, or the first row whose scale is not positive and finite.
Index saddle_scales(const Saddle& K, Blocks inverse, View<double> scale);
// Fills `data` with the scaled [D A'; A shift], blocks at (base, stride); what both ends of a dual block share is added.
void fill_saddle(const Saddle& K, View<const double> scale, double shift, View<const Index, 2> diagonal_place,
                 View<const Index, 3> below, View<const Index, 3> right, View<double> data);

// ---- Schur complement --------------------------------------------------------------------------------------------

// (p, side of p, q, side of q) of all block products in the lower triangle of A D^-1 A', dual blocks at `place`.
Array<Index, 2> schur_products(View<const Index> indptr, View<const Index, 2> incidence, View<const Index> place);
// Fills `data` with A D^-1 A', rows and columns scaled; contributions (k, 6) are products, base and stride.
void fill_schur(const Saddle& K, Blocks inverse, View<const double> scale, View<const Index, 2> contributions,
                View<double> data);
// A D^-1 f - g (n_dual_rows, k) of right-hand sides [f; g] (n_rows, k).
Array<double, 2> dual_rhs(const Saddle& K, Blocks inverse, Columns rhs);
// [D^-1 (f - A' y); y].
Array<double, 2> primal_solution(const Saddle& K, Blocks inverse, Columns rhs, Columns y);

// ---- dependence of rows ------------------------------------------------------------------------------------------

// The first row of A that is zero or not finite, or -1.
Index vanishing_row(const SaddlePattern& pattern, ARows rows);
// The largest entries of A' y and of |A|' |y|, for the dual part of y (n_rows,).
std::pair<double, double> cancellation(const SaddlePattern& pattern, ARows rows, View<const double> y);

}  // namespace sparsebody
