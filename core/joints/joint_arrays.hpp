// The joints of a system at their poses X = (E, r).
#pragma once

#include "base/array.hpp"
#include "joints/joint_types.hpp"

namespace sparsebody {

struct JointPoses {
  View<const Index> kind;
  View<const double, 3> E;
  View<const double, 2> r;
  View<const double> parameter;
};

[[gnu::always_inline]] inline Transform<double> pose_of(const JointPoses& poses, Index j) {
  return {Mat3<double>::load(&poses.E(j, 0, 0)), Vec3<double>::load(&poses.r(j, 0))};
}

// The rows of T' and (dT/dt)' v_J of some joints.
inline void fill_subspaces(View<const Index> joints, View<const Index> first_row, const JointPoses& poses,
                           View<const double, 2> velocity, View<double, 2> subspace, View<double> drift) {
  for (const Index j : joints)
    joint_varying_rows(int(poses.kind[j]), pose_of(poses, j), Motion<double>::load(&velocity(j, 0)),
                       &subspace(first_row[j], 0), &drift[first_row[j]]);
}

// A velocity coordinate: value q, dual vector W with W' S = 1 on it, and (dW/dt)' v_J = -W' c. Those that are not rates
// of scalar positions have no value.
struct CoordinateMotion {
  double value = 0.0;
  Force<double> dual;
  double drift = 0.0;
};
// The index-th of a joint of a type, at a pose and velocity.
inline CoordinateMotion coordinate_motion(Index kind, double parameter, Index index, const Transform<double>& X,
                                          const Motion<double>& v_J) {
  CoordinateMotion out;
  visit_joint(int(kind), parameter, [&]<class J>(const J& type) {
    constexpr joints::JointInfo info = J::info;
    if constexpr (info.n_velocities > 0) {
      out.dual = joints::active_force_subspace(type, X)[index];
      out.drift = -dot(joints::drift(type, X, v_J), out.dual);
      if constexpr (info.n_scalars > 0) {
        double q[info.n_positions];
        type.coordinates(X, q);
        if (index >= info.n_velocities - info.n_scalars) out.value = q[index + info.n_positions - info.n_velocities];
      }
    }
  });
  return out;
}

// The same of several, each the index-th of a joint.
struct CoordinateMotions {
  Array<double> value;
  Array<double, 2> dual;
  Array<double> drift;
};
inline CoordinateMotions coordinate_motions(View<const Index> joint, View<const Index> index, const JointPoses& poses,
                                            View<const double, 2> velocity) {
  const Index n_items = joint.size();
  CoordinateMotions out{Array<double>(n_items), Array<double, 2>({n_items, 6}), Array<double>(n_items)};
  for (Index i = 0; i < n_items; ++i) {
    const Index j = joint[i];
    const CoordinateMotion motion = coordinate_motion(poses.kind[j], poses.parameter[j], index[i], pose_of(poses, j),
                                                      Motion<double>::load(&velocity(j, 0)));
    out.value[i] = motion.value, out.drift[i] = motion.drift;
    motion.dual.store(&out.dual(i, 0));
  }
  return out;
}

}  // namespace sparsebody
