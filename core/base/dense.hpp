// Dense kernels for the small and middling matrices of fronts, loops and clusters: row by row, double precision.
// Golub and Van Loan (2013), Matrix Computations, chs. 3 and 4. What is far larger goes to LAPACK.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/array.hpp"
#include "base/vec.hpp"

namespace sparsebody::dense {

// Rows are long: here the widest registers pay.
#if defined(__AVX512F__)
inline constexpr int lane_count = 8;
using Lanes = Vec<8, true>;
#else
inline constexpr int lane_count = 4;
using Lanes = Vec<4>;
#endif

// Columns [j, j + V n_lanes) of Y += P' X.
template <class Lanes, int n_lanes, int V, int R, int I>
SB_INLINE void add_product_columns(Index j, const double (&P)[R][I], const double* const (&x)[R],
                                   double* const (&y)[I]) {
  Lanes sum[I][V];
  unrolled<0, I * V>([&](auto k) SB_UNROLL { sum[k / V][k % V] = Lanes::load(y[k / V] + j + k % V * n_lanes); });
  unrolled<0, R>([&](auto r) SB_UNROLL {
    Lanes x_r[V];
    unrolled<0, V>([&](auto v) SB_UNROLL { x_r[v] = Lanes::load(x[r] + j + v * n_lanes); });
    unrolled<0, I * V>([&](auto k) SB_UNROLL { sum[k / V][k % V] = sum[k / V][k % V] + x_r[k % V] * P[r][k / V]; });
  });
  unrolled<0, I * V>([&](auto k) SB_UNROLL { sum[k / V][k % V].store(y[k / V] + j + k % V * n_lanes); });
}

// Y += P' X, X the R vectors x of n, Y the I vectors y, P (R, I): every number of Y is read and written once.
template <int R, int I>
inline void add_products(Index n, const double (&P)[R][I], const double* const (&x)[R], double* const (&y)[I]) {
  Index j = 0;
  for (; j + 2 * lane_count <= n; j += 2 * lane_count) add_product_columns<Lanes, lane_count, 2>(j, P, x, y);
  if (j + lane_count <= n) add_product_columns<Lanes, lane_count, 1>(j, P, x, y), j += lane_count;
  if (j + 4 <= n) add_product_columns<Vec<4>, 4, 1>(j, P, x, y), j += 4;
  for (; j < n; ++j)
    for (int i = 0; i < I; ++i)
      for (int r = 0; r < R; ++r) y[i][j] += P[r][i] * x[r][j];
}

// y += a_0 x_0 + ... + a_{R-1} x_{R-1}
template <int R>
SB_INLINE void add_combination(Index n, const double (&a)[R], const double* const (&x)[R], double* y) {
  double P[R][1];
  for (int r = 0; r < R; ++r) P[r][0] = a[r];
  add_products<R, 1>(n, P, x, {y});
}

// y += a x
SB_INLINE void add_scaled(double* y, double a, const double* x, Index n) { add_combination<1>(n, {a}, {x}, y); }

// x' y
inline double dot(const double* x, const double* y, Index n) {
  Lanes even, odd;
  Index j = 0;
  for (; j + 2 * lane_count <= n; j += 2 * lane_count) {
    even = even + Lanes::load(x + j) * Lanes::load(y + j);
    odd = odd + Lanes::load(x + j + lane_count) * Lanes::load(y + j + lane_count);
  }
  if (j + lane_count <= n) even = even + Lanes::load(x + j) * Lanes::load(y + j), j += lane_count;
  double sum[lane_count];
  (even + odd).store(sum);
  double total = 0.0;
  for (const double lane : sum) total += lane;
  for (; j < n; ++j) total += x[j] * y[j];
  return total;
}

using TileLanes = Vec<4>;  // of tiles: fronts have spare columns up to fours
inline constexpr int tile_lanes = 4;

// A tile of I rows and V vectors of a matrix, in registers.
template <int I, int V>
struct Tile {
  TileLanes sum[I][V];

