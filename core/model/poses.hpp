// Poses of bodies: center of mass x in the world, unit quaternion q = (w, x, y, z) from body to world axes.
#pragma once

#include <cmath>

#include "base/array.hpp"
#include "joints/joint.hpp"
#include "spatial/inertia.hpp"
#include "spatial/lanes.hpp"
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
template <class T>
SB_INLINE void multiply_quaternion(const T* q, const T& s, const Vec3<T>& v, T* product) {
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

// The cosine of half an angle, and its sine over the angle, from the square of half the angle.
SB_INLINE void half_angle(double square, double& cosine, double& sine_ratio) {
  const double half = std::sqrt(square);
  cosine = std::cos(half), sine_ratio = half > 0.0 ? 0.5 * std::sin(half) / half : 0.5;
}
SB_INLINE void half_angle(const Lanes& square, Lanes& cosine, Lanes& sine_ratio) {
  if (all_less(square, Lanes(1e-4))) {  // series, to rounding
    const Lanes one(1.0);
    const auto series = [&](double first, double a, double b, double c) SB_UNROLL {
      return Lanes(first) - Lanes(1.0 / a) * square * (one - Lanes(1.0 / b) * square * (one - Lanes(1.0 / c) * square));
    };
    cosine = series(1.0, 2.0, 12.0, 30.0), sine_ratio = series(0.5, 12.0, 20.0, 42.0);
    return;
  }
  double of[3][n_lanes];
  square.v.store(of[0]);
  for (int k = 0; k < n_lanes; ++k) half_angle(of[0][k], of[1][k], of[2][k]);
  cosine = Vec<n_lanes>::load(of[1]), sine_ratio = Vec<n_lanes>::load(of[2]);
}

// x + R u and q exp(w) of small twists (w, u) in body coordinates.
inline void displace(View<const double, 2> position, View<const double, 2> orientation, View<const double, 2> twist,
                     Poses& moved) {
  for (Index b = 0; b < n_blocks(position.rows()); ++b) {
    Lanes x[3], q[4], v[6], c, s, turned[4];
    load_lanes<3>(position, b, x), load_lanes<4>(orientation, b, q), load_lanes<6>(twist, b, v);
    const auto [w, u] = Motion<Lanes>::load(v);
    (Vec3<Lanes>::load(x) + Mat3<Lanes>::from_quaternion(q[0], q[1], q[2], q[3]) * u).store(x);
    half_angle(Lanes(0.25) * dot(w, w), c, s);
    multiply_quaternion(q, c, s * w, turned);
    const Lanes scale = inverse_sqrt(turned[0] * turned[0] + turned[1] * turned[1] + turned[2] * turned[2] + turned[3] * turned[3]);
    for (Lanes& number : turned) number = scale * number;
    store_lanes<3>(x, moved.position.view(), b), store_lanes<4>(turned, moved.orientation.view(), b);
  }
}
inline Poses displaced(View<const double, 2> position, View<const double, 2> orientation,
                       View<const double, 2> twist) {
  Poses moved = Poses::uninitialized(position.rows());
  displace(position, orientation, twist, moved);
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

// y' = (R u, q (0, w) / 2) and y'' = (R (du/dt + w x u), (q' (0, w) + q (0, dw/dt)) / 2), velocity (w, u) and
// acceleration in body coordinates.
template <class T>
SB_INLINE void differentiate(const T* q, const Motion<T>& v, const Motion<T>& a, T* rate, T* curvature) {
  const T half(0.5), none(0.0);
  const Mat3<T> R = Mat3<T>::from_quaternion(q[0], q[1], q[2], q[3]);
  (R * v.linear).store(rate);
  (R * (a.linear + cross(v.angular, v.linear))).store(curvature);
  T turning[4];
  multiply_quaternion(q, none, half * v.angular, rate + 3);
  multiply_quaternion(rate + 3, none, half * v.angular, turning);
  multiply_quaternion(q, none, half * a.angular, curvature + 3);
  for (int k = 0; k < 4; ++k) curvature[3 + k] = curvature[3 + k] + turning[k];
}

// The pose y + h y' + h^2 / 2 C, its quaternion made a unit one, and the velocity there for the rate y' + h c.
template <class T>
SB_INLINE Motion<T> move(const T* y, const T* rate, const T* C, const T* c, double step, T* pose) {
  const T h(step), half_square(0.5 * step * step);
  T speed[7];
  for (int a = 0; a < 7; ++a) {
    pose[a] = y[a] + (h * rate[a] + half_square * C[a]);
    speed[a] = rate[a] + h * c[a];
  }
  T* const q = pose + 3;
  const T scale = inverse_sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int a = 0; a < 4; ++a) q[a] = scale * q[a];
  const Vec3<T> v{q[1], q[2], q[3]}, dv{speed[4], speed[5], speed[6]};
  const Vec3<T> turn = (T(2.0) * scale) * (q[0] * dv - speed[3] * v - cross(v, dv));  // 2 conj(q) dq / |q|
  return {turn, transpose_times(Mat3<T>::from_quaternion(q[0], q[1], q[2], q[3]), Vec3<T>{speed[0], speed[1], speed[2]})};
}

struct PoseDerivatives {
  Array<double, 2> rate, curvature;  // (n, 7)
};
inline PoseDerivatives pose_derivatives(View<const double, 2> orientation, View<const double, 2> velocity,
                                        View<const double, 2> acceleration) {
  const Index n = orientation.rows();
  PoseDerivatives out{Array<double, 2>::uninitialized({n, 7}), Array<double, 2>::uninitialized({n, 7})};
  for (Index i = 0; i < n; ++i)
    differentiate(&orientation(i, 0), Motion<double>::load(&velocity(i, 0)), Motion<double>::load(&acceleration(i, 0)),
                  &out.rate(i, 0), &out.curvature(i, 0));
  return out;
}

struct BodyStates {
  Array<double, 2> position, orientation, velocity;
};
inline BodyStates moved(View<const double, 2> position, View<const double, 2> orientation, View<const double, 2> rate,
                        View<const double, 2> C, View<const double, 2> c, double h) {
  const Index n = position.rows();
  BodyStates out{Array<double, 2>::uninitialized({n, 3}), Array<double, 2>::uninitialized({n, 4}),
                 Array<double, 2>::uninitialized({n, 6})};
  for (Index i = 0; i < n; ++i) {
    double y[7], end[7];
    std::copy_n(&position(i, 0), 3, y), std::copy_n(&orientation(i, 0), 4, y + 3);
    move(y, &rate(i, 0), &C(i, 0), &c(i, 0), h, end).store(&out.velocity(i, 0));
    std::copy_n(end, 3, &out.position(i, 0)), std::copy_n(end + 3, 4, &out.orientation(i, 0));
  }
  return out;
}

}  // namespace sparsebody::model
