// A greedy sweep through the bodies: take next the one after which the fewest rows are cut. King (1970).
#pragma once

#include <algorithm>

#include "graph/adjacency.hpp"

namespace sparsebody {

// Where the component ends that begins at `first` of a sequence.
inline Index end_of_component(const Graph& bodies, Indices sequence, Indices position, Index first) {
  for (Index end = first + 1; end < sequence.size(); ++end) {
    const auto is_earlier = [&](Index other) { return other >= 0 && position[other] < end; };
    if (std::ranges::none_of(bodies[sequence[end]], is_earlier)) return end;
  }
  return sequence.size();
}

// The bodies so that few rows are in flight. In `sequence` every component is in one piece; the sweep of a component
// begins at `start` of n_starts bodies, from its first to its last.
inline Array<Index> pathwidth_sweep(View<const Index, 2> ends, Indices joint_size, Indices sequence, Index start,
                                    Index n_starts) {
  const Index n = sequence.size();
  const Incidence at = incidence(n, ends);
  const Graph bodies = at.graph();
  const std::vector<Index> position = positions(sequence);
  Array<Index> order(n);
  std::vector<bool> is_taken(n), is_near(n);
  std::vector<Index> growth(n);  // of the rows in flight, when a body is taken
  for (Index body = 0; body < n; ++body)
    for (Index entry = bodies.start[body]; entry < bodies.start[body + 1]; ++entry)
      if (bodies.indices[entry] >= 0) growth[body] += joint_size[at.edge[entry]];
  std::vector<Index> near;
  for (Index n_placed = 0; n_placed < n;) {
    const Index end = end_of_component(bodies, sequence, position, n_placed);
    near.push_back(sequence[n_placed + (end - n_placed - 1) * start / (n_starts - 1)]);
    is_near[near[0]] = true;
    while (!near.empty()) {
      const auto best = std::ranges::min_element(near, {}, [&](Index body) { return growth[body]; });
      const Index body = *best;
      near.erase(best);  // those that were reached first stay first
      is_taken[body] = true;
      order[n_placed++] = body;
      for (Index entry = bodies.start[body]; entry < bodies.start[body + 1]; ++entry) {
        const Index other = bodies.indices[entry];
        if (other < 0 || is_taken[other]) continue;
        growth[other] -= 2 * joint_size[at.edge[entry]];
        if (is_near[other]) continue;
        is_near[other] = true;
        near.push_back(other);
      }
    }
  }
  return order;
}

}  // namespace sparsebody
