#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// A weld: S and P stay together; it has no coordinate. Featherstone (2008), table 8.1, zero freedoms.
struct Fixed : UnitAxes<> {
  static constexpr JointInfo info{.name = "fixed", .n_positions = 0, .n_velocities = 0, .subgroup = Subgroup::rigid};

  template <class T> static Transform<T> pose(const T*) { return {}; }
  template <class T> static void coordinates(const Transform<T>&, T*) {}
  template <class T> static void error(const Transform<T>& X, T* delta) {
    rotation_vector(X.E).store(delta);
    point_error(X, delta + 3);
  }
};

}  // namespace sparsebody::joints
