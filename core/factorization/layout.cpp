#include "factorization/layout.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

namespace sparsebody::block_ldl {
namespace {

// Pivots and contributions in the sequence in which they are eliminated, and what is below each of them.
struct Nodes {
  std::vector<Index> start = {0}, rows;  // those below each node, sorted
  std::vector<Index> position;           // of the pivot, or of the one that is contributed to
  std::vector<Index> of_position;        // the pivot at each position
  std::vector<Part> parts;

  Index size() const { return Index(position.size()); }
  // Index of the node below `node` at position `at`.
  Index below(Index node, Index at) const {
    Index entry = start[node];
    while (position[rows[entry]] != at) ++entry;
    return rows[entry];
  }
};

// The positions from `top` on in the columns of a part, each with those after it in some column. A column whose parent
// rows[0] is before `top` is skipped: its parent's column holds them too.
std::map<Index, std::vector<Index>> contributed(const Graph& columns, Index begin, Index end, Index top) {
  std::map<Index, std::vector<Index>> below;
  for (Index j = begin; j < end; ++j) {
    const Indices rows = columns[j];
    if (rows.empty() || rows[0] < top) continue;
    for (const Index* row = rows.begin(); row < rows.end(); ++row) {
      auto& all = below[*row];
      all.insert(all.end(), row + 1, rows.end());
    }
  }
  for (auto& [row, all] : below) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  return below;
}

// Part by part its pivots, then a contribution for each position from `top` on in its columns; at last the common
// ancestors, from `top` on. Rows are nodes of the same part.
Nodes make_nodes(const Graph& columns, Indices part_starts) {
  const Index n = columns.size(), n_parts = part_starts.size() - 1, top = part_starts[n_parts];
  Nodes nodes;
  nodes.of_position.resize(n);
  nodes.position.reserve(n), nodes.start.reserve(n + 1), nodes.rows.reserve(columns.indices.size());
  const auto add = [&](Index position, const Index* first, const Index* last, auto&& number) {
    nodes.position.push_back(position);
    for (const Index* row = first; row < last; ++row) nodes.rows.push_back(number(*row));
    nodes.start.push_back(Index(nodes.rows.size()));
  };
  for (Index p = 0; p < n_parts; ++p) {
    const Index first = nodes.size(), begin = part_starts[p], end = part_starts[p + 1];
    const auto below = contributed(columns, begin, end, top);
    std::map<Index, Index> copies;
    for (const auto& [row, _] : below) copies.emplace(row, first + end - begin + Index(copies.size()));
    const auto number = [&](Index row) { return row < top ? first + row - begin : copies.at(row); };
    for (Index j = begin; j < end; ++j) {
      nodes.of_position[j] = nodes.size();
      add(j, columns[j].begin(), columns[j].end(), number);
    }
    const Index contributions = nodes.size();
    for (const auto& [row, all] : below) add(row, all.data(), all.data() + all.size(), number);
    nodes.parts.push_back({first, contributions, nodes.size(), 0, 0});
  }
  const Index first = nodes.size();
  for (Index j = top; j < n; ++j) {
    nodes.of_position[j] = nodes.size();
    add(j, columns[j].begin(), columns[j].end(), [&](Index row) { return first + row - top; });
  }
  nodes.parts.push_back({first, nodes.size(), nodes.size(), 0, 0});
  return nodes;
}

// The opener of a panel is the pivot that writes into it first. Lists panels by opener:
// opened[pivots[j].first_opened .. pivots[j + 1].first_opened) are those of j.
void set_opened(const Nodes& nodes, Array<Pivot>& pivots, Array<std::uint32_t>& opened,
                std::vector<Index>& opener) {
  const Index n = nodes.size();
  opener.assign(n, -1);
  const auto open = [&](Index node, Index by) {
    if (opener[node] < 0) opener[node] = by, ++pivots[by + 1].first_opened;
  };
  for (const Part& part : nodes.parts) {
    for (Index j = part.begin; j < part.contributions; ++j) {
      open(j, j);
      for (Index entry = nodes.start[j]; entry < nodes.start[j + 1]; ++entry) open(nodes.rows[entry], j);
    }
    for (Index j = part.contributions; j < part.end; ++j) open(nodes.of_position[nodes.position[j]], j);
  }
  for (Index j = 0; j < n; ++j) pivots[j + 1].first_opened += pivots[j].first_opened;
  std::vector<std::uint32_t> next(n);
  for (Index j = 0; j < n; ++j) next[j] = pivots[j].first_opened;
  for (Index j = 0; j < n; ++j) opened[next[opener[j]]++] = std::uint32_t(j);
}

// The ring buffer of a part's vector in padded order: at least the rows from a pivot to the end of the last panel
// opened so far, or a block.
void set_window(const Array<Pivot>& pivots, const Array<std::uint32_t>& opened,
                const std::vector<Part>& parts, Part& part) {
  Index last = 0, n_rows = 8;
  const auto open = [&](Index node) {
    for (Index i = pivots[node].first_opened; i < Index(pivots[node + 1].first_opened); ++i)
      last = std::max<Index>(last, pivots[opened[i] + 1].padded);
  };
  if (&part == &parts.back())
    for (const Part& other : parts)
      for (Index node = other.contributions; node < other.end; ++node) open(node);
  for (Index node = part.begin; node < part.contributions; ++node) {
    open(node);
    n_rows = std::max(n_rows, last - Index(pivots[node].padded));
  }
  for (part.window = 1; part.window < n_rows;) part.window *= 2;
}

// Lanes above block `row` in the panel of `node`.
Index lanes_above(const Nodes& nodes, const Array<Pivot>& pivots, Index node, Index row) {
  Index lanes = 0;
  for (Index entry = nodes.start[node]; nodes.rows[entry] != row; ++entry) lanes += lanes_of(pivots[nodes.rows[entry]].size);
  return lanes;
}

Index lanes_below(const Nodes& nodes, const Array<Pivot>& pivots, Index node) {
  Index lanes = 0;
  for (Index entry = nodes.start[node]; entry < nodes.start[node + 1]; ++entry)
    lanes += lanes_of(pivots[nodes.rows[entry]].size);
  return lanes;
}

// Fills the offset of block (row, column) for each pair of blocks below a pivot, a lower triangle by rows; on the
// diagonal that of the column's own block.
void set_updates(const Nodes& nodes, const Array<Pivot>& pivots, Index j, std::vector<Index>& above,
                 std::uint32_t* updates) {
  const Index begin = nodes.start[j], n_below = nodes.start[j + 1] - begin;
  const Index* const rows = nodes.rows.data() + begin;
  above.resize(n_below);
  for (Index column = 0; column < n_below; ++column) {
    const Pivot& pivot = pivots[rows[column]];
    const Index* at = nodes.rows.data() + nodes.start[rows[column]];
    for (Index other = column + 1, lanes = 0; other < n_below; ++other) {
      for (; *at != rows[other]; ++at) lanes += lanes_of(pivots[*at].size);
      above[other] = lanes;
    }
    for (Index row = column; row < n_below; ++row)
      updates[row * (row + 1) / 2 + column] =
          row == column ? pivot.own : std::uint32_t(pivot.start + pivot.size * above[row]);
  }
}

// Fills what a contribution updates: the pivot, and the blocks below it.
void set_contribution(const Nodes& nodes, const Array<Pivot>& pivots, Index j, std::uint32_t* updates) {
  const Index target = nodes.of_position[nodes.position[j]];
  *updates = std::uint32_t(target);
  for (Index entry = nodes.start[j]; entry < nodes.start[j + 1]; ++entry) {
    const Index row = nodes.of_position[nodes.position[nodes.rows[entry]]];
    *++updates = std::uint32_t(pivots[target].start + pivots[target].size * lanes_above(nodes, pivots, target, row));
  }
}

// The blocks of a pattern, and where their rows and positions are.
struct Blocks {
  Indices size, order;
  View<const Index, 2> ends;
  std::vector<Index> position, first_row;
  std::vector<bool> is_doubled;  // primal blocks that are both ends of a dual one

