// Double-double arithmetic: unevaluated sums of two doubles, 31 digits. Dekker (1971), Numer. Math. 18:224;
// Hida, Li and Bailey (2001), Quad-double arithmetic, sec. 2.
#pragma once

#include <cmath>

namespace sparsebody {

// Operations are not inlined: kernels on this scalar would take a compiler minutes.
#define SB_EXACT [[gnu::noinline]]

struct DoubleDouble {
  double high = 0.0, low = 0.0;

  DoubleDouble() = default;
  DoubleDouble(double value) : high(value) {}
  DoubleDouble(double high_, double low_) : high(high_), low(low_) {}
  explicit operator double() const { return high; }

  // two-product: a b, exactly
  static DoubleDouble product(double a, double b) {
    const double p = a * b;
    return {p, std::fma(a, b, -p)};
  }
  // quick two-sum: a + b and its rounding error, for |a| >= |b|
  static DoubleDouble ordered_sum(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
  }

  // two-sums of the high parts, (s, e), and of the low ones, (t, f), renormalized
  SB_EXACT friend DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
    const double s = a.high + b.high, back_s = s - a.high;
    const double e = (a.high - (s - back_s)) + (b.high - back_s);
    const double t = a.low + b.low, back_t = t - a.low;
    const double f = (a.low - (t - back_t)) + (b.low - back_t);
    const DoubleDouble c = ordered_sum(s, e + t);
    return ordered_sum(c.high, c.low + f);
  }
  SB_EXACT friend DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
    const DoubleDouble p = product(a.high, b.high);
    return ordered_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
  }
  friend DoubleDouble operator-(const DoubleDouble& a) { return {-a.high, -a.low}; }
  friend DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + (-b); }
  // 1 / sqrt(a): one step of Newton's method from the double
  SB_EXACT friend DoubleDouble inverse_sqrt(const DoubleDouble& a) {
    const DoubleDouble guess(1.0 / std::sqrt(a.high));
    const DoubleDouble residual = DoubleDouble(1.0) - a * guess * guess;
    return guess + residual * DoubleDouble(0.5 * guess.high);
  }
  DoubleDouble& operator+=(const DoubleDouble& b) { return *this = *this + b; }
  DoubleDouble& operator-=(const DoubleDouble& b) { return *this = *this - b; }
};

#undef SB_EXACT

}  // namespace sparsebody
