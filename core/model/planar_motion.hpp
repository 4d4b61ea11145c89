// Mechanisms whose bodies all move parallel to one plane: going out from the world, each joint hands the normal of the
// plane on from its predecessor to its successor, or back. Herve (1999), Mech. Mach. Theory 34:719.
#pragma once

#include <algorithm>
#include <vector>

#include "graph/breadth_first.hpp"
#include "joints/joint.hpp"
#include "model/joint_motion.hpp"

namespace sparsebody::model {

using joints::Subgroup;

// Whether a joint has its z axis along the normal; translations lie across it.
inline bool is_about_z(Subgroup subgroup) { return subgroup == Subgroup::rotation || subgroup == Subgroup::planar; }

inline bool is_planar(Subgroup subgroup) {
  return is_about_z(subgroup) || subgroup == Subgroup::translation || subgroup == Subgroup::rigid;
}

// Whether the rows of a joint keep bodies parallel to a plane by three, and marks these in is_outer. All rows must act
// either in the plane or out of it.
inline bool keeps_plane(Subgroup subgroup, const Vec3<double>& normal, const Subspaces& subspaces, Index first,
                        Index last, View<bool> is_outer, double tolerance) {
  if (is_about_z(subgroup) && std::sqrt(normal.x * normal.x + normal.y * normal.y) > tolerance) return false;
  if (subgroup == Subgroup::translation && std::abs(normal.z) > tolerance) return false;
  int n_outer = 0;
  bool is_pure = true;
  for (Index k = first; k < last && is_pure; ++k) {
    const auto [moment, force] = Force<double>::load(subspaces[k]);
    const Vec3<double> tilt = cross(normal, moment), slip = cross(normal, force);
    const double about = dot(normal, moment), along = dot(normal, force);
    const double outer = std::sqrt(dot(tilt, tilt) + along * along), inner = std::sqrt(dot(slip, slip) + about * about);
    is_pure = std::min(inner, outer) <= tolerance;
    is_outer[k] = outer > inner;
    n_outer += outer > inner;
  }
  if (is_pure && n_outer == 3) return true;
  std::fill(is_outer.begin() + first, is_outer.begin() + last, false);
  return false;
}

struct PlanarMotion {
  Array<double, 3> basis;  // (n + 1, 3, 3) rows: the normal and two vectors across it, in body axes; the world last
  Array<Index> bodies;     // from the world outwards
  Array<Index> joint;      // that holds each body in the plane
  Array<bool> is_outer;    // rows of these joints that keep bodies in the plane
  Index n_reached = 0;     // bodies; the rest is meaningless unless it is all
};

// Breadth first from the world, the normal being that of its first joint that has one.
inline PlanarMotion planar_motion(Index n, const JointFrames& frames, View<const Index> subgroup,
                                  View<const Index> first_row, const Subspaces& subspaces, double tolerance) {
  PlanarMotion plane{Array<double, 3>({n + 1, 3, 3}), Array<Index>(n), Array<Index>(n),
                     Array<bool>(subspaces.size())};
  Array<Index, 2> ends({frames.size(), 2});
  for (Index j = 0; j < frames.size(); ++j) ends(j, 0) = frames.predecessor[j], ends(j, 1) = frames.successor[j];
  const Incidence at = incidence(n, ends, World::is_last_node);
  const auto first = std::find_if(at.edge.begin() + at.start[n], at.edge.end(),
                                  [&](Index j) { return is_about_z(Subgroup(subgroup[j])); });
  if (first == at.edge.end()) return plane;
  std::vector<Vec3<double>> normal(n + 1);
  normal[n] = (frames.predecessor[*first] < 0 ? frames.X_P(*first) : frames.X_S(*first)).E.row(2);
  std::vector<bool> is_reached(n + 1);
  std::vector<Index> queue(n + 1, n);
  is_reached[n] = true;
  plane.n_reached = breadth_first(at.graph(), queue, 0, 1, [&](Index body, Index other, Index entry) {
    const Index j = at.edge[entry];
    if (is_reached[other] || !is_planar(Subgroup(subgroup[j]))) return false;
    const bool is_outward = frames.successor[j] == (other == n ? -1 : other);
    const auto X_near = is_outward ? frames.X_P(j) : frames.X_S(j), X_far = is_outward ? frames.X_S(j) : frames.X_P(j);
    const Vec3<double> in_joint = X_near.E * normal[body];
    if (!keeps_plane(Subgroup(subgroup[j]), in_joint, subspaces, first_row[j], first_row[j + 1], plane.is_outer,
                     tolerance))
      return false;
    normal[other] = transpose_times(X_far.E, in_joint);
    plane.joint[other] = j;
    is_reached[other] = true;
    return true;
  }) - 1;
  if (plane.n_reached < n) return plane;
  std::copy(queue.begin() + 1, queue.end(), plane.bodies.begin());
  for (Index i = 0; i <= n; ++i) {
    const Vec3<double> z = 1.0 / norm(normal[i]) * normal[i];
    const Vec3<double> across = std::abs(z.z) > 0.6 ? Vec3<double>{z.z, 0.0, -z.x} : Vec3<double>{-z.y, z.x, 0.0};
    const Vec3<double> x = 1.0 / norm(across) * across;
    z.store(&plane.basis(i, 0, 0));
    x.store(&plane.basis(i, 1, 0));
    cross(z, x).store(&plane.basis(i, 2, 0));
  }
  return plane;
}

}  // namespace sparsebody::model
