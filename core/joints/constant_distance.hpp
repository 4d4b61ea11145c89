#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// A massless rod with spherical ends: the origins of S and P stay `length` apart. q is the relative pose (quaternion
// of S in P, origin of S in P [m]); the velocities are the angular velocity in S and the rates along two axes across
// the rod, carried along without turning about it. u = E r / |r| is the direction of the rod.
struct ConstantDistance {
  static constexpr JointInfo info{.name = "constant-distance", .n_positions = 7, .n_velocities = 5,
                                  .units = {"", "", "", "", "m", "m", "m"}, .has_varying_T = true,
                                  .has_named_coordinates = false};
  double length;  // [m]

  template <class T> Transform<T> pose(const T* q) const {
    const Vec3<T> r = Vec3<T>::load(q + 4);
    return {rotation_to_successor(q), T(length) / norm(r) * r};
  }
  template <class T> static void coordinates(const Transform<T>& X, T* q) {
    quaternion_from_rotation(X.E, q);
    X.r.store(q + 4);
  }
  // Two unit vectors across u and each other: Duff et al. (2017), J. Comput. Graph. Tech. 6(1).
  template <class T> static MotionColumns<T, 5> motion_subspace(const Transform<T>& X) {
    const Vec3<T> u = direction(X);
    const T sign = u.z >= T(0) ? T(1) : T(-1), a = T(-1) / (sign + u.z), b = u.x * u.y * a;
    const auto w = UnitAxes<0, 1, 2>::motion_subspace(X);
    return {w[0], w[1], w[2], Motion<T>{{}, {T(1) + sign * u.x * u.x * a, sign * b, -sign * u.x}},
            Motion<T>{{}, {b, sign + u.y * u.y * a, -u.y}}};
  }
  // c = -u (du/dt . v); |r| du/dt is the part of dp/dt = v - w x p across the rod, p = E r
  template <class T> static Motion<T> drift(const Transform<T>& X, const Motion<T>& v) {
    const T distance = norm(X.r);
    if (distance == T(0)) return {};
    const Vec3<T> u = direction(X), p_rate = v.linear - distance * cross(v.angular, u);
    const T du_v = dot(p_rate, v.linear) - dot(u, p_rate) * dot(u, v.linear);  // |r| du/dt . v
    return {{}, (-du_v / distance) * u};
  }
  // A force along the rod.
  template <class T> static ForceColumns<T, 1> constraint_force_subspace(const Transform<T>& X) {
    return {Force<T>{{}, direction(X)}};
  }
  template <class T> void error(const Transform<T>& X, T* delta) const { delta[0] = norm(X.r) - length; }

 private:
  // Points that coincide, only before assembly, may part in any direction.
  template <class T> static Vec3<T> direction(const Transform<T>& X) {
    const T distance = norm(X.r);
    return distance == T(0) ? Vec3<T>{T(0), T(0), T(1)} : T(1) / distance * (X.E * X.r);
  }
};

}  // namespace sparsebody::joints
