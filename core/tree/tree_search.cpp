#include "tree/tree_search.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

namespace sparsebody::tree {

namespace {
constexpr double last_resort = 1e12;  // added to the key of free joints
constexpr int most_passes = 20;
constexpr Index free_freedoms = 6;
}  // namespace

JointGraph::JointGraph(View<const Index> predecessor, View<const Index> successor, Index n_bodies)
    : predecessor_(predecessor.begin(), predecessor.end()),
      successor_(successor.begin(), successor.end()),
      start_(n_bodies + 2),
      joint_(2 * predecessor.size()) {
  for (const auto* ends : {&predecessor_, &successor_})
    for (const Index body : *ends) ++start_[node(body) + 1];
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  std::vector<Index> next(start_.begin(), start_.end() - 1);
  for (Index j = 0; j < predecessor.size(); ++j) {
    joint_[next[node(predecessor_[j])]++] = j;
    joint_[next[node(successor_[j])]++] = j;
  }
}

Index JointGraph::other_end(Index joint, Index body) const {
  const Index p = node(predecessor_[joint]), s = node(successor_[joint]);
  return p == body ? s : p;
}

// Breadth first from `root`, not by way of the world; returns the sum of the distances. `distance` is -1 elsewhere.
Index JointGraph::search(Index root, std::vector<Index>& queue, std::vector<Index>& distance,
                         std::vector<Index>& from) const {
  queue.assign(1, root);
  distance[root] = 0, from[root] = -1;
  Index total = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Index body = queue[i];
    total += distance[body];
    for (Index e = start_[body]; e < start_[body + 1]; ++e) {
      const Index other = other_end(joint_[e], body);
      if (other == n_bodies() || distance[other] >= 0) continue;
      distance[other] = distance[body] + 1, from[other] = body;
      queue.push_back(other);
    }
  }
  return total;
}

Array<Index> JointGraph::connected(Index root) const {
  std::vector<Index> queue, distance(n_bodies(), -1), from(n_bodies());
  search(root, queue, distance, from);
  return queue;
}

void JointGraph::grow(View<const Index> roots, Search kind, SearchRules rules, View<Index> tree_joint,
                      View<Index> depth) const {
  const Index n = n_bodies();
  UnionFind groups(rules.group);
  std::vector<bool> is_entered(n + 1, false);
  // Least key first, then the oldest: key, age, joint, body. Keys are depth in bodies, youth, or depth in freedoms.
  using Entry = std::tuple<double, Index, Index, Index>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  Index age = 0;
  for (const Index root : roots) {
    if (root < n) {
      tree_joint[root] = virtual_joint;
      depth[root] = kind == Search::least_depth ? free_freedoms : 1;
    }
    is_entered[groups.find(root)] = true;
    for (Index body = root; body >= 0;) {
      const Index first = start_[body], last = start_[body + 1] - 1;
      for (Index e = first; e <= last; ++e) {
        const Index j = joint_[kind == Search::depth_first ? first + last - e : e];
        const Index other = body < n ? other_end(j, body) : std::max(predecessor_[j], successor_[j]);
        if (other < 0 || other == n || !rules.is_usable[j] || tree_joint[other] != not_reached) continue;
        double key = kind == Search::depth_first   ? -double(age)
                     : kind == Search::least_depth ? double(depth[body] + rules.freedoms[j])
                                                   : double(depth[body] + 1);
        if (rules.is_free[j] && !rules.is_required[j]) key += last_resort;
        queue.emplace(key, age++, j, other);
      }
      body = -1;
      while (!queue.empty()) {
        const auto [key, born, j, other] = queue.top();
        queue.pop();
        if (tree_joint[other] != not_reached) continue;
        if (!rules.is_required[j]) {
          const Index group = groups.find(other);
          if (is_entered[group]) continue;
          is_entered[group] = true;
        }
        tree_joint[other] = j;
        depth[other] = depth[other_end(j, other)] + (kind == Search::least_depth ? rules.freedoms[j] : 1);
        body = other;
        break;
      }
    }
  }
}

std::pair<Array<Index>, Array<Index>> JointGraph::preorder(View<const Index> tree_joint) const {
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

Index JointGraph::middle(View<const Index> bodies) const {
  std::vector<Index> queue, distance(n_bodies(), -1), from(n_bodies());
  search(bodies[0], queue, distance, from);
  const Index far = queue.back();
  std::fill(distance.begin(), distance.end(), -1);
  search(far, queue, distance, from);
  Index body = queue.back();
  for (Index step = distance[body] / 2; step > 0; --step) body = from[body];
  return body;
}

Index JointGraph::median(View<const Index> bodies) const {
  std::vector<Index> queue, distance(n_bodies()), from(n_bodies());
  Index best = bodies[0], least = -1;
  for (const Index body : bodies) {
    for (const Index other : bodies) distance[other] = -1;
    const Index total = search(body, queue, distance, from);
    if (least < 0 || total < least) best = body, least = total;
  }
  return best;
}

Array<Index> JointGraph::sweep(View<const bool> is_usable) const {
  const Index n = n_bodies();
  std::vector<Index> level(n + 1, -1), queue{n};
  level[n] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Index body = queue[i];
    for (Index e = start_[body]; e < start_[body + 1]; ++e) {
      const Index other = other_end(joint_[e], body);
      if (!is_usable[joint_[e]] || level[other] >= 0) continue;
      level[other] = level[body] + 1;
      queue.push_back(other);
    }
  }
  Array<Index> reaching(n);
  std::fill(reaching.begin(), reaching.end(), -1);
  std::vector<bool> is_reached(n + 1, false);
  is_reached[n] = true;
  for (std::vector<Index> way{n}; !way.empty();) {
    const Index body = way.back();
    Index best = -1, least = n + 1;
    for (Index e = start_[body]; e < start_[body + 1]; ++e) {
      const Index other = other_end(joint_[e], body);
      if (is_usable[joint_[e]] && !is_reached[other] && level[other] < least) best = joint_[e], least = level[other];
    }
    if (best < 0) {
      way.pop_back();
      continue;
    }
    const Index other = other_end(best, body);
    reaching[other] = best, is_reached[other] = true;
    way.push_back(other);
  }
  return reaching;
}

