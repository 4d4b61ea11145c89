// A sweep level by level that keeps the band narrow: the bodies of a level, the joints inside it, those to the next.
// Cuthill and McKee (1969); George and Liu (1979) for the search for a body at the periphery.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/adjacency.hpp"
#include "graph/searches.hpp"

namespace sparsebody {

class LevelSweep {
 public:
  LevelSweep(Index n_primal, View<const Index, 2> ends)
      : n_(n_primal), n_blocks_(n_primal + ends.rows()), at_(sorted(incidence(n_primal, ends))), bodies_(at_.graph()),
        level_(n_primal, -1), queue_(n_primal), trial_(n_blocks_), position_(n_blocks_), first_(n_blocks_) {}

  Array<Index> order(View<const Index, 2> ends) {
    Array<Index> order(n_blocks_);
    std::vector<bool> is_swept(n_);
    auto to = order.begin();
    for (Index seed = 0; seed < n_; ++seed) {
      if (is_swept[seed]) continue;
      const Index outermost = peripheral_node(seed, bodies_, most_searches, queue_, level_);
      std::pair<Index, Index> narrowest(-1, -1);  // bandwidth and profile
      Index n_placed = 0;
      for (const Index partner : partners(outermost)) {
        queue_[0] = outermost, queue_[1 % n_] = partner;
        const View<Index> bodies = search(bodies_, partner == outermost ? 1 : 2, queue_, level_);
        n_placed = list_blocks(bodies);
        for (const Index body : bodies) is_swept[body] = true, level_[body] = -1;
        const auto width = bandwidth_and_profile(n_placed);
        if (narrowest.first >= 0 && width >= narrowest) continue;
        narrowest = width;
        std::copy_n(trial_.begin(), n_placed, to);
      }
      to += n_placed;
    }
    for (Index j = 0; j < ends.rows(); ++j)  // joints without any body
      if (ends(j, 0) < 0 && ends(j, 1) < 0) *to++ = n_ + j;
    return order;
  }

 private:
  static constexpr Index trial_work = 2'000'000;  // blocks that all trials of a start together may visit in one component
  static constexpr Index fewest_trials = 4;
  static constexpr int most_searches = 12;  // for a body at the periphery

  // The joints of every body sorted by the number of joints of the body beyond, then by that body; those to the world
  // come last.
  static Incidence sorted(const Incidence& at) {
    const Graph bodies = at.graph();
    const auto key = [&](Index other) {
      return std::pair(other < 0 ? std::numeric_limits<Index>::max() : bodies.degree(other), other);
    };
    Incidence result = at;
    for (Index k = 0; const Index entry : sorted_entries(bodies, key)) {
      result.other[k] = at.other[entry];
      result.edge[k++] = at.edge[entry];
    }
    return result;
  }

  // Neighbours to start from beside the outermost body, which comes last, alone; in large mechanisms only some.
  std::vector<Index> partners(Index outermost) const {
    const std::size_t most = std::size_t(std::max(fewest_trials, trial_work / std::max(n_blocks_, Index(1))));
    std::vector<Index> starts;
    for (const Index partner : bodies_[outermost])
      if (partner >= 0 && starts.size() < most && (starts.empty() || partner != starts.back())) starts.push_back(partner);
    starts.push_back(outermost);
    return starts;
  }

  // Fills trial_ with the blocks of a component, level by level; returns their number.
  Index list_blocks(Indices queue) {
    Index n_listed = 0;
    for (Index begin = 0, end = 0; begin < queue.size(); begin = end) {
      const Index level = level_[queue[begin]];
      for (; end < queue.size() && level_[queue[end]] == level; ++end) {
        const Index body = queue[end];
        position_[body] = n_listed;
        trial_[n_listed++] = body;
        for (Index entry = bodies_.start[body]; entry < bodies_.start[body + 1]; ++entry)
          if (at_.other[entry] < 0) trial_[n_listed++] = n_ + at_.edge[entry];  // a joint to the world
      }
      for (const bool is_outward : {false, true})
        for (Index k = begin; k < end; ++k)
          for (Index entry = bodies_.start[queue[k]]; entry < bodies_.start[queue[k] + 1]; ++entry) {
            const Index other = at_.other[entry];
            if (other < 0) continue;
            if (is_outward ? level_[other] > level : level_[other] == level && position_[other] < position_[queue[k]])
              trial_[n_listed++] = n_ + at_.edge[entry];
          }
    }
    return n_listed;
  }

  // Block half-bandwidth and profile of the first blocks of trial_.
  std::pair<Index, Index> bandwidth_and_profile(Index n_listed) {
    Index bandwidth = 0, profile = 0;
    std::iota(first_.begin(), first_.begin() + n_listed, Index(0));  // the first block coupled to each
    for (Index k = 0; k < n_listed; ++k) position_[trial_[k]] = k;
    for (Index k = 0; k < n_listed; ++k) {
      if (trial_[k] >= n_) continue;
      for (Index entry = at_.start[trial_[k]]; entry < at_.start[trial_[k] + 1]; ++entry) {
        const Index other = position_[n_ + at_.edge[entry]];
        first_[k] = std::min(first_[k], other);
        first_[other] = std::min(first_[other], k);
        bandwidth = std::max(bandwidth, std::abs(k - other));
      }
    }
    for (Index k = 0; k < n_listed; ++k) profile += k - first_[k];
    return {bandwidth, profile};
  }

  const Index n_, n_blocks_;
  const Incidence at_;
  const Graph bodies_;
  std::vector<Index> level_;  // -1 outside a search
  std::vector<Index> queue_, trial_, position_, first_;
};

// All blocks, level by level.
inline Array<Index> level_sweep(Index n_primal, View<const Index, 2> ends) {
  return LevelSweep(n_primal, ends).order(ends);
}

}  // namespace sparsebody
