// Cholesky factors L of blocks of n rows, row by row, with 1 / diagonal on the diagonal.
#pragma once

#include <cmath>

#include "base/array.hpp"

namespace sparsebody::small {

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
// x = L^-1 x, of numbers that lie `stride` apart
inline void forward(int n, const double* L, double* x, Index stride = 1) {
  for (int i = 0; i < n; ++i) {
    double sum = x[i * stride];
    for (int j = 0; j < i; ++j) sum -= L[i * n + j] * x[j * stride];
    x[i * stride] = sum * L[i * n + i];
  }
}
// The same for m vectors of six numbers that lie `stride` apart, side by side in the pipeline.
inline void forward_rows(const double* L, double* x, Index m, Index stride) {
  for (int i = 0; i < 6; ++i)
    for (Index k = 0; k < m; ++k) {
      double* const row = x + k * stride;
      double sum = row[i];
      for (int j = 0; j < i; ++j) sum -= L[i * 6 + j] * row[j];
      row[i] = sum * L[i * 6 + i];
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
