// Sweeps through the bodies. A greedy one takes next the body after which the fewest rows are cut: King (1970).
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/adjacency.hpp"
#include "graph/searches.hpp"

namespace sparsebody {

// The bodies in an order of small cuts: the rows of joints between bodies taken and not yet taken are few. In `sequence`
// every component is in one piece; its sweep begins at number `start` of n_starts bodies, spaced evenly from its first to
// its last.
inline Array<Index> pathwidth_sweep(View<const Index, 2> ends, Indices joint_size, Indices sequence, Index start,
                                    Index n_starts) {
  const Index n = sequence.size();
  const Incidence at = incidence(n, ends);
  const Graph bodies = at.graph();
  Array<Index> order(n);
  std::vector<bool> is_taken(n), is_near(n);
  std::vector<Index> queue(n), distance(n, -1);
  std::vector<Index> growth(n);  // of the rows cut, when a body is taken
  for (Index body = 0; body < n; ++body)
    for (Index entry = bodies.start[body]; entry < bodies.start[body + 1]; ++entry)
      if (bodies.indices[entry] >= 0) growth[body] += joint_size[at.edge[entry]];
  std::vector<Index> near;
  for (Index n_placed = 0; n_placed < n;) {
    const Index size = search_from(sequence[n_placed], bodies, queue, distance).size();
    near.push_back(sequence[n_placed + (size - 1) * start / std::max<Index>(n_starts - 1, 1)]);
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

// ---- Sloan's sweep: of the bodies near those taken, one that is far from the end and adds little.
// Sloan (1986), Int. J. Numer. Methods Eng. 23, 2.

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
    const View<Index> part = search_from(first, bodies, queue, priority);
    for (const Index body : part) priority[body] = -1;
    for (const Index body : search_from(sequence[n_placed + part.size() - 1], bodies, queue, priority))
      priority[body] = weight_of_distance * priority[body] - weight_of_joints * (bodies.degree(body) + 1);
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

// ---- Breadth-first and depth-first searches of the graph of bodies and joints, from the joints to the world.

// All blocks as a search from the world reaches them, and the block that each is reached from, -1 for none.
// to_world: the dual blocks without a second end.
inline std::pair<std::vector<Index>, std::vector<Index>> search_from_world(const Graph& quotient, Indices to_world,
                                                                           bool is_depth_first) {
  const Index n = quotient.size();
  std::vector<Index> sequence(n), came_from(n, -1);
  std::vector<bool> seen(n);
  Index end = 0;
  const auto begin = [&](Index root) {  // false if it has been reached
    if (seen[root]) return false;
    seen[root] = true;
    sequence[end++] = root;
    return true;
  };
  const auto reach = [&](Index block, Index other, Index) {
    if (seen[other]) return false;
    seen[other] = true;
    came_from[other] = block;
    return true;
  };
  if (is_depth_first) {
    std::vector<Index> next(quotient.start.begin(), quotient.start.begin() + n), path(n);
    const auto descend = [&](Index block, Index other, Index entry) {
      const bool is_new = reach(block, other, entry);
      if (is_new) sequence[end++] = other;
      return is_new;
    };
    const auto search = [&](Index root) {
      if (begin(root)) depth_first(quotient, root, next, path, descend, [](Index, Index) {});
    };
    for (const Index root : to_world) search(root);
    for (Index root = 0; root < n; ++root) search(root);
  } else {
    for (const Index root : to_world) begin(root);  // all joints to the world are one level
    end = breadth_first(quotient, sequence, 0, end, reach);
    for (Index root = 0; root < n; ++root)
      if (begin(root)) end = breadth_first(quotient, sequence, end - 1, end, reach);
  }
  return {std::move(sequence), std::move(came_from)};
}

}  // namespace sparsebody
