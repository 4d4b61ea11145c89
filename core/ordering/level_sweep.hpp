// A sweep level by level that keeps the band narrow: the bodies of a level, the joints inside it, those to the next.
// Cuthill and McKee (1969); George and Liu (1979) for the search for a body at the periphery.
#pragma once

#include <algorithm>
#include <numeric>
#include <tuple>

#include "graph/adjacency.hpp"
#include "graph/searches.hpp"

namespace sparsebody {

class LevelSweep {
 public:
  LevelSweep(Index n_primal, View<const Index, 2> ends)
      : n_(n_primal), n_blocks_(n_primal + ends.rows()), at_(incidence(n_primal, ends)), bodies_(at_.graph()),
        rank_(n_primal, -1), level_(n_primal), queue_(n_primal), trial_(n_blocks_), position_(n_blocks_),
        first_(n_blocks_) {
    sort_links(ends.rows());
  }

  Array<Index> order(View<const Index, 2> ends) {
    Array<Index> order(n_blocks_);
    std::vector<bool> is_swept(n_);
    auto to = order.begin();
    for (Index seed = 0; seed < n_; ++seed) {
      if (is_swept[seed]) continue;
      const Index outermost = peripheral_body(seed);
      std::pair<Index, Index> narrowest(-1, -1);  // bandwidth and profile
      Index n_placed = 0;
      for (const Index partner : partners(outermost)) {
        const Index n_bodies = search(outermost, partner);
        n_placed = list_blocks(n_bodies);
        forget(n_bodies);
        const auto width = bandwidth_and_profile(n_placed);
        if (narrowest.first >= 0 && width >= narrowest) continue;
        narrowest = width;
        std::copy_n(trial_.begin(), n_placed, to);
      }
      for (Index k = 0; k < n_placed; ++k)
        if (trial_[k] < n_) is_swept[trial_[k]] = true;
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

  // Sorts the joints of every body by the number of joints of the body beyond, then by that body; those to the world
  // come last.
  void sort_links(Index n_joints) {
    std::vector<std::tuple<Index, Index, Index>> links;
    for (Index body = 0; body < n_; ++body) {
      links.clear();
      for (Index k = at_.start[body]; k < at_.start[body + 1]; ++k)
        links.emplace_back(at_.other[k] >= 0 ? bodies_.degree(at_.other[k]) : n_joints + 1, at_.other[k], at_.edge[k]);
      std::sort(links.begin(), links.end());
      for (Index k = at_.start[body]; const auto& [degree, other, joint] : links) {
        at_.other[k] = other;
        at_.edge[k++] = joint;
      }
    }
  }

  // Fills queue_, rank_ and level_ from one body, or from two; returns the number of bodies reached.
  Index search(Index first, Index second) {
    const auto enter = [&](Index body, Index rank, Index level) {
      rank_[body] = rank;
      level_[body] = level;
      queue_[rank] = body;
    };
    Index end = 0;
    enter(first, end++, 0);
    if (second != first) enter(second, end++, 0);
    Index rank = end;
    return breadth_first(bodies_, queue_, 0, end, [&](Index body, Index other, Index) {
      if (rank_[other] >= 0) return false;
      enter(other, rank++, level_[body] + 1);
      return true;
    });
  }

  void forget(Index n_bodies) {
    for (Index k = 0; k < n_bodies; ++k) rank_[queue_[k]] = -1;
  }

  // A body with nearly the greatest eccentricity, of the fewest joints where it can be.
  Index peripheral_body(Index seed) {
    Index outermost = seed, eccentricity = -1;
    for (int k = 0; k < most_searches; ++k) {
      const Index n_bodies = search(outermost, outermost);
      forget(n_bodies);
      Index farthest = queue_[n_bodies - 1];
      const Index depth = level_[farthest];
      if (depth <= eccentricity) break;
      eccentricity = depth;
      for (Index i = n_bodies - 1; i >= 0 && level_[queue_[i]] == depth; --i)
        if (bodies_.degree(queue_[i]) <= bodies_.degree(farthest)) farthest = queue_[i];
      outermost = farthest;
    }
    return outermost;
  }

  // Neighbours to start from beside the outermost body, which comes last, alone; in large mechanisms only some.
  std::vector<Index> partners(Index outermost) const {
    const std::size_t most = std::size_t(std::max(fewest_trials, trial_work / std::max(n_blocks_, Index(1))));
    std::vector<Index> found;
    for (const Index partner : bodies_[outermost])
      if (partner >= 0 && found.size() < most && (found.empty() || partner != found.back())) found.push_back(partner);
    found.push_back(outermost);
    return found;
  }

  // Fills trial_ with the blocks of a component, level by level; returns their number.
  Index list_blocks(Index n_bodies) {
    Index n_listed = 0;
    for (Index begin = 0, end = 0; begin < n_bodies; begin = end) {
      const Index level = level_[queue_[begin]];
      for (; end < n_bodies && level_[queue_[end]] == level; ++end) {
        const Index body = queue_[end];
        trial_[n_listed++] = body;
        for (Index entry = bodies_.start[body]; entry < bodies_.start[body + 1]; ++entry)
          if (at_.other[entry] < 0) trial_[n_listed++] = n_ + at_.edge[entry];  // a joint to the world
      }
      for (const bool is_outward : {false, true})
        for (Index k = begin; k < end; ++k)
          for (Index entry = bodies_.start[queue_[k]]; entry < bodies_.start[queue_[k] + 1]; ++entry) {
            const Index other = at_.other[entry];
            if (other < 0) continue;
            if (is_outward ? level_[other] > level : level_[other] == level && rank_[other] < k)
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
  Incidence at_;
  const Graph bodies_;
  std::vector<Index> rank_;   // in the queue, -1 outside a search
  std::vector<Index> level_, queue_, trial_, position_, first_;
};

// All blocks, level by level.
inline Array<Index> level_sweep(Index n_primal, View<const Index, 2> ends) {
  return LevelSweep(n_primal, ends).order(ends);
}

}  // namespace sparsebody
