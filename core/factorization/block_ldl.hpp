// LDL' of [1 A'; A 0] by small dense blocks on the graph of bodies and joints: L D L' with scalar D, positive in
// primal pivots and negative in dual ones, without interchanges. Tables say where everything lies (layout.py
// describes them); nothing is searched or allocated. Davis (2006), ch. 4; Vanderbei (1995), SIAM J. Optim. 5:100.
//
// The *panel* of a pivot of s rows holds its own block, if earlier pivots changed it, and the blocks V below it,
// each of them in s columns of 4 or 8 lanes, the last of which is spare: in it the elimination carries the
// right-hand side along. Of P = L D L' the storage keeps L with 1 / D in the place of the ones; that of V
// becomes -V P^-1, the only thing that substitution needs. A *constant* pivot, a primal block that nothing has
// changed, is 1: it has no panel, and what is below it are rows of A.
#pragma once

#include <cstdint>
#include <utility>

#include "base/array.hpp"

namespace sparsebody::block_ldl {

enum Kind : std::uint32_t { constant, primal, dual };

struct Pivot {
  std::uint32_t size;         // rows
  std::uint32_t start, own;   // offsets in `values` of the blocks below, and of the block itself
  std::uint32_t first_below, first_update, first_fill, first_opened;  // up to those of the next pivot
  std::uint32_t natural, padded;  // first row in natural and in padded order
  std::uint32_t kind;
};
struct Below {  // a block below a pivot
  std::uint32_t row, rows;  // first row in padded order, and their number; none: an empty block
};
struct Fill {  // a block of A
  std::uint32_t a_row, side, place, by_row, n_rows, n_columns;  // place: in `values`; by_row: rows of A are rows of it
};

// The lines of a table as structs.
template <class Line>
View<Line> as_lines(View<std::uint32_t, 2> table) {
  SB_ASSERT(table.shape(1) * Index(sizeof(std::uint32_t)) == Index(sizeof(Line)));
  return {reinterpret_cast<Line*>(table.data()), table.rows()};
}

// The tables of one pattern in one order; the last pivot and the last fill only end ranges.
struct Tables {
  View<const Pivot> pivots;
  View<const Below> below;
  View<const std::uint32_t> updates;  // offset of the block that each pair of blocks below a pivot updates
  View<const Fill> fills;
  View<const std::uint32_t> opened;   // panels, by the pivot that writes into them first

  Tables(View<std::uint32_t, 2> pivots_, View<std::uint32_t, 2> below_, View<std::uint32_t> updates_,
         View<std::uint32_t, 2> fills_, View<std::uint32_t> opened_)
      : pivots(as_lines<Pivot>(pivots_)), below(as_lines<Below>(below_)), updates(updates_),
        fills(as_lines<Fill>(fills_)), opened(opened_) {}
  Index n_pivots() const { return pivots.size() - 1; }
};

// The factors, and work space. Of several threads that eliminate subtrees of their own, each would need its own
// window, reference and right, and a buffer for what its subtree adds to the panels of common ancestors.
template <class S = double>
struct Storage {
  View<S> values;     // the factors
  View<S> x;          // a solution in padded order; zero in spare rows between calls
  View<S> window;     // a part of a solution, in padded order modulo its size - 8, a power of two
  View<S> reference;  // likewise: what pivots were before dual ones took from them
  View<S> right;      // V L'^-1 of the present panel
};

inline constexpr Index regular = -1, doubtful = -2;  // what a factorization returns; see `eliminate`
inline constexpr double dual_shift = 0x1p-52;        // of dual pivots, where one of them drowns in rounding

template <class S> using Rows = View<const S, 3>;  // A (n_dual_rows, 2, width): each row on its first and second end

// Eliminates the pivots in [begin, end), those before them being done: fills `values` with the factors, and with
// what the elimination makes of the right-hand side (n_rows,). Dual pivots are moved away from zero by `shift`
// times what they were before other dual ones took from them, or by -shift itself if that is negative. Returns
// `regular`, or `doubtful` - position of the first pivot that may be nothing but rounding; without a shift the
// elimination ends there.
template <class S>
Index eliminate(const Tables& tables, Rows<S> rows, View<const S> rhs, double shift, const Storage<S>& storage,
                Index begin, Index end);

// Eliminates all pivots, and where one is doubtful once more with all dual ones shifted, so that which ones are
// shifted depends on nothing but the matrix. Returns what the first elimination does.
template <class S>
Index factorize(const Tables& tables, Rows<S> rows, View<const S> rhs, const Storage<S>& storage);

// Fills the solution (n_rows,) for the right-hand side that came with the factorization, in the rows of the
// pivots in [begin, end), those after them being filled.
template <class S>
void substitute(const Tables& tables, Rows<S> rows, const Storage<S>& storage, View<const S> rhs, View<S> solution,
                Index begin, Index end);

// Fills `solution` with that for another right-hand side (n_rows,), or adds it. Of the right-hand side of
// constant pivots only `share` is seen: 1.0, or 0.0 where it is zero. Returns the largest entry of the primal part.
template <class S>
double solve(const Tables& tables, Rows<S> rows, const Storage<S>& storage, View<const S> rhs, double share,
             bool adds, View<S> solution);

// The square root of the smallest dual pivot relative to the norm of its row of A, and that row: the sine of the
// angle between the row and those eliminated before it.
std::pair<double, Index> smallest_pivot(const Tables& tables, View<const double> values, Rows<double> rows,
                                        Index n_primal_rows);

// Instantiated once, in block_ldl.cpp: each inlines the steps of all sizes.
extern template Index eliminate(const Tables&, Rows<double>, View<const double>, double, const Storage<double>&, Index, Index);
extern template Index factorize(const Tables&, Rows<double>, View<const double>, const Storage<double>&);
extern template void substitute(const Tables&, Rows<double>, const Storage<double>&, View<const double>, View<double>, Index, Index);
extern template double solve(const Tables&, Rows<double>, const Storage<double>&, View<const double>, double, bool, View<double>);

}  // namespace sparsebody::block_ldl
