// The tables of block LDL': where the blocks of L lie, and what every pivot updates; made once for a pattern and an
// elimination order. Davis (2006), sec. 4.7.
//
// The *panel* of a pivot of s rows holds its own block, if earlier pivots changed it, and the blocks V below it,
// each of them in s columns of 4 or 8 lanes, the last of which is spare: in it the elimination carries the
// right-hand side along. A *constant* pivot, a primal block that nothing has changed, is 1: it has no panel, and
// what is below it are rows of A. A panel with nothing below ends with an empty block. Entries have 32 bits, which
// halves what has to come from memory.
//
// Pivots may come in *parts*, groups of subtrees of the elimination tree, followed by their common ancestors. A part
// changes no other part, and of the panels of ancestors it changes *contributions*, copies of its own that are added
// to them when all parts are eliminated (the update matrices of Liu 1992, SIAM Review 34:82). So parts can be
// eliminated at the same time, and the result does not depend on whether they are.
#pragma once

#include <cstdint>
#include <vector>

#include "base/array.hpp"
#include "graph/adjacency.hpp"

namespace sparsebody::block_ldl {

enum Kind : std::uint32_t { constant, primal, dual, contribution };

// 4 lanes for fewer than 4 rows; otherwise 8, the numbers of a cache line.
constexpr int lanes_of(Index size) { return size < 4 ? 4 : 8; }

// A pivot, or what a part adds to one: that has one column more in its own block, for its reference, and updates the
// pivot and each of the blocks below it.
struct Pivot {
  std::uint32_t size;         // rows
  std::uint32_t start, own;   // offsets in `values` of the blocks below, and of the block itself
  std::uint32_t first_below, first_update, first_fill, first_opened;  // up to those of the next pivot
  std::uint32_t natural, padded;  // first row in natural and in padded order
  std::uint32_t kind;
};
struct Below {  // a block below a pivot
  std::uint32_t row, rows;  // first row in padded order, and their number; none: an empty block
};
struct Fill {  // a block of A
  std::uint32_t a_row, side, offset, by_row, n_rows, n_columns;  // offset in `values`; by_row: rows of A are rows of it
};
struct Part {
  Index begin, contributions, end;  // its pivots, and up to `end` its contributions to common ancestors
  Index window;     // a power of two, at least the padded rows from a pivot to the last ones open at a time
  Index empty_row;  // in padded order
};

struct Layout {
  // columns: positions below each position, sorted; sizes: rows of each block, primal ones first; ends (n_dual, 2):
  // the primal blocks of each dual one, -1 for none; order: the block at each position; part_starts (n_parts + 1,):
  // positions, the last one that of the first common ancestor. Throws std::length_error beyond 32 bits.
  Layout(const Graph& columns, Indices sizes, View<const Index, 2> ends, Indices order, Indices part_starts);

  Array<Pivot> pivots;           // the last one, and the last fill, only end ranges
  Array<Below> below;
  Array<std::uint32_t> updates;  // offset of the block that each pair of blocks below a pivot updates
  Array<Fill> fills;
  Array<std::uint32_t> opened;   // panels, by the pivot that writes into them first
  std::vector<Part> parts;            // the last one has the common ancestors
  Index n_values, n_padded, largest_panel;

  Index n_pivots() const { return pivots.size() - 1; }
  const Part& ancestors() const { return parts.back(); }
  Index n_parts() const { return Index(parts.size()) - 1; }
};

}  // namespace sparsebody::block_ldl
