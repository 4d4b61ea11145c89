#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// A sphere on a plane: the origin of S stays in the xy plane of P; q is (quaternion of S in P, x [m], y [m]).
// The velocities are the angular velocity in S and the rates of x and y.
struct PointOnPlane {
  static constexpr JointInfo info{.name = "point-on-plane", .n_positions = 6, .n_velocities = 5,
                                  .units = {"", "", "", "", "m", "m"}, .n_scalars = 2, .has_varying_T = true};

  template <class T> static Transform<T> pose(const T* q) { return {rotation_to_successor(q), {q[4], q[5], T(0)}}; }
  template <class T> static void coordinates(const Transform<T>& X, T* q) {
    quaternion_from_rotation(X.E, q);
    q[4] = X.r.x, q[5] = X.r.y;
  }
  template <class T> static MotionColumns<T, 5> motion_subspace(const Transform<T>& X) {
    const auto w = UnitAxes<0, 1, 2>::motion_subspace(X);
    return {w[0], w[1], w[2], along_axis_of_predecessor<Motion>(X, 0), along_axis_of_predecessor<Motion>(X, 1)};
  }
  // d[0; e]/dt = -[0; w x e] of an axis e of P
  template <class T> static Motion<T> drift(const Transform<T>&, const Motion<T>& v) {
    return {{}, -cross(v.angular, v.linear)};
  }
  template <class T> static ForceColumns<T, 1> constraint_force_subspace(const Transform<T>& X) {
    return {along_axis_of_predecessor<Force>(X, 2)};
  }
  template <class T> static void error(const Transform<T>& X, T* delta) { delta[0] = X.r.z; }
};

}  // namespace sparsebody::joints
