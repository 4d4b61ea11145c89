// Multifrontal L D L' of [1 A'; A 0], for wide fronts: Duff and Reid (1983), ACM TOMS 9:302; Liu (1992), SIAM Review
// 34:82. D is positive in primal pivots and negative in dual ones, without interchanges, as in block LDL'.
#pragma once

#include <utility>

#include "base/array.hpp"
#include "factorization/front_ldl.hpp"
#include "factorization/supernodes.hpp"

namespace sparsebody::multifrontal {

class Multifrontal {
 public:
  static constexpr Index regular = -1;
  static constexpr double dual_shift = 0x1p-52;  // of dual pivots, where one of them drowns in rounding

  Index threads = 1;  // any number gives the same bits

  // Lays L out for an admissible order, each subtree of the elimination tree in one piece.
  Multifrontal(View<const Index> offsets, View<const Index, 2> ends, View<const Index> order);

  // Fills L for A (n_dual_rows, 2, width), and where a pivot is doubtful once more with all dual ones shifted. Returns
  // `regular`, or the first row in natural order whose pivot may be nothing but rounding.
  Index factorize(ARows rows);
  // Fills L of [1 A'; A -delta].
  void factorize_shifted(ARows rows, double delta) { eliminate(rows, -delta); }
  // Fills x for a right-hand side (n_rows,).
  void solve(ARows rows, View<const double> rhs, View<double> x);
  // The square root of the smallest dual pivot relative to the norm of its row of A, and that row: the sine of the
  // angle between the row and those eliminated before it.
  std::pair<double, Index> smallest_pivot(ARows rows) const;
  // (n_supernodes, 2): pivots and other rows of each front.
  Array<Index, 2> front_shapes() const;

 private:
  SaddlePattern pattern() const { return {offsets_, ends_}; }
  front_ldl::PivotRows factors(const Supernode& node) { return {node.n_pivots, node.n_others, values_.data() + node.values}; }
  Index eliminate(ARows rows, double shift);
  Index eliminate(Index s, ARows rows, double shift, double* scratch, Index n_threads);
  void assemble(Index s, ARows rows, const front_ldl::Front& front) const;
  // Calls visit(row of A, side, primal block) for the rows on constant blocks.
  template <class F>
  void for_each_constant(F&& visit) const;

  Array<Index> offsets_;
  Array<Index, 2> ends_;
  Supernodes nodes_;
  Array<double> values_;     // pivots' rows of all fronts
  Array<double> workspace_;  // contributions and scratch
  Array<double> x_, other_x_;
};

}  // namespace sparsebody::multifrontal
