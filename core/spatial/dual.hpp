// Dual numbers a + b_1 e_1 + ... + b_N e_N with e_i e_j = 0: derivatives of a formula in N directions.
// Griewank and Walther (2008), Evaluating Derivatives, ch. 3.
#pragma once

#include <array>
#include <cmath>

namespace sparsebody {

template <int N>
struct Dual {
  double value = 0.0;
  std::array<double, N> rate{};

  Dual() = default;
  Dual(double value_) : value(value_) {}
  Dual(double value_, int direction) : value(value_) { rate[direction] = 1.0; }

  // f(a) and its rate f'(a) times that of a
  Dual chained(double f, double slope) const {
    Dual result(f);
    for (int i = 0; i < N; ++i) result.rate[i] = slope * rate[i];
    return result;
  }
  friend Dual operator+(Dual a, const Dual& b) {
    a.value += b.value;
    for (int i = 0; i < N; ++i) a.rate[i] += b.rate[i];
    return a;
  }
  friend Dual operator-(const Dual& a) { return a.chained(-a.value, -1.0); }
  friend Dual operator-(const Dual& a, const Dual& b) { return a + (-b); }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return a.chained(a.value * b.value, b.value) + b.chained(0.0, a.value);
  }
  friend Dual operator/(const Dual& a, const Dual& b) { return a * b.chained(1.0 / b.value, -1.0 / (b.value * b.value)); }
  friend Dual sqrt(const Dual& a) {
    const double root = std::sqrt(a.value);
    return a.chained(root, 0.5 / root);
  }
  friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend auto operator<=>(const Dual& a, const Dual& b) { return a.value <=> b.value; }
};

}  // namespace sparsebody
