// The elimination tree of a graph numbered by position, and the columns of the factor L.
// Liu (1986); Davis (2006), ch. 4.
#pragma once

#include <algorithm>

#include "graph/adjacency.hpp"
#include "graph/union_find.hpp"

namespace sparsebody {

// for_neighbours(i, visit): calls visit(k) for every neighbour of position i.
template <class ForNeighbours>
std::vector<Index> tree_of(Index n, ForNeighbours for_neighbours) {
  std::vector<Index> parent(n, -1), ancestor(n, -1);  // ancestor: compressed paths
  for (Index i = 0; i < n; ++i)
    for_neighbours(i, [&](Index k) {  // from an earlier neighbour up to its present root, which becomes a child
      while (k != -1 && k < i) {
        const Index above = std::exchange(ancestor[k], i);
        if (above == -1) parent[k] = i;
        k = above;
      }
    });
  return parent;
}

// The parent of every node: the first row below the diagonal in its column of L; -1 for a root.
inline std::vector<Index> elimination_tree(const Graph& graph) {
  return tree_of(graph.size(), [&](Index i, auto visit) {
    for (const Index k : graph[i]) visit(k);
  });
}

// The nodes of a forest, every node after all of its descendants, children in increasing order; a parent is numbered
// after its children.
inline Array<Index> postorder(Indices parent) {
  const Index n = parent.size();
  Array<Index> sequence(n);
  std::vector<Index> size(n, 1), end(n);  // of subtrees; ends of their free positions
  for (Index i = 0; i < n; ++i)
    if (parent[i] >= 0) size[parent[i]] += size[i];
  Index end_of_roots = n;
  for (Index i = n - 1; i >= 0; --i) {
    Index& last = parent[i] >= 0 ? end[parent[i]] : end_of_roots;
    end[i] = last - 1;
    sequence[end[i]] = i;
    last -= size[i];
  }
  return sequence;
}

// An equivalent elimination order of the blocks, each subtree of the elimination tree in one piece.
inline Array<Index> postordered(const Graph& graph, Indices order) {
  const std::vector<Index> position = positions(order);
  Array<Index> sequence = postorder(tree_of(graph.size(), [&](Index p, auto visit) {
    for (const Index block : graph[order[p]]) visit(position[block]);
  }));
  for (Index& p : sequence) p = order[p];
  return sequence;
}

// The weight of each column of L, the pivot included, without forming L.
// Gilbert, Ng and Peyton (1994); Davis (2006), sec. 4.5.
inline Array<Index> column_counts(const Graph& graph, Indices parent, Indices postorder, Indices weight) {
  const Index n = parent.size();
  // Row i of L is a subtree of the elimination tree: its weight is added at the leaves of the subtree, and
  // taken away where two of them meet; then sums over the descendants are the columns' weights.
  std::vector<Index> first(n, -1);  // first descendant of each node, by its rank in the postorder
  Array<Index> count(n);
  for (Index rank = 0; rank < n; ++rank) {
    Index j = postorder[rank];
    if (first[j] == -1) count[j] = weight[j];  // a leaf of the tree
    for (; j != -1 && first[j] == -1; j = parent[j]) first[j] = rank;
  }
  std::vector<Index> latest_first(n, -1), latest_leaf(n, -1);  // of the subtree of each row
  UnionFind done(n);
  for (const Index j : postorder) {
    if (parent[j] != -1) count[parent[j]] -= weight[j];
    for (const Index i : graph[j]) {
      if (i <= j || first[j] <= latest_first[i]) continue;  // j is no leaf of the subtree of row i
      latest_first[i] = first[j];
      count[j] += weight[i];
      if (latest_leaf[i] != -1) count[done.find(latest_leaf[i])] -= weight[i];
      latest_leaf[i] = j;
    }
    if (parent[j] != -1) done.link(j, parent[j]);
  }
  for (Index j = 0; j < n; ++j)
    if (parent[j] != -1) count[parent[j]] += count[j];
  return count;
}

// The rows below the pivot in each column of L, sorted.
inline GraphArrays column_structures(const Graph& graph, Indices parent, Indices postorder) {
  const Index n = parent.size();
  const std::vector<Index> ones(n, 1);
  const Array<Index> count = column_counts(graph, parent, postorder, ones);
  std::vector<Index> start(n + 1);
  for (Index j = 0; j < n; ++j) start[j + 1] = start[j] + count[j] - 1;
  std::vector<Index> rows(start[n]), end(start.begin(), start.begin() + n), seen_by(n, -1);
  for (Index i = 0; i < n; ++i) {  // row i goes into every column of its subtree
    seen_by[i] = i;
    for (Index k : graph[i])
      for (; k < i && seen_by[k] != i; k = parent[k]) {
        seen_by[k] = i;
        rows[end[k]++] = i;
      }
  }
  return {std::move(start), std::move(rows)};
}

}  // namespace sparsebody
