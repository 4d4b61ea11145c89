// Columns t of T, or of the active force subspace T_a, as rows on the velocities of the bodies. Featherstone (2008), (8.10), (8.64).
#pragma once

#include <cmath>

#include "base/threads.hpp"
#include "model/joint_motion.hpp"

namespace sparsebody::model {

// t' v_J on both bodies, and the right-hand side of t' (a_s - a_p) = -t' (v_s x v_p) - t_dot' v_J; `drift` is t_dot' v_J,
// of t_dot in S coordinates.
struct ConstraintRow {
  Force<double> on_predecessor, on_successor;
  double velocity, acceleration;
};

inline ConstraintRow constraint_row(const Force<double>& t, double drift, const Transform<double>& X_S,
                                    const JointMotion<>& motion) {
  const Motion<double> bias = cross(motion.v_J, motion.v_p);  // v_J x v_p = v_s x v_p
  return {-motion.X_p.transpose(t), X_S.transpose(t), dot(motion.v_J, t), -dot(bias, t) - drift};
}

// The motions of joints, as stored by Python's JointMotion.
struct JointMotions {
  View<const double, 3> to_successor;  // X_p
  View<const double, 2> arm, velocity, predecessor_velocity;

  Transform<double> X_p(Index j) const {
    return {Mat3<double>::load(&to_successor(j, 0, 0)), Vec3<double>::load(&arm(j, 0))};
  }
  JointMotion<> operator[](Index j) const {
    return {{}, X_p(j), Motion<double>::load(&velocity(j, 0)), Motion<double>::load(&predecessor_velocity(j, 0))};
  }
};

struct JointMotionArrays {
  Array<double, 3> E;  // X_SP
  Array<double, 2> r;
  Array<double, 3> to_successor;
  Array<double, 2> arm, velocity, predecessor_velocity;
};

inline JointMotionArrays joint_motions(const JointFrames& frames, const BodyMotions& bodies, int threads) {
  const Index n = frames.size();
  const auto rows = [n](Index width) { return Array<double, 2>::uninitialized({n, width}); };
  const auto matrices = [n] { return Array<double, 3>::uninitialized({n, 3, 3}); };
  JointMotionArrays out{matrices(), rows(3), matrices(), rows(3), rows(6), rows(6)};
  for_each(n, threads, [&](Index j) {
    const JointMotion motion = joint_motion(frames, bodies, j);
    motion.X.E.store(&out.E(j, 0, 0));
    motion.X.r.store(&out.r(j, 0));
    motion.X_p.E.store(&out.to_successor(j, 0, 0));
    motion.X_p.r.store(&out.arm(j, 0));
    motion.v_J.store(&out.velocity(j, 0));
    motion.v_p.store(&out.predecessor_velocity(j, 0));
  });
  return out;
}

struct ConstraintRows {
  Array<double, 3> rows;  // on the predecessor's and the successor's velocity; zero on the world
  Array<double> velocity, acceleration;
};

// Row k is on joint[k].
inline ConstraintRows constraint_rows(View<const Index> joint, const JointFrames& frames, const JointMotions& motions,
                                      View<const double, 2> subspace, View<const double> drift,
                                      int threads) {
  const Index n = joint.size();
  ConstraintRows out{Array<double, 3>({n, 2, 6}), Array<double>::uninitialized({n}),
                     Array<double>::uninitialized({n})};
  for_each(n, threads, [&](Index k) {
    const Index j = joint[k];
    const ConstraintRow row = constraint_row(Force<double>::load(&subspace(k, 0)), drift[k], frames.X_S(j), motions[j]);
    if (frames.predecessor[j] >= 0) row.on_predecessor.store(&out.rows(k, 0, 0));
    if (frames.successor[j] >= 0) row.on_successor.store(&out.rows(k, 1, 0));
    out.velocity[k] = row.velocity;
    out.acceleration[k] = row.acceleration;
  });
  return out;
}

// The rows `index` alone, at poses, scaled to unit norm; row k is on joint[k], and its t is constant.
inline Array<double, 3> unit_rows(View<const Index> index, View<const Index> joint, const JointFrames& frames,
                                  const BodyMotions& bodies, const Subspaces& subspaces, int threads) {
  Array<double, 3> rows({index.size(), 2, 6});
  run_ranges(index.size(), threads, [&](Index first, Index last) {
    Transform<double> X_p, X_S;
    for (Index i = first, last_joint = -1; i < last; ++i) {
      const Index j = joint[index[i]], p = frames.predecessor[j], s = frames.successor[j];
      if (j != last_joint) {  // rows of a joint are consecutive
        X_S = frames.X_S(j);
        X_p = joint_motion(frames, bodies, j).X_p;
        last_joint = j;
      }
      const auto t = Force<double>::load(subspaces[index[i]]);
      if (p >= 0) (-X_p.transpose(t)).store(&rows(i, 0, 0));
      if (s >= 0) X_S.transpose(t).store(&rows(i, 1, 0));
      double* row = &rows(i, 0, 0);
      double square = 0.0;
      for (int a = 0; a < 12; ++a) square += row[a] * row[a];
      if (square > 0.0)
        for (int a = 0; a < 12; ++a) row[a] *= 1.0 / std::sqrt(square);
    }
  });
  return rows;
}

// T lambda (n_joints, 6) in S coordinates; joint j has the rows first_row[j] .. first_row[j + 1] - 1.
inline Array<double, 2> joint_wrenches(View<const Index> first_row, View<const double, 2> subspace,
                                       View<const double> multiplier, int threads) {
  const Index n_joints = first_row.size() - 1;
  auto wrench = Array<double, 2>::uninitialized({n_joints, 6});
  for_each(n_joints, threads, [&](Index j) {
    Force<double> f{};
    for (Index k = first_row[j]; k < first_row[j + 1]; ++k) f = f + Force<double>::load(&subspace(k, 0)) * multiplier[k];
    f.store(&wrench(j, 0));
  });
  return wrench;
}

// Adds wrenches (n, 6) in S coordinates to the forces (n_bodies, 6) on the successors, and subtracts them from those on
// the predecessors, in body coordinates.
inline void add_joint_wrenches(View<const Index> joint, const JointFrames& frames, const JointMotions& motions,
                               View<const double, 2> wrench, View<double, 2> force) {
  for (Index k = 0; k < joint.size(); ++k)
    add_joint_wrench(frames, joint[k], motions.X_p(joint[k]), Force<double>::load(&wrench(k, 0)), force);
}

}  // namespace sparsebody::model
