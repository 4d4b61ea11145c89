// Orders in which every joint follows its bodies or, in a tree part, its outer body.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// `order` with each dual block moved to right after the later of its primal ones.
Array<Index> joints_after_bodies(Indices order, View<const Index, 2> ends);

// Strips leaves: primal blocks with one dual block left that follows them and has no more rows than they.
// Returns the outer primal block of every dual one, -1 in the core, and the stripped ones, leaves first.
std::pair<std::vector<Index>, std::vector<Index>> tree_parts(const Graph& quotient, Indices size,
                                                             View<const Index, 2> ends, Indices position);

// All blocks, every primal one right before its first dual one in `duals`; those without come first.
Array<Index> with_primal_blocks(const Graph& quotient, Indices duals);

}  // namespace sparsebody
