// Displacements exp(y) of SE(3), y a twist in body coordinates, and the derivative of the exponential.
// Bruels, Cardona and Arnold (2012), Mech. Mach. Theory 48:121, sec. 2; Iserles et al. (2000), Acta Numer. 9, (B.11).
#pragma once

#include "spatial/matrix6.hpp"

namespace sparsebody {

// The pose of a body after the displacement y = (w, u), in its coordinates before: x = V(w) u,
// V = 1 + (1 - cos |w|) / |w|^2 wx + (|w| - sin |w|) / |w|^3 wx wx; unit quaternion exp(w / 2).
struct Displacement {
  Vec3<double> x, vector;
  double scalar;

  explicit Displacement(const Motion<double>& y) {
    const auto& [w, u] = y;
    const double square = dot(w, w), angle = std::sqrt(square);
    const bool is_small = angle < 1e-3;  // series to rounding
    const double half = is_small ? 0.5 - square / 48.0 : std::sin(0.5 * angle) / angle;
    const double a = 2.0 * half * half;  // (1 - cos |w|) / |w|^2
    const double b = is_small ? 1.0 / 6.0 - square / 120.0 : (angle - std::sin(angle)) / (angle * square);
    const Vec3<double> across = cross(w, u);
    x = u + a * across + b * cross(w, across);
    vector = half * w;
    scalar = std::cos(0.5 * angle);
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
inline Matrix6 inverse_tangent(const Motion<double>& y) {
  const Matrix6 first = Matrix6::cross(y), second = first * first;
  return Matrix6::identity() + 0.5 * first + second * (1.0 / 12.0 * Matrix6::identity() - 1.0 / 720.0 * second);
}

}  // namespace sparsebody
