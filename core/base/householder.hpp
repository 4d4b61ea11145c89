// Householder's reflections 1 - beta v v' of the rows of a front. Golub and Van Loan (2013), sec. 5.1.
#pragma once

#include "base/dense.hpp"

namespace sparsebody::dense {

// The reflection that makes x (alpha, 0, ..., 0), |x|^2 being `square`; v takes the place of x.
struct Reflection {
  double alpha, beta;

  Reflection(double* x, double square) : alpha(-std::copysign(std::sqrt(square), x[0])) {
    x[0] -= alpha;
    beta = -1.0 / (alpha * x[0]);  // 2 / v'v
  }
};

// F -= v w, w = beta v'F, in N vectors of columns of m rows, of which those from `first` on are changed.
template <int N, class V, int n_lanes>
SB_INLINE void reflect_strip(double* F, Index stride, const double* v, Index m, double beta, Index first) {
  V w[N];
  for (Index i = 0; i < m; ++i)
    unrolled<0, N>([&](auto c) SB_UNROLL { w[c] = w[c] + V::load(F + i * stride + c * n_lanes) * v[i]; });
  unrolled<0, N>([&](auto c) SB_UNROLL { w[c] = w[c] * beta; });
  for (Index i = first; i < m; ++i)
    unrolled<0, N>([&](auto c) SB_UNROLL {
      double* const x = F + i * stride + c * n_lanes;
      (V::load(x) - w[c] * v[i]).store(x);
    });
}

// The same in columns [begin, end), multiples of n_lanes.
template <class V, int n_lanes>
void reflect(double* F, Index stride, const double* v, Index m, double beta, Index begin, Index end, Index first = 0) {
  Index c = begin;
  for (; c + 4 * n_lanes <= end; c += 4 * n_lanes) reflect_strip<4, V, n_lanes>(F + c, stride, v, m, beta, first);
  if (c < end)
    with_constant<1, 2, 3>((end - c) / n_lanes, [&](auto N) SB_UNROLL {
      reflect_strip<N, V, n_lanes>(F + c, stride, v, m, beta, first);
    });
}

}  // namespace sparsebody::dense
