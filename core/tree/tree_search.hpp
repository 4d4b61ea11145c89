// Spanning trees of the body-joint graph, grown breadth first, depth first or by least depth, and improved
// until H has fewer nonzeros. Featherstone (2008), secs. 4.1, 6.4 and 8.6.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/adjacency.hpp"
#include "graph/searches.hpp"
#include "graph/union_find.hpp"

namespace sparsebody::tree {

constexpr Index virtual_joint = -1;  // of a body that no joint leads to
constexpr Index not_reached = -2;

enum class Search : Index { breadth_first, depth_first, least_depth };

// One past the last body of each subtree; parents before children, subtrees contiguous.
inline Array<Index> subtree_ends(View<const Index> parent) {
  Array<Index> ends(parent.size());
  std::iota(ends.begin(), ends.end(), 1);
  for (Index i = parent.size() - 1; i >= 0; --i)
    if (parent[i] >= 0) ends[parent[i]] = std::max(ends[parent[i]], ends[i]);
  return ends;
}
// Sums of `step` over the support of each body, itself included.
inline Array<Index> depths(View<const Index> parent, View<const Index> step) {
  Array<Index> depth(parent.size());
  for (Index i = 0; i < parent.size(); ++i) depth[i] = step[i] + (parent[i] >= 0 ? depth[parent[i]] : 0);
  return depth;
}

// Bodies and joints; the world is node n_bodies.
class JointGraph {
 public:
  JointGraph(View<const Index, 2> ends, Index n_bodies)
      : joints_(incidence(n_bodies, ends, World::is_last_node)), ends_(ends.begin(), ends.end()), groups_(n_bodies + 1) {}