  Blocks(Indices sizes, View<const Index, 2> ends_, Indices order_)
      : size(sizes), order(order_), ends(ends_), position(order.size()), first_row(order.size()), is_doubled(n_primal()) {
    Index n_rows = 0;
    for (Index b = 0; b < order.size(); ++b) {
      position[order[b]] = b;
      first_row[b] = n_rows, n_rows += size[b];
    }
    for (Index d = 0; d < ends.rows(); ++d)
      if (ends(d, 0) >= 0 && ends(d, 0) == ends(d, 1)) is_doubled[ends(d, 0)] = true;
  }
  Index n_primal() const { return order.size() - ends.rows(); }
  Index first_row_of_a(Index dual) const { return first_row[n_primal() + dual] - first_row[n_primal()]; }
  bool may_be_constant(Index b) const { return b < n_primal() && (size[b] == 3 || size[b] == 6) && !is_doubled[b]; }
};

// Lines of the tables and numbers of the factors, counted without the limit of 32 bits.
struct Counter {
  Index start = 0, own = 0, below = 0, update = 0, padded = 0;

  void begin(Pivot& pivot) const {
    pivot.start = std::uint32_t(start), pivot.own = std::uint32_t(own);
    pivot.first_below = std::uint32_t(below), pivot.first_update = std::uint32_t(update);
    pivot.padded = std::uint32_t(padded);
    constexpr Index most = std::numeric_limits<std::uint32_t>::max();
    if (std::max({start + own, update, below, padded}) > most)
      throw std::length_error(
          "block-ldl would need tables of more than 32 bits in this order: use another ordering, or the factorization "
          "cholmod");
  }
};

// The table of the blocks of A, sorted by panel and offset; sets `first_fill` of the pivots.
Array<Fill> make_fills(const Nodes& nodes, Array<Pivot>& pivots, const Blocks& blocks) {
  const auto for_each = [&](auto&& visit) {  // block of A: its panel, the other block, the dual one and the side
    for (Index d = 0; d < blocks.ends.rows(); ++d)
      for (Index side = 0; side < 2; ++side)
        if (const Index body = blocks.ends(d, side); body >= 0) {
          const Index of_body = blocks.position[body], of_joint = blocks.position[blocks.n_primal() + d];
          visit(nodes.of_position[std::min(of_body, of_joint)], std::max(of_body, of_joint), d, side);
        }
  };
  for_each([&](Index holder, Index, Index, Index) { ++pivots[holder + 1].first_fill; });
  for (Index i = 0; i < nodes.size(); ++i) pivots[i + 1].first_fill += pivots[i].first_fill;
  Array<Fill> fills(Index(pivots[nodes.size()].first_fill) + 1);
  std::vector<std::uint32_t> n_filled(nodes.size());
  for_each([&](Index holder, Index later, Index d, Index side) {
    const Pivot& pivot = pivots[holder];
    const auto offset =
        std::uint32_t(pivot.start + pivot.size * lanes_above(nodes, pivots, holder, nodes.below(holder, later)));
    const Index first = pivot.first_fill;
    Index line = first + n_filled[holder]++;  // sorted by insertion
    for (; line > first && fills[line - 1].offset > offset; --line) fills[line] = fills[line - 1];
    const bool by_row = later == blocks.position[blocks.n_primal() + d];
    fills[line] = {std::uint32_t(blocks.first_row_of_a(d)),
                   std::uint32_t(side),
                   offset,
                   by_row,
                   std::uint32_t(blocks.size[blocks.n_primal() + d]),
                   std::uint32_t(blocks.size[blocks.ends(d, side)])};
  });
  return fills;
}

}  // namespace

// Tables of K = L D L' by blocks: the panel of pivot j has its own block and L_ij (rows of i, rows of j) for the nodes
// i below it; eliminating j takes L_ij D_j L_kj' from block (i, k) for all i >= k below it. Terms: layout.hpp.
Layout::Layout(const Graph& columns, Indices sizes, View<const Index, 2> ends, Indices order, Indices part_starts) {
  const Blocks blocks(sizes, ends, order);
  Nodes nodes = make_nodes(columns, part_starts);
  const Index n = nodes.size();
  pivots = Array<Pivot>(n + 1);
  opened = Array<std::uint32_t>(n);
  std::vector<Index> opener;
  set_opened(nodes, pivots, opened, opener);
  for (Index j = 0; j < n; ++j) pivots[j].size = std::uint32_t(sizes[order[nodes.position[j]]]);

  Counter counter;
  largest_panel = 0;
  for (Part& part : nodes.parts) {
    for (Index j = part.begin; j < part.end; ++j) {
      Pivot& pivot = pivots[j];
      const Index block = order[nodes.position[j]], n_below = std::max<Index>(nodes.start[j + 1] - nodes.start[j], 1);
      const bool is_contribution = j >= part.contributions;
      counter.begin(pivot);
      pivot.natural = std::uint32_t(blocks.first_row[block]);
      pivot.kind = is_contribution                                        ? contribution
                   : block >= blocks.n_primal()                           ? dual
                   : opener[j] == j && blocks.may_be_constant(block)      ? constant
                                                                          : primal;
      const Index height = std::max<Index>(lanes_below(nodes, pivots, j), 4);
      largest_panel = std::max(largest_panel, pivot.size * height);
      if (pivot.kind != constant) {
        counter.own += lanes_of(pivot.size) * (pivot.size + is_contribution);
        counter.start += pivot.size * height;
      }
      counter.below += n_below, counter.update += is_contribution ? 1 + n_below : n_below * (n_below + 1) / 2;
      counter.padded += lanes_of(pivot.size);
    }
    part.empty_row = counter.padded, counter.padded += 4;
  }
  counter.begin(pivots[n]);
  for (Index j = 0; j <= n; ++j) pivots[j].start += std::uint32_t(counter.own);
  pivots[n].padded = std::uint32_t(nodes.parts.back().empty_row);
  n_values = counter.own + counter.start, n_padded = counter.padded + 4;

  below = Array<Below>(counter.below);
  updates = Array<std::uint32_t>(counter.update);
  std::vector<Index> above;
  for (const Part& part : nodes.parts)
    for (Index j = part.begin; j < part.end; ++j) {
      Below* to = &below[pivots[j].first_below];
      *to = {std::uint32_t(part.empty_row), 0};
      for (Index entry = nodes.start[j]; entry < nodes.start[j + 1]; ++entry)
        *to++ = {pivots[nodes.rows[entry]].padded, pivots[nodes.rows[entry]].size};
      std::uint32_t* const targets = &updates[pivots[j].first_update];
      if (j < part.contributions) set_updates(nodes, pivots, j, above, targets);
      else set_contribution(nodes, pivots, j, targets);
    }
  fills = make_fills(nodes, pivots, blocks);
  for (Part& part : nodes.parts) set_window(pivots, opened, nodes.parts, part);
  parts = std::move(nodes.parts);
}

}  // namespace sparsebody::block_ldl
