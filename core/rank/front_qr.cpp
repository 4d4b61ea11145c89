#include "rank/front_qr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/threads.hpp"
#include "rank/packed.hpp"

namespace sparsebody {

using packed::lanes;
using packed::Pack;
using packed::pack;

double* AlignedBuffer::reserve(Index size) {
  if (size > capacity_) {
    capacity_ = 2 * size;
    data_.reset(static_cast<double*>(::operator new[](sizeof(double) * capacity_, std::align_val_t(64))));
  }
  return data_.get();
}

namespace {

constexpr Index panel_columns = 32;
constexpr Index panel_rows = 48;   // fewer rows or columns are not worth a panel
constexpr Index strip = 3;         // registers of columns that are changed at once
constexpr Index worth_threads = 1 << 16;  // numbers after a panel: 0.4 ms of work, and 0.03 to start a thread

Index padded(Index n) { return (n + lanes - 1) / lanes * lanes; }

// F -= v w, w = beta v'F, in N registers of columns; rows from `first` on are changed.
template <int N>
void reflect_strip(double* F, Index stride, const double* v, Index m, double beta, Index first) {
  Pack w[N] = {};
  for (Index i = 0; i < m; ++i)
    for (int c = 0; c < N; ++c) w[c] += v[i] * pack(F + i * stride + c * lanes);
  for (int c = 0; c < N; ++c) w[c] *= beta;
  for (Index i = first; i < m; ++i)
    for (int c = 0; c < N; ++c) pack(F + i * stride + c * lanes) -= v[i] * w[c];
}

// W = V'C in N registers of columns; V (m, k) by rows that are ld apart, k a multiple of four.
template <int N>
void transposed_product(const double* V, Index ld, Index k, const double* C, Index stride, Index m,
                        double* W) {
  for (Index j = 0; j < k; j += 4) {
    Pack sum[4][N] = {};
    for (Index i = 0; i < m; ++i) {
      const double* v = V + i * ld + j;
      for (int c = 0; c < N; ++c) {
        const Pack x = pack(C + i * stride + c * lanes);
        for (int r = 0; r < 4; ++r) sum[r][c] += v[r] * x;
      }
    }
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < N; ++c) pack(W + ((j + r) * N + c) * lanes) = sum[r][c];
  }
}

// C -= V W in R rows and N registers of columns.
template <int R, int N>
void subtract_rows(const double* V, Index ld, Index k, const double* W, double* C, Index stride) {
  Pack sum[R][N] = {};
  for (Index j = 0; j < k; ++j)
    for (int c = 0; c < N; ++c) {
      const Pack w = pack(W + (j * N + c) * lanes);
      for (int r = 0; r < R; ++r) sum[r][c] += V[r * ld + j] * w;
    }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < N; ++c) pack(C + r * stride + c * lanes) -= sum[r][c];
}

// C -= V T'V'C in N registers of columns, the rows from `first` on; W has room for k x N registers.
template <int N>
void reflect_block(const double* V, const double* T, Index ld, Index k, double* C, Index stride, Index m, Index first,
                   double* W) {
  transposed_product<N>(V, ld, k, C, stride, m, W);
  for (Index j = k - 1; j >= 0; --j) {  // W = T'W, the last row first
    Pack sum[N] = {};
    for (Index i = 0; i <= j; ++i)
      for (int c = 0; c < N; ++c) sum[c] += T[i * ld + j] * pack(W + (i * N + c) * lanes);
    for (int c = 0; c < N; ++c) pack(W + (j * N + c) * lanes) = sum[c];
  }
  Index i = first;
  for (; i + 4 <= m; i += 4) subtract_rows<4, N>(V + i * ld, ld, k, W, C + i * stride, stride);
  for (; i < m; ++i) subtract_rows<1, N>(V + i * ld, ld, k, W, C + i * stride, stride);
}

}  // namespace

// Reflections I - V T V' that the columns from `applied_end` on have not seen.
struct FrontQR::Panel {
  Index end = 0, applied_end = 0, top = 0, n_rows = 0;  // V has the rows from `top` on
  Index n_reflections = 0, n_padded = 0;                // n_padded columns of V and T
  bool is_blocked = false;
};

void FrontQR::reset(Index m, Index n) {
  m_ = m;
  n_ = n;
  stride_ = padded(n);
  first_row_ = first_column_ = pivot_row_ = end_row_ = 0;
  std::fill_n(values_.reserve(m * stride_), m * stride_, 0.0);
  lead.resize(m);
}

