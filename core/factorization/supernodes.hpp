// The supernodes of L for [1 A'; A 0] in a given order, and where everything lies in their fronts.
//
// Blocks with nearly the same structure are eliminated together, in one dense front: Ashcraft and Grimes (1989), ACM
// TOMS 15:291. The fronts form a tree, numbered in postorder; what is left of each is its contribution, which is added
// to the front of its parent: Liu (1992), SIAM Review 34:82. A primal block that no earlier pivot changes is constant:
// it is eliminated while the front of its first joint is assembled, as an element of that front.
#pragma once

#include <cstdint>
#include <vector>

#include "factorization/saddle.hpp"

namespace sparsebody::multifrontal {

// Rows [from, from + length) of a contribution, and the columns of the parent's front to which they belong.
struct Run {
  Index from, to, length;
};
// Rows of a joint on a constant primal block.
struct Part {
  Index a_row, side, n_rows;
};
// A constant primal block; its contribution is -T' T, T (size, n_rows) having a column for each row of A.
struct Element {
  Index size, n_rows, first_part, first_run;  // up to those of the next one
};
// A block of A in the pivots' rows of a front.
struct Entry {
  Index a_row, side, n_rows, n_columns;
  Index offset, row_stride, column_stride;  // in `values`
};
struct Supernode {
  Index first_pivot, n_pivots, n_others;    // scalar rows
  Index parent;                             // -1 of a root
  Index first_other;                        // in `others`
  Index values, contribution;               // offsets of the pivots' rows, and of the contribution in `workspace`
  Index first_element, first_entry, first_child;
};
struct Child {
  Index node, first_run;
};
// Supernodes [first, last), a subtree whose contributions and scratch have a place of their own.
struct Task {
  Index first, last, scratch;
  double flops;
};

struct Supernodes {
  std::vector<Supernode> nodes;         // in postorder; the last one only ends ranges
  std::vector<Index> others;            // scalar rows below the pivots, in elimination order
  std::vector<Child> children;          // by supernode; the last one only ends ranges
  std::vector<Element> elements;        // by supernode; the last one only ends ranges
  std::vector<Part> parts;
  std::vector<Entry> entries;
  std::vector<Run> runs, element_runs;
  std::vector<Index> natural;           // (n_pivots,) row of each pivot in natural order
  std::vector<std::uint8_t> is_primal;  // (n_pivots,)
  std::vector<std::uint8_t> is_constant;  // (n_primal,)
  std::vector<Task> tasks;              // the longest first; they do not depend on each other
  std::vector<Index> top;               // supernodes above them, in postorder
  Index top_scratch = 0, n_values = 0, n_workspace = 0, most_others = 0;

  // `order`: admissible, each subtree of the elimination tree in one piece.
  Supernodes(const SaddlePattern& pattern, View<const Index> order);
  Index n_nodes() const { return Index(nodes.size()) - 1; }

 private:
  void place_contributions(const std::vector<double>& flops);
};

}  // namespace sparsebody::multifrontal
