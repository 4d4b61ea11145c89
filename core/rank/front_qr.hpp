// Rank-revealing QR factorization of one dense front of a sparse matrix.
//
// Columns are rows of A, grouped by joint; rows are equations A' y = 0 (columns of A) of some bodies, and the rows that
// remain of earlier fronts. They are sorted by their leading columns, before which they are zero: in this staircase a
// reflection of a column covers only the rows that begin at or before it.
// Davis (2011), ACM TOMS 38, 8 (staircases, and columns that are left out); Schreiber and Van Loan (1989), SIAM J. Sci.
// Stat. Comput. 10, 1 (reflections of a panel as I - V T V', so that the columns after it are updated by products).
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/array.hpp"
#include "base/householder.hpp"
#include "base/threads.hpp"

namespace sparsebody {

class FrontQR {
 public:
  // Large panels are applied on several threads.
  explicit FrontQR(int threads = 1) : threads_(threads) {}
  // Start with m x n zeros; `lead` (m), the first column that is not zero, has to be filled, nondecreasing.
  void reset(Index m, Index n) {
    m_ = m;
    n_ = n;
    stride_ = padded(n);
    first_row_ = first_column_ = pivot_row_ = end_row_ = 0;
    if (m * stride_ > values_.size()) values_ = Array<double>(2 * m * stride_);
    std::fill_n(values_.data(), m * stride_, 0.0);
    lead.resize(m);
  }
  double* row(Index i) { return values_.data() + i * stride_; }
  std::vector<Index> lead;

  // Decide the columns of the first groups, group g at group_start[g] .. group_start[g + 1] - 1: one group after the
  // other, the largest remainder of a group first. remainder[c] = |R_cc|, the norm of what is orthogonal to the
  // columns used before; up to `tolerance` column c is dependent, and not used. Then triangularize the equations that
  // remain, where they are more than the columns. Of R only |R_jj| is needed: rows of decided columns are dropped, and
  // not updated.
  void decide(View<const Index> group_start, Index n_groups, double tolerance, double* remainder) {
    column_.resize(group_start[n_groups]);
    std::iota(column_.begin(), column_.end(), Index(0));
    for (Index g = 0, next; g < n_groups; g = next) {
      const Index first = group_start[g];
      for (next = g + 1; next < n_groups && group_start[next + 1] - first <= panel_columns;) ++next;
      Panel panel = new_panel(group_start[next]);
      for (Index k = g; k < next; ++k)
        decide_group(group_start[k], group_start[k + 1], tolerance, remainder, panel);
      reflect_following(panel, pivot_row_ - panel.top);
    }
    first_column_ = group_start[n_groups];
    first_row_ = pivot_row_;
    if (m_ - first_row_ > n_ - first_column_) triangularize();
    for (Index i = first_row_; i < m_; ++i) lead[i] = std::max<Index>(lead[i] - first_column_, 0);
  }

  // Remaining equations: rows first_row() .. n_rows() - 1 on the columns from first_column() on; `lead` counts from there.
  Index first_row() const { return first_row_; }
  Index n_rows() const { return m_; }
  Index first_column() const { return first_column_; }
  Index n_columns() const { return n_; }

 private:
  using Pack = dense::Lanes;

  static constexpr int lanes = dense::lane_count;
  static constexpr Index panel_columns = 32;
  static constexpr Index panel_rows = 48;   // with fewer rows, or columns after it, a panel costs more than it saves
  static constexpr Index strip = 192;       // columns updated at once
  static constexpr Index parallel_entries = 1 << 16;  // after a panel: 0.4 ms of work, and 0.03 to start a thread

  static Index padded(Index n) { return (n + lanes - 1) / lanes * lanes; }

  // C -= V T'V'C in n columns, the rows from `first` on; V (m, k) and T (k, k) by rows that are ld apart, k a multiple
  // of eight, W (k, n) room.
  static void reflect_block(const double* V, const double* T, Index ld, Index k, double* C, Index stride, Index m,
                            Index n, Index first, double* W) {
    constexpr int R = 8, I = 4;  // rows of C at once
    const double* x[R];
    double* y[I];
    std::fill_n(W, k * n, 0.0);
    for (Index i = 0; i < m; i += R)  // W = V'C
      for (Index j = 0; j < k; j += I) {
        double P[R][I] = {};
        for (Index r = 0; r < R; ++r) {
          x[r] = C + std::min(i + r, m - 1) * stride;
          if (i + r < m) std::copy_n(V + (i + r) * ld + j, I, P[r]);
        }
        for (Index l = 0; l < I; ++l) y[l] = W + (j + l) * n;
        dense::add_products<R, I>(n, P, x, y);
      }
    for (Index j = k - 1; j >= 0; --j) {  // W = T'W, the last row first
      for (Index c = 0; c < n; ++c) W[j * n + c] *= T[j * ld + j];
      for (Index i = 0; i < j; ++i) dense::add_scaled(W + j * n, T[i * ld + j], W + i * n, n);
    }
    Index i = first;
    for (; i + I <= m; i += I)  // C -= V W
      for (Index j = 0; j < k; j += R) {
        double P[R][I];
        for (Index l = 0; l < I; ++l) {
          y[l] = C + (i + l) * stride;
          for (Index r = 0; r < R; ++r) P[r][l] = -V[(i + l) * ld + j + r];
        }
        for (Index r = 0; r < R; ++r) x[r] = W + (j + r) * n;
        dense::add_products<R, I>(n, P, x, y);
      }
    for (; i < m; ++i)
      for (Index j = 0; j < k; ++j) dense::add_scaled(C + i * stride, -V[i * ld + j], W + j * n, n);
  }

