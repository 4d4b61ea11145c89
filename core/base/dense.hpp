// Dense kernels for the small and middling matrices of fronts, loops and clusters: row by row, double precision.
// Golub and Van Loan (2013), Matrix Computations, chs. 3 and 4. What is far larger goes to LAPACK.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/array.hpp"

namespace sparsebody::dense {

// y += a x
inline void add_scaled(Index n, double a, const double* __restrict x, double* __restrict y) {
  for (Index j = 0; j < n; ++j) y[j] += a * x[j];
}

// Y += P' X, X the R vectors x of n, Y the I vectors y, P (R, I): every number of Y is read and written once.
template <int R, int I>
inline void add_products(Index n, const double (&P)[R][I], const double* const (&x)[R], double* const (&y)[I]) {
  double p[R][I];
  const double* __restrict x_[R];
  double* __restrict y_[I];
  for (int r = 0; r < R; ++r) {
    x_[r] = x[r];
    for (int i = 0; i < I; ++i) p[r][i] = P[r][i];
  }
  for (int i = 0; i < I; ++i) y_[i] = y[i];
#pragma GCC ivdep
  for (Index j = 0; j < n; ++j) {
    double sum[I];
    for (int i = 0; i < I; ++i) sum[i] = y_[i][j];
    for (int r = 0; r < R; ++r) {
      const double x_rj = x_[r][j];
      for (int i = 0; i < I; ++i) sum[i] += p[r][i] * x_rj;
    }
    for (int i = 0; i < I; ++i) y_[i][j] = sum[i];
  }
}

// y += a_0 x_0 + ... + a_{R-1} x_{R-1}
template <int R>
inline void add_combination(Index n, const double (&a)[R], const double* const (&x)[R], double* y) {
  double P[R][1];
  for (int r = 0; r < R; ++r) P[r][0] = a[r];
  add_products<R, 1>(n, P, x, {y});
}

// x' y, in eight partial sums
inline double dot(Index n, const double* __restrict x, const double* __restrict y) {
  double sum[8] = {};
  Index j = 0;
  for (; j + 8 <= n; j += 8)
    for (int l = 0; l < 8; ++l) sum[l] += x[j + l] * y[j + l];
  double rest = 0.0;
  for (; j < n; ++j) rest += x[j] * y[j];
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}

// The largest |x_j|; NaN is passed over.
inline double largest(Index n, const double* x) {
  double most[8] = {};
  Index j = 0;
  for (; j + 8 <= n; j += 8)
    for (int l = 0; l < 8; ++l) {
      const double size = std::abs(x[j + l]);
      most[l] = size > most[l] ? size : most[l];
    }
  for (; j < n; ++j) most[0] = std::max(most[0], std::abs(x[j]));
  return *std::max_element(most, most + 8);
}

// A = U' U in the upper triangle of A (n, n), by panels of eight rows. Returns -1, or the row whose pivot is not
// above `least[row]`; there the factorization ends.
inline Index cholesky(Index n, double* A, const double* least) {
  constexpr int R = 8;
  for (Index k0 = 0; k0 < n; k0 += R) {
    const Index k1 = std::min(k0 + R, n);
    for (Index k = k0; k < k1; ++k) {  // the panel's own rows
      double* own = A + k * n;
      for (Index i = k0; i < k; ++i) add_scaled(n - k, -A[i * n + k], A + i * n + k, own + k);
      if (!(own[k] > least[k])) return k;
      const double inverse = 1.0 / std::sqrt(own[k]);
      for (Index j = k; j < n; ++j) own[j] *= inverse;
    }
    for (Index i = k1; i < n; ++i) {  // A_22 -= U_12' U_12; not reached in a last panel that is narrower
      double factor[R];
      const double* row[R];
      for (int r = 0; r < R; ++r) {
        row[r] = A + (k0 + r) * n + i;
        factor[r] = -row[r][0];
      }
      add_combination(n - i, factor, row, A + i * n + i);
    }
  }
  return -1;
}

// x becomes (U' U)^-1 x.
inline void cholesky_solve(Index n, const double* U, double* x) {
  for (Index i = 0; i < n; ++i) {
    x[i] /= U[i * n + i];
    add_scaled(n - i - 1, -x[i], U + i * n + i + 1, x + i + 1);
  }
  for (Index i = n - 1; i >= 0; --i) x[i] = (x[i] - dot(n - i - 1, U + i * n + i + 1, x + i + 1)) / U[i * n + i];
}

}  // namespace sparsebody::dense
