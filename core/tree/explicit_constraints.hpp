// Explicit constraints qdd = G ydd + g, all solutions of K qdd = k, by Gaussian elimination with complete pivoting in
// every loop cluster by itself. Featherstone (2008), secs. 8.8 and 8.9.
#pragma once

#include <tuple>

#include "tree/branch_sparsity.hpp"
#include "tree/loop_clusters.hpp"

namespace sparsebody::tree {

// K P = L [U_11 U_12] with complete pivoting; returns the rank r, or -1 if required columns depend.
//
// Leaves L and U_11 in K[:r, :r], K_11^-1 K_12 in K[:r, r:], K_11^-1 k_1 in k[:r]. The orders, which start as any
// numbers of rows and columns, follow the exchanges; columns that must be independent are no pivots.
Index eliminate(View<double, 2> K, View<double> k, View<const bool> is_independent, double tolerance,
                View<Index> row_order, View<Index> column_order);

// x[:r] := K_11'^-1 x[:r]
void solve_transposed(const double* LU, Index n_columns, Index rank, double* x);

// The rows of G: a dependent coordinate has a stretch of numbers, an independent one a one. Python's GBlocks.
struct ExplicitRows {
  View<const double> values;  // packed as K: L and U in K[:r, :r] of a block, entries of G in K[:r, r:]
  View<const Index> entry;    // where the stretch of a dependent row begins, -1 for independent ones
  View<const Index> first;    // where the stretch begins in y, or which number of y it is
  View<const Index> size;     // its length
  View<const double> g;
};

// The blocks of G and g from those of K and k, in units in which columns have `weight` and rows `row_size`. Returns
// the cluster whose required columns depend, or -1; then rank of the blocks; row_order; column_order; entry, first,
// size and g of the rows; and the velocity coordinate of each y, in the order of `velocity_order`.
using ExplicitTables = std::tuple<Index, Array<Index>, Array<Index>, Array<Index>, Array<Index>, Array<Index>,
                                  Array<Index>, Array<double>, Array<Index>>;
ExplicitTables eliminate_blocks(const BlockLayout& blocks, View<const Index> first_row,
                                View<const Index> velocity_order, View<const bool> is_independent,
                                View<const double> weight, View<const double> row_size, double tolerance,
                                View<double> K, View<double> k);

// lambda with K' lambda = force, zero at dependent rows.
Array<double> block_multipliers(const BlockLayout& blocks, View<const Index> first_row, View<const double> K,
                                View<const Index> rank, View<const Index> row_order, View<const Index> column_order,
                                View<const double> row_size, View<const double> weighted_force);

// G, dense
Array<double, 2> unpack_g(const ExplicitRows& G, Index n_independent);
// x = G y + g
Array<double> expand(const ExplicitRows& G, View<const double> y);
// u = G' force (8.45)
Array<double> project(const ExplicitRows& G, Index n_independent, View<const double> force);
// The upper triangle of G' H G from the entries that H has.
Array<double, 2> projected_inertia(const BranchPattern& pattern, View<const double> H, const ExplicitRows& G,
                                   Index n_independent);

}  // namespace sparsebody::tree
