// Dual numbers a + b_1 e_1 + ... + b_N e_N with e_i e_j = 0: derivatives of a formula in N directions; second
// derivatives by dual numbers of dual numbers. Griewank and Walther (2008), Evaluating Derivatives, ch. 3.
#pragma once

#include <array>
#include <cmath>
#include <concepts>

namespace sparsebody {

template <int N, class S = double>
struct Dual {
  S value = 0.0;
  std::array<S, N> rate{};

  Dual() = default;
  template <class T>
    requires std::convertible_to<T, S>
  Dual(const T& value_) : value(value_) {}

  // f(a) and its derivative, f'(a) times that of a
  Dual chained(const S& f, const S& slope) const {
    Dual result(f);
    for (int i = 0; i < N; ++i) result.rate[i] = slope * rate[i];
    return result;
  }
  friend Dual operator+(Dual a, const Dual& b) {
    a.value = a.value + b.value;
    for (int i = 0; i < N; ++i) a.rate[i] = a.rate[i] + b.rate[i];
    return a;
  }
  Dual& operator+=(const Dual& b) { return *this = *this + b; }
  friend Dual operator-(const Dual& a) { return a.chained(-a.value, -1.0); }
  friend Dual operator-(const Dual& a, const Dual& b) { return a + (-b); }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return a.chained(a.value * b.value, b.value) + b.chained(0.0, a.value);
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const S inverse = S(1.0) / b.value;
    return a * b.chained(inverse, -inverse * inverse);
  }
  friend Dual sqrt(const Dual& a) {
    using std::sqrt;
    const S root = sqrt(a.value);
    return a.chained(root, S(0.5) / root);
  }
  friend Dual atan2(const Dual& y, const Dual& x) {
    using std::atan2;
    const S square = x.value * x.value + y.value * y.value;
    return y.chained(atan2(y.value, x.value), x.value / square) + x.chained(0.0, -y.value / square);
  }
  friend Dual abs(const Dual& a) { return a < Dual(0.0) ? -a : a; }
  friend Dual floor(const Dual& a) {
    using std::floor;
    return floor(a.value);
  }
  friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend auto operator<=>(const Dual& a, const Dual& b) { return a.value <=> b.value; }
};

}  // namespace sparsebody
