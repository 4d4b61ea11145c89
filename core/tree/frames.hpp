// Vectors of links (world axes, joint's origin) from those of bodies (body axes, center of mass), and back.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/dense.hpp"
#include "joints/joint_types.hpp"
#include "tree/motion.hpp"

namespace sparsebody::tree {

// ---- Components of a spatial vector along the few columns of S or T of one joint, in the sense of least squares.

// a' b of two vectors of one kind.
template <class Vector>
double inner(const Vector& a, const Vector& b) {
  return dot(a.angular, b.angular) + dot(a.linear, b.linear);
}

// The Cholesky factor U of T' T = U' U, for at most six columns T.
template <class Vector>
class Gram {
 public:
  explicit Gram(View<const Vector> T) : n_(T.size()) {
    constexpr double least[6] = {};
    for (Index i = 0; i < n_; ++i)
      for (Index j = i; j < n_; ++j) U_[i * n_ + j] = inner(T[i], T[j]);
    dense::cholesky(n_, U_, least);
  }
  // x := (T' T)^-1 x
  void solve(double* x) const { dense::cholesky_solve(n_, U_, x); }

 private:
  Index n_;
  double U_[36];
};

// x with T x = b by the normal equations, refined once.
template <class Vector>
void components(View<const Vector> T, Vector b, View<double> x) {
  const Gram gram(T);
  std::fill(x.begin(), x.end(), 0.0);
  for (int pass = 0; pass < 2; ++pass) {
    double step[6];
    for (Index i = 0; i < T.size(); ++i) step[i] = inner(T[i], b);  // T' (b - T x)
    gram.solve(step);
    for (Index i = 0; i < T.size(); ++i) {
      x[i] += step[i];
      b = b - T[i] * step[i];
    }
  }
}

// ---- The frames of a tree joint, and its vectors in them.

using namespace joints;

// Proximal and distal frame, on the parent and on the link, in world axes: P and S, or S and P where the tree runs from
// successor to predecessor. The origins are from that of the parent link.
struct JointFrames {
  Mat3 proximal, distal;
  Vec3 proximal_origin, distal_origin;
  bool is_forward;

