// The elimination of a tree with loops from its leaves inwards, in fronts: the loop-constrained articulated-body
// algorithm. Sathya and Carpentier (2024), after Featherstone (2008), sec. 7.2.
//
// A front is the symmetric matrix F of all that couples with a link, f = F y + g: accelerations of links, and
// multipliers of open loops. Eliminating a freedom of link i, with U = F S_i, leaves F - U U' / (S_i' U); then the rows
// of i move to its parent's origin, so that along a mechanism one front is carried inwards. The rows of a loop are
// eliminated likewise, by pivots that are negative: [H, K'; K, -mu] is quasi-definite.
#pragma once

#include "tree/loop_constraints.hpp"

namespace sparsebody::tree {

// A step of the plan: a row of Python's FrontPlan.steps.
struct FrontStep {
  using Element = Index;
  enum : Index { link = 0, loop = 1 };
  enum : Index { world = -1, owner = -2 };  // parent_slot: there are no rows; the link's own are the parent's next
  Index kind, node;                         // a link or a loop, and its number
  Index base, stride, width;  // F begins at base, its rows are `stride` numbers apart, of which `width` are in use
  Index slot, parent_slot;    // first rows of the node, and of its parent
  Index is_new, side;         // a front to begin with zeros; g begins at `side`
  Index first_join, first_entry, first_pivot, factor;  // U begins at `factor`

  bool is_link() const { return kind == link; }
};

// A front whose rows `pairs` are added here.
struct FrontJoin {
  using Element = Index;
  Index base, stride, side, first_pair;
};
struct RowPair {
  using Element = Index;
  Index from, to;
};

// Rows [first, last) of a loop, in a front from `slot` on, on the link at one of its ends.
struct FrontEntry {
  using Element = Index;
  Index slot, first, last, end, is_new;
};

// Python's FrontPlan; the last steps and joins end the offsets.
struct FrontPlan {
  View<const FrontStep> steps;
  View<const FrontJoin> joins;
  View<const RowPair> pairs;
  View<const FrontEntry> entries;
  View<const Index> sizes;
};

// Fronts and the factors that their elimination leaves: Python's Fronts.
struct Fronts {
  View<double> F, g;     // all fronts, and their right-hand sides; then their solutions y
  View<double> U;        // rows of the factor, as wide as their fronts
  View<double> inverse;  // of the pivots
  View<double> u;        // right-hand sides of the pivots
};

// The factors of [H, K'; K, -diag(mu)], K by the loops' rows on their links.
void factorize_fronts(const Links& links, const FrontPlan& plan, const TreeMotion& motion, View<const LoopRow> rows,
                      View<const double> mu, View<const bool> is_prescribed, const Fronts& fronts);

// H qdd - K' lambda = tau, K qdd + mu lambda = b; returns the largest component of the links' accelerations J qdd.
double solve_fronts(const Links& links, const FrontPlan& plan, const TreeMotion& motion, View<const Index> first_row,
                    View<const bool> is_prescribed, const Fronts& fronts, View<const double> tau,
                    View<const double> b, View<double> qdd, View<double> lambda);

// The least pivot of a loop's row over its own compliance.
double weakest_pivot(const FrontPlan& plan, View<const Index> first_row, View<const double> compliance,
                     const Fronts& fronts);

}  // namespace sparsebody::tree
