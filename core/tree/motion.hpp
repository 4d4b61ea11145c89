// The links of a spanning tree, numbered regularly, parents before children: constants, poses, velocities and motion
// subspaces.
//
// A link is a body in the axes of its own frame on its tree joint, with the origin there: S on the successor, or P on
// the predecessor where the tree runs from successor to predecessor. The proximal frame of a joint is the one on the
// parent, the distal frame that of the link.
#pragma once

#include <ranges>

#include "base/array.hpp"
#include "spatial/inertia.hpp"
#include "spatial/transform.hpp"

namespace sparsebody::tree {

using Vec3 = sparsebody::Vec3<double>;
using Mat3 = sparsebody::Mat3<double>;
using Symmetric3 = sparsebody::Symmetric3<double>;
using Motion = sparsebody::Motion<double>;
using Force = sparsebody::Force<double>;
using Inertia = sparsebody::Inertia<double>;
using ArticulatedInertia = sparsebody::ArticulatedInertia<double>;
using Transform = sparsebody::Transform<double>;

// A row of Links.indices in Python.
struct LinkIndices {
  using Element = Index;
  Index parent;          // lambda(i), -1 for the world
  Index kind;            // of the tree joint: its index in JointTypes
  Index direction;       // 1, or -1 where the tree runs from successor to predecessor
  Index body;            // index in the system
  Index first_velocity;  // of the joint's own in qd; they end where the next link's begin
  Index first_position;  // of the joint's own in q
};

// A row of Links.constants in Python.
struct LinkConstants {
  Mat3 proximal;        // proximal frame to the parent link's axes
  Vec3 proximal_point;  // and its origin there
  Mat3 frame;           // the link's axes to body axes
  Vec3 frame_point;     // and its origin from the center of mass there
  Vec3 com;             // center of mass in link axes
  Symmetric3 inertia;   // about the center of mass in link axes
  double mass;
  double parameter;    // pitch or length
};

// Integers lo, lo + 1, ..., hi - 1
inline auto range(Index lo, Index hi) { return std::views::iota(lo, std::max(lo, hi)); }

struct Links {
  View<const LinkIndices> indices;  // (n + 1), the last for the ends of link n - 1
  View<const LinkConstants> constants;
  View<const double> gravity_;

  Index size() const { return constants.size(); }
  Index parent(Index i) const { return indices[i].parent; }
  Index first_velocity(Index i) const { return indices[i].first_velocity; }
  // The velocity coordinates of tree joint i.
  auto velocities(Index i) const { return range(indices[i].first_velocity, indices[i + 1].first_velocity); }
  const LinkConstants& operator[](Index i) const { return constants[i]; }
  // Acceleration of the field in world axes.
  Vec3 gravity() const { return Vec3::load(gravity_.data()); }
};

// ---- Poses, velocities and motion subspaces of the links, all in world axes about each link's own origin.
//
// World axes make every transform between neighbours a shift of the origin, without rotations; no vector is taken
// about the world's origin, which would lose digits on long mechanisms.

// R m and R' m of a vector m about an origin that stays: other axes, or a rotation.
template <class Vector>
Vector rotate(const Mat3& R, const Vector& m) {
  return {R * m.angular, R * m.linear};
}
template <class Vector>
Vector rotate_back(const Mat3& R, const Vector& m) {
  return {transpose_times(R, m.angular), transpose_times(R, m.linear)};
}

// X_i of table 7.1, from the parent's to the link's coordinates, which are parallel, the link's origin at d.
struct Shift {
  Vec3 d;

  // X m
  friend Motion operator*(const Shift& X, const Motion& m) { return m.about(X.d); }
  // X' f, to the parent
  Force to_parent(const Force& f) const { return {f.angular + cross(d, f.linear), f.linear}; }
  // X' I X, to the parent
  ArticulatedInertia to_parent(const ArticulatedInertia& I) const { return I.about(d); }
};

struct LinkPose {
  Mat3 rotation;  // of the link's axes to the world's
  Shift X;        // from the parent's origin, or from the world's
};

// Center of mass from the link's origin, and inertia about it, in world axes.
struct LinkInertia {
  Vec3 com;
  Symmetric3 rotational;
};

using Quaternion = std::array<double, 4>;

// Poses and velocities of the bodies: centers of mass, unit quaternions, velocities in body coordinates.
struct BodyStates {
  View<const Vec3> position;
  View<const Quaternion> orientation;
  View<const Motion> velocity;
};

// The arrays of Python's TreeMotion.
struct TreeMotion {
  View<LinkPose> pose;
  View<Motion> S;  // columns of all joints' S, with the sign of the tree's direction
  View<Motion> v;
  View<Motion> c;  // v x v_J + c_J, c_J = (dS/dt) qd in moving axes: a_i = X a_parent + c + S qdd
  View<LinkInertia> inertia;
  View<double> qd;

  const Shift& X(Index i) const { return pose[i].X; }
  // I_i about the link's origin.
  Inertia I(const Links& links, Index i) const { return {links[i].mass, inertia[i].com, inertia[i].rotational}; }
  // From link i's origin to its center of mass.
  Shift to_com(Index i) const { return {inertia[i].com}; }
  // From the body axes of link i to the world's.
  Mat3 body_rotation(const Links& links, Index i) const { return times_transpose(pose[i].rotation, links[i].frame); }
};

}  // namespace sparsebody::tree