  double sign() const { return is_forward ? 1.0 : -1.0; }
  // Axes of S.
  const Mat3& S_axes() const { return is_forward ? distal : proximal; }
  // From the origin of S to the link's.
  Shift to_link() const { return {is_forward ? Vec3{} : distal_origin - proximal_origin}; }
  // A vector of the joint, in S coordinates, as one of the tree: in its direction, world axes, about the link's origin.
  Motion to_world(const Motion& m) const { return sign() * (to_link() * rotate(S_axes(), m)); }
  // The reverse.
  Motion to_S(const Motion& m) const { return sign() * rotate_back(S_axes(), m.about(-to_link().d)); }
  Force to_S(const Force& f) const { return sign() * rotate_back(S_axes(), to_link().to_parent(f)); }
  // X_SP
  Transform pose() const {
    const auto& P_axes = is_forward ? proximal : distal;
    const Vec3 r = sign() * (distal_origin - proximal_origin);
    return {transpose_times(S_axes(), P_axes), transpose_times(P_axes, r)};
  }
  // Places the distal frame of a joint at X_SP; proximal is known.
  void place_distal(const Transform& X) {
    distal = is_forward ? times_transpose(proximal, X.E) : proximal * X.E;  // R_S = R_P E', R_P = R_S E
    distal_origin = is_forward ? proximal_origin + proximal * X.r : proximal_origin - distal * X.r;
  }
};

// The proximal frame of tree joint i.
inline JointFrames proximal_frame(const Links& links, View<const LinkPose> pose, Index i) {
  const LinkConstants& link = links[i];
  const Index parent = links.parent(i);
  const bool is_forward = links.indices[i].direction > 0;
  if (parent < 0) return {link.proximal, {}, link.proximal_point, {}, is_forward};
  const Mat3& R = pose[parent].rotation;
  return {R * link.proximal, {}, R * link.proximal_point, {}, is_forward};
}

// Both frames of tree joint i.
inline JointFrames joint_frames(const Links& links, View<const LinkPose> pose, Index i) {
  JointFrames frames = proximal_frame(links, pose, i);
  frames.distal = pose[i].rotation;
  frames.distal_origin = pose[i].X.d;
  return frames;
}

// Forces on the links, of those on the bodies.
inline void link_forces(const Links& links, const TreeMotion& motion, View<const Force> body, View<Force> link) {
  for (Index i = 0; i < links.size(); ++i) {
    const Force& f = body[links.indices[i].body];
    link[i] = motion.to_com(i).to_parent(rotate(motion.body_rotation(links, i), f));
  }
}

// Accelerations of the bodies, of those of the links.
inline void body_accelerations(const Links& links, const TreeMotion& motion, View<const Motion> link,
                               View<Motion> body) {
  for (Index i = 0; i < links.size(); ++i)
    body[links.indices[i].body] = rotate_back(motion.body_rotation(links, i), motion.to_com(i) * link[i]);
}

// qdd of accelerations of the bodies: S qdd = a_i - X a_parent - c in the sense of least squares.
inline void joint_accelerations(const Links& links, const TreeMotion& motion, View<const Motion> body,
                                View<double> qdd) {
  std::vector<Motion> a(links.size());
  for (Index i = 0; i < links.size(); ++i) {
    const Index parent = links.parent(i);
    a[i] = rotate(motion.body_rotation(links, i), body[links.indices[i].body]).about(-motion.to_com(i).d);
    const Motion from_parent = parent < 0 ? motion.c[i] : motion.X(i) * a[parent] + motion.c[i];
    const Index first = links.first_velocity(i), last = links.first_velocity(i + 1);
    components(View<const Motion>(motion.S.slice(first, last)), a[i] - from_parent, qdd.slice(first, last));
  }
}

// The size of the largest term of the bodies' equations of motion; weight: that of gravity.
inline double largest_inertial_term(View<const double> mass, View<const Mat3> inertia, View<const Motion> velocity,
                                    View<const Motion> a, double weight) {
  const auto largest = [](const Vec3& x) { return std::max({std::abs(x.x), std::abs(x.y), std::abs(x.z)}); };
  double term = 0.0;
  for (Index i = 0; i < mass.size(); ++i) {
    const Mat3& I = inertia[i];
    const double omega = largest(velocity[i].angular), u = largest(velocity[i].linear);
    const double moment = std::max({I(0, 0), I(1, 1), I(2, 2)}) * (largest(a[i].angular) + omega * omega);
    term = std::max({term, moment, mass[i] * (largest(a[i].linear) + omega * u + weight)});
  }
  return term;
}

// ---- Constraint rows of the tree joints: multipliers of transmitted forces, and stabilization of drifted joints.

// Calls f(i, rows first, last) for every tree joint that has rows; joint: the system's numbers, -1 for a virtual one.
template <class F>
void for_constrained_joints(View<const Index> joint, View<const Index> first_row, F&& f) {
  for (Index i = 0; i < joint.size(); ++i)
    if (const Index j = joint[i]; j >= 0 && first_row[j] < first_row[j + 1]) f(i, first_row[j], first_row[j + 1]);
}

// lambda of the rows of tree joints: T lambda is the force that each transmits. T: its columns in S coordinates.
inline void tree_multipliers(const Links& links, const TreeMotion& motion, View<const Index> joint,
                             View<const Index> first_row, View<const Force> T, View<const Force> transmitted,
                             View<double> multiplier) {
  for_constrained_joints(joint, first_row, [&](Index i, Index first, Index last) {
    const Force f = joint_frames(links, motion.pose, i).to_S(transmitted[i]);
    components(T.slice(first, last), f, multiplier.slice(first, last));
  });
}

// Adds to c the least acceleration in S coordinates that makes T' (a_s - a_p) of tree joints larger by k_stab. (8.22)
inline void add_stabilization(const Links& links, const TreeMotion& motion, View<const Index> joint,
                              View<const Index> first_row, View<const Force> T, View<const double> k_stab) {
  for_constrained_joints(joint, first_row, [&](Index i, Index first, Index last) {
    double x[6];
    std::copy(k_stab.begin() + first, k_stab.begin() + last, x);
    Gram(T.slice(first, last)).solve(x);  // (T' T)^-1 k_stab
    Motion c;
    for (Index r = first; r < last; ++r) c += x[r - first] * Motion{T[r].angular, T[r].linear};
    motion.c[i] += joint_frames(links, motion.pose, i).to_world(c);
  });
}

}  // namespace sparsebody::tree
