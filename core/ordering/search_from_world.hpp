// Breadth-first and depth-first searches of the graph of bodies and joints, from the joints to the world.
#pragma once

#include <algorithm>

#include "graph/adjacency.hpp"
#include "graph/breadth_first.hpp"
#include "graph/depth_first.hpp"

namespace sparsebody {

// All blocks as a search from the world reaches them, and the block that each is reached from, -1 for none.
// to_world: the dual blocks without a second end.
inline std::pair<std::vector<Index>, std::vector<Index>> search_from_world(const Graph& quotient, Indices to_world,
                                                                           bool is_depth_first) {
  const Index n = quotient.size();
  std::vector<Index> sequence(n), came_from(n, -1);
  std::vector<bool> seen(n);
  Index end = 0;
  const auto reach = [&](Index block, Index other, Index) {
    if (seen[other]) return false;
    seen[other] = true;
    came_from[other] = block;
    return true;
  };
  if (is_depth_first) {
    std::vector<Index> next(quotient.start.begin(), quotient.start.begin() + n), path(n);
    const auto search = [&](Index root) {
      if (seen[root]) return;
      seen[root] = true;
      sequence[end++] = root;
      depth_first(
          quotient, root, next, path,
          [&](Index block, Index other, Index entry) {
            if (!reach(block, other, entry)) return false;
            sequence[end++] = other;
            return true;
          },
          [](Index, Index) {});
    };
    for (const Index root : to_world) search(root);
    for (Index root = 0; root < n; ++root) search(root);
  } else {
    for (const Index root : to_world) {  // all joints to the world are one level
      seen[root] = true;
      sequence[end++] = root;
    }
    end = breadth_first(quotient, sequence, 0, end, reach);
    for (Index root = 0; root < n; ++root) {
      if (seen[root]) continue;
      seen[root] = true;
      sequence[end] = root;
      end = breadth_first(quotient, sequence, end, end + 1, reach);
    }
  }
  return {std::move(sequence), std::move(came_from)};
}

}  // namespace sparsebody
