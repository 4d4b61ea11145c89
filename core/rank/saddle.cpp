#include "rank/saddle.hpp"

#include <algorithm>
#include <cmath>

#include "spatial/double_double.hpp"

namespace sparsebody {
namespace {

// One column, `stride` apart; W is the size of every primal block, or 0 if they differ.
template <int W>
void subtract_product(const Saddle& K, const double* x, double* residual, Index stride) {
  const Index n = K.n_primal(), width = K.rows.shape(2), first_dual = K.n_primal_rows();
  double sum[W ? W : 1];
  for (Index i = 0; i < n; ++i) {
    const double* D = &K.diagonal(i, 0, 0);
    const double* x_i = x + K.offsets[i] * stride;
    double* r_i = residual + K.offsets[i] * stride;
    if constexpr (W > 0) {
      for (int a = 0; a < W; ++a) sum[a] = 0.0;
      for (int b = 0; b < W; ++b)  // D is symmetric: its columns are rows
        for (int a = 0; a < W; ++a) sum[a] += D[b * W + a] * x_i[b * stride];
      for (int a = 0; a < W; ++a) r_i[a * stride] -= sum[a];
    } else {
      for (Index a = 0; a < K.size(i); ++a)
        for (Index b = 0; b < K.size(i); ++b) r_i[a * stride] -= D[a * width + b] * x_i[b * stride];
    }
  }
  for (Index j = 0; j < K.ends.rows(); ++j) {
    for (int side = 0; side < 2; ++side) {
      const Index i = K.ends(j, side);
      if (i < 0) continue;
      const double* x_i = x + K.offsets[i] * stride;
      double* r_i = residual + K.offsets[i] * stride;
      if constexpr (W > 0)
        for (int b = 0; b < W; ++b) sum[b] = 0.0;
      for (Index row = K.offsets[n + j]; row < K.offsets[n + j + 1]; ++row) {
        const double* A = &K.rows(row - first_dual, side, 0);
        const double multiplier = x[row * stride];
        double total = 0.0;
        if constexpr (W > 0) {
          for (int b = 0; b < W; ++b) total += A[b] * x_i[b * stride];
          for (int b = 0; b < W; ++b) sum[b] += A[b] * multiplier;
        } else {
          for (Index b = 0; b < K.size(i); ++b) {
            total += A[b] * x_i[b * stride];
            r_i[b * stride] -= A[b] * multiplier;
          }
        }
        residual[row * stride] -= total;
      }
      if constexpr (W > 0)
        for (int b = 0; b < W; ++b) r_i[b * stride] -= sum[b];
    }
  }
}

}  // namespace

void subtract_product(const Saddle& K, View<const double, 2> x, View<double, 2> residual) {
  const Index n_columns = x.shape(1);
  const bool is_full = K.rows.shape(2) == 6 && K.n_primal_rows() == 6 * K.n_primal();
  for (Index k = 0; k < n_columns; ++k) {
    auto kernel = is_full ? &subtract_product<6> : &subtract_product<0>;
    kernel(K, x.data() + k, residual.data() + k, n_columns);
  }
}

Array<double, 2> residual_scales(const Saddle& K, View<const double, 3> inverse, View<const double, 2> x,
                                 View<const double, 2> rhs) {
  const Index n = K.n_primal(), first_dual = K.n_primal_rows();
  Array<double, 2> scales({x.shape(1), 2});
  std::vector<double> free(first_dual);  // D^-1 f
  for (Index k = 0; k < x.shape(1); ++k) {
    double primal = 0.0, dual = 0.0;
    for (Index i = 0; i < n; ++i) {
      const Index start = K.offsets[i], size = K.size(i);
      for (Index a = 0; a < size; ++a) {
        double total = 0.0, unconstrained = 0.0;
        for (Index b = 0; b < size; ++b) {
          total += K.diagonal(i, a, b) * x(start + b, k);
          unconstrained += inverse(i, a, b) * rhs(start + b, k);
        }
        free[start + a] = unconstrained;
        primal = std::max({primal, std::abs(rhs(start + a, k)), std::abs(total)});
      }
    }
    for (Index j = 0; j < K.ends.rows(); ++j) {
      for (Index row = K.offsets[n + j]; row < K.offsets[n + j + 1]; ++row) {
        dual = std::max(dual, std::abs(rhs(row, k)));
        for (int side = 0; side < 2; ++side) {
          const Index i = K.ends(j, side);
          if (i < 0) continue;
          double unconstrained = 0.0;
          for (Index b = 0; b < K.size(i); ++b)
            unconstrained += K.rows(row - first_dual, side, b) * free[K.offsets[i] + b];
          dual = std::max(dual, std::abs(unconstrained));
        }
      }
    }
    scales(k, 0) = primal;
    scales(k, 1) = dual;
  }
  return scales;
}

double relative_size(View<const double, 2> residual, Index n_primal_rows, View<const double, 2> scales) {
  double worst = 0.0;
  for (Index row = 0; row < residual.rows(); ++row) {
    const int half = row < n_primal_rows ? 0 : 1;
    for (Index k = 0; k < residual.shape(1); ++k) {
      const double scale = scales(k, half), relative = std::abs(residual(row, k)) / (scale > 0.0 ? scale : 1.0);
      if (!(relative <= worst)) worst = relative;  // NaN, too
    }
  }
  return worst;
}

Array<double> exact_residual(View<const Index> indptr, View<const Index> indices, View<const double> data,
                             View<const double> right, View<const double> high, View<const double> low) {
  Array<double> residual(right.size());
  for (Index i = 0; i < right.size(); ++i) {
    DoubleDouble total(right[i]);
    for (Index entry = indptr[i]; entry < indptr[i + 1]; ++entry) {
      const Index j = indices[entry];
      total += DoubleDouble::product(-data[entry], high[j]);
      if (low[j] != 0.0) total += DoubleDouble(low[j]) * DoubleDouble(-data[entry]);
    }
    residual[i] = total.high;
  }
  return residual;
}

}  // namespace sparsebody
