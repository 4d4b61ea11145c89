// The supernodes of L for [1 A'; A 0] in a given order, and where everything lies in their fronts.
//
// Blocks with nearly the same structure are eliminated together, in one dense front: Ashcraft and Grimes (1989), ACM
// TOMS 15:291. Fronts form a tree, numbered in postorder; the Schur complement of each is its contribution, which is added
// to the front of its parent: Liu (1992), SIAM Review 34:82. A primal block that no earlier pivot changes is constant: a
// leaf whose factors are rows of A, so that only its contribution is computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <vector>

#include "factorization/front_ldl.hpp"
#include "factorization/saddle.hpp"
#include "graph/elimination_tree.hpp"
#include "graph/fill.hpp"

namespace sparsebody::multifrontal {

struct Supernode {
  Index first_pivot = 0, n_pivots = 0, n_below = 0;  // scalar rows: pivots, and those below them
  Index parent = -1;
  Index size = 0, natural = 0;         // rows of a constant block, which has no pivots; its first row in natural order
  Index values = 0, contribution = 0;  // offsets of the pivots' rows, and of the contribution in the workspace
  Index first_below, first_entry, first_child;  // those of the next supernode end the ranges
};
// A block of A in the rows of pivots, or of a constant block.
struct Entry {
  Index a_row, side, n_rows, n_columns;
  Index offset, row_stride, column_stride;  // of its values in the front
};
struct Child {
  Index node, first_run;
};
// Rows [from, from + length) of a child's contribution, which belong to columns [to, to + length) of the front.
struct Run {
  Index from, to, length;
};
// Supernodes [first, last), a subtree or one of the supernodes above them, with a part of the workspace of their own.
struct Task {
  Index first, last, scratch;
};

using front_ldl::padded;

// Amalgamation weighs the flops on additional zeros against the overhead of a front, about two microseconds at ten
// flops a nanosecond, and of an entry that is assembled.
inline constexpr double front_cost = 2e4, entry_cost = 4.0;
inline constexpr double largest_task = 1.0 / 16;  // share of all flops, so that a few threads are equally busy

// Of a front of n_rows, in flops.
inline double cost(Index n_pivots, Index n_rows) {
  return front_cost + entry_cost * double(n_rows) * double(n_rows) + block_flops(n_rows, n_pivots);
}

// (n_primal,) whether every dual block that a primal one couples to comes after it.
inline std::vector<std::uint8_t> constant_blocks(const SaddlePattern& pattern, const std::vector<Index>& position) {
  std::vector<std::uint8_t> is_constant(pattern.n_primal(), true);
  for (Index j = 0; j < pattern.n_dual(); ++j) {
    const Index a = pattern.ends(j, 0), b = pattern.ends(j, 1);
    for (const Index end : {a, b})
      if (end >= 0 && (a == b || position[pattern.n_primal() + j] < position[end])) is_constant[end] = false;
  }
  return is_constant;
}

// (n,) the supernode of each block, in the order of their last blocks. A child of the elimination tree is amalgamated
// with its parent p where one front costs less than two; its rows are then those of p and the child's pivots.
inline std::vector<Index> amalgamated(const Graph& graph, Indices size, const std::vector<bool>& is_constant) {
  const Index n = graph.size();
  const std::vector<Index> parent = elimination_tree(graph);
  Array<Index> n_rows = column_counts(graph, parent, postorder(parent), size);
  std::vector<Index> n_pivots(size.begin(), size.end()), last(n);  // scalar pivots; the last block of each supernode
  std::iota(last.begin(), last.end(), 0);
  const GraphArrays children = grouped(n, parent);
  for (Index p = 0; p < n; ++p)
    for (const Index c : children[p]) {
      const Index k = n_pivots[p] + n_pivots[c], rows = n_rows[p] + n_pivots[c];
      const double apart = cost(n_pivots[p], n_rows[p]) + cost(n_pivots[c], n_rows[c]);
      if (!is_constant[c] && cost(k, rows) <= apart) last[c] = p, n_pivots[p] = k, n_rows[p] = rows;
    }
  for (Index p = n - 1; p >= 0; --p) last[p] = last[last[p]];
  std::vector<Index> node(n);
  for (Index p = 0, n_nodes = 0; p < n; ++p)
    if (last[p] == p) node[p] = n_nodes++;
  for (Index p = 0; p < n; ++p) node[p] = node[last[p]];
  return node;
}

// Blocks in their final order, those of each supernode together, and their scalar rows; constant ones have none.
struct Layout {
  std::vector<Index> block, start;      // (n,) block at each position; (n + 1,) its first scalar row
  std::vector<Index> node, node_start;  // (n,) supernode of each position; (n_nodes + 1,) its first position
  std::vector<Index> position;          // (n,) of each block