void FrontQR::decide(View<const Index> group_start, Index n_groups, double tolerance, double* remainder) {
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

void FrontQR::decide_group(Index first, Index end, double tolerance, double* remainder, Panel& panel) {
  reach(end - 1);
  for (Index column = first; column < end; ++column) {
    const Index begin = column / lanes * lanes;  // of the register that holds the column
    const Index m = end_row_ - pivot_row_, stride = stride_;
    squares_.resize(std::max<Index>(padded(end) - begin, Index(squares_.size())));
    for (Index c = begin; c < end; c += lanes) {
      const double* F = row(pivot_row_) + c;
      Pack sum = {};
      for (Index i = 0; i < m; ++i) sum += pack(F + i * stride) * pack(F + i * stride);
      pack(&squares_[c - begin]) = sum;
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

void FrontQR::triangularize() {
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
void FrontQR::reach(Index column) {
  while (end_row_ < m_ && lead[end_row_] <= column) ++end_row_;
}

// A panel of the columns up to `end`; blocked where the columns after it are worth it.
FrontQR::Panel FrontQR::new_panel(Index end) {
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
void FrontQR::reflect(Index column, double square, Panel& panel, bool keeps_pivot_row) {
  const Index m = end_row_ - pivot_row_;
  double* F = row(pivot_row_++);
  if (m == 1) return;
  reflector_.resize(m);
  double* v = reflector_.data();
  for (Index i = 0; i < m; ++i) v[i] = F[i * stride_ + column];
  const double size = std::sqrt(square), alpha = v[0] > 0.0 ? -size : size;
  v[0] -= alpha;
  const double beta = -1.0 / (alpha * v[0]);  // 2 / v'v
  const Index first = keeps_pivot_row ? 0 : 1;
  Index c = column / lanes * lanes;
  for (; c + 4 * lanes <= panel.applied_end; c += 4 * lanes) reflect_strip<4>(F + c, stride_, v, m, beta, first);
  for (; c < panel.applied_end; c += lanes) reflect_strip<1>(F + c, stride_, v, m, beta, first);
  F[column] = alpha;
  if (!panel.is_blocked) return;
  const Index k = panel.n_reflections++, n = panel.n_padded;  // t_k = -beta T V'v, t_kk = beta
  double* V = &V_[(pivot_row_ - 1 - panel.top) * n];
  double* T = T_.data();
  squares_.assign(n, 0.0);
  for (Index i = 0; i < m; ++i) {
    packed::add_scaled(squares_.data(), v[i], V + i * n, n);
    V[i * n + k] = v[i];
  }
  for (Index i = 0; i < k; ++i) T[i * n + k] = -beta * packed::dot(T + i * n, squares_.data(), k);
  T[k * n + k] = beta;
}

// Apply the reflections of a panel to the columns after it, in its rows from `first` on.
void FrontQR::reflect_following(const Panel& panel, Index first) {
  if (!panel.is_blocked || panel.n_reflections == 0) return;
  const Index k = (panel.n_reflections + 3) / 4 * 4, first_column = panel.applied_end;
  const Index width = strip * lanes, n_strips = (stride_ - first_column + width - 1) / width;
  W_.resize(n_strips * panel.n_padded * width);
  const auto reflect = [&](Index i) {
    double* const W = &W_[i * panel.n_padded * width];
    double* const C = row(panel.top);
    Index c = first_column + i * width;
    const Index end = std::min(c + width, stride_);
    if (c + width <= stride_)
      reflect_block<strip>(V_.data(), T_.data(), panel.n_padded, k, C + c, stride_, panel.n_rows, first, W);
    else
      for (; c < end; c += lanes)
        reflect_block<1>(V_.data(), T_.data(), panel.n_padded, k, C + c, stride_, panel.n_rows, first, W);
  };
  const bool is_large = panel.n_rows * (stride_ - first_column) >= worth_threads;
  run_tasks(n_strips, is_large ? threads_ : 1, reflect);
}

std::tuple<Array<double>, Array<Index>, Array<double, 2>> decided_front(View<const double, 2> front,
                                                                        View<const Index> joint,
                                                                        View<const bool> ready, double tolerance) {
  const Index m = front.rows(), n = front.shape(1);
  std::vector<Index> order(n), group_start(1, 0);
  std::iota(order.begin(), order.end(), Index(0));
  const auto key = [&](Index c) { return ready[c] ? joint[c] : -1; };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return key(a) > key(b); });
  const Index n_ready = std::count(ready.begin(), ready.end(), true);
  for (Index c = 1; c <= n_ready; ++c)
    if (c == n_ready || joint[order[c]] != joint[order[c - 1]]) group_start.push_back(c);
  FrontQR qr;
  qr.reset(m, n);
  for (Index i = 0; i < m; ++i)
    for (Index c = 0; c < n; ++c) qr.row(i)[c] = front(i, order[c]);
  std::vector<double> sorted(n, std::numeric_limits<double>::quiet_NaN());
  qr.decide(group_start, Index(group_start.size()) - 1, tolerance, sorted.data());
  Array<double> remainder(n);
  for (Index c = 0; c < n; ++c) remainder[order[c]] = sorted[c];
  Array<Index> column(n - n_ready);
  std::copy(order.begin() + n_ready, order.end(), column.begin());
  Array<double, 2> remaining({qr.n_rows() - qr.first_row(), n - n_ready});
  for (Index i = 0; i < remaining.shape(0); ++i)
    for (Index c = qr.lead[qr.first_row() + i]; c < n - n_ready; ++c)
      remaining(i, c) = qr.row(qr.first_row() + i)[n_ready + c];
  return {std::move(remainder), std::move(column), std::move(remaining)};
}

}  // namespace sparsebody
