// The constants of the links of a spanning tree, numbered regularly: parents before children.
//
// A link is a body in the axes of its own frame on its tree joint, with the origin there: S on the successor, or P
// on the predecessor where the tree runs from successor to predecessor. The joint's frame on the parent is `near`.
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
  Index body;            // number in the system
  Index first_velocity;  // of the joint's own in qd; they end where the next link's begin
  Index first_position;  // of the joint's own in q
};

// A row of Links.constants in Python.
struct LinkConstants {
  Mat3 near;           // near frame to the parent link's axes
  Vec3 near_point;     // and its origin there
  Mat3 frame;          // the link's axes to body axes
  Vec3 frame_point;    // and its origin from the center of mass there
  Vec3 com;            // center of mass in link axes
  Symmetric3 inertia;  // about the center of mass in link axes
  double mass;
  double parameter;    // pitch or length
};

// Integers lo, lo + 1, ..., hi - 1
inline auto range(Index lo, Index hi) { return std::views::iota(lo, std::max(lo, hi)); }

struct Links {
  View<const LinkIndices> indices;  // (n + 1), the last ends the offsets
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

}  // namespace sparsebody::tree