  SB_INLINE void load(const double* p, Index stride) {
    unrolled<0, I * V>([&](auto k) SB_UNROLL { sum[k / V][k % V] = TileLanes::load(p + k / V * stride + k % V * tile_lanes); });
  }
  SB_INLINE void store(double* p, Index stride) const {
    unrolled<0, I * V>([&](auto k) SB_UNROLL { sum[k / V][k % V].store(p + k / V * stride + k % V * tile_lanes); });
  }
  // Subtracts W' X for W (n, I) and X (n, V vectors), by the strides of their rows; n may be a constant.
  template <class N>
  SB_INLINE void subtract_product(N n, const double* w, Index w_stride, const double* x, Index x_stride) {
    for (Index t = 0; t < n; ++t, w += w_stride, x += x_stride) {
      TileLanes x_t[V];
      unrolled<0, V>([&](auto v) SB_UNROLL { x_t[v] = TileLanes::load(x + v * tile_lanes); });
      unrolled<0, I * V>([&](auto k) SB_UNROLL { sum[k / V][k % V] = sum[k / V][k % V] - x_t[k % V] * w[k / V]; });
    }
  }
};

inline constexpr int tile_rows = 6, tile_vectors = 2;  // 12 sums, 2 vectors and a number in 16 registers
inline constexpr int tile_columns = tile_vectors * tile_lanes;

// Calls f with the rows of a tile, six or those left, as a constant.
template <class F>
SB_INLINE void with_tile_rows(Index n_left, F&& f) {
  with_constant<6, 5, 4, 3, 2, 1>(std::min<Index>(n_left, tile_rows), f);
}
// Calls f(j, V) for strips of V vectors in columns [begin, end), a multiple of tile_lanes.
template <class F>
SB_INLINE void for_strips(Index begin, Index end, F&& f) {
  Index j = begin;
  for (; j + tile_columns <= end; j += tile_columns) f(j, std::integral_constant<int, tile_vectors>{});
  if (j < end) f(j, std::integral_constant<int, 1>{});
}

// C -= W' D W for W (k, n) and D = diag(d): all of C, or from the diagonal on and some numbers beside it. Rows have spare
// columns up to a multiple of tile_lanes.
inline void subtract_square(Index k, Index n, const double* W, Index stride, const double* d, bool is_upper, double* C,
                            Index c_stride) {
  const Index n_columns = (n + tile_lanes - 1) / tile_lanes * tile_lanes;
  const auto subtract_rows = [&](auto depth, Index i) SB_UNROLL {
    double w[depth * tile_rows];
    with_tile_rows(n - i, [&](auto n_rows) SB_UNROLL {
      for (int t = 0; t < depth; ++t)
        for (int r = 0; r < n_rows; ++r) w[t * tile_rows + r] = d[t] * W[t * stride + i + r];
      for_strips(is_upper ? i / tile_lanes * tile_lanes : 0, n_columns, [&](Index j, auto V) SB_UNROLL {
        Tile<n_rows, V> tile;
        tile.load(C + i * c_stride + j, c_stride);
        tile.subtract_product(depth, w, tile_rows, W + j, stride);
        tile.store(C + i * c_stride + j, c_stride);
      });
    });
  };
  for (; k > 0; k -= tile_rows, W += tile_rows * stride, d += tile_rows)
    with_tile_rows(k, [&](auto depth) SB_UNROLL {
      for (Index i = 0; i < n; i += tile_rows) subtract_rows(depth, i);
    });
}

// The largest |x_j|; NaN is passed over.
inline double largest(const double* x, Index n) {
  Lanes most;
  Index j = 0;
  for (; j + lane_count <= n; j += lane_count) most = larger(most, Lanes::load(x + j));
  double size[lane_count];
  most.store(size);
  for (; j < n; ++j) size[0] = std::max(size[0], std::abs(x[j]));
  return *std::max_element(size, size + lane_count);
}

// A += s X' X of R rows of X in columns [first, last) of the upper triangle of A (n, n); some numbers beside the
// diagonal are changed below it, too.
template <int R>
inline void add_square(Index n, Index first, Index last, double s, const double* const (&x)[R], double* A) {
  constexpr int I = 4;
  Index i = first;
  const double* tail[R];
  for (; i + I <= last; i += I) {
    double P[R][I];
    for (int r = 0; r < R; ++r) {
      tail[r] = x[r] + i;
      for (int l = 0; l < I; ++l) P[r][l] = s * tail[r][l];
    }
    double* const own = A + i * n + i;
    add_products<R, I>(last - i, P, tail, {own, own + n, own + 2 * n, own + 3 * n});
  }
  for (; i < last; ++i) {
    double P[R];
    for (int r = 0; r < R; ++r) tail[r] = x[r] + i, P[r] = s * x[r][i];
    add_combination<R>(last - i, P, tail, A + i * n + i);
  }
}

// A = U' U in the upper triangle of A (n, n), by panels of eight rows. Returns -1, or the row whose pivot is not
// above `least[row]`; there the factorization ends.
inline Index cholesky(Index n, double* A, const double* least) {
  constexpr int R = 8;
  const double* row[R];
  for (Index k0 = 0; k0 < n; k0 += R) {
    const Index k1 = std::min(k0 + R, n);
    for (Index k = k0; k < k1; ++k) {  // the panel's own rows
      double* own = A + k * n;
      row[k - k0] = own;
      for (Index i = k0; i < k; ++i) add_scaled(own + k, -A[i * n + k], A + i * n + k, n - k);
      if (!(own[k] > least[k])) return k;
      const double inverse = 1.0 / std::sqrt(own[k]);
      for (Index j = k; j < n; ++j) own[j] *= inverse;
    }
    if (k1 < n) add_square<R>(n, k1, n, -1.0, row, A);  // A_22 -= U_12' U_12
  }
  return -1;
}

// x becomes (U' U)^-1 x.
inline void cholesky_solve(Index n, const double* U, double* x) {
  for (Index i = 0; i < n; ++i) {
    x[i] /= U[i * n + i];
    add_scaled(x + i + 1, -x[i], U + i * n + i + 1, n - i - 1);
  }
  for (Index i = n - 1; i >= 0; --i) x[i] = (x[i] - dot(U + i * n + i + 1, x + i + 1, n - i - 1)) / U[i * n + i];
}

// ---- Modified Gram-Schmidt with pivoting, of few vectors: Golub and Van Loan (2013), secs. 5.2.8 and 5.4.2.

// Squares of remainders within this ratio are equal but for rounding of the sums that they are, some thousand eps: the
// first vector is taken, so that a choice does not depend on the machine.
inline constexpr double tie_ratio = 1.0 + 1e-12;

// Takes those of the first n vectors in `waiting`, rows of x, whose remainders are above `tolerance`, the largest first:
// calls take(i, remainder) for row i, then of unit length, and makes all that wait orthogonal to it. Of the vectors the
// first `length` numbers count in products; the others say which combinations they are.
template <class Take>
void orthogonalize(View<double, 2> x, Index length, std::vector<Index>& waiting, Index n, double tolerance, Take&& take) {
  const Index width = x.shape(1);
  for (; n > 0; --n) {
    double largest = -1.0;
    Index chosen = 0;
    for (Index k = 0; k < n; ++k) {
      const double* const row = x[waiting[k]].data();
      if (const double square = dot(row, row, length); square > largest * tie_ratio) largest = square, chosen = k;
    }
    const double remainder = std::sqrt(largest);
    if (!(remainder > tolerance)) return;
    const Index i = waiting[chosen];
    waiting.erase(waiting.begin() + chosen);
    const View<double> unit = x[i];
    for (double& number : unit) number /= remainder;
    take(i, remainder);
    for (const Index j : waiting) add_scaled(x[j].data(), -dot(x[j].data(), unit.data(), length), unit.data(), width);
  }
}

// 0, ..., n - 1
inline std::vector<Index> first_numbers(Index n) {
  std::vector<Index> numbers(n);
  std::iota(numbers.begin(), numbers.end(), Index(0));
  return numbers;
}

}  // namespace sparsebody::dense
