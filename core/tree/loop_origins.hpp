// K and k of K qdd = k about one origin for all loops. Featherstone (2008), sec. 8.7, table 8.4.
//
// In base coordinates all vectors are about the world's origin, in floating-base coordinates about the origin of the
// body that the tree of the loop begins with.
#pragma once

#include <utility>
#include <vector>

#include "tree/loop_constraints.hpp"

namespace sparsebody::tree {

// Where the origins of links are, from that of the coordinates.
class LinkOrigins {
 public:
  LinkOrigins(const Links& links, const TreeMotion& motion, bool is_floating)
      : motion_(motion), is_floating_(is_floating), origin_(links.size()), root_(links.size()) {
    for (Index i = 0; i < links.size(); ++i) {
      const Index parent = links.parent(i);
      root_[i] = parent < 0 ? i : root_[parent];
      if (parent >= 0) origin_[i] = origin_[parent] + motion.X(i).d;
      else if (!is_floating) origin_[i] = motion.X(i).d;
    }
  }
  Index root(Index i) const { return root_[i]; }
  // To link i's origin, or the world's, from that of the coordinates, in which link `reference` is the floating base.
  Shift operator()(Index i, Index reference) const {
    if (!is_floating_) return {i < 0 ? Vec3{} : origin_[i]};
    const Vec3& base = motion_.X(reference).d;
    if (i < 0) return {-base};
    return {root_[i] == reference ? origin_[i] : origin_[i] + motion_.X(root_[i]).d - base};
  }

 private:
  const TreeMotion& motion_;
  bool is_floating_;
  std::vector<Vec3> origin_;  // from the world's origin, or from their root's
  std::vector<Index> root_;
};

// The values of K, packed from row_start by the columns local, and k. T: a column of the constraint force subspace for
// each row, in the joint's frame at `rotation`, `point` in the successor's body coordinates; bias: k_stab and drift.
inline void loop_rows_about_one_origin(const Links& links, const TreeMotion& motion,
                                       View<const Motion> velocity_product, bool is_floating, View<const LoopEnds> ends,
                                       View<const Mat3> rotation, View<const Vec3> point, View<const Force> T,
                                       View<const double> bias, View<const Index> row_start, View<const Index> local,
                                       View<double> values, View<double> k) {
  const LinkOrigins origins(links, motion, is_floating);
  for (Index row = 0; row < ends.size(); ++row) {
    Index p = ends[row].link[0], s = ends[row].link[1];
    const Index reference = origins.root(s >= 0 ? s : p);
    // T about the origin
    Mat3 R = rotation[row];
    Shift joint = {point[row]};
    if (s >= 0) {
      const Mat3 R_s = motion.body_rotation(links, s);
      R = R_s * R;
      joint.d = R_s * joint.d + motion.inertia[s].com;
    }
    joint.d += origins(s, reference).d;
    const Force T_row = joint.to_parent(rotate(R, T[row]));
    // k = k_stab - T' (a_s - a_p + v_s x v_p), a those of the velocity products
    const auto about_origin = [&](View<const Motion> m, Index i) {
      return i < 0 ? Motion{} : m[i].about(-origins(i, reference).d);
    };
    const Motion v_p = about_origin(motion.v, p), v_s = about_origin(motion.v, s);
    const Motion a = about_origin(velocity_product, s) - about_origin(velocity_product, p) + cross(v_s, v_p);
    k[row] = bias[row] - dot(a, T_row);
    // K_c = +-T' S_c on the paths from successor and predecessor to their common ancestor
    while (p != s) {
      const double sign = s > p ? 1.0 : -1.0;
      Index& end = s > p ? s : p;
      const Vec3 d = origins(end, reference).d;
      for (const Index c : links.velocities(end))
        values[row_start[row] + local[c]] = sign * dot(motion.S[c].about(-d), T_row);
      end = links.parent(end);
    }
  }
}

}  // namespace sparsebody::tree
