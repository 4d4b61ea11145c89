// Spanning trees of the body-joint graph, grown breadth first, depth first or by least depth, and improved
// until H has fewer nonzeros. Featherstone (2008), secs. 4.1, 6.4 and 8.6.
#pragma once

#include <utility>
#include <vector>

#include "base/array.hpp"

namespace sparsebody::tree {

constexpr Index virtual_joint = -1;  // of a body that no joint leads to
constexpr Index not_reached = -2;

enum class Search : Index { breadth_first, depth_first, least_depth };

// Bodies that joints unite, as a forest; the last element is the world.
class UnionFind {
 public:
  explicit UnionFind(View<Index> parent) : parent_(parent) {}
  Index find(Index node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  // Returns whether the two were apart.
  bool unite(Index a, Index b) {
    a = find(a), b = find(b);
    parent_[a] = b;
    return a != b;
  }

 private:
  View<Index> parent_;
};

// Joints that may be in a tree, and those that must: they form a forest whose trees are the groups of `group`. A group
// is entered by one other joint at most, so that all required joints are in the tree.
struct SearchRules {
  View<const Index> freedoms;
  View<const bool> is_free;  // free joints constrain nothing: they are the last resort
  View<const bool> is_required, is_usable;
  View<Index> group;
};

// Bodies and joints; the world is node n_bodies.
class JointGraph {
 public:
  JointGraph(View<const Index> predecessor, View<const Index> successor, Index n_bodies);

  // The bodies that joints connect with one, not by way of the world.
  Array<Index> connected(Index root) const;
  // Fills the tree joint (n,) and the depth (n + 1,) of all bodies reached from the roots, in bodies or freedoms.
  void grow(View<const Index> roots, Search search, SearchRules rules, View<Index> tree_joint, View<Index> depth) const;
  // Bodies (n,) numbered so that every subtree is contiguous, parents first, and their parents (n,) in these numbers.
  std::pair<Array<Index>, Array<Index>> preorder(View<const Index> tree_joint) const;
  // The body half way along a longest path of two searches: nearly the center of a part.
  Index middle(View<const Index> bodies) const;
  // The body with the least sum of distances to all others of a part; quadratic work.
  Index median(View<const Index> bodies) const;
  // The joint (n,) by which each body is first reached depth first from the world, always on to the body nearest to
  // it, so that the way is a sweep; -1 for none.
  Array<Index> sweep(View<const bool> is_usable) const;
  // Hangs bodies elsewhere as long as nnz(H) falls; `movable` joints may enter or leave the tree.
  void reduce_nonzeros(View<const Index> freedoms, View<const bool> movable, View<Index> tree_joint) const;

 private:
  Index n_bodies() const { return Index(start_.size()) - 2; }
  Index node(Index body) const { return body >= 0 ? body : n_bodies(); }
  Index other_end(Index joint, Index body) const;
  Index search(Index root, std::vector<Index>& queue, std::vector<Index>& distance, std::vector<Index>& from) const;
  Index inertia_nonzeros(View<const Index> tree_joint, View<const Index> freedoms) const;
  Index rehang(View<const Index> freedoms, View<const bool> movable, View<Index> tree_joint) const;

  std::vector<Index> predecessor_, successor_;
  std::vector<Index> start_, joint_;  // the joints of each node, in order
};

// Which of the joints unite groups of bodies, one after the other; a joint that closes a loop does not.
Array<bool> united(View<const Index> joints, View<const Index> predecessor, View<const Index> successor,
                   View<Index> group);
// The number after the last of each subtree.
Array<Index> subtree_ends(View<const Index> parent);
// lambda of the velocity coordinates, joints of no freedom passed over. Featherstone (2008), sec. 6.5.
Array<Index> expanded_parents(View<const Index> parent, View<const Index> first_velocity);
// Sums of `step` over the support of each body, itself included.
Array<Index> depths(View<const Index> parent, View<const Index> step);
// Nonzeros of the lower triangle of H: freedoms couple with all on their support. Featherstone (2008), sec. 6.4.
Index inertia_nonzeros(View<const Index> parent, View<const Index> freedoms);

}  // namespace sparsebody::tree