  Layout(const SaddlePattern& pattern, const Graph& quotient, Indices order, const std::vector<std::uint8_t>& constant)
      : start(1) {
    const Index n = order.size();
    std::vector<Index> size(n);
    std::vector<bool> is_constant(n);
    for (Index p = 0; p < n; ++p) {
      size[p] = pattern.size(order[p]);
      is_constant[p] = order[p] < pattern.n_primal() && constant[order[p]];
    }
    const GraphArrays graph = reordered(quotient, order);
    const std::vector<Index> node_of = amalgamated(graph.graph(), size, is_constant);
    const GraphArrays members = grouped(n == 0 ? 0 : node_of.back() + 1, node_of);
    for (const Index p : members.indices) {
      block.push_back(order[p]);
      node.push_back(node_of[p]);
      start.push_back(start.back() + (is_constant[p] ? 0 : size[p]));
    }
    position = positions(block);
    node_start = members.start;
  }
  Index size(Index p) const { return start[p + 1] - start[p]; }
  Index n_nodes() const { return Index(node_start.size()) - 1; }
};

struct Supernodes {
  std::vector<Supernode> nodes;           // and a sentinel that ends the ranges of the last one; children likewise
  std::vector<Index> rows_below;          // scalar rows below the pivots of each supernode, in elimination order
  std::vector<Entry> entries;
  std::vector<Child> children;
  std::vector<Run> runs;
  std::vector<Index> natural;             // (n_pivots,) row of each pivot in natural order
  std::vector<std::uint8_t> is_primal;    // (n_pivots,)
  std::vector<std::uint8_t> is_constant;  // (n_primal,)
  std::vector<Task> tasks;
  GraphArrays parent, below;              // of tasks
  std::vector<double> path;               // flops from each task to the root: the priority of its elimination
  std::vector<double> reversed_path;      // -path: going back, the last tasks come first, still in the caches
  double flops = 0.0;
  Index n_values = 0, n_workspace = 0;

  // `order`: admissible, each subtree of the elimination tree in one piece.
  Supernodes(const SaddlePattern& pattern, View<const Index> order);
  Index n_nodes() const { return Index(nodes.size()) - 1; }

 private:
  // Every task has a part of the workspace. In it contributions of even and of odd depth have a stack each: then a
  // supernode can push its own before it pops those of its children.
  void place_contributions(const std::vector<double>& subtree_flops) {
    const Index n = n_nodes();
    for (Index s = 0; s < n; ++s)
      if (nodes[s].parent < 0) flops += subtree_flops[s];
    std::vector<bool> is_odd(n), is_top(n);
    for (Index s = n - 1; s >= 0; --s) {
      const Index parent = nodes[s].parent;
      is_odd[s] = parent >= 0 && !is_odd[parent];
      is_top[s] = subtree_flops[s] > largest_task * flops;
    }
    const auto stack = [&](Index first, Index last) {  // returns where the scratch begins
      Index height[2] = {}, most[2] = {}, scratch = 0;
      for (Index s = first; s < last; ++s) {
        Supernode& node = nodes[s];
        node.contribution = height[is_odd[s]];
        height[is_odd[s]] += padded(node.n_below) * (node.n_below + 1);
        most[is_odd[s]] = std::max(most[is_odd[s]], height[is_odd[s]]);
        for (Index c = nodes[s + 1].first_child; c-- > node.first_child;)
          if (children[c].node >= first) height[!is_odd[s]] = nodes[children[c].node].contribution;
        scratch = std::max(scratch, padded(node.n_pivots) + front_ldl::scratch_size(node.n_pivots, node.n_below));
      }
      for (Index s = first; s < last; ++s) nodes[s].contribution += n_workspace + (is_odd[s] ? most[0] : 0);
      return std::exchange(n_workspace, n_workspace + most[0] + most[1] + scratch) + most[0] + most[1];
    };
    std::vector<Index> task_of(n), next;
    for (Index s = 0, first = 0; s < n; ++s) {
      task_of[s] = Index(tasks.size());
      if (!is_top[s] && nodes[s].parent >= 0 && !is_top[nodes[s].parent]) continue;
      tasks.push_back({first, s + 1, stack(first, s + 1)});
      first = s + 1;
    }
    for (const Task& task : tasks) {
      const Index above = nodes[task.last - 1].parent;
      next.push_back(above < 0 ? -1 : task_of[above]);
    }
    const Index n_tasks = Index(tasks.size());
    below = grouped(n_tasks, next);
    parent = listed(n_tasks, [&](auto&& add) {
      for (Index t = 0; t < n_tasks; ++t)
        if (next[t] >= 0) add(t, next[t]);
    });
    path.resize(n_tasks);
    for (Index t = n_tasks - 1; t >= 0; --t) {
      path[t] = subtree_flops[tasks[t].last - 1] + (next[t] < 0 ? 0.0 : path[next[t]]);
      for (const Index child : below[t]) path[t] -= subtree_flops[tasks[child].last - 1];
    }
    for (const double flops_above : path) reversed_path.push_back(-flops_above);
  }
};

// Adds one supernode after the other, children before their parent.
class Analysis {
 public:
  std::vector<double> flops;  // of each supernode and all its descendants

