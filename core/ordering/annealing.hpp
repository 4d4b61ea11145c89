// Simulated annealing of the elimination order of a graph, on predicted flops. Kirkpatrick, Gelatt and Vecchi (1983).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <numpy/random/bitgen.h>

#include "graph/adjacency.hpp"
#include "graph/fill.hpp"

namespace sparsebody {

// Random numbers of a numpy.random.Generator.
struct Random {
  bitgen_t* bits;

  double uniform() { return bits->next_double(bits->state); }  // in [0, 1)

  // In 0 .. n-1, n < 2^32. Lemire (2019), ACM Trans. Model. Comput. Simul. 29, 1.
  Index below(Index n) {
    if (n == 1) return 0;
    const auto bound = std::uint32_t(n);
    const auto draw = [&] { return std::uint64_t(bits->next_uint32(bits->state)) * bound; };
    std::uint64_t product = draw();
    if (std::uint32_t(product) < bound)
      for (const std::uint32_t threshold = -bound % bound; std::uint32_t(product) < threshold;) product = draw();
    return Index(product >> 32);
  }
};

class Annealing {
 public:
  // most_visits: of nodes, by all steps together.
  Annealing(const Graph& graph, Indices size, Indices start, Index most_visits, bitgen_t* bits)
      : graph_(graph), size_(size), most_visits_(most_visits), random_{bits}, current_(start), trial_(start),
        child_(start.size()), sibling_(start.size()), seen_in_(start.size()), best_(start.begin(), start.end()) {
    eliminate(0, start.size());
    accept(0, start.size());
    flops_ = best_flops_ = std::accumulate(current_.flops.begin(), current_.flops.end(), 0.0);
  }

  // Goes on for `visits` more at most; returns false at the end.
  bool run(Index visits) {
    const Index last = std::min(most_visits_, n_visited_ + visits);
    while (n_visited_ < last) {
      const auto [first, middle, end] = next_runs();
      n_visited_ += end - first + 1;
      for (Index k = first; k < end; ++k) {
        const Index p = k < middle ? k + end - middle : k - middle + first;
        trial_.order[p] = current_.order[k];
        trial_.position[current_.order[k]] = p;
      }
      const double change = eliminate(first, end);
      const double temperature = warm * std::pow(cold / warm, double(n_visited_) / double(most_visits_));
      if (change <= 0.0 || random_.uniform() < std::exp(-change / (temperature * flops_))) {
        accept(first, end);
        flops_ += change;
        if (flops_ < best_flops_ * (1.0 - smallest_improvement)) {
          best_flops_ = flops_;
          best_ = current_.order;
        }
      } else {
        for (Index k = first; k < end; ++k) trial_.position[current_.order[k]] = k;
      }
    }
    return n_visited_ < most_visits_;
  }

  // The best order met.
  Array<Index> best() const { return best_; }

 private:
  static constexpr double warm = 2e-3, cold = 1e-5;       // temperatures, as shares of the flops
  static constexpr double share_of_moves = 0.6;           // of single nodes past a neighbour; the others exchange runs
  static constexpr double smallest_improvement = 1.0e-9;  // of the best flops, relative

  // The node that is eliminated first, -1 if there is none.
  static Index earliest(const std::int32_t* nodes, Index count, const std::vector<Index>& position) {
    Index best = -1;
    for (Index k = 0; k < count; ++k)
      if (best == -1 || position[nodes[k]] < position[best]) best = nodes[k];
    return best;
  }

  // An order, and what eliminating the nodes in it makes of the graph.
  struct Elimination {
    explicit Elimination(Indices start)
        : order(start.begin(), start.end()), position(positions(start)), parent(order.size(), -1), n_below(order.size()),
          flops(order.size()), below_(new std::int32_t[order.size() * order.size()]) {}
    std::int32_t* below(Index node) const { return below_.get() + node * Index(order.size()); }

    std::vector<Index> order, position;
    std::vector<Index> parent;   // the first node below each one, -1 for none
    std::vector<Index> n_below;  // nodes that each one couples to when it is eliminated
    std::vector<double> flops;

