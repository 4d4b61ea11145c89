#include "factorization/supernodes.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "factorization/front_ldl.hpp"
#include "graph/elimination_tree.hpp"
#include "graph/fill.hpp"

namespace sparsebody::multifrontal {
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

  Buckets(Index n, const std::vector<Index>& keys) : start(n + 1) {
    for (const Index key : keys)
      if (key >= 0) ++start[key + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    items.resize(start[n]);
    std::vector<Index> next(start.begin(), start.end() - 1);
    for (Index i = 0; i < Index(keys.size()); ++i)
      if (keys[i] >= 0) items[next[keys[i]]++] = i;
  }
  Indices operator[](Index key) const { return View<const Index>(items).slice(start[key], start[key + 1]); }
};

// The variables, blocks that are not constant, in their final order; nodes hold consecutive ones.
struct Variables {
  std::vector<Index> variable;     // of each block, -1 of constant ones
  std::vector<Index> block;        // of each variable
  std::vector<Index> start;        // first scalar row of each variable
  std::vector<Index> node;         // of each variable
  std::vector<Index> node_start;   // first variable of each node
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

// The position of the last block of the supernode of each position: a child is amalgamated if that costs less.
std::vector<Index> amalgamated(const SaddlePattern& pattern, Indices order, const Graph& graph,
                               const std::vector<std::uint8_t>& is_constant) {
  const Index n = order.size();
  std::vector<Index> n_pivots(n);
  for (Index p = 0; p < n; ++p) n_pivots[p] = pattern.size(order[p]);
  const Array<Index> parent = elimination_tree(graph);
  Array<Index> n_rows = column_counts(graph, parent, postorder(parent), n_pivots);
  std::vector<Index> last(n);
  std::iota(last.begin(), last.end(), 0);
  const Buckets children(n, std::vector<Index>(parent.data(), parent.data() + n));
  for (Index p = 0; p < n; ++p)
    for (const Index c : children[p]) {
      if (order[c] < pattern.n_primal() && is_constant[order[c]]) continue;
      const Index k = n_pivots[p] + n_pivots[c], rows = n_rows[p] + n_pivots[c];
      if (cost(k, rows) > cost(n_pivots[p], n_rows[p]) + cost(n_pivots[c], n_rows[c])) continue;
      last[c] = p;
      n_pivots[p] = k, n_rows[p] = rows;
    }
  for (Index p = n - 1; p >= 0; --p) last[p] = last[last[p]];
  return last;
}

Variables numbered(const SaddlePattern& pattern, Indices order, const std::vector<Index>& last,
                   const std::vector<std::uint8_t>& is_constant) {
  const Index n = order.size();
  std::vector<Index> node(n, -1);  // of each position
  Index n_nodes = 0;
  for (Index p = 0; p < n; ++p)
    if (last[p] == p && !(order[p] < pattern.n_primal() && is_constant[order[p]])) node[p] = n_nodes++;
  for (Index p = 0; p < n; ++p) node[p] = node[last[p]];
  const Buckets members(n_nodes, node);
  Variables result{std::vector<Index>(n, -1), {}, {0}, {}, members.start};
  for (const Index p : members.items) {
    result.variable[order[p]] = Index(result.block.size());
    result.block.push_back(order[p]);
    result.start.push_back(result.start.back() + pattern.size(order[p]));
    result.node.push_back(node[p]);
  }
  return result;
}

void append(std::vector<Run>& runs, Index first, Run run) {
  if (Index(runs.size()) > first) {
    Run& last = runs.back();
    if (last.from + last.length == run.from && last.to + last.length == run.to) {
      last.length += run.length;
      return;
    }
  }
  runs.push_back(run);
}

}  // namespace

Supernodes::Supernodes(const SaddlePattern& pattern, View<const Index> order) {
  const Index n_primal = pattern.n_primal();
  const GraphArrays quotient = quotient_graph(n_primal, pattern.ends);
  is_constant = constant_blocks(pattern, positions(order));
  const std::vector<Index> last = amalgamated(pattern, order, reordered(quotient.graph(), order).graph(), is_constant);
  const Variables v = numbered(pattern, order, last, is_constant);
  const Index n_nodes = Index(v.node_start.size()) - 1, n_variables = Index(v.block.size());
  for (const Index block : v.block)
    for (Index r = 0; r < pattern.size(block); ++r) {
      natural.push_back(pattern.offsets[block] + r);
      is_primal.push_back(block < n_primal);
    }

  // What each front holds of A: elements, and the blocks (2 * dual + side) on other primal blocks.
  std::vector<Index> element_node(n_primal, -1), entry_node(2 * pattern.n_dual(), -1);
  for (Index j = 0; j < pattern.n_dual(); ++j)
    for (Index side = 0; side < 2; ++side) {
      const Index end = pattern.ends(j, side), own = v.variable[n_primal + j];
      if (end < 0) continue;
      if (!is_constant[end]) entry_node[2 * j + side] = v.node[std::min(own, v.variable[end])];
      else if (element_node[end] < 0 || v.node[own] < element_node[end]) element_node[end] = v.node[own];
    }
  const Buckets elements_of(n_nodes, element_node), entries_of(n_nodes, entry_node);

  std::vector<Index> seen_by(n_variables, -1), column(n_variables);
  std::vector<std::vector<Index>> others_of(n_nodes);  // variables
  std::vector<std::vector<Index>> children_of(n_nodes);
  std::vector<double> flops(n_nodes);  // of subtrees
  for (Index s = 0; s < n_nodes; ++s) {
    const Index begin = v.node_start[s], end = v.node_start[s + 1];
    std::vector<Index>& below = others_of[s];
    const auto see = [&](Index variable) {
      if (variable < end || seen_by[variable] == s) return;
      seen_by[variable] = s;
      below.push_back(variable);
    };
    for (const Index body : elements_of[s])
      for (const Index dual : quotient.graph()[body]) see(v.variable[dual]);
    for (Index i = begin; i < end; ++i)
      for (const Index other : quotient.graph()[v.block[i]])
        if (v.variable[other] >= 0) see(v.variable[other]);
    for (const Index child : children_of[s])
      for (const Index variable : others_of[child]) see(variable);
    std::sort(below.begin(), below.end());

    Supernode node{};
    node.first_pivot = v.start[begin];
    node.n_pivots = v.start[end] - v.start[begin];
    node.first_other = Index(others.size());
    node.values = n_values;
    node.first_element = Index(elements.size());
    node.first_entry = Index(entries.size());
    node.first_child = Index(children.size());
    for (Index i = begin; i < end; ++i) column[i] = v.start[i] - v.start[begin];
    for (const Index i : below) {
      column[i] = front_ldl::padded(node.n_pivots) + node.n_others;
      for (Index r = v.start[i]; r < v.start[i + 1]; ++r) others.push_back(r);
      node.n_others += v.start[i + 1] - v.start[i];
    }
    const Index stride = front_ldl::padded(node.n_pivots) + front_ldl::padded(node.n_others);
    n_values += node.n_pivots * stride;
    most_others = std::max(most_others, front_ldl::padded(node.n_others));
    node.parent = below.empty() ? -1 : v.node[below[0]];
    if (node.parent >= 0) children_of[node.parent].push_back(s);

    const auto add_runs = [&](std::vector<Run>& target, Index first, const auto& variables, Index from) {
      for (const Index i : variables) {
        const Index size = v.start[i + 1] - v.start[i];
        if (column[i] == front_ldl::padded(node.n_pivots)) first = Index(target.size());  // other rows of storage
        append(target, first, {from, column[i], size});
        from += size;
      }
    };
    for (const Index child : children_of[s]) {
      children.push_back({child, Index(runs.size())});
      add_runs(runs, Index(runs.size()), others_of[child], 0);
      std::vector<Index>().swap(others_of[child]);
    }
    for (const Index body : elements_of[s]) {
      std::vector<std::pair<Index, Index>> joints;  // variable, dual block
      for (const Index dual : quotient.graph()[body]) joints.emplace_back(v.variable[dual], dual);
      std::sort(joints.begin(), joints.end());
      Element element{pattern.size(body), 0, Index(parts.size()), Index(element_runs.size())};
      std::vector<Index> variables;
      for (const auto& [variable, dual] : joints) {
        variables.push_back(variable);
        const Index side = pattern.ends(dual - n_primal, 0) == body ? 0 : 1;
        parts.push_back({pattern.offsets[dual] - pattern.n_primal_rows(), side, pattern.size(dual)});
        element.n_rows += pattern.size(dual);
      }
      add_runs(element_runs, Index(element_runs.size()), variables, 0);
      elements.push_back(element);
    }
    for (const Index block : entries_of[s]) {
      const Index dual = n_primal + block / 2, side = block % 2, body = pattern.ends(block / 2, side);
      const Index joint = v.variable[dual], other = v.variable[body];
      const bool by_row = joint < other;
      entries.push_back({pattern.offsets[dual] - pattern.n_primal_rows(), side, pattern.size(dual), pattern.size(body),
                         node.values + stride * column[by_row ? joint : other] + column[by_row ? other : joint],
                         by_row ? stride : 1, by_row ? 1 : stride});
    }
    flops[s] += block_flops(node.n_pivots + node.n_others, node.n_pivots);
    if (node.parent >= 0) flops[node.parent] += flops[s];
    nodes.push_back(node);
  }
  Supernode end{};
  end.first_element = Index(elements.size());
  end.first_entry = Index(entries.size());
  end.first_child = Index(children.size());
  nodes.push_back(end);
  elements.push_back({0, 0, Index(parts.size()), Index(element_runs.size())});
  children.push_back({-1, Index(runs.size())});
  place_contributions(flops);
}

// Every task, and the supernodes above, have a region of the workspace. In it contributions of even and of odd depth have
// a stack each: then a supernode can push its own before it pops those of its children.
void Supernodes::place_contributions(const std::vector<double>& flops) {
  const Index n = n_nodes();
  double all_flops = 0.0;
  std::vector<std::uint8_t> is_odd(n);
  for (Index s = n - 1; s >= 0; --s) {
    const Index parent = nodes[s].parent;
    if (parent < 0) all_flops += flops[s];
    is_odd[s] = parent >= 0 && !is_odd[parent];
  }
  const double largest = largest_task * all_flops;
  const auto is_top = [&](Index s) { return flops[s] > largest; };
  const auto place = [&](const auto& region) {  // in postorder; returns where its scratch begins
    Index height[2] = {}, most[2] = {}, scratch = 0;
    for (const Index s : region) {
      Supernode& node = nodes[s];
      Index& own = height[is_odd[s]];
      node.contribution = own;
      own += front_ldl::padded(node.n_others) * (node.n_others + 1);
      most[is_odd[s]] = std::max(most[is_odd[s]], own);
      for (Index c = nodes[s + 1].first_child; c-- > node.first_child;)
        if (is_top(children[c].node) == is_top(s)) height[!is_odd[s]] = nodes[children[c].node].contribution;
      Index needed = front_ldl::scratch_size(node.n_pivots, node.n_others);
      for (Index e = node.first_element; e < nodes[s + 1].first_element; ++e)
        needed = std::max(needed, (elements[e].size + elements[e].n_rows) * front_ldl::padded(elements[e].n_rows));
      scratch = std::max(scratch, front_ldl::padded(node.n_pivots) + needed);
    }
    for (const Index s : region) nodes[s].contribution += n_workspace + (is_odd[s] ? most[0] : 0);
    const Index begin = n_workspace + most[0] + most[1];
    n_workspace = begin + scratch;
    return begin;
  };
  for (Index s = 0, first = 0; s < n; ++s) {
    if (is_top(s)) top.push_back(s);
    else if (const Index parent = nodes[s].parent; parent < 0 || is_top(parent))
      tasks.push_back({first, s + 1, place(std::views::iota(first, s + 1)), flops[s]});
    else continue;
    first = s + 1;
  }
  top_scratch = place(top);
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.flops > b.flops; });
}

}  // namespace sparsebody::multifrontal