Index JointGraph::inertia_nonzeros(View<const Index> tree_joint, View<const Index> freedoms) const {
  auto [body, parent] = preorder(tree_joint);
  std::vector<Index> own(body.size());
  for (Index i = 0; i < body.size(); ++i) {
    const Index j = tree_joint[body[i]];
    own[i] = j >= 0 ? freedoms[j] : free_freedoms;
  }
  return tree::inertia_nonzeros(parent, own);
}

void JointGraph::reduce_nonzeros(View<const Index> freedoms, View<const bool> movable, View<Index> tree_joint) const {
  Index least = inertia_nonzeros(tree_joint, freedoms);
  for (int pass = 0; pass < most_passes; ++pass) {
    std::vector<Index> trial(tree_joint.begin(), tree_joint.end());
    if (!rehang(freedoms, movable, trial)) return;
    const Index count = inertia_nonzeros(trial, freedoms);
    if (count >= least) return;
    std::copy(trial.begin(), trial.end(), tree_joint.begin());
    least = count;
  }
}

// Hangs bodies elsewhere where that helps, none in a part of the tree already changed; returns how many.
Index JointGraph::rehang(View<const Index> freedoms, View<const bool> movable, View<Index> tree_joint) const {
  auto [body, parent] = preorder(tree_joint);
  const Index n = body.size();
  std::vector<Index> number(n), own(n), depth(n), hanging(n), end(n);
  for (Index i = 0; i < n; ++i) {
    const Index j = tree_joint[body[i]];
    number[body[i]] = i, end[i] = i + 1;
    own[i] = hanging[i] = j >= 0 ? freedoms[j] : free_freedoms;
    depth[i] = own[i] + (parent[i] >= 0 ? depth[parent[i]] : 0);
  }
  for (Index i = n - 1; i >= 0; --i)
    if (parent[i] >= 0) {
      hanging[parent[i]] += hanging[i];
      end[parent[i]] = std::max(end[parent[i]], end[i]);
    }
  std::vector<bool> is_changed(n, false);
  Index n_moves = 0;
  for (Index i = 0; i < n; ++i) {
    const Index old = tree_joint[body[i]];
    if (old < 0 || !movable[old] || is_changed[i]) continue;
    Index best = -1, gain = 0, new_parent = -1;
    const Index below = hanging[i] - own[i];
    for (Index e = start_[body[i]]; e < start_[body[i] + 1]; ++e) {
      const Index j = joint_[e], other = other_end(j, body[i]);
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

Array<bool> united(View<const Index> joints, View<const Index> predecessor, View<const Index> successor,
                   View<Index> group) {
  const Index world = group.size() - 1;
  UnionFind groups(group);
  Array<bool> is_united(joints.size());
  for (Index k = 0; k < joints.size(); ++k) {
    const Index p = predecessor[joints[k]], s = successor[joints[k]];
    is_united[k] = groups.unite(p >= 0 ? p : world, s >= 0 ? s : world);
  }
  return is_united;
}

Array<Index> subtree_ends(View<const Index> parent) {
  Array<Index> ends(parent.size());
  std::iota(ends.begin(), ends.end(), 1);
  for (Index i = parent.size() - 1; i >= 0; --i)
    if (parent[i] >= 0) ends[parent[i]] = std::max(ends[parent[i]], ends[i]);
  return ends;
}

Array<Index> expanded_parents(View<const Index> parent, View<const Index> first_velocity) {
  const Index n = parent.size();
  Array<Index> expanded(first_velocity[n]);
  std::vector<Index> last(n);  // the last coordinate on the way to each body
  for (Index i = 0; i < n; ++i) {
    Index before = parent[i] >= 0 ? last[parent[i]] : -1;
    for (Index k = first_velocity[i]; k < first_velocity[i + 1]; ++k) {
      expanded[k] = before;
      before = k;
    }
    last[i] = before;
  }
  return expanded;
}

Array<Index> depths(View<const Index> parent, View<const Index> step) {
  Array<Index> depth(parent.size());
  for (Index i = 0; i < parent.size(); ++i) depth[i] = step[i] + (parent[i] >= 0 ? depth[parent[i]] : 0);
  return depth;
}

Index inertia_nonzeros(View<const Index> parent, View<const Index> freedoms) {
  std::vector<Index> support(parent.size());  // freedoms before each body's own
  Index total = 0;
  for (Index i = 0; i < parent.size(); ++i) {
    const Index p = parent[i], f = freedoms[i];
    support[i] = p >= 0 ? support[p] + freedoms[p] : 0;
    total += f * (f + 1) / 2 + f * support[i];
  }
  return total;
}

}  // namespace sparsebody::tree
