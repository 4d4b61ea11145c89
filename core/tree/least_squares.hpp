// Components of a spatial vector along the few columns of S or T of one joint, in the sense of least squares.
#pragma once

#include <algorithm>

#include "base/dense.hpp"
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
    constexpr double least[6] = {};
    for (Index i = 0; i < n_; ++i)
      for (Index j = i; j < n_; ++j) U_[i * n_ + j] = inner(T[i], T[j]);
    dense::cholesky(n_, U_, least);
  }
  // x := (T' T)^-1 x
  void solve(double* x) const { dense::cholesky_solve(n_, U_, x); }

 private:
  Index n_;
  double U_[36];
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
