// Spanning trees of the body-joint graph, grown breadth first, depth first or by least depth, and improved
// until H has fewer nonzeros. Featherstone (2008), secs. 4.1, 6.4 and 8.6.
#pragma once

#include <utility>
#include <vector>

#include "graph/adjacency.hpp"
#include "graph/union_find.hpp"

namespace sparsebody::tree {

constexpr Index virtual_joint = -1;  // of a body that no joint leads to
constexpr Index not_reached = -2;

enum class Search : Index { breadth_first, depth_first, least_depth };

// Bodies and joints; the world is node n_bodies.
class JointGraph {
 public:
  JointGraph(View<const Index, 2> ends, Index n_bodies)
      : at_(incidence(n_bodies, ends, World::is_last_node)), ends_(ends.begin(), ends.end()), groups_(n_bodies + 1) {}

  // The bodies that joints connect with one, not by way of the world.
  std::vector<Index> connected(Index root) const;
  // Which of the joints unite groups of bodies, one after the other; a joint that closes a loop does not.
  Array<bool> unite(View<const Index> joints);
  // Puts a body into the group of the world.
  void unite_with_world(Index body) { groups_.unite(n_bodies(), body); }
  // Fills the tree joint (n,) and the depth (n + 1,) of all bodies reached from the roots, in bodies or freedoms.
  // Free joints constrain nothing: they are the last resort. Required joints have been united: a group is entered by
  // one other joint at most, so that all of them are in the tree.
  void grow(View<const Index> roots, Index search, View<const Index> freedoms, View<const bool> is_free,
            View<const bool> is_required, View<const bool> is_usable, View<Index> tree_joint, View<Index> depth);
  // Bodies (n,) numbered so that every subtree is contiguous, parents first, and their parents (n,) in these numbers.
  std::pair<Array<Index>, Array<Index>> preorder(View<const Index> tree_joint) const;
  // The body half way along a longest path of two searches: nearly the center of a part.
  Index middle(View<const Index> bodies) const;
  // The body with the least sum of distances to all others of a part; quadratic work.
  Index median(View<const Index> bodies) const;
  // The joint (n,) by which each body is first reached depth first from the world, always on to the body nearest to
  // it, so that the way is a sweep; -1 for none.
  std::vector<Index> sweep(View<const bool> is_usable) const;
  // Hangs bodies elsewhere as long as nnz(H) falls; `movable` joints may enter or leave the tree.
  void reduce_nonzeros(View<const Index> freedoms, View<const bool> movable, View<Index> tree_joint) const;

 private:
  struct Numbered;
  Index n_bodies() const { return Index(at_.start.size()) - 2; }
  Index end(Index joint, int side) const { return ends_[2 * joint + side] >= 0 ? ends_[2 * joint + side] : n_bodies(); }
  Index other_end(Index joint, Index body) const { return end(joint, end(joint, 0) == body); }
  View<Index> search(Index root, View<Index> queue, View<Index> distance, View<Index> from) const;
  Numbered numbered(View<const Index> tree_joint, View<const Index> freedoms) const;
  Index rehang(View<const Index> freedoms, View<const bool> movable, View<Index> tree_joint) const;

  Incidence at_;             // the joints of each node, in order
  std::vector<Index> ends_;  // (n_joints, 2)
  UnionFind groups_;         // of bodies that required joints connect
};

// The number after the last of each subtree.
Array<Index> subtree_ends(View<const Index> parent);
// Sums of `step` over the support of each body, itself included.
Array<Index> depths(View<const Index> parent, View<const Index> step);

}  // namespace sparsebody::tree
