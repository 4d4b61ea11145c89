// Simulated annealing of the elimination order of a graph, on predicted flops. Kirkpatrick, Gelatt and Vecchi (1983).
#pragma once

#include <cstdint>
#include <memory>

#include <numpy/random/bitgen.h>

#include "graph/adjacency.hpp"

namespace sparsebody {

// The numbers of numpy.random.Generator.
class Random {
 public:
  explicit Random(bitgen_t* bits) : bits_(bits) {}

  double uniform() { return bits_->next_double(bits_->state); }  // in [0, 1)

  // In 0 .. n-1, n < 2^32. Lemire (2019), ACM Trans. Model. Comput. Simul. 29, 1.
  Index below(Index n) {
    if (n == 1) return 0;
    const auto bound = std::uint32_t(n);
    const auto draw = [&] { return std::uint64_t(bits_->next_uint32(bits_->state)) * bound; };
    std::uint64_t product = draw();
    if (std::uint32_t(product) < bound)
      for (const std::uint32_t threshold = -bound % bound; std::uint32_t(product) < threshold;) product = draw();
    return Index(product >> 32);
  }

 private:
  bitgen_t* bits_;
};

class Annealing {
 public:
  // most_visits: of nodes, by all steps together.
  Annealing(const Graph& graph, Indices size, Indices start, Index most_visits, bitgen_t* bits);

  // Goes on for `visits` more at most; returns false at the end.
  bool run(Index visits);

  // The best order met.
  Array<Index> best() const { return best_; }

 private:
  // An order, and what eliminating the nodes in it makes of the graph.
  struct Elimination {
    explicit Elimination(Indices order);
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

  Runs next_runs();
  double eliminate(Index first, Index end);
  void accept(Index first, Index end);

  const std::vector<Index> start_, indices_, size_;
  const Graph graph_;
  const Index most_visits_;
  Random random_;
  Elimination current_, trial_;
  std::vector<Index> child_, sibling_, seen_in_, best_;
  Index n_eliminated_ = 0, n_visited_ = 0;
  double flops_ = 0.0, best_flops_ = 0.0;
};

}  // namespace sparsebody
