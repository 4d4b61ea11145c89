// Poses, velocities and motion subspaces of the links, all in world axes about each link's own origin.
//
// World axes make every transform between neighbours a shift of the origin, without rotations; no vector is taken
// about the world's origin, which would lose digits on long mechanisms.
#pragma once

#include "tree/links.hpp"

namespace sparsebody::tree {

// R m, a vector in the axes that R leads to, about the same origin; and R' m.
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
  View<Motion> c;  // v x v_J + (dS/dt) qd: a_i = X a_parent + c + S qdd
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
