// Parts of a mechanism that can be factorized at the same time: groups of subtrees of the elimination tree.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// An equivalent order in which the parts come first and their common ancestors last, and the position at which each
// part begins; the last of these is that of the first ancestor. Where parts would not pay there are none.
struct Partition {
  Array<Index> order, part_starts;
};

// graph: of the blocks; sizes: rows of each. The parts depend on these alone, not on how many threads there are. Of fewer
// blocks than `fewest` a thread takes as long to start as it saves.
inline constexpr Index fewest_blocks = 1 << 15;
Partition partition(const Graph& graph, Indices sizes, Indices order, Index fewest = fewest_blocks);

// The same, but where the tree is a path, as that of a ladder from one end to the other, it is eliminated from both ends if
// that takes hardly more work. For QR: LDL' loses the last pivots of a half that nothing holds from 10^5 bodies on.
Partition partition_from_both_ends(const Graph& graph, Indices sizes, Indices order, Index fewest = fewest_blocks);

}  // namespace sparsebody
