// The tables of block LDL': where the blocks of L lie, and what every pivot updates. Davis (2006), sec. 4.7.
#include "factorization/layout.hpp"

#include <algorithm>
#include <vector>

namespace sparsebody::block_ldl {

Array<Index> openers(View<const Index> indptr, View<const Index> rows) {
  Array<Index> opener(indptr.size() - 1);
  std::fill(opener.begin(), opener.end(), -1);
  for (Index j = 0; j < opener.size(); ++j) {
    if (opener[j] < 0) opener[j] = j;
    for (Index entry = indptr[j]; entry < indptr[j + 1]; ++entry)
      if (opener[rows[entry]] < 0) opener[rows[entry]] = j;
  }
  return opener;
}

void fill_below(View<const Index> indptr, View<const Index> rows, View<std::uint32_t, 2> pivot_table,
                View<const Index> lanes, View<std::uint32_t, 2> below_table, View<std::uint32_t> updates) {
  const auto pivots = as_lines<Pivot>(pivot_table);
  const auto below = as_lines<Below>(below_table);
  std::vector<Index> above(indptr.size());  // rows of storage below p before each block
  for (Index j = 0; j + 1 < indptr.size(); ++j) {
    const Index begin = indptr[j], end = indptr[j + 1];
    for (Index entry = begin; entry < end; ++entry) {
      const Index p = rows[entry];
      below[pivots[j].first_below + entry - begin] = {pivots[p].padded, pivots[p].size};
      for (Index other = entry + 1, at = indptr[p], row = 0; other < end; ++other) {
        for (; rows[at] != rows[other]; ++at) row += lanes[rows[at]];
        above[other - begin] = row;
      }
      for (Index other = entry; other < end; ++other) {  // row by row, each down to its own block
        const Index row = other - begin;
        updates[pivots[j].first_update + row * (row + 1) / 2 + entry - begin] =
            other == entry ? pivots[p].own : std::uint32_t(pivots[p].start + pivots[p].size * above[row]);
      }
    }
  }
}

namespace {

// Calls visit(dual, side, primal block, position of that, position of the dual block) for every block of A.
template <class F>
void for_each_block(View<const Index, 2> ends, View<const Index> place, F&& visit) {
  const Index n_primal = place.size() - ends.rows();
  for (Index dual = 0; dual < ends.rows(); ++dual)
    for (Index side = 0; side < 2; ++side)
      if (ends(dual, side) >= 0) visit(dual, side, place[ends(dual, side)], place[n_primal + dual]);
}

}  // namespace

Array<std::uint32_t, 2> fill_table(View<const Index> indptr, View<const Index> rows,
                                   View<std::uint32_t, 2> pivot_table, View<const Index> lanes,
                                   View<const Index, 2> ends, View<const Index> place, View<const Index> offsets) {
  const auto pivots = as_lines<Pivot>(pivot_table);
  const Index n = place.size(), first_dual_row = offsets[n - ends.rows()];
  for_each_block(ends, place, [&](Index, Index, Index body, Index joint) {
    ++pivots[std::min(body, joint) + 1].first_fill;
  });
  for (Index i = 0; i < n; ++i) pivots[i + 1].first_fill += pivots[i].first_fill;

  Array<std::uint32_t, 2> table({Index(pivots[n].first_fill) + 1, 6});
  const auto fills = as_lines<Fill>(table);
  std::vector<Index> n_filled(n);
  for_each_block(ends, place, [&](Index dual, Index side, Index body, Index joint) {
    const Index holder = std::min(body, joint), other = std::max(body, joint);
    Index above = 0;
    for (Index entry = indptr[holder]; rows[entry] != other; ++entry) above += lanes[rows[entry]];
    const auto offset = std::uint32_t(pivots[holder].start + pivots[holder].size * above);
    const Index first = pivots[holder].first_fill;
    Index line = first + n_filled[holder]++;  // sorted by insertion
    for (; line > first && fills[line - 1].place > offset; --line) fills[line] = fills[line - 1];
    const Index a_row = offsets[n - ends.rows() + dual] - first_dual_row;
    fills[line] = {std::uint32_t(a_row), std::uint32_t(side),        offset,
                   body < joint,         pivots[joint].size, pivots[body].size};
  });
  return table;
}

}  // namespace sparsebody::block_ldl
