// QR of the constraint columns, A' = Q R, by small fronts: R' R = A A' without forming the product, so that R has
// the condition number of A and not its square. Paige (1973), BIT 13:364, on R alone in least-norm problems;
// Davis (2011), ACM TOMS 38:8, on fronts.
//
// The columns of A' are dual rows (joints) in elimination order. Every dual block has a *front*: the rows of A'
// of those primal blocks (bodies) that no earlier front has, and the contribution blocks of its children. Its
// first columns are those of the block itself, the others belong to later blocks. Contribution blocks lie on a
// stack, which works in a postorder of the tree of fronts. Parts of the tree, see partition.hpp, are done at the same
// time, each with a stack of its own.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/array.hpp"
#include "base/threads.hpp"
#include "base/vec.hpp"
#include "factorization/partition.hpp"

namespace sparsebody {

// Numbers of two systems with the same matrix, which are solved at once.
using Pair = Vec<2>;

// A (n_dual_rows, 2, width): each row on the first and on the second primal block of its dual block, in units in
// which the primal blocks D of [D A'; A 0] are identities.
using ConstraintRows = View<const double, 3>;

// The pattern of A: which columns its rows have.
struct ConstraintPattern {
  struct Dual {
    std::uint32_t ends[2];    // primal blocks; n_primal for none
    std::uint32_t first_row;  // up to that of the next dual block
  };
  std::vector<Dual> duals;             // the last one only ends the rows
  std::vector<std::uint32_t> columns;  // (n_primal + 1,) where the columns of each primal block begin
  Index width = 0;                     // of all primal blocks; 0 if they differ

  ConstraintPattern(View<const Index> block_sizes, View<const Index, 2> ends);
  Index n_primal() const { return Index(columns.size()) - 1; }
  Index n_dual() const { return Index(duals.size()) - 1; }
  Index n_columns() const { return columns.back(); }
  Index n_rows() const { return duals.back().first_row; }

  // Calls body(width) with the width as a constant, 0 for bodies that differ.
  template <class F>
  auto with_width(F&& body) const {
    if (width == 3) return body(std::integral_constant<int, 3>{});
    if (width == 6) return body(std::integral_constant<int, 6>{});
    return body(std::integral_constant<int, 0>{});
  }
};

class BlockQR {
 public:
  static constexpr Index regular = -1;

  Index threads = 1;  // that a factorization may use; nothing else depends on them

  // Lays R out for the dual blocks (n_dual,) in `order`; the order of the primal ones does not matter. With parts,
  // begins (n_parts + 1,) of a Partition, the dual blocks have to be numbered in that order.
  BlockQR(View<const Index> block_sizes, View<const Index, 2> ends, View<const Index> order,
          View<const Index> part_starts);

  // Fills R. Returns `regular`, or the first dual row that depends on others to rounding.
  Index factorize(ConstraintRows A) { return factorize(A, {}, {}); }
  // The same with a right-hand side [f; gamma]: fills y (n_dual_rows,) with Q' f - R'^-1 gamma, so that
  // R^-1 y = (A A')^-1 (A f - gamma). Q' f is accurate to rounding, unlike R'^-1 (A f).
  Index factorize(ConstraintRows A, View<const double> rhs, View<double> y);
  // The same; fills the dual part of x with that of the solution of [1 A'; A 0] x = rhs, not refined.
  Index factorize_with_duals(ConstraintRows A, View<const double> rhs, View<double> x);
  template <class T>
  void substitute(View<T> x);                  // x := (R' R)^-1 x = (A A')^-1 x, of one system or two
  template <class T>
  void substitute_back(View<T> x) const;       // x := R^-1 x

  // Relative residuals of the constraint rows: of a solution, or an estimate unless it is to be `accurate`; and
  // before the first correction, which shows the error of R.
  struct Residuals {
    double last, first;
  };
  // Fills the solution x of [1 A'; A 0] x = rhs. The primal equations hold to rounding; every correction makes
  // the residual of the rows smaller by about the same ratio, so that the one after it need not be computed.
  Residuals solve(ConstraintRows A, View<const double> rhs, bool accurate, View<double> x, int corrections = 4) {
    return refined(A, rhs, accurate ? exact : rough, nothing, x, corrections);
  }
  // The same by factors of a near matrix, from the dual part of x on, to residual_by_factors, with the residual estimated.
  Residuals solve_by_factors(ConstraintRows A, View<const double> rhs, View<double> x) {
    return refined(A, rhs, by_factors, duals, x, 4);
  }
  static constexpr double residual_by_factors = 1e-12;
  // Fills the primal part of x with the least one that changes the rows A x by -error (n_dual_rows,), overwritten; of
  // one system or two.
  template <class T>
  void correct(ConstraintRows A, View<T> error, View<T> x);
  // Both at once; returns what `factorize` does.
  Index factorize_and_solve(ConstraintRows A, View<const double> rhs, bool accurate, View<double> x,
                            Residuals& residuals);

