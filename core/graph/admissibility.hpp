// Orders in which every joint follows its bodies or, in a tree part, its outer body.
#pragma once

#include <algorithm>
#include <tuple>

#include "graph/adjacency.hpp"

namespace sparsebody {

// The fewest rows of a block, and the least and the largest of the ends of dual blocks; 1, -1 and -1 of none.
inline std::tuple<Index, Index, Index> pattern_bounds(View<const Index> block_sizes, View<const Index, 2> ends) {
  Index fewest = block_sizes.empty() ? 1 : block_sizes[0], least = -1, largest = -1;
  for (const Index size : block_sizes) fewest = std::min(fewest, size);
  for (const Index end : ends) least = std::min(least, end), largest = std::max(largest, end);
  return {fewest, least, largest};
}

// The primal blocks in a sequence, each dual one right after the later of its own; those of the same in their sequence.
inline Array<Index> duals_after_primals(Indices primals, Indices duals, View<const Index, 2> ends) {
  const std::vector<Index> position = positions(primals);
  std::vector<Index> later(ends.rows());  // counted from one; the world comes before all
  for (Index j = 0; j < ends.rows(); ++j)
    for (Index side = 0; side < 2; ++side)
      if (ends(j, side) >= 0) later[j] = std::max(later[j], position[ends(j, side)] + 1);
  const GraphArrays after = grouped(primals.size() + 1, later, duals);
  Array<Index> order(primals.size() + duals.size());
  auto to = order.begin();
  for (Index k = 0; k <= primals.size(); ++k) {
    if (k > 0) *to++ = primals[k - 1];
    for (const Index dual : after[k]) *to++ = primals.size() + dual;
  }
  return order;
}

// `order` with each dual block moved to right after the later of its primal ones.
inline Array<Index> joints_after_bodies(Indices order, View<const Index, 2> ends) {
  const Index n_primal = order.size() - ends.rows();
  std::vector<Index> primals(n_primal), duals(ends.rows());
  auto primal = primals.begin(), dual = duals.begin();
  for (const Index block : order)
    if (block < n_primal) *primal++ = block;
    else *dual++ = block - n_primal;
  return duals_after_primals(primals, duals, ends);
}

// The primal blocks in a sequence, each dual one right after the later of its own. Of several, that one comes first that
// reaches back farthest: it ties the block to what stands already, and the others lose fewer digits then.
inline Array<Index> with_dual_blocks(Indices primal_order, View<const Index, 2> ends) {
  const std::vector<Index> position = positions(primal_order);
  std::vector<Index> earlier(ends.rows());  // counted from one; the world comes before all
  for (Index j = 0; j < ends.rows(); ++j) {
    const auto [a, b] = std::minmax(ends(j, 0), ends(j, 1));
    earlier[j] = a < 0 ? 0 : 1 + std::min(position[a], position[b]);
  }
  return duals_after_primals(primal_order, grouped(primal_order.size() + 1, earlier).indices, ends);
}

// Strips leaves: primal blocks with one dual block left that follows them and has no more rows than they.
// Returns the outer primal block of every dual one, -1 in the core, and the stripped ones, leaves first.
inline std::pair<std::vector<Index>, std::vector<Index>> tree_parts(const Graph& quotient, Indices size,
                                                                    View<const Index, 2> ends, Indices position) {
  const Index n_dual = ends.rows(), n_primal = quotient.size() - n_dual;
  std::vector<Index> outer(n_dual, -1), joints_left(n_primal), leaves, stripped;
  for (Index body = 0; body < n_primal; ++body)
    if ((joints_left[body] = quotient.degree(body)) == 1) leaves.push_back(body);
  for (std::size_t head = 0; head < leaves.size(); ++head) {
    const Index body = leaves[head];
    if (joints_left[body] == 0) continue;  // its last joint went with the body at the other end
    const Indices blocks = quotient[body];
    const Index block = *std::ranges::find_if(blocks, [&](Index b) { return outer[b - n_primal] < 0; });
    const Index joint = block - n_primal;
    if (position[block] < position[body] || size[block] > size[body]) continue;
    outer[joint] = body;
    joints_left[body] = 0;
    stripped.push_back(body);
    const Index other = ends(joint, 0) + ends(joint, 1) - body;
    if (other >= 0 && other != body && --joints_left[other] == 1) leaves.push_back(other);
  }
  return {std::move(outer), std::move(stripped)};
}

// All blocks, every primal one right before its first dual one in `duals`; those without come first.
inline Array<Index> with_primal_blocks(const Graph& quotient, Indices duals) {
  const Index n_primal = quotient.size() - duals.size();
  Array<Index> order(quotient.size());
  std::vector<bool> placed(n_primal);
  Index to = 0;
  for (Index body = 0; body < n_primal; ++body)
    if (quotient.degree(body) == 0) order[to++] = body;
  for (const Index dual : duals) {
    for (const Index body : quotient[n_primal + dual])
      if (!placed[body]) {
        placed[body] = true;
        order[to++] = body;
      }
    order[to++] = n_primal + dual;
  }
  return order;
}

}  // namespace sparsebody
