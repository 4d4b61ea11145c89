// Cholesky factors L of blocks of n rows, stored row-major in the lower triangle, with 1 / diagonal on the diagonal.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/array.hpp"

namespace sparsebody::small {

// The lower triangle of A becomes L; what is above the diagonal stays. False if A is not positive definite.
inline bool cholesky(int n, double* A) {
  for (int j = 0; j < n; ++j) {
    double pivot = A[j * n + j];
    for (int k = 0; k < j; ++k) pivot -= A[j * n + k] * A[j * n + k];
    if (!(pivot > 0.0)) return false;
    const double inverse = A[j * n + j] = 1.0 / std::sqrt(pivot);
    for (int i = j + 1; i < n; ++i) {
      double sum = A[i * n + j];
      for (int k = 0; k < j; ++k) sum -= A[i * n + k] * A[j * n + k];
      A[i * n + j] = sum * inverse;
    }
  }
  return true;
}
// x = L^-1 x
inline void forward(int n, const double* L, double* x) {
  for (int i = 0; i < n; ++i) {
    double sum = x[i];
    for (int j = 0; j < i; ++j) sum -= L[i * n + j] * x[j];
    x[i] = sum * L[i * n + i];
  }
}
// X = L^-1 X for X (n, width).
template <int width>
void forward_columns(int n, const double* L, double* x) {
  for (int i = 0; i < n; ++i) {
    double row[width];
    std::copy_n(x + i * width, width, row);
    for (int j = 0; j < i; ++j)
      for (int e = 0; e < width; ++e) row[e] -= L[i * n + j] * x[j * width + e];
    for (int e = 0; e < width; ++e) x[i * width + e] = row[e] * L[i * n + i];
  }
}
// x = L'^-1 x
inline void backward(int n, const double* L, double* x) {
  for (int i = n - 1; i >= 0; --i) {
    double sum = x[i];
    for (int j = i + 1; j < n; ++j) sum -= L[j * n + i] * x[j];
    x[i] = sum * L[i * n + i];
  }
}

// L becomes K = L^-1, of n rows; what is above the diagonal stays.
template <int n>
void invert(double* L) {
  for (int i = 1; i < n; ++i) {
    double row[n];
    std::copy_n(L + i * n, i + 1, row);
    for (int j = 0; j < i; ++j) {
      double sum = 0.0;
      for (int k = j; k < i; ++k) sum -= row[k] * L[k * n + j];
      L[i * n + j] = sum * row[i];
    }
  }
}
// x = K x and x = K' x: unlike in a substitution, no x_i waits for another.
template <int n>
void multiply_lower(const double* K, double* x) {
  double y[n] = {};
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) y[i] += K[i * n + j] * x[j];
  std::copy_n(y, n, x);
}
template <int n>
void multiply_lower_transposed(const double* K, double* x) {
  double y[n] = {};
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) y[j] += K[i * n + j] * x[i];
  std::copy_n(y, n, x);
}

// x = L L' x
inline void multiply_by_product(int n, const double* L, double* x) {
  for (int i = 0; i < n; ++i) {
    x[i] /= L[i * n + i];
    for (int j = i + 1; j < n; ++j) x[i] += L[j * n + i] * x[j];
  }
  for (int i = n - 1; i >= 0; --i) {
    x[i] /= L[i * n + i];
    for (int j = 0; j < i; ++j) x[i] += L[i * n + j] * x[j];
  }
}

inline double dot6(const double* a, const double* b) {
  double sum = 0.0;
  for (int i = 0; i < 6; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace sparsebody::small
