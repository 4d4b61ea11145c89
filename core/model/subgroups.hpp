// Kernels of the search for displacement subgroups: frames of rigid groups, components, points that rotations share.
// Herve (1999), Mech. Mach. Theory 34:719.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/adjacency.hpp"
#include "graph/union_find.hpp"
#include "spatial/transform.hpp"

namespace sparsebody::model {

// Nodes of a graph in the frame of the first node reached of their component.
struct Placement {
  Array<Index> label, visit_order;  // component, and when the node was reached, breadth first
  Array<double, 3> rotation;  // from the axes of a node to those of its component
  Array<double, 2> offset;    // of the origin of a node
};

// The edges are joints that do not move; rotation and point are their frames at both ends. Node `first` is reached first.
inline Placement placement(Index n, View<const Index, 2> ends, View<const double, 4> rotation,
                           View<const double, 3> point, Index first) {
  Placement out{Array<Index>(n), Array<Index>(n), Array<double, 3>({n, 3, 3}), Array<double, 2>({n, 3})};
  const GraphArrays edges_at = edges_at_nodes(n, ends);
  std::fill(out.label.begin(), out.label.end(), Index(-1));
  std::vector<Index> queue(n);
  Index reached = 0, component = 0;
  const auto reach = [&](Index node, const Mat3<double>& R, const Vec3<double>& x) {
    R.store(&out.rotation(node, 0, 0));
    x.store(&out.offset(node, 0));
    out.label[node] = component;
    out.visit_order[node] = reached;
    queue[reached++] = node;
  };
  for (Index start = -1; start < n; ++start) {
    const Index root = start < 0 ? first : start;
    if (n == 0 || out.label[root] >= 0) continue;
    Index head = reached;
    for (reach(root, Mat3<double>::identity(), {}); head < reached; ++head) {
      const Index node = queue[head];
      const auto R = Mat3<double>::load(&out.rotation(node, 0, 0));
      const auto x = Vec3<double>::load(&out.offset(node, 0));
      for (const Index e : edges_at[node]) {
        const int side = ends(0, e) == node ? 0 : 1;
        const Index other = ends(1 - side, e);
        if (out.label[other] >= 0) continue;
        const auto R_e = Mat3<double>::load(&rotation(side, e, 0, 0));
        const auto R_other_e = Mat3<double>::load(&rotation(1 - side, e, 0, 0));
        const Mat3<double> R_other = R * R_e * transpose(R_other_e);  // the joint frames coincide
        reach(other, R_other,
              x + R * Vec3<double>::load(&point(side, e, 0)) - R_other * Vec3<double>::load(&point(1 - side, e, 0)));
      }
    }
    ++component;
  }
  return out;
}

// Components of a graph, numbered by their first nodes, and the edges whose ends earlier ones join already.
inline std::pair<Array<Index>, Array<bool>> spanning_forest(Index n, View<const Index> first,
                                                            View<const Index> second) {
  UnionFind sets(n);  // the root of a set is its first node
  Array<bool> closes(first.size());
  for (Index e = 0; e < first.size(); ++e) {
    const Index a = sets.find(first[e]), b = sets.find(second[e]);
    closes[e] = !sets.unite(std::min(a, b), std::max(a, b));
  }
  Array<Index> label(n);
  Index count = 0;
  for (Index i = 0; i < n; ++i) label[i] = sets.find(i) == i ? count++ : label[sets.find(i)];
  return {std::move(label), std::move(closes)};
}

// Joints that rotate about an axis or a point, on groups; point and axis (2, m, 3) in the frames of the groups.
struct RotationJoints {
  View<const Index, 2> groups;
  View<const bool> is_spherical;
  View<const double, 3> point, axis;
  View<const double> size;  // of the groups
};

// Whether the line x + s u meets another one, y + t w, or a spherical joint's center y; sets s.
inline bool is_meeting(const Vec3<double>& x, const Vec3<double>& u, const Vec3<double>& y, const Vec3<double>& w,
                       bool is_spherical, double tolerance, double parallel_tolerance, double& s) {
  const Vec3<double> arm = y - x;
  if (is_spherical) {
    s = dot(arm, u);
    return norm(arm - s * u) <= tolerance;
  }
  const Vec3<double> normal = cross(u, w);
  const double square = dot(normal, normal);
  if (square <= parallel_tolerance) return false;  // parallel lines meet everywhere or nowhere
  s = dot(cross(arm, w), normal) / square;
  return std::abs(dot(arm, normal)) / std::sqrt(square) <= tolerance;
}

// Revolute joints, and coordinates s along their axes of points where these meet other axes or spherical centers.
// Tolerance: relative to the size of a group. Groups with more joints than `most` are skipped.
inline std::pair<Array<Index>, Array<double>> crossings(const RotationJoints& joints, Index most, double tolerance) {
  std::vector<Index> revolute;
  std::vector<double> position;
  const GraphArrays joints_at = edges_at_nodes(joints.size.size(), joints.groups);
  for (Index group = 0; group < joints.size.size(); ++group) {
    const Indices members = joints_at[group];
    if (members.size() > most) continue;
    const auto load = [&](const View<const double, 3>& vectors, Index e) {
      return Vec3<double>::load(&vectors(joints.groups(0, e) == group ? 0 : 1, e, 0));
    };
    for (const Index a : members) {
      if (joints.is_spherical[a]) continue;
      for (const Index b : members) {
        double s = 0.0;
        if (a == b || !is_meeting(load(joints.point, a), load(joints.axis, a), load(joints.point, b),
                                  load(joints.axis, b), joints.is_spherical[b], tolerance * joints.size[group], tolerance, s))
          continue;
        revolute.push_back(a);
        position.push_back(s);
      }
    }
  }
  return {revolute, position};
}

// Whether two of the joints on one body have the same center, bodies with more joints than `most` aside.
inline bool share_points(Index n, View<const Index, 2> body, View<const double, 3> point, Index most,
                         double tolerance) {
  const GraphArrays joints_at = edges_at_nodes(n, body);
  for (Index i = 0; i < n; ++i) {
    const Indices members = joints_at[i];
    if (members.size() > most) continue;
    const auto load = [&](Index e) { return Vec3<double>::load(&point(body(0, e) == i ? 0 : 1, e, 0)); };
    for (Index a = 0; a < members.size(); ++a)
      for (Index b = a + 1; b < members.size(); ++b) {
        const Vec3<double> x = load(members[a]), y = load(members[b]), difference = x - y;
        if (dot(difference, difference) <= tolerance * tolerance * (dot(x, x) + dot(y, y))) return true;
      }
  }
  return false;
}

}  // namespace sparsebody::model
