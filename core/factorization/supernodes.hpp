// The supernodes of L for [1 A'; A 0] in a given order, and where everything lies in their fronts.
//
// Blocks with nearly the same structure are eliminated together, in one dense front: Ashcraft and Grimes (1989), ACM
// TOMS 15:291. Fronts form a tree, numbered in postorder; what is left of each is its contribution, which is added to
// the front of its parent: Liu (1992), SIAM Review 34:82. A primal block that no earlier pivot changes is constant: a
// leaf whose factors are rows of A, so that only its contribution is computed.
#pragma once

#include <cstdint>
#include <vector>

#include "factorization/saddle.hpp"

namespace sparsebody::multifrontal {

struct Supernode {
  Index first_pivot = 0, n_pivots = 0, n_others = 0;  // scalar rows; no pivots of a constant block
  Index parent = -1;
  Index size = 0;                      // of a constant block, 0 of others
  Index values = 0, contribution = 0;  // offsets of the pivots' rows, and of the contribution in the workspace
  Index first_other, first_entry, first_child;  // up to those of the next one
};
// A block of A in the rows of pivots, or of a constant block.
struct Entry {
  Index a_row, side, n_rows, n_columns;
  Index offset, row_stride, column_stride;  // of its numbers
};
struct Child {
  Index node, first_run;
};
// Rows [from, from + length) of a child's contribution, and the columns of the front to which they belong.
struct Run {
  Index from, to, length;
};
// Supernodes [first, last), a subtree with a part of the workspace of its own.
struct Task {
  Index first, last, scratch;
  double flops;
};

struct Supernodes {
  std::vector<Supernode> nodes;           // the last one only ends ranges, and so does the last child
  std::vector<Index> others;              // scalar rows below the pivots, in elimination order
  std::vector<Entry> entries;
  std::vector<Child> children;
  std::vector<Run> runs;
  std::vector<Index> natural;             // (n_pivots,) row of each pivot in natural order
  std::vector<std::uint8_t> is_primal;    // (n_pivots,)
  std::vector<std::uint8_t> is_constant;  // (n_primal,)
  std::vector<Task> tasks;                // the longest first; they do not depend on each other
  std::vector<Index> top;                 // supernodes above them
  double flops = 0.0;
  Index top_scratch = 0, n_values = 0, n_workspace = 0, most_others = 0;

  // `order`: admissible, each subtree of the elimination tree in one piece.
  Supernodes(const SaddlePattern& pattern, View<const Index> order);
  Index n_nodes() const { return Index(nodes.size()) - 1; }

 private:
  void place_contributions(const std::vector<double>& subtree_flops);
};

}  // namespace sparsebody::multifrontal