   private:
    std::unique_ptr<std::int32_t[]> below_;  // (n, n)
  };
  struct Runs {
    Index first, middle, end;  // [first, middle) and [middle, end) are exchanged
  };

  // Either a node goes right past a neighbour, or two runs of any length change places.
  Runs next_runs() {
    const Index n = size_.size(), node = random_.below(n), here = current_.position[node];
    const Index n_below = current_.n_below[node], degree = graph_.degree(node);
    if (random_.uniform() < share_of_moves) {
      const bool is_below = n_below > 0 && random_.uniform() < 0.5;
      if (!is_below && degree == 0) return {here, here + 1, here + 1};
      const Index other = is_below ? current_.below(node)[random_.below(n_below)] : graph_[node][random_.below(degree)];
      const Index there = current_.position[other];
      return here < there ? Runs{here, here + 1, there + 1} : Runs{there, here, here + 1};
    }
    const auto length = [&] { return Index(std::exp(random_.uniform() * std::log(0.5 * double(n)))); };
    const Index first_length = length(), second_length = length();
    const Index middle = std::min(here + first_length, n);
    return {here, middle, std::min(middle + second_length, n)};
  }
  // Fills trial_ for the positions [first, end); returns how much the flops change. What was eliminated before has its
  // fronts already, and hands them on to its new parent.
  double eliminate(Index first, Index end) {
    for (Index k = first; k < end; ++k) child_[trial_.order[k]] = -1;
    const auto add_child = [&](Index parent, Index node) { sibling_[node] = std::exchange(child_[parent], node); };
    for (Index k = 0; k < first; ++k) {
      const Index node = current_.order[k];
      if (!is_within(current_.parent[node], first, end)) continue;
      trial_.parent[node] = earliest(current_.below(node), current_.n_below[node], trial_.position);
      add_child(trial_.parent[node], node);
    }
    double change = 0.0;
    for (Index k = first; k < end; ++k) {
      const Index node = trial_.order[k], step = ++n_eliminated_;
      std::int32_t* below = trial_.below(node);
      Index count = 0, rows = 0;
      const auto append = [&](Index other) {
        seen_in_[other] = step;
        below[count++] = std::int32_t(other);
        rows += size_[other];
      };
      seen_in_[node] = step;
      for (const Index other : graph_[node])
        if (trial_.position[other] > k) append(other);
      for (Index child = child_[node]; child >= 0; child = sibling_[child]) {
        const Elimination& source = current_.position[child] >= first ? trial_ : current_;
        const std::int32_t* of_child = source.below(child);
        for (Index m = 0; m < source.n_below[child]; ++m)
          if (seen_in_[of_child[m]] != step) append(of_child[m]);
      }
      trial_.n_below[node] = count;
      const Index parent = trial_.parent[node] = earliest(below, count, trial_.position);
      if (parent >= 0 && trial_.position[parent] < end) add_child(parent, node);
      trial_.flops[node] = block_flops(rows + size_[node], size_[node]);
      change += trial_.flops[node] - current_.flops[node];
    }
    return change;
  }
  bool is_within(Index node, Index first, Index end) const {
    return node >= 0 && current_.position[node] >= first && current_.position[node] < end;
  }
  // Takes over what trial_ holds for the positions [first, end), and the new parents of what comes before.
  void accept(Index first, Index end) {
    for (Index k = 0; k < first; ++k) {
      const Index node = current_.order[k];
      if (is_within(current_.parent[node], first, end)) current_.parent[node] = trial_.parent[node];
    }
    for (Index k = first; k < end; ++k) {
      const Index node = trial_.order[k];
      current_.order[k] = node;
      current_.position[node] = k;
      current_.parent[node] = trial_.parent[node];
      current_.flops[node] = trial_.flops[node];
      current_.n_below[node] = trial_.n_below[node];
      std::copy_n(trial_.below(node), trial_.n_below[node], current_.below(node));
    }
  }

  const Graph graph_;
  const Indices size_;
  const Index most_visits_;
  Random random_;
  Elimination current_, trial_;
  std::vector<Index> child_, sibling_, seen_in_, best_;
  Index n_eliminated_ = 0, n_visited_ = 0;
  double flops_ = 0.0, best_flops_ = 0.0;
};

}  // namespace sparsebody
