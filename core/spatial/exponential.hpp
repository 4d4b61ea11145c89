// Displacements exp(y) of SE(3), y a twist in body coordinates, and the derivative of the exponential.
// Bruels, Cardona and Arnold (2012), Mech. Mach. Theory 48:121, sec. 2; Iserles et al. (2000), Acta Numer. 9, (B.11).
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "spatial/matrix6.hpp"

namespace sparsebody {

// The sum of (-z)^k / (2 k + n)! to rounding, for z from 0 to 1.
template <int n>
double factorial_series(double z) {
  constexpr int n_terms = 8;
  constexpr auto ratio = [] {  // of coefficients, each to the one before; the first
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

// With exp(-y) d exp(y) = T(y) dy: T(y)^-1 m = m + y x m / 2 + y x y x m / 12 - ..., Bernoulli's numbers over factorials.
inline Motion<double> inverse_tangent(const Motion<double>& y, const Motion<double>& m) {
  const Motion<double> first = cross(y, m), second = cross(y, first), fourth = cross(y, cross(y, second));
  return m + 0.5 * first + (1.0 / 12.0) * second + (-1.0 / 720.0) * fourth;
}
// T(y)^-1' f = f - y x* f / 2 + y x* y x* f / 12 - ...
inline Force<double> inverse_tangent_transposed(const Motion<double>& y, const Force<double>& f) {
  const Force<double> first = cross(y, f), second = cross(y, first), fourth = cross(y, cross(y, second));
  return f - 0.5 * first + (1.0 / 12.0) * second + (-1.0 / 720.0) * fourth;
}
// T(y) m = m - y x m / 2 + y x y x m / 6 - ..., to rounding for rotations by less than a turn.
inline Motion<double> tangent(const Motion<double>& y, const Motion<double>& m) {
  constexpr int n_terms = 24;
  Motion<double> term = m, sum = m;
  const double size = dot(m.angular, m.angular) + dot(m.linear, m.linear);
  for (int k = 2; k < n_terms; ++k) {
    term = (-1.0 / k) * cross(y, term);
    sum += term;
    if (!(dot(term.angular, term.angular) + dot(term.linear, term.linear) > 1e-34 * size)) break;
  }
  return sum;
}
// T(y)' f = f + y x* f / 2 + y x* y x* f / 6 + ...
inline Force<double> tangent_transposed(const Motion<double>& y, const Force<double>& f) {
  constexpr int n_terms = 24;
  Force<double> term = f, sum = f;
  const double size = dot(f.angular, f.angular) + dot(f.linear, f.linear);
  for (int k = 2; k < n_terms; ++k) {
    term = (1.0 / k) * cross(y, term);
    sum += term;
    if (!(dot(term.angular, term.angular) + dot(term.linear, term.linear) > 1e-34 * size)) break;
  }
  return sum;
}
// The gradient of f' T(y) m by y: of its k-th term, the sum of -n_i x* p_j / (k + 1)!, n_i = (-yx)^i m, p_j = (yx*)^j f,
// i + j = k - 1.
inline Force<double> tangent_gradient(const Motion<double>& y, const Motion<double>& m, const Force<double>& f) {
  constexpr int n_terms = 16;
  Motion<double> n[n_terms];
  Force<double> p[n_terms], sum;
  n[0] = m, p[0] = f;
  double factor = 1.0, last = std::numeric_limits<double>::infinity();
  for (int k = 1; k < n_terms; ++k) {
    factor /= k + 1;
    Force<double> term;
    for (int i = 0; i < k; ++i) term -= cross(n[i], p[k - 1 - i]);
    sum += factor * term;
    const double size = factor * factor * (dot(term.angular, term.angular) + dot(term.linear, term.linear));
    const double whole = dot(sum.angular, sum.angular) + dot(sum.linear, sum.linear);
    if (size <= 1e-34 * whole && last <= 1e-30 * whole) break;
    last = size;
    n[k] = -cross(y, n[k - 1]), p[k] = cross(y, p[k - 1]);
  }
  return sum;
}
inline Matrix6 inverse_tangent(const Motion<double>& y) {
  const Matrix6 first = Matrix6::cross(y), second = first * first;
  return Matrix6::identity() + 0.5 * first + second * (1.0 / 12.0 * Matrix6::identity() - 1.0 / 720.0 * second);
}

}  // namespace sparsebody
