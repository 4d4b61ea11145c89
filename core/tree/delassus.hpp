// The Delassus matrix A = K H^-1 K' = X' X of loop forces, A lambda = b, through H = L' L and X = L'^-1 K'.
// Featherstone (2008), sec. 8.5, method 2.
//
// X has entries from the joints of a loop down to the world, so that A couples loops that stand on a common joint,
// and no others: groups of them. Its columns are sorted by the bodies that the loops end at, so that they fill a
// stretch of each row; what is outside is not touched.
#pragma once

#include <tuple>

#include "tree/branch_sparsity.hpp"
#include "tree/loop_clusters.hpp"
#include "tree/loop_constraints.hpp"

namespace sparsebody::tree {

// Python's Groups.
struct DelassusGroups {
  View<const Index> row;  // of K, in BlockLayout
  View<const Index> first_row;
  View<const Index> coordinate;  // velocity coordinates, ascending in each group
  View<const Index> first_coordinate;
  View<const Index> row_of_X;  // of each velocity coordinate in its group, -1 for those in none
  View<const Index> low, high;  // columns [low, high) of X reach a velocity coordinate
  View<const Index> start;  // where X of each group begins, (coordinates, rows of K)
  View<const Index> start_product;  // where A begins, (rows, rows), upper triangle

  Index size() const { return first_row.size() - 1; }
  Index n_rows(Index g) const { return first_row[g + 1] - first_row[g]; }
  View<const Index> rows(Index g) const { return row.slice(first_row[g], first_row[g + 1]); }
  View<const Index> coordinates(Index g) const {
    return coordinate.slice(first_coordinate[g], first_coordinate[g + 1]);
  }
  // The row of X that belongs to velocity coordinate k.
  template <class T>
  T* operator()(View<T> X, Index g, Index k) const { return X.data() + start[g] + row_of_X[k] * n_rows(g); }
};

// The last velocity coordinates (m, 2) on the supports of both ends of each row, -1 for none.
Array<Index, 2> last_coordinates(View<const Index> parent, View<const Index> first_velocity, View<const LoopEnds> ends);
// A number for each row, the same for all that stand on common coordinates.
Array<Index> row_groups(View<const Index> expanded_parent, View<const Index, 2> last);
// The group of every coordinate below a loop, -1 for others, and the rows [low, high) of the group that reach it.
std::tuple<Array<Index>, Array<Index>, Array<Index>> coordinate_groups(View<const Index> expanded_parent,
                                                                       View<const Index, 2> last,
                                                                       View<const Index> group,
                                                                       View<const Index> local);

// X = L'^-1 K'
void fill_whitened_rows(const BlockLayout& blocks, const DelassusGroups& groups, View<const double> K,
                        const BranchPattern& pattern, View<const double> L, View<double> X);

// lambda of every group by Cholesky's method for A, and w = z + X lambda, which starts as z. A group whose A is nearly
// singular, at pivots of rows of unit length below `worst` or of rows shorter than `tolerance` of `size`, is left out.
Array<bool> solve_delassus(const DelassusGroups& groups, View<const double> X, View<double> A, View<const double> k,
                           View<const double> size, double worst, double tolerance, View<double> force, View<double> w);

}  // namespace sparsebody::tree
