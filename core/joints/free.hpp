#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// No constraint: q is the quaternion of S in P and the origin of S in P [m], the velocity is v_J, in S.
// Featherstone (2008), sec. 4.4.
struct Free : UnitAxes<0, 1, 2, 3, 4, 5> {
  static constexpr JointInfo info{.name = "free", .n_positions = 7, .n_velocities = 6,
                                  .units = {"", "", "", "", "m", "m", "m"}};

  template <class T> static Transform<T> pose(const T* q) { return {rotation_to_successor(q), Vec3<T>::load(q + 4)}; }
  template <class T> static void coordinates(const Transform<T>& X, T* q) {
    quaternion_from_rotation(X.E, q);
    X.r.store(q + 4);
  }
  template <class T> static void error(const Transform<T>&, T*) {}
};

}  // namespace sparsebody::joints
