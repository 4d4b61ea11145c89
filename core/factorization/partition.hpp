// Parts of a mechanism that can be factorized at the same time: groups of subtrees of the elimination tree.
#pragma once

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "graph/adjacency.hpp"
#include "graph/elimination_tree.hpp"
#include "graph/fill.hpp"

namespace sparsebody {

// An equivalent order in which the parts come first and their common ancestors last, and the position at which each
// part begins; the last of these is that of the first ancestor. Where parts would not pay there are none.
struct Partition {
  Array<Index> order, part_starts;
};

inline constexpr Index fewest_blocks = 1 << 15;      // of fewer a thread takes as long to start as it saves
inline constexpr Index most_parts = 8;
inline constexpr double work_of_block = 500.0;      // flops that take as long as what a pivot costs besides its flops
inline constexpr double smallest_share = 1.0 / 64;  // of all work in a part
inline constexpr double largest_path_share = 0.7;           // share of all work that may be left on the longest path
inline constexpr double more_work = 1.1;            // that elimination from both ends may need

// The elimination tree of an order whose subtrees are in one piece each, and the work in it.
struct Tree {
  Array<Index> order, parent;
  std::vector<double> work, below;  // of each pivot, and of the subtree that it is the root of
  double total = 0.0;
};

inline Tree make_tree(const Graph& blocks, Indices sizes, Indices order) {
  Tree tree;
  tree.order = postordered(blocks, order);
  const GraphArrays graph = reordered(blocks, tree.order);
  tree.parent = elimination_tree(graph.graph());
  const Index n = order.size();
  Array<Index> weight(n), sequence(n);
  for (Index j = 0; j < n; ++j) weight[j] = sizes[tree.order[j]];
  std::iota(sequence.begin(), sequence.end(), 0);
  const Array<Index> front = column_counts(graph.graph(), tree.parent, sequence, weight);
  tree.work.resize(n), tree.below.resize(n);
  for (Index j = 0; j < n; ++j) {
    tree.work[j] = block_flops(front[j], weight[j]) + work_of_block;
    tree.below[j] += tree.work[j], tree.total += tree.work[j];
    if (tree.parent[j] >= 0) tree.below[tree.parent[j]] += tree.below[j];
  }
  return tree;
}

// Subtrees, by their roots, whose removal leaves the ancestors and small subtrees between them.
struct Cut {
  std::vector<Index> roots;
  double longest = 0.0;  // work of what is left, and of the largest of `most_parts` equal parts or of a larger subtree
};

// Takes the heaviest subtree's root to the ancestors as long as that shortens the longest path. Children whose work
// together is too little for a part of its own go with it. Geist and Ng (1989), Int. J. Parallel Program. 18, 4.
inline Cut best_cut(const Tree& tree) {
  const Index n = tree.parent.size();
  std::vector<Index> first_child(n, -1), sibling(n, -1), taken;
  std::priority_queue<std::pair<double, Index>> subtrees;
  for (Index j = 0; j < n; ++j) {
    if (const Index p = tree.parent[j]; p >= 0) sibling[j] = std::exchange(first_child[p], j);
    else subtrees.emplace(tree.below[j], j);
  }
  const double small = tree.total * smallest_share;
  const auto is_small = [&](Index j) { return tree.below[j] < small; };
  std::vector<double> small_work(n);  // of the small children of each node
  for (Index j = 0; j < n; ++j)
    if (tree.parent[j] >= 0 && is_small(j)) small_work[tree.parent[j]] += tree.below[j];
  double above = 0.0;
  Cut cut{{}, tree.total};
  std::size_t n_best = 0;
  while (!subtrees.empty()) {
    const auto [heaviest, root] = subtrees.top();
    const double equal = above + (tree.total - above) / most_parts, longest = std::max(above + heaviest, equal);
    if (longest < cut.longest) cut.longest = longest, n_best = taken.size();
    if (equal >= cut.longest || is_small(root)) break;
    subtrees.pop();
    taken.push_back(root);
    const double together = small_work[root];
    above += tree.work[root] + (together < small ? together : 0.0);
    for (Index child = first_child[root]; child >= 0; child = sibling[child])
      if (!is_small(child) || together >= small) subtrees.emplace(tree.below[child], child);
  }
  taken.resize(n_best);
  std::vector<bool> is_taken(n);
  for (const Index j : taken) is_taken[j] = true;
  for (Index j = 0; j < n; ++j) {
    const Index p = tree.parent[j];
    if (!is_taken[j] && (p < 0 || (is_taken[p] && (!is_small(j) || small_work[p] >= small)))) cut.roots.push_back(j);
  }
  return cut;
}

// The subtrees in parts of about the same work, the largest subtrees first, and then the ancestors.
inline Partition in_parts(const Tree& tree, const Cut& cut) {
  const Index n = tree.parent.size(), n_parts = std::min<Index>(most_parts, Index(cut.roots.size()));
  std::vector<Index> by_work = cut.roots, size(n, 1), part(n, n_parts);
  for (Index j = 0; j < n; ++j)
    if (tree.parent[j] >= 0) size[tree.parent[j]] += size[j];
  std::stable_sort(by_work.begin(), by_work.end(), [&](Index a, Index b) { return tree.below[a] > tree.below[b]; });
  std::vector<double> load(n_parts);
  for (const Index root : by_work) {
    const Index least = std::min_element(load.begin(), load.end()) - load.begin();
    load[least] += tree.below[root];
    std::fill(part.begin() + (root + 1 - size[root]), part.begin() + (root + 1), least);
  }
  std::vector<Index> next(n_parts + 2);
  for (const Index p : part) ++next[p + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  Partition result{Array<Index>(n), Array<Index>(n_parts + 1)};
  std::copy(next.begin(), next.end() - 1, result.part_starts.begin());
  for (Index j = 0; j < n; ++j) result.order[next[part[j]]++] = tree.order[j];
  return result;
}

// The order with its second half reversed, for an elimination tree that is a path. Its fronts are the bags of a path
// decomposition, a node being in those from its first neighbour's to its own: so nodes that are eliminated in the reverse
// sequence of their first bags have fronts within these bags. Bodlaender (1998), Theor. Comput. Sci. 209:1.
inline Array<Index> from_both_ends(const Graph& graph, Indices order) {
  const Index n = order.size(), half = n / 2;
  std::vector<Index> position(n), first(n);
  for (Index j = 0; j < n; ++j) position[order[j]] = j;
  for (Index j = 0; j < n; ++j) {
    first[j] = j;
    for (const Index other : graph[order[j]]) first[j] = std::min(first[j], position[other]);
  }
  Array<Index> turned(n);
  std::iota(turned.begin(), turned.end(), 0);
  std::reverse(turned.begin() + half, turned.end());
  std::stable_sort(turned.begin() + half, turned.end(), [&](Index a, Index b) { return first[a] > first[b]; });
  for (Index& j : turned) j = order[j];
  return turned;
}

inline Partition whole(Tree&& tree) { return {std::move(tree.order), Array<Index>(1)}; }

// graph: of the blocks; sizes: rows of each. The parts depend on these alone, not on how many threads there are; of
// fewer blocks than `fewest` there are none.
inline Partition partition(const Graph& graph, Indices sizes, Indices order, Index fewest = fewest_blocks) {
  if (order.size() < fewest) return {postordered(graph, order), Array<Index>(1)};
  Tree tree = make_tree(graph, sizes, order);
  const Cut cut = best_cut(tree);
  return cut.longest > largest_path_share * tree.total ? whole(std::move(tree)) : in_parts(tree, cut);
}

// A partition in which a tree that is a path, as that of a ladder from one end to the other, is eliminated from both ends
// if that takes hardly more work. For QR: LDL' loses the last pivots of a half that nothing holds from 10^5 bodies on.
inline Partition partition_from_both_ends(const Graph& graph, Indices sizes, Indices order,
                                          Index fewest = fewest_blocks) {
  if (order.size() < fewest) return {postordered(graph, order), Array<Index>(1)};
  Tree tree = make_tree(graph, sizes, order);
  const double limit = largest_path_share * tree.total, most_work = more_work * tree.total;
  if (const Cut cut = best_cut(tree); cut.longest <= limit) return in_parts(tree, cut);
  const Tree turned = make_tree(graph, sizes, from_both_ends(graph, order));
  const Cut cut = best_cut(turned);
  return turned.total > most_work || cut.longest > limit ? whole(std::move(tree)) : in_parts(turned, cut);
}

}  // namespace sparsebody