  // Reflections I - V T V', still to be applied to the columns from `applied_end` on.
  struct Panel {
    Index end = 0, applied_end = 0, top = 0, n_rows = 0;  // V has the rows from `top` on
    Index n_reflections = 0, n_padded = 0;                // n_padded columns of V and T
    bool is_blocked = false;
  };

  void decide_group(Index first, Index end, double tolerance, double* remainder, Panel& panel) {
    reach(end - 1);
    for (Index column = first; column < end; ++column) {
      const Index begin = column / lanes * lanes;  // of the register that holds the column
      const Index m = end_row_ - pivot_row_, stride = stride_;
      squares_.resize(std::max<Index>(padded(end) - begin, Index(squares_.size())));
      for (Index c = begin; c < end; c += lanes) {
        const double* F = row(pivot_row_) + c;
        Pack sum;
        for (Index i = 0; i < m; ++i) sum = sum + Pack::load(F + i * stride) * Pack::load(F + i * stride);
        sum.store(&squares_[c - begin]);
      }
      Index best = column;
      for (Index c = column + 1; c < end; ++c)
        if (squares_[c - begin] > squares_[best - begin]) best = c;
      if (best != column) {
        double* F = row(pivot_row_);
        for (Index i = 0; i < m; ++i) std::swap(F[i * stride + best], F[i * stride + column]);
        std::swap(column_[best], column_[column]);
      }
      const double largest = squares_[best - begin];
      remainder[column_[column]] = std::sqrt(largest);
      if (std::sqrt(largest) > tolerance) reflect(column, largest, panel, false);
    }
  }
  void triangularize() {
    for (Index first = first_column_, end; first < n_; first = end) {
      end = std::min(first + panel_columns, n_);
      Panel panel = new_panel(end);
      for (Index column = first; column < end; ++column) {
        reach(column);
        double square = 0.0;
        for (Index i = pivot_row_; i < end_row_; ++i) square += row(i)[column] * row(i)[column];
        if (square == 0.0) continue;
        lead[pivot_row_] = column;
        reflect(column, square, panel, true);
      }
      reflect_following(panel, 0);
    }
    m_ = pivot_row_;
  }
  // Let `end_row_` be the end of the rows that can be nonzero in the columns up to this one.
  void reach(Index column) {
    while (end_row_ < m_ && lead[end_row_] <= column) ++end_row_;
  }
  // A panel of the columns up to `end`; blocked where the columns after it are worth it.
  Panel new_panel(Index end) {
    Index end_row = end_row_;
    while (end_row < m_ && lead[end_row] < end) ++end_row;
    Panel panel{.end = end, .applied_end = stride_, .top = pivot_row_, .n_rows = end_row - pivot_row_};
    panel.is_blocked = panel.n_rows >= panel_rows && n_ - end >= panel_rows;
    if (panel.is_blocked) {
      panel.applied_end = padded(end);
      panel.n_padded = panel_columns;
      V_.assign(panel.n_rows * panel.n_padded, 0.0);
      T_.assign(panel.n_padded * panel.n_padded, 0.0);
    }
    return panel;
  }
  // The reflection that makes `column` zero below the pivot row; it is applied to the columns of the panel.
  void reflect(Index column, double square, Panel& panel, bool updates_pivot_row) {
    const Index m = end_row_ - pivot_row_;
    double* F = row(pivot_row_++);
    if (m == 1) return;
    reflector_.resize(m);
    double* v = reflector_.data();
    for (Index i = 0; i < m; ++i) v[i] = F[i * stride_ + column];
    const auto [alpha, beta] = dense::Reflection(v, square);
    dense::reflect<Pack, lanes>(F, stride_, v, m, beta, column / lanes * lanes, panel.applied_end,
                                updates_pivot_row ? 0 : 1);
    F[column] = alpha;
    if (!panel.is_blocked) return;
    const Index k = panel.n_reflections++, n = panel.n_padded;  // t_k = -beta T V'v, t_kk = beta
    double* V = &V_[(pivot_row_ - 1 - panel.top) * n];
    double* T = T_.data();
    products_.assign(n, 0.0);  // V'v
    for (Index i = 0; i < m; ++i) {
      dense::add_scaled(products_.data(), v[i], V + i * n, n);
      V[i * n + k] = v[i];
    }
    for (Index i = 0; i < k; ++i) T[i * n + k] = -beta * dense::dot(T + i * n, products_.data(), k);
    T[k * n + k] = beta;
  }
  // Apply the reflections of a panel to the columns after it, in its rows from `first` on.
  void reflect_following(const Panel& panel, Index first) {
    if (!panel.is_blocked || panel.n_reflections == 0) return;
    const Index k = (panel.n_reflections + 7) / 8 * 8, n = stride_ - panel.applied_end;
    const Index n_strips = (n + strip - 1) / strip;
    W_.resize(k * n);
    const auto reflect = [&](Index i) {
      const Index column = i * strip;
      reflect_block(V_.data(), T_.data(), panel.n_padded, k, row(panel.top) + panel.applied_end + column, stride_,
                    panel.n_rows, std::min(strip, n - column), first, W_.data() + k * column);
    };
    run_tasks(n_strips, panel.n_rows * n >= parallel_entries ? threads_ : 1, reflect);
  }

  int threads_;
  Index m_ = 0, n_ = 0, stride_ = 0, first_row_ = 0, first_column_ = 0;
  Index pivot_row_ = 0, end_row_ = 0;  // the rows that can be nonzero in the present column
  Array<double> values_;  // rows of whole registers
  std::vector<double> V_, T_, W_, reflector_, squares_, products_;
  std::vector<Index> column_;  // of each position: the column, before the pivoting in its group
};

}  // namespace sparsebody
