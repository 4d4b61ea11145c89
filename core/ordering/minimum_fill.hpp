// Minimum fill, weighted by scalar entries, with a look ahead.
// Tinney and Walker (1967), scheme 3; Rothberg and Eisenstat (1998), SIAM J. Matrix Anal. 19, 3.
#pragma once

#include <algorithm>
#include <tuple>

#include "graph/adjacency.hpp"
#include "graph/bit_rows.hpp"

namespace sparsebody {

class MinimumFill {
 public:
  MinimumFill(const Graph& graph, Indices size)
      : row_(graph), size_(size), fill_(graph.size()), front_(graph.size()), is_done_(graph.size()) {
    for (Index i = 0; i < graph.size(); ++i) measure(i);
  }

  Array<Index> order() {
    const Index n = size_.size();
    Array<Index> order(n);
    std::vector<Index> least_filling;
    for (Index step = 0; step < n; ++step) {
      Index least = -1;
      for (Index i = 0; i < n; ++i) {
        if (is_done_[i] || (least >= 0 && fill_[i] > least)) continue;
        if (least == -1 || fill_[i] < least) {
          least_filling.clear();
          least = fill_[i];
        }
        if (least_filling.size() < most_compared) least_filling.push_back(i);
      }
      const bool must_compare = least_filling.size() > 1 && least > 0;
      order[step] = must_compare ? best_of(least_filling) : least_filling[0];
      eliminate(order[step]);
    }
    return order;
  }

 private:
  static constexpr std::size_t most_compared = 8;  // nodes of equal fill: compared by that of the next elimination

  // The scalar entries that eliminating i would add, and the rows of its front.
  void measure(Index i) {
    near_.clear();
    row_.for_each(i, [&](Index a) { near_.push_back(a); });
    fill_[i] = 0;
    front_[i] = size_[i];
    for (std::size_t k = 0; k < near_.size(); ++k) {
      const Index a = near_[k];
      front_[i] += size_[a];
      for (std::size_t m = 0; m < k; ++m)
        if (!row_.has(a, near_[m])) fill_[i] += size_[a] * size_[near_[m]];
    }
  }

  // The node after which a neighbour fills in least, then that of the smallest front.
  Index best_of(const std::vector<Index>& nodes) {
    Index best = nodes[0], best_fill = -1;
    for (const Index i : nodes) {
      Index least = -1;
      row_.for_each(i, [&](Index a) {
        const Index fill = fill_after(i, a);
        if (least == -1 || fill < least) least = fill;
      });
      least = std::max(least, Index(0));
      if (best_fill == -1 || std::tie(least, front_[i]) < std::tie(best_fill, front_[best])) {
        best = i;
        best_fill = least;
      }
    }
    return best;
  }

  // The entries that eliminating a would add after its neighbour i.
  Index fill_after(Index i, Index a) {
    further_.clear();
    row_.for_each(i, std::bit_or(), a, [&](Index u) {
      if (u != i && u != a) further_.push_back(u);
    });
    Index fill = 0;
    for (std::size_t p = 0; p < further_.size(); ++p) {
      const Index u = further_[p];
      const bool u_is_near = row_.has(i, u);
      for (std::size_t q = 0; q < p; ++q) {
        const Index v = further_[q];
        if (!row_.has(u, v) && !(u_is_near && row_.has(i, v))) fill += size_[u] * size_[v];
      }
    }
    return fill;
  }

  // Joins the neighbours of a pivot with each other, and measures again what has changed.
  void eliminate(Index pivot) {
    is_done_[pivot] = true;
    std::vector<Index> near;
    row_.for_each(pivot, [&](Index a) { near.push_back(a); });
    for (const Index a : near) row_.clear(a, pivot);
    for (std::size_t k = 0; k < near.size(); ++k)
      for (std::size_t m = 0; m < k; ++m) {
        const Index a = near[k], b = near[m];
        if (row_.has(a, b)) continue;
        row_.for_each(a, std::bit_and(), b, [&](Index c) { fill_[c] -= size_[a] * size_[b]; });
        row_.set(a, b);
        row_.set(b, a);
      }
    for (const Index a : near) measure(a);
  }

  BitRows row_;
  const Indices size_;
  std::vector<Index> fill_, front_;
  std::vector<bool> is_done_;
  std::vector<Index> near_, further_;
};

// The nodes of a graph, the one that fills in least next.
inline Array<Index> minimum_fill(const Graph& graph, Indices size) { return MinimumFill(graph, size).order(); }

}  // namespace sparsebody