  // The bodies that joints connect with `root`, itself included, not through the world.
  std::vector<Index> connected(Index root) const {
    std::vector<Index> queue(n_bodies()), distance(n_bodies(), -1), from(n_bodies());
    const View<Index> bodies = search(root, queue, distance, from);
    return {bodies.begin(), bodies.end()};
  }
  // The joints that unite groups of bodies, one after the other; a joint that closes a loop does not.
  Array<bool> unite(View<const Index> joints) {
    Array<bool> is_united(joints.size());
    for (Index k = 0; k < joints.size(); ++k) is_united[k] = groups_.unite(end(joints[k], 0), end(joints[k], 1));
    return is_united;
  }
  // Puts a body into the group of the world.
  void unite_with_world(Index body) { groups_.unite(n_bodies(), body); }
  // Fills the tree joint (n,) and the depth (n + 1,) of all bodies reached from the roots, in bodies or freedoms.
  // Free joints, which constrain nothing, come last. Required joints have made groups of bodies (`unite`); at most one
  // other joint enters each group, so that all required joints are in the tree.
  void grow(View<const Index> roots, Index search, View<const Index> freedoms, View<const bool> is_free,
            View<const bool> is_required, View<const bool> is_usable, View<Index> tree_joint, View<Index> depth) {
    const Index n = n_bodies();
    const auto kind = Search(search);
    std::vector<bool> is_entered(n + 1, false);
    // Least key first, then the oldest: key, age, joint, body. Keys are depth in bodies, minus age, or depth in freedoms.
    using Entry = std::tuple<double, Index, Index, Index>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    Index age = 0;
    for (const Index root : roots) {
      if (root < n) {
        tree_joint[root] = virtual_joint;
        depth[root] = kind == Search::least_depth ? free_freedoms : 1;
      }
      is_entered[groups_.find(root)] = true;
      for (Index body = root; body >= 0;) {
        const Index first = joints_.start[body], last = joints_.start[body + 1] - 1;
        for (Index e = first; e <= last; ++e) {
          const Index entry = kind == Search::depth_first ? first + last - e : e;
          const Index j = joints_.edge[entry], other = joints_.other[entry];  // -1: both ends at this body
          if (other < 0 || other == n || !is_usable[j] || tree_joint[other] != not_reached) continue;
          double key = kind == Search::depth_first   ? -double(age)
                       : kind == Search::least_depth ? double(depth[body] + freedoms[j])
                                                     : double(depth[body] + 1);
          if (is_free[j] && !is_required[j]) key += last_resort;
          queue.emplace(key, age++, j, other);
        }
        body = -1;
        while (!queue.empty()) {
          const auto [key, born, j, other] = queue.top();
          queue.pop();
          if (tree_joint[other] != not_reached) continue;
          if (!is_required[j]) {
            const Index group = groups_.find(other);
            if (is_entered[group]) continue;
            is_entered[group] = true;
          }
          tree_joint[other] = j;
          depth[other] = depth[other_end(j, other)] + (kind == Search::least_depth ? freedoms[j] : 1);
          body = other;
          break;
        }
      }
    }
  }
  // Bodies (n,) numbered so that every subtree is contiguous, parents first, and their parents (n,) in these numbers.
  std::pair<Array<Index>, Array<Index>> preorder(View<const Index> tree_joint) const {
    const Index n = n_bodies();
    std::vector<Index> first_child(n + 1, -1), sibling(n, -1), number(n + 1, -1), parent(n);
    for (Index body = n - 1; body >= 0; --body) {
      const Index j = tree_joint[body];
      parent[body] = j >= 0 ? other_end(j, body) : n;
      sibling[body] = first_child[parent[body]];
      first_child[parent[body]] = body;
    }
    Array<Index> order(n), parent_number(n);
    Index k = 0;
    std::vector<Index> stack;
    if (first_child[n] >= 0) stack.push_back(first_child[n]);
    while (!stack.empty()) {
      const Index body = stack.back();
      stack.pop_back();
      order[k] = body, parent_number[k] = number[parent[body]];
      number[body] = k++;
      if (sibling[body] >= 0) stack.push_back(sibling[body]);
      if (first_child[body] >= 0) stack.push_back(first_child[body]);
    }
    return {std::move(order), std::move(parent_number)};
  }
  // The body half way along a longest path of two searches: nearly the center of a component.
  Index middle(View<const Index> bodies) const {
    std::vector<Index> queue(n_bodies()), distance(n_bodies(), -1), from(n_bodies());
    const View<Index> reached = search(bodies[0], queue, distance, from);
    const Index far = reached[reached.size() - 1];
    std::fill(distance.begin(), distance.end(), -1);
    const View<Index> again = search(far, queue, distance, from);
    Index body = again[again.size() - 1];
    for (Index step = distance[body] / 2; step > 0; --step) body = from[body];
    return body;
  }
  // The body with the least sum of distances to all others of a component; quadratic work.
  Index median(View<const Index> bodies) const {
    std::vector<Index> queue(n_bodies()), distance(n_bodies()), from(n_bodies());
    Index best = bodies[0], least = -1;
    for (const Index body : bodies) {
      for (const Index other : bodies) distance[other] = -1;
      Index total = 0;
      for (const Index other : search(body, queue, distance, from)) total += distance[other];
      if (least < 0 || total < least) best = body, least = total;
    }
    return best;
  }
  // The joint (n,) by which each body is reached, -1 for none, in a depth-first search from the world that goes on to
  // the unvisited neighbour of least level: on lattices it winds through each level before the next, for narrow fronts.
  std::vector<Index> sweep(View<const bool> is_usable) const {
    const Index n = n_bodies();
    std::vector<Index> level(n + 1, -1), queue(n + 1);
    queue[0] = n, level[n] = 0;
    breadth_first(joints_.graph(), queue, 0, 1, [&](Index body, Index other, Index entry) {
      if (!is_usable[joints_.edge[entry]] || level[other] >= 0) return false;
      level[other] = level[body] + 1;
      return true;
    });
    std::vector<Index> reaching(n, -1);
    std::vector<bool> is_reached(n + 1, false);
    is_reached[n] = true;
    for (std::vector<Index> path{n}; !path.empty();) {
      Index best = -1, least = n + 1;
      for (Index e = joints_.start[path.back()]; e < joints_.start[path.back() + 1]; ++e)
        if (const Index other = joints_.other[e];
            other >= 0 && is_usable[joints_.edge[e]] && !is_reached[other] && level[other] < least)
          best = e, least = level[other];
      if (best < 0) {
        path.pop_back();
        continue;
      }
      const Index other = joints_.other[best];
      reaching[other] = joints_.edge[best], is_reached[other] = true;
      path.push_back(other);
    }
    return reaching;
  }
  // Changes parents as long as nnz(H), lower triangle, falls; `movable` joints may enter or leave the tree.
  void reduce_nonzeros(View<const Index> freedoms, View<const bool> movable, View<Index> tree_joint) const {
    const auto count = [&](View<const Index> joints) {  // freedoms couple with all on their support: sec. 6.4
      const auto [body, parent, own] = numbered(joints, freedoms);
      const Array<Index> depth = depths(parent, own);
      Index nonzeros = 0;
      for (Index i = 0; i < body.size(); ++i) nonzeros += own[i] * (2 * depth[i] - own[i] + 1) / 2;
      return nonzeros;
    };
    Index least = count(tree_joint);
    for (int pass = 0; pass < most_passes; ++pass) {
      std::vector<Index> trial(tree_joint.begin(), tree_joint.end());
      if (!change_parents(freedoms, movable, trial)) return;
      const Index nonzeros = count(trial);
      if (nonzeros >= least) return;
      std::copy(trial.begin(), trial.end(), tree_joint.begin());
      least = nonzeros;
    }
  }

