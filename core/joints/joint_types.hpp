// The joint types: one header each, one line each in JointTypes; what follows from their members; and the joints of a
// system at their poses.
//
// The index of a type in the list is its `kind`. `visit_joint(kind, parameter, f)` calls f with the type.
#pragma once

#include <type_traits>

#include "base/array.hpp"
#include "joints/constant_distance.hpp"
#include "joints/cylindrical.hpp"
#include "joints/fixed.hpp"
#include "joints/free.hpp"
#include "joints/helical.hpp"
#include "joints/planar.hpp"
#include "joints/point_on_line.hpp"
#include "joints/point_on_plane.hpp"
#include "joints/prismatic.hpp"
#include "joints/revolute.hpp"
#include "joints/spherical.hpp"
#include "joints/universal.hpp"

namespace sparsebody {

namespace joints {

template <class... J> struct TypeList {};

using JointTypes = TypeList<
    Revolute,
    Prismatic,
    Helical,
    Cylindrical,
    Planar,
    Spherical,
    Universal,
    Fixed,
    Free,
    PointOnLine,
    PointOnPlane,
    ConstantDistance>;

}  // namespace joints

using joints::JointTypes;

// A type with its number, where it has one.
template <class J>
constexpr J joint_of(double parameter) {
  if constexpr (requires { J{parameter}; })
    return J{parameter};
  else
    return J{};
}

// f(J) of the type of this kind.
template <class F>
[[gnu::always_inline]] inline void visit_joint(int kind, double parameter, F&& f) {
  [&]<class... J>(joints::TypeList<J...>) {
    int k = 0;
    (void)((kind == k++ && (f(joint_of<J>(parameter)), true)) || ...);
  }(JointTypes{});
}

// f(j, J) of all joints; runs of one kind are visited in one loop.
template <class F>
void visit_joints(View<const Index> kind, View<const double> parameter, F f) {
  for (Index j = 0; j < kind.size();)
    visit_joint(int(kind[j]), 0.0, [&]<class J>(const J&) {
      const Index run = kind[j];
      do f(j, joint_of<J>(parameter[j]));
      while (++j < kind.size() && kind[j] == run);
    });
}

// --- Derived from the members of a type ---

namespace joints {

// T_a: qd = T_a' v_J, f = T_a tau. Featherstone (2008), sec. 3.5.
template <class J, class T>
ForceColumns<T, J::info.n_velocities> active_force_subspace(const J& joint, const Transform<T>& X) {
  if constexpr (requires { joint.active_force_subspace(X); }) {
    return joint.active_force_subspace(X);
  } else {
    ForceColumns<T, J::info.n_velocities> T_a;
    const auto S = joint.motion_subspace(X);
    for (int k = 0; k < J::info.n_velocities; ++k) T_a[k] = {S[k].angular, S[k].linear};
    return T_a;
  }
}

// c = (dS/dt) qd
template <class J, class T>
Motion<T> drift(const J& joint, const Transform<T>& X, const Motion<T>& v) {
  if constexpr (requires { joint.drift(X, v); })
    return joint.drift(X, v);
  else
    return {};
}

// The rows of T', and (dT/dt)' v_J = -T' c.
template <class J, class T>
void constraint_rows(const J& joint, const Transform<T>& X, const Motion<T>& v, T* rows, T* row_drift) {
  const auto columns = joint.constraint_force_subspace(X);
  const Motion<T> c = drift(joint, X, v);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    columns[k].store(rows + 6 * k);
    row_drift[k] = -dot(c, columns[k]);
  }
}

}  // namespace joints

// The rows of T' (n_constraints x 6) and (dT/dt)' v_J, of a joint whose T varies.
template <class T>
void joint_varying_rows(int kind, const Transform<T>& X, const Motion<T>& v, T* rows, T* row_drift) {
  visit_joint(kind, 0.0, [&](const auto& joint) {
    if constexpr (std::remove_cvref_t<decltype(joint)>::info.has_varying_T)
      joints::constraint_rows(joint, X, v, rows, row_drift);
  });
}

// ---- The joints of a system at their poses X = (E, r).

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

// A velocity coordinate: value q, its column T_a of the active force subspace, T_a' S = 1, and (dT_a/dt)' v_J = -T_a' c. Those
// that are not rates of scalar positions have no value.
struct CoordinateMotion {
  double value = 0.0;
  Force<double> active_force;
  double drift = 0.0;
};
// The index-th of a joint of a type, at a pose and velocity.
inline CoordinateMotion coordinate_motion(Index kind, double parameter, Index index, const Transform<double>& X,
                                          const Motion<double>& v_J) {
  CoordinateMotion out;
  visit_joint(int(kind), parameter, [&]<class J>(const J& type) {
    constexpr joints::JointInfo info = J::info;
    if constexpr (info.n_velocities > 0) {
      out.active_force = joints::active_force_subspace(type, X)[index];
      out.drift = -dot(joints::drift(type, X, v_J), out.active_force);
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
  Array<double, 2> active_force;
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
    motion.active_force.store(&out.active_force(i, 0));
  }
  return out;
}

}  // namespace sparsebody
