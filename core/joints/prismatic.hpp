#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// A slider: translation along the common z axis; q is the distance [m]. Featherstone (2008), table 4.1.
struct Prismatic : UnitAxes<5> {
  static constexpr JointInfo info{.name = "prismatic", .n_positions = 1, .n_velocities = 1, .units = {"m"},
                                  .n_scalars = 1, .subgroup = Subgroup::translation};

  template <class T> static Transform<T> pose(const T* q) { return Transform<T>::translation({T(0), T(0), q[0]}); }
  template <class T> static void coordinates(const Transform<T>& X, T* q) { q[0] = X.r.z; }
  template <class T> static void error(const Transform<T>& X, T* delta) {
    rotation_vector(X.E).store(delta);
    offset_error(X, delta + 3);
  }
};

}  // namespace sparsebody::joints
