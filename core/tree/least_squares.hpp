// Components of a spatial vector along the few rows of one joint, in the sense of least squares.
#pragma once

#include <array>
#include <cmath>

#include "base/array.hpp"

namespace sparsebody::tree {

using Row6 = std::array<double, 6>;  // a row of T' or S', or a spatial vector

// Motion or force vectors as such.
template <class Vector>
View<const Row6> as_rows(View<Vector> vectors) {
  static_assert(sizeof(Vector) == sizeof(Row6));
  return {reinterpret_cast<const Row6*>(vectors.data()), vectors.size()};
}

inline double dot(const Row6& a, const Row6& b) {
  double sum = 0.0;
  for (int e = 0; e < 6; ++e) sum += a[e] * b[e];
  return sum;
}

// y -= s x
inline void subtract_scaled(double s, const Row6& x, Row6& y) {
  for (int e = 0; e < 6; ++e) y[e] -= s * x[e];
}

// The Cholesky factor of T' T, for at most six rows T'.
class Gram {
 public:
  explicit Gram(View<const Row6> rows) : n_(rows.size()) {
    for (Index i = 0; i < n_; ++i)
      for (Index j = 0; j <= i; ++j) {
        double sum = dot(rows[i], rows[j]);
        for (Index k = 0; k < j; ++k) sum -= L_[i][k] * L_[j][k];
        L_[i][j] = i == j ? std::sqrt(sum) : sum / L_[j][j];
      }
  }
  // x := (T' T)^-1 x
  void solve(double* x) const {
    for (Index i = 0; i < n_; ++i) {
      for (Index k = 0; k < i; ++k) x[i] -= L_[i][k] * x[k];
      x[i] /= L_[i][i];
    }
    for (Index i = n_ - 1; i >= 0; --i) {
      for (Index k = i + 1; k < n_; ++k) x[i] -= L_[k][i] * x[k];
      x[i] /= L_[i][i];
    }
  }

 private:
  Index n_;
  double L_[6][6];
};

// x with T x = b by the normal equations, refined once.
inline void components(View<const Row6> rows, Row6 b, View<double> x) {
  const Gram gram(rows);
  for (double& x_i : x) x_i = 0.0;
  for (int pass = 0; pass < 2; ++pass) {
    double step[6];
    for (Index i = 0; i < rows.size(); ++i) step[i] = dot(rows[i], b);  // T' (b - T x)
    gram.solve(step);
    for (Index i = 0; i < rows.size(); ++i) {
      x[i] += step[i];
      subtract_scaled(step[i], rows[i], b);
    }
  }
}

}  // namespace sparsebody::tree
