// K qdd = k: the rows of loop joints on the velocity coordinates of the tree. Featherstone (2008), sec. 8.2.
#pragma once

#include "tree/loop_clusters.hpp"
#include "tree/motion.hpp"

namespace sparsebody::tree {

// A constraint row on these links: a column of T and its negative, in world axes about the links' origins.
struct LoopRow {
  Force on[2];
};

// Constants of the loop joints that have rows: Python's LoopTable.
struct LoopTable {
  View<const LoopEnds> ends;
  View<const Index> first_row;
  View<const Force> T;  // columns, in the axes of the successor's link about its origin
  View<const Vec3> anchor;      // origin of S in the world, where the successor is the world
};

// From rows in body coordinates about the centers of mass to those about the links' origins.
void rows_to_links(const Links& links, const TreeMotion& motion, View<const LoopEnds> ends, View<LoopRow> rows);

// The rows T of passive loop joints on both links, and gamma of T'(a_s - a_p) = gamma = T'(v_p x v_s). Table 8.4.
// `position` are the centers of mass in the system's order.
void fill_loop_rows(const Links& links, const LoopTable& table, View<const Vec3> position, const TreeMotion& motion,
                    View<LoopRow> rows, View<double> gamma);

// The rows of K: entry of row r and coordinate k at values[row_start[r] + column[k]]; values start at zero. Table 8.4.
void fill_loop_blocks(const Links& links, const TreeMotion& motion, View<const LoopEnds> ends, View<const LoopRow> rows,
                      View<const Index> row_start, View<const Index> column, View<double> values);
// The same as a dense K (m, n_velocities), which starts at zero.
void fill_loop_matrix(const Links& links, const TreeMotion& motion, View<const LoopEnds> ends, View<const LoopRow> rows,
                      View<double, 2> K);

// sqrt(A I^-1 A') of rows `row` of A on two bodies; the tree can only make it less.
Array<double> free_lengths(View<const LoopRow> A, View<const Index> row, View<const LoopEnds> bodies,
                           View<const double, 3> inverse_inertia);

// K x - k of every row relative to the largest of k, and of K times `acceleration`, in its cluster.
Array<double> loop_violation(const BlockLayout& blocks, View<const Index> first_row, View<const double> K,
                             View<const double> k, View<const double> x, double acceleration);

void clear_prescribed_columns(const BlockLayout& blocks, View<const bool> is_prescribed, View<double> K);

}  // namespace sparsebody::tree
