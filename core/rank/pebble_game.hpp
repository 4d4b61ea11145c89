// Independent bars between rigid bodies in general position: a set of bars is independent if and only if no n' bodies
// have more than k (n' - 1) of its bars among them. Tay (1984), J. Comb. Theory B 36:95; Lee and Streinu (2008),
// Discrete Math. 308:1425, for the (k, k) pebble game that decides it: every body has k pebbles, each holds one bar.
#pragma once

#include <algorithm>

#include "graph/union_find.hpp"
#include "rank/rows.hpp"

namespace sparsebody {

class PebbleGame {
 public:
  PebbleGame(Index n, Index k) : k_(k), rigid_(n), out_(n * k), used_(n), previous_(n, -1), bar_(n), queue_(n) {}

  // Accept as many bars between two nodes as are independent of all accepted before.
  Index play(Index u, Index v, Index bars) {
    u = rigid_.find(u);
    v = rigid_.find(v);
    if (u == v) return 0;
    Index reached = 0;
    while (reached == 0 && k_ - used_[u] - used_[v] < bars) reached = bring_pebble(u, v);
    const Index accepted = std::min(bars, k_ - used_[u] - used_[v]);
    for (Index bar = 0; bar < accepted; ++bar) {
      const Index owner = used_[u] < k_ ? u : v;
      out(owner, used_[owner]++) = owner == u ? v : u;
    }
    for (Index i = 0; i < reached; ++i) {  // no bar leads out of this set: it is one rigid body
      rigid_.link(queue_[i], u);
      used_[queue_[i]] = 0;
    }
    return accepted;
  }

 private:
  Index& out(Index node, Index bar) { return out_[node * k_ + bar]; }

  // Bring one more pebble to u or v along bars; returns 0, or the number of nodes reached if none is free.
  Index bring_pebble(Index u, Index v) {
    queue_[0] = u;
    queue_[1] = v;
    previous_[u] = u;
    previous_[v] = v;
    Index head = 0, end = 2, free = -1;
    while (head < end && free < 0) {
      const Index node = queue_[head++];
      for (Index bar = 0; bar < used_[node]; ++bar) {
        const Index other = rigid_.find(out(node, bar));
        if (previous_[other] >= 0) continue;
        previous_[other] = node;
        bar_[other] = bar;
        queue_[end++] = other;
        if (used_[other] < k_) {
          free = other;
          break;
        }
      }
    }
    if (free >= 0) turn_path(free, u, v);
    for (Index i = 0; i < end; ++i) previous_[queue_[i]] = -1;
    return free >= 0 ? 0 : end;
  }

  // Reverse the bars on the path from u or v to `node`, which frees a pebble of u or v.
  void turn_path(Index node, Index u, Index v) {
    Index before = previous_[node], bar = bar_[node];
    out(node, used_[node]++) = before;
    for (node = before; node != u && node != v; node = before) {
      before = previous_[node];
      out(node, bar) = before;
      bar = bar_[node];
    }
    out(node, bar) = out(node, --used_[node]);
  }

  Index k_;
  UnionFind rigid_;                 // nodes that move as one rigid body
  std::vector<Index> out_, used_;   // out(v, b), b < used[v]: the other ends of the bars that pebbles of v hold
  std::vector<Index> previous_, bar_;  // of a search: the node before, and its bar; -1 where not reached
  std::vector<Index> queue_;
};

// Number of bars of each joint that are independent in general position. nodes (n_joints, 2) in 0 .. n - 1; bars
// (n_joints,), at most k each.
inline Array<Index> independent_bars(View<const Index, 2> nodes, View<const Index> bars, Index n, Index k) {
  PebbleGame game(n, k);
  Array<Index> accepted(nodes.rows());
  for (Index j = 0; j < nodes.rows(); ++j) accepted[j] = game.play(nodes(j, 0), nodes(j, 1), std::min(bars[j], k));
  return accepted;
}

}  // namespace sparsebody
