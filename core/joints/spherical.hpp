#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// A ball: q is the unit quaternion of S in P, the velocity is angular, in S. Featherstone (2008), sec. 4.4.
struct Spherical {
  static constexpr JointInfo info{.name = "spherical", .n_positions = 4, .n_velocities = 3, .units = {"", "", "", ""},
                                  .subgroup = Subgroup::spherical};

  template <class T> static Transform<T> pose(const T* q) { return {rotation_to_successor(q), {}}; }
  template <class T> static void coordinates(const Transform<T>& X, T* q) { quaternion_from_rotation(X.E, q); }
  template <class T> static MotionColumns<T, 3> motion_subspace(const Transform<T>&) {
    return unit_motions<T, 0, 1, 2>();
  }
};

}  // namespace sparsebody::joints
