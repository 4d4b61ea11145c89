// The tables of block LDL', made once for a pattern and an order; layout.py describes them.
#pragma once

#include "base/array.hpp"
#include "factorization/block_ldl.hpp"

namespace sparsebody::block_ldl {

// L has the blocks rows[indptr[j] : indptr[j + 1]], sorted, below the pivot of each position j.

// For every panel the first pivot that writes into it: one before it, or itself.
Array<Index> openers(View<const Index> indptr, View<const Index> rows);

// Fills the tables of blocks below pivots, and of the offsets that pairs of them update; lanes: of each block.
void fill_below(View<const Index> indptr, View<const Index> rows, View<std::uint32_t, 2> pivots,
                View<const Index> lanes, View<std::uint32_t, 2> below, View<std::uint32_t> updates);

// The table of the blocks of A, sorted by panel and offset; fills `first_fill` of the pivots. place: position of
// each block of the pattern.
Array<std::uint32_t, 2> fill_table(View<const Index> indptr, View<const Index> rows, View<std::uint32_t, 2> pivots,
                                   View<const Index> lanes, View<const Index, 2> ends, View<const Index> place,
                                   View<const Index> offsets);

}  // namespace sparsebody::block_ldl
