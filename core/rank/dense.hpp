// Sums over contiguous rows, in as many lanes as the machine has. The sequence of additions is fixed in the code.
#pragma once

#include <cmath>

#include "base/array.hpp"

namespace sparsebody::dense {

#if defined(__AVX512F__)
inline constexpr int lanes = 8;
#elif defined(__AVX__)
inline constexpr int lanes = 4;
#else
inline constexpr int lanes = 2;
#endif

// As many doubles as fit a register, at any address.
typedef double Pack __attribute__((vector_size(8 * lanes), aligned(8), may_alias));

inline Pack& pack(double* p) { return *reinterpret_cast<Pack*>(p); }
inline const Pack& pack(const double* p) { return *reinterpret_cast<const Pack*>(p); }

// x'y
inline double dot(const double* x, const double* y, Index n) {
  Pack sums[2] = {};
  Index i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes)
    for (int s = 0; s < 2; ++s) sums[s] += pack(x + i + s * lanes) * pack(y + i + s * lanes);
  for (; i + lanes <= n; i += lanes) sums[0] += pack(x + i) * pack(y + i);
  double total = 0.0;
  for (; i < n; ++i) total += x[i] * y[i];
  for (int lane = 0; lane < lanes; ++lane) total += sums[0][lane] + sums[1][lane];
  return total;
}

// y += s x
inline void add_scaled(double* y, double s, const double* x, Index n) {
  for (Index i = 0; i < n; ++i) y[i] += s * x[i];
}

}  // namespace sparsebody::dense
