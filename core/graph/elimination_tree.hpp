// The elimination tree of a graph numbered by position, and the columns of the factor L.
// Liu (1986); Davis (2006), ch. 4.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// The parent of every node: the first row below the diagonal in its column of L; -1 for a root.
std::vector<Index> elimination_tree(const Graph& graph);

// The nodes of a forest, every node after all of its descendants, children in increasing order.
Array<Index> postorder(Indices parent);

// An equivalent elimination order of the blocks, each subtree of the elimination tree in one piece.
Array<Index> postordered(const Graph& graph, Indices order);

// The weight of each column of L, the pivot included, without forming L.
// Gilbert, Ng and Peyton (1994); Davis (2006), sec. 4.5; sequence: a postorder of the tree.
Array<Index> column_counts(const Graph& graph, Indices parent, Indices sequence, Indices weight);

// The rows below the pivot in each column of L, sorted.
GraphArrays column_structures(const Graph& graph, Indices parent, Indices sequence);

}  // namespace sparsebody
