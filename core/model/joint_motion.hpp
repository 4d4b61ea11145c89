// Relative motion at the joints, from the poses and velocities of the bodies. Featherstone (2008), (8.24), (8.7).
// P and S are the joint frames on predecessor and successor. Body coordinates have their origin at the center of mass.
// X_P leads from the predecessor's body coordinates to P and X_S from the successor's to S, both constant; X_p leads
// from the predecessor's to S, and varies.
#pragma once

#include <vector>

#include "base/array.hpp"
#include "spatial/planar.hpp"

namespace sparsebody::model {

// The bodies of the joints, -1 for the world, and the frames on them.
struct JointFrames {
  View<const Index> predecessor, successor;
  View<const double, 3> predecessor_rotation;  // joint to body axes
  View<const double, 2> predecessor_point;     // origin in body coordinates
  View<const double, 3> successor_rotation;
  View<const double, 2> successor_point;

  Index size() const { return predecessor.size(); }
  // From the predecessor's body coordinates to P, and from the successor's to S.
  [[gnu::always_inline]] Transform<double> X_P(Index j) const { return to_frame(predecessor_rotation, predecessor_point, j); }
  [[gnu::always_inline]] Transform<double> X_S(Index j) const { return to_frame(successor_rotation, successor_point, j); }

 private:
  [[gnu::always_inline]] static Transform<double> to_frame(View<const double, 3> rotation, View<const double, 2> point, Index j) {
    return {transpose(Mat3<double>::load(&rotation(j, 0, 0))), Vec3<double>::load(&point(j, 0))};
  }
};

// T' in S coordinates where it is constant: constraint row k is row[k] of the distinct ones.
struct Subspaces {
  View<const double, 2> distinct;
  View<const std::int32_t> row;

  Index size() const { return row.size(); }
  const double* operator[](Index k) const { return &distinct(row[k], 0); }
};

using BodyMotion = sparsebody::BodyMotion<InSpace<double>>;

// The 18 numbers of R, x and v.
inline const double* numbers(const BodyMotion& motion) {
  static_assert(sizeof(BodyMotion) == 18 * sizeof(double));
  return reinterpret_cast<const double*>(&motion);
}

struct BodyMotions {
  View<const double, 2> position, orientation, velocity;

  // That of a body, or of the world, -1.
  BodyMotion operator[](Index body) const {
    if (body < 0) return {};
    const double* q = &orientation(body, 0);
    return {Mat3<double>::from_quaternion(q[0], q[1], q[2], q[3]), Vec3<double>::load(&position(body, 0)),
            Motion<double>::load(&velocity(body, 0))};
  }
};

// The motions of the world, -1, and of the bodies.
class MotionList {
 public:
  explicit MotionList(Index n_bodies = 0) : of_(n_bodies + 1) {}
  MotionList& operator=(const BodyMotions& bodies) {
    for (Index i = 0; i < bodies.position.rows(); ++i) of_[i + 1] = bodies[i];
    return *this;
  }
  const BodyMotion& operator[](Index body) const { return of_[body + 1]; }

 private:
  std::vector<BodyMotion> of_;
};

template <class T = double>
struct JointMotion {
  Transform<T> X;    // X_SP
  Transform<T> X_p;  // from the predecessor's body coordinates to S
  Motion<T> v_J;     // v_s - v_p in S coordinates
  Motion<T> v_p;     // in S coordinates
};

// Positions enter only as differences between neighbours, so that nothing is lost far from the world's origin.
template <class T>
[[gnu::always_inline]] inline JointMotion<T> joint_motion(const Transform<T>& X_P, const Transform<T>& X_S,
                                                          const sparsebody::BodyMotion<InSpace<T>>& p,
                                                          const sparsebody::BodyMotion<InSpace<T>>& s) {
  JointMotion<T> motion;
  const Mat3<T> R_S = s.R * transpose(X_S.E);  // S to world axes
  motion.X_p.E = transpose_times(R_S, p.R);
  motion.X_p.r = transpose_times(p.R, s.x - p.x + s.R * X_S.r);
  motion.X.E = motion.X_p.E * transpose(X_P.E);  // X_SP = X_Sp X_pP
  motion.X.r = X_P.E * (motion.X_p.r - X_P.r);
  motion.v_p = motion.X_p * p.v;
  motion.v_J = X_S * s.v - motion.v_p;  // v_J = v_s - v_p
  return motion;
}
template <class Bodies>
[[gnu::always_inline]] inline JointMotion<> joint_motion(const JointFrames& frames, const Bodies& bodies, Index j) {
  return joint_motion(frames.X_P(j), frames.X_S(j), bodies[frames.predecessor[j]], bodies[frames.successor[j]]);
}

// Adds a wrench of joint j in S coordinates to the successor, and its opposite to the predecessor.
inline void add_joint_wrench(const JointFrames& frames, Index j, const Transform<double>& X_p, const Force<double>& f,
                             View<double, 2> force) {
  const Index p = frames.predecessor[j], s = frames.successor[j];
  if (s >= 0) frames.X_S(j).transpose(f).add_to(&force(s, 0));
  if (p >= 0) (-X_p.transpose(f)).add_to(&force(p, 0));
}

}  // namespace sparsebody::model
