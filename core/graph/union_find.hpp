// Disjoint sets with path compression. Tarjan (1975), J. ACM 22, 2.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "base/array.hpp"

namespace sparsebody {

class UnionFind {
 public:
  explicit UnionFind(Index n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), Index(0)); }

  // The root of the set that holds i.
  Index find(Index i) {
    Index root = i;
    while (root != parent_[root]) root = parent_[root];
    while (i != root) i = std::exchange(parent_[i], root);
    return root;
  }
  // Puts a root and its set under another node.
  void link(Index root, Index parent) { parent_[root] = parent; }
  // Joins the sets of two nodes under the root of the first; false if they were the same already.
  bool unite(Index i, Index j) {
    const Index root = find(i), other = find(j);
    link(other, root);
    return root != other;
  }

 private:
  std::vector<Index> parent_;
};

}  // namespace sparsebody
