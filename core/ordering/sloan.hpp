// Sloan's sweep: of the bodies near those taken, one that is far from the end and adds little.
// Sloan (1986), Int. J. Numer. Methods Eng. 23, 2.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/adjacency.hpp"
#include "graph/breadth_first.hpp"

namespace sparsebody {

// The bodies by Sloan's priorities; in `sequence` each component lies in one piece, between its ends.
inline Array<Index> sloan(const Graph& bodies, Indices sequence) {
  constexpr Index weight_of_distance = 1, weight_of_joints = 2;  // as Sloan gives them
  enum State : std::uint8_t { far, near, coupled, taken };       // coupled: to what is taken
  const Index n = sequence.size();
  Array<Index> order(n);
  std::vector<Index> priority(n, -1), queue(n), candidates;
  std::vector<State> state(n, far);
  const auto raise_neighbours = [&](Index body) {
    for (const Index other : bodies[body]) {
      if (other < 0 || state[other] == taken) continue;
      priority[other] += weight_of_joints;
      if (state[other] != far) continue;
      state[other] = near;
      candidates.push_back(other);
    }
  };
  for (Index n_placed = 0; n_placed < n;) {
    // Distances from the far end of the component: its sequence ends with a body as far as any from its beginning.
    const Index first = sequence[n_placed];
    const Index end = distances_from(first, bodies, queue, n_placed, priority);
    for (Index k = n_placed; k < end; ++k) priority[queue[k]] = -1;
    distances_from(sequence[end - 1], bodies, queue, n_placed, priority);
    for (Index k = n_placed; k < end; ++k)
      priority[queue[k]] =
          weight_of_distance * priority[queue[k]] - weight_of_joints * (bodies.degree(queue[k]) + 1);
    candidates.push_back(first);
    state[first] = near;
    while (!candidates.empty()) {
      const auto best = std::ranges::max_element(candidates, {}, [&](Index body) { return priority[body]; });
      const Index body = *best;
      candidates.erase(best);  // those that came first stay first
      if (state[body] == near) raise_neighbours(body);
      state[body] = taken;
      order[n_placed++] = body;
      for (const Index other : bodies[body]) {
        if (other < 0 || state[other] != near) continue;
        state[other] = coupled;
        priority[other] += weight_of_joints;
        raise_neighbours(other);
      }
    }
  }
  return order;
}

}  // namespace sparsebody
