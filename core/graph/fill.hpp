// The cost of factorizing in one order, and the shape of L. All arrays are by position; blocks count as dense.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// Sum of m (m + 2) for m = 0 .. n - 1: operations of a dense LDL' factorization of n rows.
inline double pivot_flops(double n) { return (n - 1.0) * n * (2.0 * n - 1.0) / 6.0 + n * (n - 1.0); }

// Operations of eliminating `size` rows at the head of a front of `front` rows.
inline double block_flops(Index front, Index size) { return pivot_flops(double(front)) - pivot_flops(double(front - size)); }

// The first node, in positions, among each one and those that it couples to.
Array<Index> first_coupled(const Graph& graph);

Array<double> block_flops(Indices front, Indices size);

// The distance of every node from its root; a parent is numbered after its children.
Array<Index> depths(Indices parent);

// Most flops on a way from a leaf to a root.
double critical_path(Indices parent, View<const double> flops);

// The greatest, over a sequence of minors, of the least weight of any node with its neighbours; it bounds the
// weighted treewidth plus one. Minor-min-width: Gogate and Dechter (2004); Bodlaender and Koster (2011), Inf. Comput.
// 209, 7 ("least-c"). Of two contracted nodes the lighter weight stays: a bag of a minor holds one of them at least.
Index widest_core(const Graph& graph, Indices weight);

}  // namespace sparsebody
