// Components of a spatial vector along the few columns of S or T of one joint, in the sense of least squares.
#pragma once

#include <algorithm>
#include <cmath>

#include "tree/links.hpp"

namespace sparsebody::tree {

// a' b of two vectors of one kind.
template <class Vector>
double inner(const Vector& a, const Vector& b) {
  return dot(a.angular, b.angular) + dot(a.linear, b.linear);
}

// The Cholesky factor U of T' T = U' U, for at most six columns T.
template <class Vector>
class Gram {
 public:
  explicit Gram(View<const Vector> T) : n_(T.size()) {
    for (Index i = 0; i < n_; ++i)
      for (Index j = i; j < n_; ++j) {
        double sum = inner(T[i], T[j]);
        for (Index k = 0; k < i; ++k) sum -= U_[k][i] * U_[k][j];
        U_[i][j] = i == j ? std::sqrt(sum) : sum / U_[i][i];
      }
  }
  // x := (T' T)^-1 x
  void solve(double* x) const {
    for (Index i = 0; i < n_; ++i) {
      for (Index k = 0; k < i; ++k) x[i] -= U_[k][i] * x[k];
      x[i] /= U_[i][i];
    }
    for (Index i = n_ - 1; i >= 0; --i) {
      for (Index k = i + 1; k < n_; ++k) x[i] -= U_[i][k] * x[k];
      x[i] /= U_[i][i];
    }
  }

 private:
  Index n_;
  double U_[6][6];
};

// x with T x = b by the normal equations, refined once.
template <class Vector>
void components(View<const Vector> T, Vector b, View<double> x) {
  const Gram gram(T);
  std::fill(x.begin(), x.end(), 0.0);
  for (int pass = 0; pass < 2; ++pass) {
    double step[6];
    for (Index i = 0; i < T.size(); ++i) step[i] = inner(T[i], b);  // T' (b - T x)
    gram.solve(step);
    for (Index i = 0; i < T.size(); ++i) {
      x[i] += step[i];
      b = b - T[i] * step[i];
    }
  }
}

}  // namespace sparsebody::tree