  // The smallest |R_tt| relative to the norm of the row of A, and that row: the sine of the angle between the row
  // and those eliminated before it.
  std::pair<double, Index> smallest_pivot() const;
  // The inverse squares of the sines of all rows (n_dual_rows,).
  View<const double> inverse_squares() const { return inverse_squares_; }

  // (n_dual, 4): pivots, rows, padded columns, and rows of the contribution block of every front.
  Array<Index, 2> front_shapes() const;

 private:
  struct Front {
    std::uint32_t size, n_rows, n_columns, n_inner;      // pivots; of the whole front; columns of its part
    std::uint32_t first_column, first_part, first_child;  // up to those of the next front
    Index start, stack;  // offsets of its rows of R, and of its contribution block

    Index stride() const { return (n_columns + 3) / 4 * 4; }  // columns of storage come in fours
    Index n_remaining() const {
      const Index others = n_columns - size, left = Index(n_rows) - Index(size);
      return left < 0 ? 0 : left < others ? left : others;
    }
  };
  // A block of A, whose transpose is added to a front.
  struct Part {
    std::uint32_t row, side, n_rows;      // in A
    std::uint32_t width, top, column;     // in the front: rows, first row, first column
    std::uint32_t primal;                 // the block whose right-hand side comes with it, or `none`
  };
  static constexpr std::uint32_t none = UINT32_MAX;
  // Fronts, and scratch of their own.
  struct Subtrees {
    Index begin, end;
    Array<double> front;
    Array<double> ancestors;  // what a substitution adds to the dual rows of common ancestors, of two systems; zero between calls
  };

  Subtrees& common_ancestors() { return subtrees_.back(); }
  // Calls task(part) for all parts except the common ancestors.
  template <class Task>
  void for_each_part(const Task& task) const {
    run_tasks(Index(subtrees_.size()) - 1, threads, task);
  }
  // Calls task(p, duals) for all parts, and then for the common ancestors.
  template <class Task>
  void in_parts(const Task& task) const;
  Index factorize(Subtrees& part, ConstraintRows A, View<const double> rhs, View<double> y);
  template <class T>
  void substitute(Subtrees& part, T* x);
  template <class T>
  void substitute_back(const Subtrees& part, T* x) const;
  void assemble(Index j, const Front& front, ConstraintRows A, View<const double> rhs, double* to);
  void add_contribution(Index child, double* rows, double* gamma, double* f, Index stride, Index& top);
  void prefetch_front(Index j, ConstraintRows A) const;
  template <class T>  // x -= A' y
  void subtract(ConstraintRows A, const T* y, T* x) const;
  // Of the dual rows of common ancestors, to which a part adds.
  static Index n_shared(const Subtrees& part) { return part.ancestors.size() / 2; }
  // A residual that suffices, and whether it may be an estimate.
  struct Goal {
    double residual;
    bool is_exact;
  };
  static const Goal exact, rough, by_factors;
  // What is there of a solution: its dual part, or the forward substitution of the first one, in residual_.
  enum Begun { nothing, duals, forward };
  Residuals refined(ConstraintRows A, View<const double> rhs, const Goal& goal, Begun begun, View<double> x,
                    int corrections);

  ConstraintPattern pattern_;
  std::vector<Front> fronts_;            // in elimination order; the last one only ends ranges
  std::vector<std::uint32_t> columns_;   // the dual row of each column of each front
  std::vector<std::uint32_t> parent_columns_;  // the column in the parent's front, except of pivots
  std::vector<std::uint32_t> children_;  // by parent
  std::vector<Part> parts_;              // by front
  Array<double> R_;                      // by front, the inverse of its diagonal in place of that
  std::vector<Subtrees> subtrees_;       // parts, and at last their common ancestors
  Array<double> inverse_squares_;        // of the sines of rows
  Array<double> stack_, residual_;       // scratch
};

// The dual blocks (n_dual,) of an order, each subtree of the tree of fronts in one piece, in parts.
Partition dual_partition(View<const Index> block_sizes, View<const Index, 2> ends, View<const Index> order,
                         Index fewest = fewest_blocks);

}  // namespace sparsebody
