// Displacements exp(y) of SE(3), y a twist in body coordinates, and the derivative of the exponential.
// Bruels, Cardona and Arnold (2012), Mech. Mach. Theory 48:121, sec. 2; Iserles et al. (2000), Acta Numer. 9, (B.11).
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "spatial/matrix6.hpp"

namespace sparsebody {

// The sum of (-z)^k / (2 k + n)! to rounding, for z from 0 to 1.
template <int n>
double factorial_series(double z) {
  constexpr int n_terms = 8;
  constexpr auto ratio = [] {  // r[0] = 1 / n!, r[k] the ratio of the coefficients k and k - 1
    std::array<double, n_terms + 1> r{1.0};
    for (int i = 2; i <= n; ++i) r[0] /= i;
    for (int k = 1; k <= n_terms; ++k) r[k] = -1.0 / ((2 * k + n) * (2 * k + n - 1));
    return r;
  }();
  double sum = 1.0;
  for (int k = n_terms; k > 0; --k) sum = 1.0 + z * ratio[k] * sum;
  return ratio[0] * sum;
}

// The pose of a body after the displacement y = (w, u), in its coordinates before: x = V(w) u,
// V = 1 + (1 - cos |w|) / |w|^2 wx + (|w| - sin |w|) / |w|^3 wx wx; unit quaternion exp(w / 2).
struct Displacement {
  Vec3<double> x, vector;
  double scalar;

  explicit Displacement(const Motion<double>& y) {
    const auto& [w, u] = y;
    const double square = dot(w, w), quarter = 0.25 * square;
    double half, b;  // sin(|w| / 2) / |w|, (|w| - sin |w|) / |w|^3
    if (square < 1.0) {
      half = 0.5 * factorial_series<1>(quarter);
      b = factorial_series<3>(square);
      scalar = factorial_series<0>(quarter);
    } else {
      const double angle = std::sqrt(square);
      half = std::sin(0.5 * angle) / angle;
      b = (angle - std::sin(angle)) / (angle * square);
      scalar = std::cos(0.5 * angle);
    }
    const double a = 2.0 * half * half;  // (1 - cos |w|) / |w|^2
    const Vec3<double> across = cross(w, u);
    x = u + a * across + b * cross(w, across);
    vector = half * w;
  }
};

// The coefficients of T^-1 = 1 + ad/2 + a ad^2 + b ad^4, ad m = y x m, for rotations w by less than a turn. The even part
// of the series ad / (1 - exp(-ad)) ends there, for ad^5 + 2 |w|^2 ad^3 + |w|^4 ad = 0: Bullo and Murray (1995),
// Proportional derivative control on the Euclidean group, ECC. With x = |w|, alpha = x/2 cot x/2, beta = (x/2 / sin x/2)^2
//
//   a = 2 (1 - alpha) / x^2 + (alpha - beta) / (2 x^2),   b = (1 - alpha) / x^4 + (alpha - beta) / (2 x^4).
struct InverseTangentCoefficients {
  double a, b;

  explicit InverseTangentCoefficients(const Vec3<double>& w) {
    const double square = dot(w, w);
    if (square < 1.0) {
      std::tie(a, b) = square < 1.0 / 64.0 ? series<7>(square) : series<12>(square);
      return;
    }
    const double half = 0.5 * std::sqrt(square), alpha = half / std::tan(half);
    const double beta = 0.25 * square / (std::sin(half) * std::sin(half)), difference = 0.5 * (alpha - beta);
    a = (2.0 * (1.0 - alpha) + difference) / square;
    b = (1.0 - alpha + difference) / (square * square);
  }

