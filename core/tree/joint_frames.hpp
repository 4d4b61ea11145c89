// The frames of a tree joint, and its vectors in them.
#pragma once

#include "joints/joint_types.hpp"
#include "tree/motion.hpp"

namespace sparsebody::tree {

using namespace joints;

// Near and far frame, on the parent and on the link, in world axes: P and S, or S and P where the tree runs from
// successor to predecessor. The origins are from that of the parent link.
struct JointFrames {
  Mat3 near, far;
  Vec3 near_origin, far_origin;
  bool is_forward;

  double sign() const { return is_forward ? 1.0 : -1.0; }
  // Axes of S.
  const Mat3& S_axes() const { return is_forward ? far : near; }
  // From the origin of S to the link's.
  Shift to_link() const { return {is_forward ? Vec3{} : far_origin - near_origin}; }
  // A vector of the joint, in S coordinates, as one of the tree: in its direction, world axes, about the link's origin.
  Motion to_world(const Motion& m) const { return sign() * (to_link() * rotate(S_axes(), m)); }
  // The reverse.
  Motion to_S(const Motion& m) const { return sign() * rotate_back(S_axes(), m.about(-to_link().d)); }
  Force to_S(const Force& f) const { return sign() * rotate_back(S_axes(), to_link().to_parent(f)); }
  // X_SP
  Transform pose() const {
    const auto& P_axes = is_forward ? near : far;
    const Vec3 r = sign() * (far_origin - near_origin);
    return {transpose_times(S_axes(), P_axes), transpose_times(P_axes, r)};
  }
  // Places the far frame of a joint at X_SP; near is known.
  void place_far(const Transform& X) {
    far = is_forward ? times_transpose(near, X.E) : near * X.E;  // R_S = R_P E', R_P = R_S E
    far_origin = is_forward ? near_origin + near * X.r : near_origin - far * X.r;
  }
};

// The near frame of tree joint i.
inline JointFrames near_frame(const Links& links, View<const LinkPose> pose, Index i) {
  const LinkConstants& link = links[i];
  const Index parent = links.parent(i);
  const bool is_forward = links.indices[i].direction > 0;
  if (parent < 0) return {link.near, {}, link.near_point, {}, is_forward};
  const Mat3& R = pose[parent].rotation;
  return {R * link.near, {}, R * link.near_point, {}, is_forward};
}

// Both frames of tree joint i.
inline JointFrames joint_frames(const Links& links, View<const LinkPose> pose, Index i) {
  JointFrames frames = near_frame(links, pose, i);
  frames.far = pose[i].rotation;
  frames.far_origin = pose[i].X.d;
  return frames;
}

}  // namespace sparsebody::tree
