#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// A cross with one arm along x of P, the other along y of S; q = (angle about x_P, about y_S) [rad], dq/dt are the
// velocities. The origins coincide, and at q = 0 so do the axes. x is x_P in S coordinates; dx/dt = -w x x.
struct Universal {
  static constexpr JointInfo info{.name = "universal", .n_positions = 2, .n_velocities = 2, .units = {"rad", "rad"},
                                  .n_scalars = 2, .subgroup = Subgroup::spherical, .has_varying_T = true};

  // E = Ry(q1)' Rx(q0)'
  template <class T> static Transform<T> pose(const T* q) {
    using std::cos, std::sin;
    const T c0 = cos(q[0]), s0 = sin(q[0]), c1 = cos(q[1]), s1 = sin(q[1]);
    return {{{c1, s0 * s1, -c0 * s1, T(0), c0, s0, s1, -s0 * c1, c0 * c1}}, {}};
  }
  template <class T> static void coordinates(const Transform<T>& X, T* q) {
    using std::atan2;
    q[0] = atan2(X.E(1, 2), X.E(1, 1));
    q[1] = atan2(X.E(2, 0), X.E(0, 0));
  }
  template <class T> static MotionColumns<T, 2> motion_subspace(const Transform<T>& X) {
    return {Motion<T>{X.E.column(0), {}}, unit_vector<Motion, T>(1)};
  }
  // c of T' c = -(dT/dt)' v and T_a' c = -(dT_a/dt)' v
  template <class T> static Motion<T> drift(const Transform<T>& X, const Motion<T>& v) {
    const Vec3<T> x = X.E.column(0), w = v.angular, x_rate = cross(x, w);
    const T square = x.x * x.x + x.z * x.z, rate = (x.x * w.x + x.z * w.z) / square;
    const T along = T(2) * rate * (x.x * x_rate.x + x.z * x_rate.z) - (x_rate.x * w.x + x_rate.z * w.z);
    const T across = x_rate.z * w.x - x_rate.x * w.z;
    return {{(x.x * along - x.z * across) / square, T(0), (x.z * along + x.x * across) / square}, {}};
  }
  // T_a = (x_0, 0, x_2) / (x_0^2 + x_2^2), perpendicular to the other axis
  template <class T> static ForceColumns<T, 2> active_force_subspace(const Transform<T>& X) {
    const T x0 = X.E(0, 0), x2 = X.E(2, 0), square = x0 * x0 + x2 * x2;
    return {Force<T>{{x0 / square, T(0), x2 / square}, {}}, unit_vector<Force, T>(1)};
  }
  // The moment about x_P x y_S, and three forces.
  template <class T> static ForceColumns<T, 4> constraint_force_subspace(const Transform<T>& X) {
    return {Force<T>{{-X.E(2, 0), T(0), X.E(0, 0)}, {}}, unit_vector<Force, T>(3), unit_vector<Force, T>(4),
            unit_vector<Force, T>(5)};
  }
  template <class T> static void error(const Transform<T>& X, T* delta) {
    delta[0] = -X.E(1, 0);  // the arms are not perpendicular
    point_error(X, delta + 1);
  }
};

}  // namespace sparsebody::joints
