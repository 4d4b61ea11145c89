// Parts of a mechanism that can be factorized at the same time: groups of subtrees of the elimination tree.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// An equivalent order in which the parts come first and their common ancestors last, and the position at which each
// part begins; the last of these is that of the first ancestor. Where parts would not pay there are none.
struct Partition {
  Array<Index> order, part_starts;
};

// graph: of the blocks; sizes: rows of each. The parts depend on these alone, not on how many threads there are. A tree
// without branches, as that of a ladder from one end to the other, has none: elimination from both ends would find them,
// but a half that nothing holds is so soft that LDL' loses its last pivots from 10^5 bodies on, and QR of it takes half as
// long again.
// Of fewer blocks than `fewest` a thread takes as long to start as it saves.
inline constexpr Index fewest_blocks = 1 << 15;
Partition partition(const Graph& graph, Indices sizes, Indices order, Index fewest = fewest_blocks);

}  // namespace sparsebody
