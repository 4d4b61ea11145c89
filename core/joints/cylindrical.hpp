#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// Rotation about the common z axis and translation along it; q = (angle [rad], distance [m]).
// Featherstone (2008), example 8.1.
struct Cylindrical : UnitAxes<2, 5> {
  static constexpr JointInfo info{.name = "cylindrical", .n_positions = 2, .n_velocities = 2, .units = {"rad", "m"},
                                  .n_scalars = 2, .subgroup = Subgroup::cylindrical};

  template <class T> static Transform<T> pose(const T* q) {
    Transform<T> X = Transform<T>::rotation_z(q[0]);
    X.r.z = q[1];
    return X;
  }
  template <class T> static void coordinates(const Transform<T>& X, T* q) { q[0] = angle_about_z(X.E), q[1] = X.r.z; }
  template <class T> static void error(const Transform<T>& X, T* delta) {
    tilt_error(X.E, delta);
    offset_error(X, delta + 2);
  }
};

}  // namespace sparsebody::joints