  Analysis(const SaddlePattern& pattern, Indices order, Supernodes& result)
      : pattern_(pattern), result_(result), quotient_(quotient_graph(pattern.n_primal(), pattern.ends)),
        layout_(pattern, quotient_.graph(), order, result.is_constant), column_(order.size()),
        seen_by_(order.size(), -1), blocks_below_(layout_.n_nodes()), children_(layout_.n_nodes()) {
    flops.resize(layout_.n_nodes());
    for (Index s = 0; s < layout_.n_nodes(); ++s) add(s);
    result.nodes.push_back(empty_node());
    result.children.push_back({-1, Index(result.runs.size())});
  }

 private:
  Supernode empty_node() const {
    return {.first_below = Index(result_.rows_below.size()), .first_entry = Index(result_.entries.size()),
            .first_child = Index(result_.children.size())};
  }
  // Supernode s of L: k pivots, the m rows below them that their blocks and the children's couple to, k x (k + m)
  // values, and the slots of blocks of A and of the children's contributions in its front.
  void add(Index s) {
    const Index begin = layout_.node_start[s], end = layout_.node_start[s + 1], first_block = layout_.block[begin];
    find_blocks_below(s);
    Supernode node = empty_node();
    node.first_pivot = layout_.start[begin];
    node.n_pivots = layout_.start[end] - layout_.start[begin];
    if (node.n_pivots == 0) node.size = pattern_.size(first_block), node.natural = pattern_.offsets[first_block];
    node.values = result_.n_values;
    for (Index p = begin; p < end; ++p) column_[p] = layout_.start[p] - node.first_pivot;
    for (const Index p : blocks_below_[s]) {
      column_[p] = padded(node.n_pivots) + node.n_below;
      node.n_below += layout_.size(p);
      for (Index row = layout_.start[p]; row < layout_.start[p + 1]; ++row) result_.rows_below.push_back(row);
    }
    const Index stride = padded(node.n_pivots) + padded(node.n_below);
    result_.n_values += (node.size + node.n_pivots) * stride;
    for (Index p = begin; p < end; ++p) add_block(p, stride);
    for (const Index child : children_[s]) add_child(child, padded(node.n_pivots));
    flops[s] += block_flops(node.size + node.n_pivots + node.n_below, node.size + node.n_pivots);
    if (!blocks_below_[s].empty()) {
      node.parent = layout_.node[blocks_below_[s][0]];
      flops[node.parent] += flops[s];
      children_[node.parent].push_back(s);
    }
    result_.nodes.push_back(node);
  }
  // The blocks below the pivots: neighbours that come later, and those below the pivots of children.
  void find_blocks_below(Index s) {
    const Index end = layout_.node_start[s + 1];
    const auto see = [&](Index p) {
      if (p >= end && std::exchange(seen_by_[p], s) != s) blocks_below_[s].push_back(p);
    };
    for (Index p = layout_.node_start[s]; p < end; ++p)
      for (const Index other : quotient_.graph()[layout_.block[p]]) see(layout_.position[other]);
    for (const Index child : children_[s])
      for (const Index p : blocks_below_[child]) see(p);
    std::sort(blocks_below_[s].begin(), blocks_below_[s].end());
  }
  // The rows of a block, and the blocks of A that join it to later ones.
  void add_block(Index p, Index stride) {
    const Index n_primal = pattern_.n_primal(), block = layout_.block[p], first = pattern_.offsets[block];
    for (Index row = first; row < first + layout_.size(p); ++row) {
      result_.natural.push_back(row);
      result_.is_primal.push_back(block < n_primal);
    }
    for (const Index other : quotient_.graph()[block]) {
      const Index q = layout_.position[other], joint = std::max(block, other), body = std::min(block, other);
      const Index a_row = pattern_.offsets[joint] - pattern_.n_primal_rows(), offset = stride * column_[p] + column_[q];
      for (Index side = 0; side < 2; ++side)
        if (q > p && pattern_.ends(joint - n_primal, side) == body)
          result_.entries.push_back({a_row, side, pattern_.size(joint), pattern_.size(body), offset,
                                     block == joint ? stride : 1, block == joint ? 1 : stride});
    }
  }
  // Runs of adjacent columns; one ends where the pivots' columns end, for those below lie elsewhere.
  void add_child(Index child, Index first_below) {
    std::vector<Run>& runs = result_.runs;
    const Index first_run = Index(runs.size());
    result_.children.push_back({child, first_run});
    Index from = 0;
    for (const Index p : blocks_below_[child]) {
      const bool continues = Index(runs.size()) > first_run && column_[p] != first_below &&
                             runs.back().to + runs.back().length == column_[p];
      if (continues) runs.back().length += layout_.size(p);
      else runs.push_back({from, column_[p], layout_.size(p)});
      from += layout_.size(p);
    }
    blocks_below_[child] = {};
  }

  const SaddlePattern& pattern_;
  Supernodes& result_;
  GraphArrays quotient_;
  Layout layout_;
  std::vector<Index> column_, seen_by_;  // (n,) of each position: its column in the present front, its newest front
  std::vector<std::vector<Index>> blocks_below_, children_;  // of each supernode: positions, supernodes
};

inline Supernodes::Supernodes(const SaddlePattern& pattern, View<const Index> order)
    : is_constant(constant_blocks(pattern, positions(order))) {
  place_contributions(Analysis(pattern, order, *this).flops);
}

}  // namespace sparsebody::multifrontal
