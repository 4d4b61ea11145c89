// Parts of a mechanism that can be factorized at the same time: groups of subtrees of the elimination tree.
#pragma once

#include <functional>

#include "graph/adjacency.hpp"

namespace sparsebody {

// An equivalent order in which the parts come first and their common ancestors last, and the position at which each
// part begins; the last of these is that of the first ancestor. Where parts would not pay there are none.
struct Partition {
  Array<Index> order, part_starts;
};

// quotient: of [D A'; A 0], primal blocks first; sizes: rows of each block; ends: primal blocks of the dual ones. The
// parts depend on these alone, not on how many threads there are. Where the tree has no branches, as that of a ladder
// that is eliminated from one end to the other, the order becomes another one, from both ends to the middle.
// That one must not have more than `most_work` times the work, which is counted by `work` if that is given.
// Of fewer blocks a thread takes as long to start as it saves.
using Work = std::function<double(Indices order)>;
inline constexpr Index fewest_blocks = 1 << 15;
Partition partition(const Graph& quotient, Indices sizes, View<const Index, 2> ends, Indices order, const Work& work = {},
                    Index fewest = fewest_blocks);

}  // namespace sparsebody
