// The motion of the links from joint coordinates, or from the bodies. Featherstone (2008), table 5.1, its first lines.
#pragma once

#include "tree/frames.hpp"

namespace sparsebody::tree {

template <class J>
inline constexpr bool is_screw =
    std::is_same_v<J, Revolute> || std::is_same_v<J, Prismatic> || std::is_same_v<J, Helical>;
template <class J>
inline constexpr bool is_spherical = std::is_same_v<J, Spherical>;

// S of a joint of one freedom along z.
template <class J>
Motion screw(const J& joint, double sign, const Vec3& z) {
  if constexpr (std::is_same_v<J, Revolute>) return {sign * z, {}};
  if constexpr (std::is_same_v<J, Prismatic>) return {{}, sign * z};
  if constexpr (std::is_same_v<J, Helical>) return {sign * z, (sign * joint.pitch) * z};
}

// R Rz(angle)
inline Mat3 turned_about_z(const Mat3& R, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  const auto& m = R.m;
  return {{c * m[0] + s * m[1], c * m[1] - s * m[0], m[2], c * m[3] + s * m[4], c * m[4] - s * m[3], m[5],
           c * m[6] + s * m[7], c * m[7] - s * m[6], m[8]}};
}

// --- Loops over the links are flattened: vectors of three stay in registers only where everything is inlined. ---

// Calls f(i, joint) for the joint type of every link, parents first.
template <class F>
[[gnu::always_inline]] inline void visit_links(const Links& links, F&& f) {
  for (Index i = 0; i < links.size(); ++i)
    visit_joint(int(links.indices[i].kind), links[i].parameter, [&](const auto& joint) { f(i, joint); });
}

// Center of mass and inertia about it in world axes, R from link axes.
inline LinkInertia inertia_in_world(const LinkConstants& link, const Mat3& R) {
  return {R * link.com, rotated(R, link.inertia)};
}

// The motion of all links at joint coordinates.
[[gnu::flatten]] inline void motion_from_coordinates(const Links& links, View<const double> q, View<const double> qd,
                                                     const TreeMotion& motion) {
  visit_links(links, [&]<class J>(Index i, const J& joint) {
    const auto& [parent, kind, direction, body, first, first_position] = links.indices[i];
    const double* q_i = q.data() + first_position;
    const double* qd_i = qd.data() + first;
    Motion* S = motion.S.data() + first;
    JointFrames frames = near_frame(links, motion.pose, i);
    Motion v_J, c_J;  // v_J = S qd, c_J = (dS/dt) qd
    if constexpr (is_screw<J>) {
      const double sign = double(direction);
      S[0] = screw(joint, sign, frames.near.column(2));
      v_J = S[0] * qd_i[0];
      frames.far = std::is_same_v<J, Prismatic> ? frames.near : turned_about_z(frames.near, sign * q_i[0]);
      frames.far_origin = frames.near_origin;
      if constexpr (!std::is_same_v<J, Revolute>) frames.far_origin += q_i[0] * S[0].linear;
    } else {
      const Transform X = joint.pose(q_i);
      frames.place_far(X);
      if constexpr (is_spherical<J>) {
        const Mat3 axes = direction > 0 ? frames.far : frames.near;
        for (int k = 0; k < 3; ++k) S[k] = {double(direction) * axes.column(k), {}};
        v_J.angular = double(direction) * (axes * Vec3::load(qd_i));
      } else {
        const auto columns = joint.motion_subspace(X);
        Motion own;
        for (std::size_t k = 0; k < columns.size(); ++k) {
          S[k] = frames.to_world(columns[k]);
          own += columns[k] * qd_i[k];
        }
        v_J = frames.to_world(own);
        if constexpr (requires { joint.drift(X, own); }) c_J = frames.to_world(joint.drift(X, own));
      }
    }
    motion.pose[i] = {frames.far, {frames.far_origin}};
    const Motion v = parent < 0 ? v_J : motion.X(i) * motion.v[parent] + v_J;  // v = X v_parent + v_J
    motion.v[i] = v;
    motion.c[i] = c_J + cross(v, v_J);                                         // c = c_J + v x v_J
    motion.inertia[i] = inertia_in_world(links[i], frames.far);
  });
  std::copy(qd.begin(), qd.end(), motion.qd.begin());
}

// Axes and origin of a link, from its parent's origin, its velocity and that of its joint.
struct PlacedLink {
  Mat3 axes;
  Vec3 d;
  Motion v, v_J;
};

// Link i at the pose and velocity of its body; its parent is placed before it. v_J = v - X v_parent.
inline PlacedLink place_link(const Links& links, const BodyStates& bodies, const TreeMotion& motion, Index i) {
  const auto& [parent, kind, direction, body, first, first_position] = links.indices[i];
  const LinkConstants& link = links[i];
  const auto& [w, x, y, z] = bodies.orientation[body];
  const Mat3 R = Mat3::from_quaternion(w, x, y, z), axes = R * link.frame;
  const LinkInertia inertia = inertia_in_world(link, axes);
  Vec3 d = bodies.position[body] - inertia.com;
  const Motion v = rotate(R, bodies.velocity[body].about(link.frame_point));
  Motion v_J = v;
  if (parent >= 0) {
    d -= bodies.position[links.indices[parent].body] - motion.inertia[parent].com;
    v_J = v - motion.v[parent].about(d);
  }
  motion.inertia[i] = inertia;
  motion.pose[i] = {axes, {d}};
  motion.v[i] = v;
  return {axes, d, v, v_J};
}

// The motion of all links at a state of the bodies.
[[gnu::flatten]] inline void motion_from_bodies(const Links& links, const BodyStates& bodies,
                                                                 const TreeMotion& motion) {
  visit_links(links, [&]<class J>(Index i, const J& joint) {
    const Index first = links.first_velocity(i);
    Motion* S = motion.S.data() + first;
    double* qd = motion.qd.data() + first;
    const auto [far, d, v, v_J] = place_link(links, bodies, motion, i);
    Motion c_J;
    if constexpr (is_screw<J> || is_spherical<J>) {
      Mat3 axes = far;  // of S
      Shift to_link;
      const double sign = double(links.indices[i].direction);
      if (sign < 0.0) {
        const JointFrames frames = joint_frames(links, motion.pose, i);
        axes = frames.near, to_link = frames.to_link();
      }
      if constexpr (is_screw<J>) {
        S[0] = to_link * screw(joint, sign, axes.column(2));
        qd[0] = sign * dot(axes.column(2), std::is_same_v<J, Prismatic> ? v_J.linear : v_J.angular);
      } else {
        for (int k = 0; k < 3; ++k) S[k] = to_link * Motion{sign * axes.column(k), {}};
        (sign * transpose_times(axes, v_J.angular)).store(qd);
      }
    } else {
      const JointFrames frames = joint_frames(links, motion.pose, i);
      const Transform X = frames.pose();
      const Motion own = frames.to_S(v_J);
      const auto columns = joint.motion_subspace(X);
      const auto W = active_force_subspace(joint, X);
      for (std::size_t k = 0; k < W.size(); ++k) {
        S[k] = frames.to_world(columns[k]);
        qd[k] = dot(own, W[k]);  // qd = W' v_J
      }
      if constexpr (requires { joint.drift(X, own); }) c_J = frames.to_world(joint.drift(X, own));
    }
    motion.c[i] = c_J + cross(v, v_J);  // c = c_J + v x v_J
  });
}

}  // namespace sparsebody::tree
