#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// Revolute: rotation about the common z axis; q is the angle [rad]. Featherstone (2008), table 4.1.
struct Revolute : UnitAxes<2> {
  static constexpr JointInfo info{.name = "revolute", .n_positions = 1, .n_velocities = 1, .units = {"rad"},
                                  .n_scalars = 1, .subgroup = Subgroup::rotation};

  template <class T> static Transform<T> pose(const T* q) { return Transform<T>::rotation_z(q[0]); }
  template <class T> static void coordinates(const Transform<T>& X, T* q) { q[0] = angle_about_z(X.E); }
  template <class T> static void error(const Transform<T>& X, T* delta) {
    tilt_error(X.E, delta);
    point_error(X, delta + 2);
  }
  template <class T> static bool small_error(const Vec3<T>& offset, const Vec3<T>& z, T* delta) {
    offset.store(delta + 2);
    return small_tilt_error(z, delta);
  }
};

}  // namespace sparsebody::joints
