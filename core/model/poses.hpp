// Poses of bodies: center of mass x in the world, unit quaternion q = (w, x, y, z) from body to world axes.
#pragma once

#include <cmath>

#include "base/array.hpp"
#include "joints/joint.hpp"
#include "spatial/inertia.hpp"
#include "spatial/transform.hpp"

namespace sparsebody::model {

inline Mat3<double> rotation_of(View<const double, 2> orientation, Index i) {
  const double* q = &orientation(i, 0);
  return Mat3<double>::from_quaternion(q[0], q[1], q[2], q[3]);
}

inline Array<double, 3> rotations(View<const double, 2> orientation) {
  const Index n = orientation.rows();
  auto R = Array<double, 3>::uninitialized({n, 3, 3});
  for (Index i = 0; i < n; ++i) rotation_of(orientation, i).store(&R(i, 0, 0));
  return R;
}

inline Array<double, 2> quaternions(View<const double, 3> R) {
  const Index n = R.shape(0);
  auto q = Array<double, 2>::uninitialized({n, 4});
  for (Index i = 0; i < n; ++i)
    joints::quaternion_from_rotation(transpose(Mat3<double>::load(&R(i, 0, 0))), &q(i, 0));
  return q;
}

// q (s, v), the product of two quaternions
inline void multiply_quaternion(const double* q, double s, const Vec3<double>& v, double* product) {
  product[0] = q[0] * s - q[1] * v.x - q[2] * v.y - q[3] * v.z;
  product[1] = q[0] * v.x + q[1] * s + q[2] * v.z - q[3] * v.y;
  product[2] = q[0] * v.y - q[1] * v.z + q[2] * s + q[3] * v.x;
  product[3] = q[0] * v.z + q[1] * v.y - q[2] * v.x + q[3] * s;
}

inline void normalize_quaternion(double* q) {
  const double scale = 1.0 / std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int a = 0; a < 4; ++a) q[a] *= scale;
}

struct Poses {
  Array<double, 2> position, orientation;

  static Poses uninitialized(Index n) {
    return {Array<double, 2>::uninitialized({n, 3}), Array<double, 2>::uninitialized({n, 4})};
  }
};

// x + R u and q exp(w) of small twists (w, u) in body coordinates.
inline Poses displaced(View<const double, 2> position, View<const double, 2> orientation,
                       View<const double, 2> twist) {
  const Index n = position.rows();
  Poses moved = Poses::uninitialized(n);
  for (Index i = 0; i < n; ++i) {
    const auto [w, u] = Motion<double>::load(&twist(i, 0));
    (Vec3<double>::load(&position(i, 0)) + rotation_of(orientation, i) * u).store(&moved.position(i, 0));
    const double angle = norm(w), s = angle < 1e-8 ? 0.5 : std::sin(0.5 * angle) / angle;
    multiply_quaternion(&orientation(i, 0), std::cos(0.5 * angle), s * w, &moved.orientation(i, 0));
    normalize_quaternion(&moved.orientation(i, 0));
  }
  return moved;
}

// Whether every number is finite and every quaternion of unit length to 1e-6.
inline bool is_regular(View<const double, 2> position, View<const double, 2> orientation,
                       View<const double, 2> velocity, View<const double> coordinate) {
  constexpr double unit_tolerance = 1e-6;
  Index n_infinite = 0;  // x - x is zero unless x is infinite or NaN
  for (const double x : coordinate) n_infinite += !(x - x == 0.0);
  for (const double x : position) n_infinite += !(x - x == 0.0);
  for (const double x : velocity) n_infinite += !(x - x == 0.0);
  if (n_infinite > 0) return false;
  for (Index i = 0; i < orientation.rows(); ++i) {
    const double* q = &orientation(i, 0);
    const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(std::abs(norm - 1.0) <= unit_tolerance)) return false;
  }
  return true;
}

// ---- Energy and momentum of all bodies. Featherstone (2008), sec. 2.13.

struct Momentum {
  double kinetic_energy;  // sum of v' I v / 2
  double gravity_energy;  // -sum of m g' x
  Array<double> total;    // (6,) sum of I v about the world's origin, in world axes
};

inline Momentum momentum(View<const double> mass, View<const double, 3> inertia, View<const double> gravity,
                         View<const double, 2> position, View<const double, 2> orientation,
                         View<const double, 2> velocity) {
  double kinetic_energy = 0.0, gravity_energy = 0.0;
  const auto g = Vec3<double>::load(gravity.data());
  Force<double> total;
  for (Index i = 0; i < mass.size(); ++i) {
    const auto [w, u] = Motion<double>::load(&velocity(i, 0));
    const Vec3<double> spin = Mat3<double>::load(&inertia(i, 0, 0)) * w, push = mass[i] * u;
    const auto x = Vec3<double>::load(&position(i, 0));
    kinetic_energy += 0.5 * (dot(w, spin) + dot(u, push)), gravity_energy -= mass[i] * dot(g, x);
    const Mat3<double> R = rotation_of(orientation, i);
    const Vec3<double> linear = R * push;
    total.angular += R * spin + cross(x, linear);
    total.linear += linear;
  }
  Momentum out{kinetic_energy, gravity_energy, Array<double>::uninitialized({6})};
  total.store(out.total.data());
  return out;
}

