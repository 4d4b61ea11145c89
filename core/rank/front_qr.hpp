// Rank-revealing QR factorization of one dense front of a sparse matrix.
//
// Columns are rows of A, grouped by joint; rows are equations that remain of some bodies. They are sorted by their
// leading column, below which they are zero: a staircase, whose steps are all that a reflection has to cover.
// Davis (2011), ACM TOMS 38, 8 (staircases, and columns that are left out); Schreiber and Van Loan (1989), SIAM J. Sci.
// Stat. Comput. 10, 1 (reflections of a panel as I - V T V', so that the columns after it are changed by products).
#pragma once

#include "base/array.hpp"

namespace sparsebody {

class FrontQR {
 public:
  // Large panels are applied on several threads.
  explicit FrontQR(int threads = 1) : threads_(threads) {}
  // Start with m x n zeros; `lead` (m), the first column that is not zero, has to be filled, nondecreasing.
  void reset(Index m, Index n);
  double* row(Index i) { return values_.data() + i * stride_; }
  std::vector<Index> lead;

  // Decide the columns of the first groups, group g at group_start[g] .. group_start[g + 1] - 1: one group after the
  // other, the largest remainder of a group first. remainder[c] is what column c has left beside those decided before;
  // up to `tolerance` it is dependent, and not used. Then triangularize the equations that remain, where they are
  // more than the columns.
  void decide(View<const Index> group_start, Index n_groups, double tolerance, double* remainder);

  // What remains: rows first_row() .. n_rows() - 1 on the columns from first_column() on; `lead` counts from there.
  Index first_row() const { return first_row_; }
  Index n_rows() const { return m_; }
  Index first_column() const { return first_column_; }
  Index n_columns() const { return n_; }

 private:
  struct Panel;
  void decide_group(Index first, Index end, double tolerance, double* remainder, Panel& panel);
  void triangularize();
  void reach(Index column);
  Panel new_panel(Index end);
  void reflect(Index column, double square, Panel& panel, bool keeps_pivot_row);
  void reflect_following(const Panel& panel, Index first);

  int threads_;
  Index m_ = 0, n_ = 0, stride_ = 0, first_row_ = 0, first_column_ = 0;
  Index pivot_row_ = 0, end_row_ = 0;  // the rows that can be nonzero in the present column
  Array<double> values_;  // rows of whole registers
  std::vector<double> V_, T_, W_, reflector_, squares_;
  std::vector<Index> column_;  // what each column was before columns of its group were exchanged
};

}  // namespace sparsebody
