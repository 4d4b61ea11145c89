#include "factorization/supernodes.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "factorization/front_ldl.hpp"
#include "graph/elimination_tree.hpp"
#include "graph/fill.hpp"

namespace sparsebody::multifrontal {

using front_ldl::padded;

namespace {

// Amalgamation weighs the flops on additional zeros against these, in flops: a front, and an entry that is assembled.
constexpr double front_cost = 2e4, entry_cost = 4.0;
constexpr double largest_task = 1.0 / 16;  // share of all flops

double cost(Index n_pivots, Index n_rows) {
  return front_cost + entry_cost * double(n_rows) * double(n_rows) + block_flops(n_rows, n_pivots);
}

// Items by their keys, those of key -1 left out.
struct Buckets {
  std::vector<Index> start, items;

  Buckets(Index n, View<const Index> keys) : start(n + 1) {
    for (const Index key : keys)
      if (key >= 0) ++start[key + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    items.resize(start[n]);
    std::vector<Index> next(start.begin(), start.end() - 1);
    for (Index i = 0; i < keys.size(); ++i)
      if (keys[i] >= 0) items[next[keys[i]]++] = i;
  }
  Indices operator[](Index key) const { return View<const Index>(items).slice(start[key], start[key + 1]); }
};

std::vector<std::uint8_t> constant_blocks(const SaddlePattern& pattern, const std::vector<Index>& position) {
  std::vector<std::uint8_t> is_constant(pattern.n_primal(), true);
  for (Index j = 0; j < pattern.n_dual(); ++j) {
    const Index a = pattern.ends(j, 0), b = pattern.ends(j, 1);
    for (const Index end : {a, b})
      if (end >= 0 && (a == b || position[pattern.n_primal() + j] < position[end])) is_constant[end] = false;
  }
  return is_constant;
}

// The supernode of each position, numbered by last blocks: a child is amalgamated where that costs less.
std::vector<Index> amalgamated(const Graph& graph, Indices size, const std::vector<bool>& is_constant) {
  const Index n = graph.size();
  const Array<Index> parent = elimination_tree(graph);
  Array<Index> n_rows = column_counts(graph, parent, postorder(parent), size);
  std::vector<Index> n_pivots(size.begin(), size.end()), last(n);  // blocks of the supernodes
  std::iota(last.begin(), last.end(), 0);
  const Buckets children(n, parent);
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
class Layout {
 public:
  std::vector<Index> block, start;  // the last start ends the rows
  std::vector<Index> node_of;       // by position
  std::vector<Index> position;      // of each block
  std::vector<Index> node_start;    // positions

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
    const std::vector<Index> node = amalgamated(graph.graph(), size, is_constant);
    const Buckets members(n == 0 ? 0 : node.back() + 1, node);
    for (const Index p : members.items) {
      block.push_back(order[p]);
      node_of.push_back(node[p]);
      start.push_back(start.back() + (is_constant[p] ? 0 : size[p]));
    }
    position = positions(block);
    node_start = members.start;
  }
  Index size(Index p) const { return start[p + 1] - start[p]; }
  Index n_nodes() const { return Index(node_start.size()) - 1; }
};

}  // namespace

Supernodes::Supernodes(const SaddlePattern& pattern, View<const Index> order)
    : is_constant(constant_blocks(pattern, positions(order))) {
  const Index n_primal = pattern.n_primal(), first_dual_row = pattern.n_primal_rows();
  const GraphArrays quotient = quotient_graph(n_primal, pattern.ends);
  const Layout layout(pattern, quotient.graph(), order, is_constant);
  const Index n = layout.n_nodes();
  const auto next_node = [&] {
    return Supernode{.first_other = Index(others.size()), .first_part = Index(parts.size()),
                     .first_entry = Index(entries.size()), .first_child = Index(children.size())};
  };
  const auto is_constant_block = [&](Index block) { return block < n_primal && is_constant[block]; };

  std::vector<Index> column(order.size()), seen_by(order.size(), -1);  // by position
  std::vector<std::vector<Index>> others_of(n), children_of(n);        // positions, supernodes
  std::vector<double> flops(n);                                        // of subtrees
  for (Index s = 0; s < n; ++s) {
    const Index begin = layout.node_start[s], end = layout.node_start[s + 1];
    std::vector<Index>& below = others_of[s];
    const auto see = [&](Index p) {
      if (p >= end && std::exchange(seen_by[p], s) != s) below.push_back(p);
    };
    for (Index p = begin; p < end; ++p)
      for (const Index other : quotient.graph()[layout.block[p]]) see(layout.position[other]);
    for (const Index child : children_of[s])
      for (const Index p : others_of[child]) see(p);
    std::sort(below.begin(), below.end());

    Supernode& node = nodes.emplace_back(next_node());
    node.first_pivot = layout.start[begin];
    node.n_pivots = layout.start[end] - layout.start[begin];
    node.values = n_values;
    if (!below.empty()) node.parent = layout.node_of[below[0]];
    const Index first_other = padded(node.n_pivots);
    for (Index p = begin; p < end; ++p) column[p] = layout.start[p] - node.first_pivot;
    for (const Index p : below) {
      column[p] = first_other + node.n_others;
      node.n_others += layout.size(p);
      for (Index row = layout.start[p]; row < layout.start[p + 1]; ++row) others.push_back(row);
    }
    const Index stride = first_other + padded(node.n_others);
    n_values += node.n_pivots * stride;
    most_others = std::max(most_others, padded(node.n_others));

    for (Index p = begin; p < end; ++p) {  // blocks of A, in the rows of the earlier one
      const Index block = layout.block[p];
      if (is_constant_block(block)) {
        node.size = pattern.size(block);
        for (const Index other : below) {
          const Index joint = layout.block[other], side = pattern.ends(joint - n_primal, 0) == block ? 0 : 1;
          parts.push_back({pattern.offsets[joint] - first_dual_row, side, pattern.size(joint)});
        }
        continue;
      }
      for (Index row = pattern.offsets[block]; row < pattern.offsets[block + 1]; ++row) {
        natural.push_back(row);
        is_primal.push_back(block < n_primal);
      }
      for (const Index other : quotient.graph()[block]) {
        const Index q = layout.position[other], joint = std::max(block, other), body = std::min(block, other);
        if (q < p) continue;
        const bool by_row = block == joint;
        for (Index side = 0; side < 2; ++side)
          if (pattern.ends(joint - n_primal, side) == body)
            entries.push_back({pattern.offsets[joint] - first_dual_row, side, pattern.size(joint), pattern.size(body),
                               node.values + stride * column[p] + column[q], by_row ? stride : 1,
                               by_row ? 1 : stride});
      }
    }
    for (const Index child : children_of[s]) {
      const Index first_run = Index(runs.size());
      children.push_back({child, first_run});
      Index from = 0;
      for (const Index p : others_of[child]) {
        const bool continues = Index(runs.size()) > first_run && column[p] != first_other &&
                               runs.back().to + runs.back().length == column[p];
        if (continues) runs.back().length += layout.size(p);
        else runs.push_back({from, column[p], layout.size(p)});
        from += layout.size(p);
      }
      others_of[child] = {};
    }
    flops[s] += block_flops(node.size + node.n_pivots + node.n_others, node.size + node.n_pivots);
    if (node.parent >= 0) {
      flops[node.parent] += flops[s];
      children_of[node.parent].push_back(s);
    }
  }
  nodes.push_back(next_node());
  children.push_back({-1, Index(runs.size())});
  place_contributions(std::move(flops));
}

// Every task, and the supernodes above, have a part of the workspace. In it contributions of even and of odd depth have a
// stack each: then a supernode can push its own before it pops those of its children.
void Supernodes::place_contributions(std::vector<double> flops) {
  const Index n = n_nodes();
  double all_flops = 0.0;
  for (Index s = 0; s < n; ++s)
    if (nodes[s].parent < 0) all_flops += flops[s];
  std::vector<bool> is_odd(n), is_top(n);
  for (Index s = n - 1; s >= 0; --s) {
    const Index parent = nodes[s].parent;
    is_odd[s] = parent >= 0 && !is_odd[parent];
    is_top[s] = flops[s] > largest_task * all_flops || (nodes[s].size > 0 && parent >= 0 && is_top[parent]);
  }
  const auto place = [&](const auto& part) {  // in postorder; returns where the scratch begins
    Index height[2] = {}, most[2] = {}, scratch = 0;
    for (const Index s : part) {
      Supernode& node = nodes[s];
      node.contribution = height[is_odd[s]];
      height[is_odd[s]] += padded(node.n_others) * (node.n_others + 1);
      most[is_odd[s]] = std::max(most[is_odd[s]], height[is_odd[s]]);
      for (Index c = nodes[s + 1].first_child; c-- > node.first_child;)
        if (is_top[children[c].node] == is_top[s]) height[!is_odd[s]] = nodes[children[c].node].contribution;
      scratch = std::max(scratch, node.size * padded(node.n_others) + padded(node.n_pivots) +
                                      front_ldl::scratch_size(node.n_pivots, node.n_others));
    }
    for (const Index s : part) nodes[s].contribution += n_workspace + (is_odd[s] ? most[0] : 0);
    return std::exchange(n_workspace, n_workspace + most[0] + most[1] + scratch) + most[0] + most[1];
  };
  for (Index s = 0, first = 0; s < n; ++s) {
    const Index parent = nodes[s].parent;
    if (is_top[s]) top.push_back(s);
    else if (parent < 0 || is_top[parent])
      tasks.push_back({first, s + 1, place(std::views::iota(first, s + 1)), flops[s]});
    else continue;
    first = s + 1;
  }
  top_scratch = place(top);
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.flops > b.flops; });
}

}  // namespace sparsebody::multifrontal
