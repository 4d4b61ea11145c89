// Nested dissection with separators of joints, cut along coordinates of the bodies.
// George (1973); Heath and Raghavan (1995), SIAM J. Matrix Anal. Appl. 16:235; Fiduccia and Mattheyses (1982), gains.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "graph/adjacency.hpp"

namespace sparsebody {

// The rows cut, weighted by how uneven the halves are: by the root of n / 2 over the smaller one.
inline double cost_of_cut(Index rows, Index smaller, Index n) {
  return (double(rows) + 1.0) * std::sqrt(double(n) / (2.0 * double(smaller)));
}

class Dissection {
 public:
  Dissection(View<const Index, 2> ends, Indices joint_size, View<const double, 2> coordinates)
      : at_(incidence(coordinates.rows(), ends)), bodies_(at_.graph()),
        coordinates_({coordinates.shape(1), coordinates.rows()}), side_(bodies_.size()), part_(bodies_.size()) {
    for (const Index joint : at_.edge) rows_.push_back(joint_size[joint]);
    for (Index body = 0; body < coordinates.rows(); ++body)
      for (Index axis = 0; axis < coordinates.shape(1); ++axis) {
        const double x = coordinates(body, axis);
        coordinates_(axis, body) = std::isnan(x) ? infinity : x;  // sorted last
      }
  }

  void run(View<Index> depth_of_cut) {
    std::vector<Index> order(bodies_.size());
    std::iota(order.begin(), order.end(), Index(0));
    std::vector<std::pair<View<Index>, Index>> parts{{order, 1}};
    for (Index n_parts = 1; !parts.empty(); ++n_parts) {
      const auto [bodies, depth] = parts.back();
      parts.pop_back();
      if (bodies.size() <= largest_uncut) continue;
      const Index middle = split(bodies);
      for (const Index body : bodies)
        for_neighbours(body, [&, depth = depth](Index other, Index entry) {
          if (side_[other] != side_[body]) depth_of_cut[at_.edge[entry]] = depth;
        });
      for (const Index body : bodies.slice(middle, bodies.size())) part_[body] = n_parts;
      if (middle == 0 || middle == bodies.size()) continue;
      parts.emplace_back(bodies.slice(0, middle), depth + 1);
      parts.emplace_back(bodies.slice(middle, bodies.size()), depth + 1);
    }
  }

 private:
  static constexpr Index largest_uncut = 6;      // bodies
  static constexpr double smallest_half = 0.25;  // share of the bodies of a part
  static constexpr int most_passes = 6;          // over the bodies of a part, to move those at the cut to the better side
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // The neighbours in the same part.
  template <class Visit>
  void for_neighbours(Index body, Visit visit) const {
    for (Index entry = bodies_.start[body]; entry < bodies_.start[body + 1]; ++entry)
      if (const Index other = bodies_.indices[entry]; other >= 0 && part_[other] == part_[body]) visit(other, entry);
  }

  // The gain of a move to the other side: rows of joints to that side, less those of joints to its own.
  Index gain_of(Index body) const {
    Index rows = 0;
    for_neighbours(body, [&](Index other, Index entry) { rows += side_[other] != side_[body] ? rows_[entry] : -rows_[entry]; });
    return rows;
  }

  // Sorts the bodies of a part into two sides, marks them in side_; returns the size of the first.
  Index split(View<Index> bodies) {
    const Index n = bodies.size();
    double least_cost = infinity;
    Index best_size = n / 2;
    best_ = sorted_along(0, bodies);
    for (Index axis = 0; axis < coordinates_.shape(0); ++axis) {
      const std::vector<Index>& sequence = axis == 0 ? best_ : sorted_along(axis, bodies);
      for (const Index body : bodies) side_[body] = 1;
      Index cut = 0, size_here = 0;
      for (Index k = 0; k < n - 1; ++k) {
        const Index body = sequence[k];
        side_[body] = 0;
        cut += gain_of(body);
        const Index smaller = std::min(k + 1, n - 1 - k);
        if (double(smaller) < smallest_half * double(n)) continue;
        if (const double cost = cost_of_cut(cut, smaller, n); cost < least_cost) {
          least_cost = cost;
          size_here = k + 1;
        }
      }
      if (size_here == 0) continue;
      best_size = size_here;
      if (axis > 0) best_.swap(sequence_);
    }
    for (Index k = 0; k < n; ++k) side_[best_[k]] = k >= best_size;
    const Index size = move_across(best_size);
    auto to = bodies.begin();
    for (int side = 0; side < 2; ++side)
      to = std::copy_if(best_.begin(), best_.end(), to, [&](Index body) { return side_[body] == side; });
    return size;
  }

  // The bodies sorted by a coordinate; equal ones keep their sequence.
  const std::vector<Index>& sorted_along(Index axis, View<Index> bodies) {
    const double* x = &coordinates_(axis, 0);
    double least = infinity, greatest = -infinity;
    bool are_whole = true;
    for (const Index body : bodies) {
      least = std::min(least, x[body]);
      greatest = std::max(greatest, x[body]);
      are_whole &= x[body] == std::floor(x[body]);
    }
    sequence_.assign(bodies.begin(), bodies.end());
    if (are_whole && greatest - least <= 4.0 * double(bodies.size())) {  // distances in the graph: counting sort
      next_.assign(std::size_t(greatest - least) + 2, 0);
      for (const Index body : bodies) ++next_[Index(x[body] - least) + 1];
      std::partial_sum(next_.begin(), next_.end(), next_.begin());
      for (const Index body : bodies) sequence_[next_[Index(x[body] - least)]++] = body;
    } else {
      std::stable_sort(sequence_.begin(), sequence_.end(), [x](Index a, Index b) { return x[a] < x[b]; });
    }
    return sequence_;
  }

  // Greedy passes: a body moves where fewer rows are cut then, or as many and the halves are more even; no move loses.
  // Returns the size of the first side.
  Index move_across(Index size) {
    const Index n = Index(best_.size());
    for (int pass = 0; pass < most_passes; ++pass) {
      bool has_changed = false;
      for (const Index body : best_) {
        const Index gain = gain_of(body);
        const Index new_size = side_[body] == 1 ? size + 1 : size - 1;
        const Index new_smaller = std::min(new_size, n - new_size), smaller = std::min(size, n - size);
        if ((gain > 0 && double(new_smaller) >= smallest_half * double(n)) || (gain == 0 && new_smaller > smaller)) {
          side_[body] = std::int8_t(1 - side_[body]);
          size = new_size;
          has_changed = true;
        }
      }
      if (!has_changed) break;
    }
    return size;
  }

  const Incidence at_;
  const Graph bodies_;
  std::vector<Index> rows_;        // of the joint of each entry
  Array<double, 2> coordinates_;   // (k, n_bodies)
  std::vector<std::int8_t> side_;  // of the part that is being cut
  std::vector<Index> part_;        // that holds each body
  std::vector<Index> next_, sequence_, best_;
};

// The depth at which each joint is cut, from one on; 0 for those that are not.
// joint_size: scalar rows; coordinates: (n_bodies, k).
inline Array<Index> dissection(View<const Index, 2> ends, Indices joint_size, View<const double, 2> coordinates) {
  Array<Index> depth_of_cut(ends.rows());
  Dissection(ends, joint_size, coordinates).run(depth_of_cut);
  return depth_of_cut;
}

}  // namespace sparsebody
