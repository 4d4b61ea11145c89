// Elimination orders and sequences of bodies, one file each.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// Minimum degree with phases. awaited: primal blocks that a block waits for; those of a dual block in a tree part
// are one, `outer` (n_dual), which is -1 elsewhere. Blocks 0 .. n_primal-1 are waited for.
Array<Index> minimum_degree(const Graph& graph, Indices size, Index n_primal, Indices awaited, Indices outer,
                            Indices phase);

// The nodes of a graph, the one that fills in least next.
Array<Index> minimum_fill(const Graph& graph, Indices size);

// The depth at which each joint is cut, from one on; 0 for those that are not.
// joint_size: scalar rows; coordinates: (n_bodies, k).
Array<Index> dissection(View<const Index, 2> ends, Indices joint_size, View<const double, 2> coordinates);

// All blocks, level by level; see level_sweep.cpp.
Array<Index> level_sweep(Index n_primal, View<const Index, 2> ends);

// The bodies so that few rows are in flight. In `sequence` every component is in one piece; the sweep of a component
// begins at `start` of n_starts bodies, from its first to its last.
Array<Index> pathwidth_sweep(View<const Index, 2> ends, Indices joint_size, Indices sequence, Index start,
                             Index n_starts);

// The bodies by Sloan's priorities; in `sequence` each component lies in one piece, between its ends.
Array<Index> sloan(const Graph& bodies, Indices sequence);

// All blocks as a search from the world reaches them, and the block that each is reached from, -1 for none.
// to_world: the dual blocks without a second end.
std::pair<std::vector<Index>, std::vector<Index>> search_from_world(const Graph& quotient, Indices to_world,
                                                                    bool is_depth_first);

}  // namespace sparsebody
