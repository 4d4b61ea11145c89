// Mechanisms whose bodies all move parallel to one plane: going out from the world, each joint hands the normal of the
// plane on from its predecessor to its successor, or back. Herve (1999), Mech. Mach. Theory 34:719.
#pragma once

#include <algorithm>
#include <vector>

#include "graph/searches.hpp"
#include "joints/joint.hpp"
#include "model/joint_motion.hpp"

namespace sparsebody::model {

using joints::Subgroup;

// Whether a joint has its z axis along the normal; translations lie across it.
inline bool is_about_z(Subgroup subgroup) { return subgroup == Subgroup::rotation || subgroup == Subgroup::planar; }

// Whether a joint moves its bodies parallel to planes with this normal, in joint axes.
inline bool keeps_plane(Subgroup subgroup, const Vec3<double>& normal, double tolerance) {
  if (is_about_z(subgroup)) return std::sqrt(normal.x * normal.x + normal.y * normal.y) <= tolerance;
  return subgroup == Subgroup::rigid || (subgroup == Subgroup::translation && std::abs(normal.z) <= tolerance);
}

struct PlaneNormals {
  Array<double, 2> normal;  // (n + 1, 3) in body axes; that of the world is last
  bool is_planar = false;   // whether all bodies have one
};

// Breadth first from the world, the normal being that of its first joint that has one.
inline PlaneNormals plane_normals(Index n, const JointFrames& frames, View<const Index> subgroup, double tolerance) {
  PlaneNormals plane{Array<double, 2>({n + 1, 3})};
  Array<Index, 2> ends({frames.size(), 2});
  for (Index j = 0; j < frames.size(); ++j) ends(j, 0) = frames.predecessor[j], ends(j, 1) = frames.successor[j];
  const Incidence at = incidence(n, ends, World::is_last_node);
  const auto first = std::find_if(at.edge.begin() + at.start[n], at.edge.end(),
                                  [&](Index j) { return is_about_z(Subgroup(subgroup[j])); });
  if (first == at.edge.end()) return plane;
  const auto normal = [&](Index i) { return &plane.normal(i, 0); };
  (frames.predecessor[*first] < 0 ? frames.X_P(*first) : frames.X_S(*first)).E.row(2).store(normal(n));
  std::vector<bool> is_reached(n + 1);
  std::vector<Index> queue(n + 1, n);
  is_reached[n] = true;
  plane.is_planar = n + 1 == breadth_first(at.graph(), queue, 0, 1, [&](Index body, Index other, Index entry) {
    const Index j = at.edge[entry];
    if (is_reached[other]) return false;
    const bool is_outward = frames.successor[j] == (other == n ? -1 : other);
    const auto X_near = is_outward ? frames.X_P(j) : frames.X_S(j), X_far = is_outward ? frames.X_S(j) : frames.X_P(j);
    const Vec3<double> in_joint = X_near.E * Vec3<double>::load(normal(body));
    if (!keeps_plane(Subgroup(subgroup[j]), in_joint, tolerance)) return false;
    transpose_times(X_far.E, in_joint).store(normal(other));
    is_reached[other] = true;
    return true;
  });
  return plane;
}

// Rows x, y and z of right-handed orthonormal axes (n, 3, 3), z along each direction; the unit matrix where it is zero.
inline Array<double, 3> triads(View<const double, 2> direction) {
  Array<double, 3> axes({direction.rows(), 3, 3});
  for (Index i = 0; i < direction.rows(); ++i) {
    const auto along = Vec3<double>::load(&direction(i, 0));
    const double length = norm(along);
    const Vec3<double> z = length > 0.0 ? 1.0 / length * along : Vec3<double>{0.0, 0.0, 1.0};
    const Vec3<double> across = std::abs(z.z) > 0.6 ? Vec3<double>{z.z, 0.0, -z.x} : Vec3<double>{-z.y, z.x, 0.0};
    const Vec3<double> x = 1.0 / norm(across) * across;
    x.store(&axes(i, 0, 0)), cross(z, x).store(&axes(i, 1, 0)), z.store(&axes(i, 2, 0));
  }
  return axes;
}

}  // namespace sparsebody::model
