#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// A sphere in a cylinder: the origin of S stays on the z axis of P; q is (quaternion of S in P, height [m]).
// The velocities are the angular velocity in S and the rate of the height.
struct PointOnLine {
  static constexpr JointInfo info{.name = "point-on-line", .n_positions = 5, .n_velocities = 4,
                                  .units = {"", "", "", "", "m"}, .n_scalars = 1, .has_varying_T = true};

  template <class T> static Transform<T> pose(const T* q) { return {rotation_to_successor(q), {T(0), T(0), q[4]}}; }
  template <class T> static void coordinates(const Transform<T>& X, T* q) {
    quaternion_from_rotation(X.E, q);
    q[4] = X.r.z;
  }
  template <class T> static MotionColumns<T, 4> motion_subspace(const Transform<T>& X) {
    const auto w = UnitAxes<0, 1, 2>::motion_subspace(X);
    return {w[0], w[1], w[2], along_axis_of_predecessor<Motion>(X, 2)};
  }
  // d[0; e]/dt = -[0; w x e] of an axis e of P
  template <class T> static Motion<T> drift(const Transform<T>&, const Motion<T>& v) {
    return {{}, -cross(v.angular, v.linear)};
  }
  template <class T> static ForceColumns<T, 2> constraint_force_subspace(const Transform<T>& X) {
    return {along_axis_of_predecessor<Force>(X, 0), along_axis_of_predecessor<Force>(X, 1)};
  }
  template <class T> static void error(const Transform<T>& X, T* delta) { delta[0] = X.r.x, delta[1] = X.r.y; }
};

}  // namespace sparsebody::joints
