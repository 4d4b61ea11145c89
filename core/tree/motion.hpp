// Poses, velocities and motion subspaces of the links, all in world axes about each link's own origin.
//
// World axes make every transform between neighbours a shift of the origin, without rotations; no vector is taken
// about the world's origin, which would lose digits on long mechanisms.
#pragma once

#include "tree/links.hpp"

namespace sparsebody::tree {

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

// The arrays of Python's TreeMotion.
struct TreeMotion {
  View<LinkPose> pose;
  View<Motion> S;  // columns of all joints' S, with the sign of the tree's direction
  View<Motion> v;
  View<Motion> c;  // v x v_J + (dS/dt) qd: a_i = X a_parent + c + S qdd
  View<LinkInertia> inertia;
  View<double> qd;

  const Shift& X(Index i) const { return pose[i].X; }
  const Vec3& com(Index i) const { return inertia[i].com; }
  // I_i about the link's origin.
  Inertia I(const Links& links, Index i) const { return {links[i].mass, inertia[i].com, inertia[i].rotational}; }
  // From the body axes of link i to the world's.
  Mat3 body_rotation(const Links& links, Index i) const { return times_transpose(pose[i].rotation, links[i].frame); }
};

}  // namespace sparsebody::tree
