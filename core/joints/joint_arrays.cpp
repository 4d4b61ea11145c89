#include "joints/joint_arrays.hpp"

#include "joints/joint_types.hpp"

namespace sparsebody {

namespace {

Transform<double> pose_of(const JointPoses& poses, Index j) {
  return {Mat3<double>::load(&poses.E(j, 0, 0)), Vec3<double>::load(&poses.r(j, 0))};
}

}  // namespace

void fill_errors(int kind, View<const Index> members, View<const Index> first_row, const JointPoses& poses,
                 View<double> error) {
  visit_joint(kind, 0.0, [&]<class J>(const J&) {
    if constexpr (J::info.n_constraints() > 0)
      for (const Index j : members)
        joints::error(joint_of<J>(poses.parameter[j]), pose_of(poses, j), &error[first_row[j]]);
  });
}

void fill_subspaces(int kind, View<const Index> members, View<const Index> first_row, const JointPoses& poses,
                    View<const double, 2> velocity, View<double, 2> subspace, View<double> drift) {
  visit_joint(kind, 0.0, [&]<class J>(const J&) {
    if constexpr (J::info.n_constraints() > 0)
      for (const Index j : members)
        joints::constraint_rows(joint_of<J>(poses.parameter[j]), pose_of(poses, j), Motion<double>::load(&velocity(j, 0)),
                        &subspace(first_row[j], 0), &drift[first_row[j]]);
  });
}

void fill_coordinates(int kind, View<const Index> items, View<const Index> joint, View<const Index> index,
                      const JointPoses& poses, View<const double, 2> velocity, View<double> value,
                      View<double, 2> dual, View<double> drift) {
  visit_joint(kind, 0.0, [&]<class J>(const J&) {
    constexpr int n = J::info.n_velocities;
    if constexpr (n > 0)
      for (const Index i : items) {
        const Index j = joint[i], k = index[i];
        const J type = joint_of<J>(poses.parameter[j]);
        const Transform<double> X = pose_of(poses, j);
        const Force<double> W = joints::active_force_subspace(type, X)[k];
        W.store(&dual(i, 0));
        drift[i] = -dot(joints::drift(type, X, Motion<double>::load(&velocity(j, 0))), W);
        value[i] = 0.0;
        if constexpr (J::info.n_scalars > 0) {
          double q[J::info.n_positions];
          type.coordinates(X, q);
          if (k >= n - J::info.n_scalars) value[i] = q[k + J::info.n_positions - n];
        }
      }
  });
}

}  // namespace sparsebody