 private:
  static constexpr double last_resort = 1e12;  // added to the key of free joints, beyond every depth
  static constexpr int most_passes = 20;            // each lowers nnz(H)
  static constexpr Index free_freedoms = 6;         // of a body that no joint leads to

  // A tree in preorder, with the freedoms of each body's tree joint.
  struct Numbered {
    Array<Index> body, parent;
    std::vector<Index> freedoms;
  };

  Index n_bodies() const { return Index(joints_.start.size()) - 2; }
  Index end(Index joint, int side) const { return ends_[2 * joint + side] >= 0 ? ends_[2 * joint + side] : n_bodies(); }
  Index other_end(Index joint, Index body) const { return end(joint, end(joint, 0) == body); }
  // Breadth first from `root`, not through the world: the bodies reached. `distance` is -1 elsewhere.
  View<Index> search(Index root, View<Index> queue, View<Index> distance, View<Index> from) const {
    queue[0] = root, distance[root] = 0, from[root] = -1;
    const Index end = breadth_first(joints_.graph(), queue, 0, 1, [&](Index body, Index other, Index) {
      if (other == n_bodies() || distance[other] >= 0) return false;
      distance[other] = distance[body] + 1, from[other] = body;
      return true;
    });
    return queue.slice(0, end);
  }
  Numbered numbered(View<const Index> tree_joint, View<const Index> freedoms) const {
    auto [body, parent] = preorder(tree_joint);
    std::vector<Index> own(body.size());
    for (Index i = 0; i < body.size(); ++i) {
      const Index j = tree_joint[body[i]];
      own[i] = j >= 0 ? freedoms[j] : free_freedoms;
    }
    return {std::move(body), std::move(parent), std::move(own)};
  }
  // Changes the parents of bodies where that makes nnz(H) less, none in a part of the tree already changed; returns how
  // many.
  Index change_parents(View<const Index> freedoms, View<const bool> movable, View<Index> tree_joint) const {
    const auto [body, parent, own] = numbered(tree_joint, freedoms);
    const Index n = body.size();
    const std::vector<Index> number = positions(body);
    const Array<Index> depth = depths(parent, own), end = subtree_ends(parent);
    std::vector<Index> subtree_freedoms = own;
    for (Index i = n - 1; i >= 0; --i)
      if (parent[i] >= 0) subtree_freedoms[parent[i]] += subtree_freedoms[i];
    std::vector<bool> is_changed(n, false);
    Index n_moves = 0;
    for (Index i = 0; i < n; ++i) {
      const Index old = tree_joint[body[i]];
      if (old < 0 || !movable[old] || is_changed[i]) continue;
      Index best = -1, gain = 0, new_parent = -1;
      const Index below = subtree_freedoms[i] - own[i];
      for (Index e = joints_.start[body[i]]; e < joints_.start[body[i] + 1]; ++e) {
        const Index j = joints_.edge[e], other = joints_.other[e];
        if (other < 0) continue;
        const Index k = other < n ? number[other] : -1;
        if (j == old || !movable[j] || (i <= k && k < end[i]) || (k >= 0 && is_changed[k])) continue;
        const Index f = freedoms[j], support = k >= 0 ? depth[k] : 0;
        const Index change = f * (f + 1) / 2 + f * support + below * (support + f) - own[i] * (own[i] + 1) / 2 -
                             own[i] * (depth[i] - own[i]) - below * depth[i];
        if (change < gain) best = j, gain = change, new_parent = k;
      }
      if (best < 0) continue;
      tree_joint[body[i]] = best;
      ++n_moves;
      std::fill(is_changed.begin() + i, is_changed.begin() + end[i], true);
      for (Index k : {parent[i], new_parent})
        for (; k >= 0 && !is_changed[k]; k = parent[k]) is_changed[k] = true;
    }
    return n_moves;
  }

  Incidence joints_;         // the joints of each node, in order
  std::vector<Index> ends_;  // (n_joints, 2)
  UnionFind groups_;         // of bodies that required joints connect
};

}  // namespace sparsebody::tree