// The inverses of symmetric matrices, by their cofactors, into the leading blocks of `inverse`.
inline void fill_symmetric_inverses(View<const double, 3> matrices, View<double, 3> inverse) {
  for (Index i = 0; i < matrices.shape(0); ++i) {
    const auto A = Mat3<double>::load(&matrices(i, 0, 0));
    const Vec3<double> row[3] = {A.row(0), A.row(1), A.row(2)}, first = cross(row[1], row[2]);
    const double scale = 1.0 / dot(row[0], first);
    for (int a = 0; a < 3; ++a) (scale * cross(row[(a + 1) % 3], row[(a + 2) % 3])).store(&inverse(i, a, 0));
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < a; ++b) inverse(i, a, b) = inverse(i, b, a);
  }
}

// ---- Poses as curves y(t) = (x, q) in R^7, with the first two derivatives that integrators of second order need.

struct PoseDerivatives {
  Array<double, 2> rate, curvature;  // (n, 7)
};

// y' = (R u, q (0, w) / 2) and y'' = (R (du/dt + w x u), (q' (0, w) + q (0, dw/dt)) / 2), velocity (w, u) and
// acceleration in body coordinates.
inline PoseDerivatives pose_derivatives(View<const double, 2> orientation, View<const double, 2> velocity,
                                        View<const double, 2> acceleration) {
  const Index n = orientation.rows();
  PoseDerivatives out{Array<double, 2>::uninitialized({n, 7}), Array<double, 2>::uninitialized({n, 7})};
  for (Index i = 0; i < n; ++i) {
    const auto [w, u] = Motion<double>::load(&velocity(i, 0));
    const auto [dw, du] = Motion<double>::load(&acceleration(i, 0));
    const Mat3<double> R = rotation_of(orientation, i);
    double* const rate = &out.rate(i, 0);
    double* const curvature = &out.curvature(i, 0);
    (R * u).store(rate);
    (R * (du + cross(w, u))).store(curvature);
    double turning[4];
    multiply_quaternion(&orientation(i, 0), 0.0, 0.5 * w, rate + 3);
    multiply_quaternion(rate + 3, 0.0, 0.5 * w, turning);
    multiply_quaternion(&orientation(i, 0), 0.0, 0.5 * dw, curvature + 3);
    for (int a = 0; a < 4; ++a) curvature[3 + a] += turning[a];
  }
  return out;
}

struct BodyStates {
  Array<double, 2> position, orientation, velocity;
};

// The bodies at y + h y' + h^2 / 2 C and y' + h c, with unit quaternions.
inline BodyStates moved(View<const double, 2> position, View<const double, 2> orientation, View<const double, 2> rate,
                         View<const double, 2> C, View<const double, 2> c, double h) {
  const Index n = position.rows();
  const double half_square = 0.5 * h * h;
  BodyStates out{Array<double, 2>::uninitialized({n, 3}), Array<double, 2>::uninitialized({n, 4}),
                 Array<double, 2>::uninitialized({n, 6})};
  for (Index i = 0; i < n; ++i) {
    const double *const r = &rate(i, 0), *const from = &orientation(i, 0);
    const auto part = [&](int a) { return from[a] + (h * r[3 + a] + half_square * C(i, 3 + a)); };
    const auto speed = [&](int a) { return r[a] + h * c(i, a); };
    const double w = part(0), x = part(1), y = part(2), z = part(3);
    const double scale = 1.0 / std::sqrt(w * w + x * x + y * y + z * z), s = scale * w;
    const Vec3<double> v{scale * x, scale * y, scale * z}, dv{speed(4), speed(5), speed(6)};
    const Vec3<double> turn = (2.0 * scale) * (s * dv - speed(3) * v - cross(v, dv));  // 2 conj(q) dq / |q|
    const Vec3<double> center{position(i, 0) + (h * r[0] + half_square * C(i, 0)),
                              position(i, 1) + (h * r[1] + half_square * C(i, 1)),
                              position(i, 2) + (h * r[2] + half_square * C(i, 2))};
    const Vec3<double> u = transpose_times(Mat3<double>::from_quaternion(s, v.x, v.y, v.z),
                                             Vec3<double>{speed(0), speed(1), speed(2)});
    out.orientation(i, 0) = s, v.store(&out.orientation(i, 1));
    center.store(&out.position(i, 0));
    Motion<double>{turn, u}.store(&out.velocity(i, 0));
  }
  return out;
}

}  // namespace sparsebody::model
