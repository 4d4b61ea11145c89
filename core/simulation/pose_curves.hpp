// Poses of bodies as curves y(t) = (x, q) in R^7, with the first two derivatives that integrators of second order need.
#pragma once

#include "model/poses.hpp"

namespace sparsebody::simulation {

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
    const Mat3<double> R = model::rotation_of(orientation, i);
    double* const rate = &out.rate(i, 0);
    double* const curvature = &out.curvature(i, 0);
    (R * u).store(rate);
    (R * (du + cross(w, u))).store(curvature);
    double turning[4];
    model::multiply_quaternion(&orientation(i, 0), 0.0, 0.5 * w, rate + 3);
    model::multiply_quaternion(rate + 3, 0.0, 0.5 * w, turning);
    model::multiply_quaternion(&orientation(i, 0), 0.0, 0.5 * dw, curvature + 3);
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
    const double* const y[2] = {&position(i, 0), &orientation(i, 0)};
    double pose[7], speed[7];
    for (int a = 0; a < 7; ++a) {
      pose[a] = (a < 3 ? y[0][a] : y[1][a - 3]) + (h * rate(i, a) + half_square * C(i, a));
      speed[a] = rate(i, a) + h * c(i, a);
    }
    double* const q = &out.orientation(i, 0);
    double square = 0.0;
    for (int a = 3; a < 7; ++a) square += pose[a] * pose[a];
    const double scale = 1.0 / std::sqrt(square);
    for (int a = 0; a < 4; ++a) q[a] = scale * pose[3 + a];
    const double* const dq = speed + 3;  // (., w) / 2 = conj(q) dq / |q|
    const Vec3<double> v{q[1], q[2], q[3]}, dv = Vec3<double>::load(dq + 1);
    const Vec3<double> w = (2.0 * scale) * (q[0] * dv - dq[0] * v - cross(v, dv));
    Vec3<double>::load(pose).store(&out.position(i, 0));
    Motion<double>{w, transpose_times(model::rotation_of(out.orientation.view(), i), Vec3<double>::load(speed))}.store(
        &out.velocity(i, 0));
  }
  return out;
}

}  // namespace sparsebody::simulation