 private:
  // Where the above cancels: alpha = 1 - sum of c_k x^2k, a = sum of (2 - k) c_k x^(2k - 2), b = sum of
  // (1 - k) c_k x^(2k - 4); c_1 = 1/12 and, by x alpha' = alpha - alpha^2 - x^2/4, (2 k + 1) c_k = sum of c_i c_(k - i).
  // c_k falls as (2 pi)^-2k.
  template <int n_terms>
  static std::pair<double, double> series(double square) {
    constexpr auto c = [] {
      std::array<double, n_terms + 1> c{0.0, 1.0 / 12.0};
      for (int k = 2; k <= n_terms; ++k) {
        for (int i = 1; i < k; ++i) c[k] += c[i] * c[k - i];
        c[k] /= 2 * k + 1;
      }
      return c;
    }();
    double a = 0.0, b = 0.0;
    for (int k = n_terms; k >= 2; --k) {
      a = square * a + (2 - k) * c[k];
      b = square * b + (1 - k) * c[k];
    }
    return {c[1] + square * a, b};
  }
};

// With exp(-y) d exp(y) = T(y) dy: T(y)^-1 m = m + y x m / 2 + y x y x m / 12 - ..., Bernoulli's numbers over factorials.
inline Motion<double> inverse_tangent(const Motion<double>& y, const Motion<double>& m) {
  const InverseTangentCoefficients by(y.angular);
  const Motion<double> first = cross(y, m), second = cross(y, first), fourth = cross(y, cross(y, second));
  return m + 0.5 * first + by.a * second + by.b * fourth;
}
// T(y)^-1' f = f - y x* f / 2 + y x* y x* f / 12 - ...
inline Force<double> inverse_tangent_transposed(const Motion<double>& y, const Force<double>& f) {
  const InverseTangentCoefficients by(y.angular);
  const Force<double> first = cross(y, f), second = cross(y, first), fourth = cross(y, cross(y, second));
  return f - 0.5 * first + by.a * second + by.b * fourth;
}
inline Matrix6 inverse_tangent(const Motion<double>& y) {
  const InverseTangentCoefficients by(y.angular);
  const Matrix6 first = Matrix6::cross(y), second = first * first;
  return Matrix6::identity() + 0.5 * first + second * (by.a * Matrix6::identity() + by.b * second);
}

// Series of T end at terms that rounding hides, the 40th for a rotation by a turn: (2 pi)^39 / 40! = 2e-17.
inline constexpr int most_tangent_terms = 40;
inline constexpr double squared_rounding = 1e-34;

// The sum of term_k = y x term_(k - 1) / (sign k), and of its first term; x* for forces.
template <class Vector>
Vector tangent_series(const Motion<double>& y, const Vector& first, double sign) {
  const auto square = [](const Vector& v) { return dot(v.angular, v.angular) + dot(v.linear, v.linear); };
  const double negligible = squared_rounding * square(first);
  Vector term = first, sum = first;
  for (int k = 2; k <= most_tangent_terms; ++k) {
    term = (sign / k) * cross(y, term);
    sum += term;
    if (!(square(term) > negligible)) break;
  }
  return sum;
}
// T(y) m = m - y x m / 2 + y x y x m / 6 - ...
inline Motion<double> tangent(const Motion<double>& y, const Motion<double>& m) { return tangent_series(y, m, -1.0); }
// T(y)' f = f + y x* f / 2 + y x* y x* f / 6 + ...
inline Force<double> tangent_transposed(const Motion<double>& y, const Force<double>& f) {
  return tangent_series(y, f, 1.0);
}
// The gradient of f' T(y) m by y, the sum over k = 1, 2, ... of
//
//   -1 / (k + 1)! (n_0 x* p_(k - 1) + ... + n_(k - 1) x* p_0),   n_i = (-y x)^i m,   p_j = (y x*)^j f.
inline Force<double> tangent_gradient(const Motion<double>& y, const Motion<double>& m, const Force<double>& f) {
  const auto square = [](const Force<double>& v) { return dot(v.angular, v.angular) + dot(v.linear, v.linear); };
  Motion<double> n[most_tangent_terms];
  Force<double> p[most_tangent_terms], sum;
  n[0] = m, p[0] = f;
  double factor = 1.0, last = std::numeric_limits<double>::infinity();
  for (int k = 1; k < most_tangent_terms; ++k) {
    factor /= k + 1;
    Force<double> term;
    for (int i = 0; i < k; ++i) term -= cross(n[i], p[k - 1 - i]);
    sum += factor * term;
    const double size = factor * factor * square(term), negligible = squared_rounding * square(sum);
    if (size <= negligible && last <= 1e4 * negligible) break;  // two small terms: one may vanish by symmetry
    last = size;
    n[k] = -cross(y, n[k - 1]), p[k] = cross(y, p[k - 1]);
  }
  return sum;
}

}  // namespace sparsebody
