#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// Spherical: q is the unit quaternion of S in P, the velocity is angular, in S. Featherstone (2008), sec. 4.4.
struct Spherical : UnitAxes<0, 1, 2> {
  static constexpr JointInfo info{.name = "spherical", .n_positions = 4, .n_velocities = 3, .units = {"", "", "", ""},
                                  .subgroup = Subgroup::spherical};

  template <class T> static Transform<T> pose(const T* q) { return {rotation_to_successor(q), {}}; }
  template <class T> static void coordinates(const Transform<T>& X, T* q) { quaternion_from_rotation(X.E, q); }
  template <class T> static void error(const Transform<T>& X, T* delta) { point_error(X, delta); }
  template <class T> static bool small_error(const Vec3<T>& offset, const Vec3<T>&, T* delta) {
    return offset.store(delta), true;
  }
};

}  // namespace sparsebody::joints
