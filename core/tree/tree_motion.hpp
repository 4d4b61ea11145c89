// The motion of the links from joint coordinates, or from the bodies, and back. Featherstone (2008), table 5.1, its
// first lines.
#pragma once

#include <algorithm>
#include <vector>

#include "tree/frames.hpp"

namespace sparsebody::tree {

// Types that move along axes of S, for which its columns need not be multiplied out.
template <class J>
concept MovesAlongAxes = requires { J::axes; };

// S and T_a of such an axis in world axes.
inline Motion along(const Mat3& axes, int axis) {
  return axis < 3 ? Motion{axes.column(axis), {}} : Motion{{}, axes.column(axis - 3)};
}
inline double component(const Mat3& axes, int axis, const Motion& v) {
  return axis < 3 ? dot(axes.column(axis), v.angular) : dot(axes.column(axis - 3), v.linear);
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
    JointFrames frames = proximal_frame(links, motion.pose, i);
    Motion v_J, c_J;  // v_J = S qd, c_J = (dS/dt) qd
    if constexpr (std::is_same_v<J, Revolute>) {
      frames.distal = turned_about_z(frames.proximal, frames.sign() * q_i[0]);
      frames.distal_origin = frames.proximal_origin;
    } else if constexpr (std::is_same_v<J, Prismatic>) {
      frames.distal = frames.proximal;
      frames.distal_origin = frames.proximal_origin + frames.sign() * q_i[0] * frames.proximal.column(2);
    } else {
      frames.place_distal(joint.pose(q_i));
    }
    if constexpr (MovesAlongAxes<J>) {
      unrolled<0, J::n>([&](auto k) SB_UNROLL {
        S[k] = frames.sign() * along(frames.S_axes(), J::axes[k]);
        // axes of all other types pass through both origins
        if constexpr (std::is_same_v<J, Free>) S[k] = frames.to_link() * S[k];
        v_J += S[k] * qd_i[k];
      });
    } else {
      const Transform X = joint.pose(q_i);
      const auto columns = joint.motion_subspace(X);
      Motion own;
      for (std::size_t k = 0; k < columns.size(); ++k) {
        S[k] = frames.to_world(columns[k]);
        own += columns[k] * qd_i[k];
      }
      v_J = frames.to_world(own);
      if constexpr (requires { joint.drift(X, own); }) c_J = frames.to_world(joint.drift(X, own));
    }
    motion.pose[i] = {frames.distal, {frames.distal_origin}};
    const Motion v = parent < 0 ? v_J : motion.X(i) * motion.v[parent] + v_J;  // v = X v_parent + v_J
    motion.v[i] = v;
    motion.c[i] = c_J + cross(v, v_J);                                         // c = c_J + v x v_J
    motion.inertia[i] = inertia_in_world(links[i], frames.distal);
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
    const auto [distal, d, v, v_J] = place_link(links, bodies, motion, i);
    Motion c_J;
    if constexpr (MovesAlongAxes<J>) {
      Mat3 axes = distal;  // of S
      Shift to_link;
      const double sign = double(links.indices[i].direction);
      if (sign < 0.0) {
        const JointFrames frames = joint_frames(links, motion.pose, i);
        axes = frames.proximal, to_link = frames.to_link();
      }
      const Motion own = v_J.about(-to_link.d);
      unrolled<0, J::n>([&](auto k) SB_UNROLL {
        S[k] = sign * (to_link * along(axes, J::axes[k]));
        qd[k] = sign * component(axes, J::axes[k], own);
      });
    } else {
      const JointFrames frames = joint_frames(links, motion.pose, i);
      const Transform X = frames.pose();
      const Motion own = frames.to_S(v_J);
      const auto columns = joint.motion_subspace(X);
      const auto T_a = active_force_subspace(joint, X);
      for (std::size_t k = 0; k < T_a.size(); ++k) {
        S[k] = frames.to_world(columns[k]);
        qd[k] = dot(own, T_a[k]);  // qd = T_a' v_J
      }
      if constexpr (requires { joint.drift(X, own); }) c_J = frames.to_world(joint.drift(X, own));
    }
    motion.c[i] = c_J + cross(v, v_J);  // c = c_J + v x v_J
  });
}

// ---- Joint coordinates from states of the bodies and back, and rates of positions: dq/dt = Q(q) qd.
//
// Spherical and free joints have quaternions as positions and angular velocities as velocities, so that qd is not
// dq/dt. Featherstone (2008), eqs. (3.6) and (3.7), sec. 4.6.

// q of the tree joints, from the motion of their links.
inline void positions_of_motion(const Links& links, const TreeMotion& motion, View<double> q) {
  visit_links(links, [&]<class J>(Index i, const J& joint) {
    joint.coordinates(joint_frames(links, motion.pose, i).pose(), q.data() + links.indices[i].first_position);
  });
}

// Poses and velocities of the bodies from the motion of their links.
inline void bodies_from_motion(const Links& links, const TreeMotion& motion, View<Vec3> position,
                               View<Quaternion> orientation, View<Motion> velocity) {
  std::vector<Vec3> origin(links.size());
  for (Index i = 0; i < links.size(); ++i) {
    const auto& [parent, kind, direction, body, first, first_position] = links.indices[i];
    const Mat3 R = motion.body_rotation(links, i);
    origin[i] = parent < 0 ? motion.X(i).d : origin[parent] + motion.X(i).d;
    position[body] = origin[i] + motion.inertia[i].com;
    quaternion_from_rotation(transpose(R), orientation[body].data());
    velocity[body] = rotate_back(R, motion.to_com(i) * motion.v[i]);
  }
}

// Axis of the first position after a quaternion; these are coordinates of the origin of S in P.
template <class J>
inline constexpr int first_axis = std::is_same_v<J, PointOnLine> ? 2 : 0;

// dq/dt = Q(q) qd; quaternions keep their length.
inline void position_rates(const Links& links, View<const double> q, View<const double> qd, View<double> rate) {
  visit_links(links, [&]<class J>(Index i, const J& joint) {
    const double* own = q.data() + links.indices[i].first_position;
    const double* own_qd = qd.data() + links.first_velocity(i);
    double* out = rate.data() + links.indices[i].first_position;
    if constexpr (!J::info.has_quaternion()) {
      std::copy_n(own_qd, J::info.n_positions, out);
    } else {
      const Transform X = joint.pose(own);
      const auto S = joint.motion_subspace(X);
      Motion v;
      for (int k = 0; k < J::info.n_velocities; ++k) v += S[k] * own_qd[k];
      const Vec3 u = {own[1], own[2], own[3]}, &omega = v.angular;
      out[0] = -0.5 * dot(u, omega);                                 // dq/dt = q (0, omega) / 2
      (0.5 * (own[0] * omega + cross(u, omega))).store(out + 1);
      Vec3 r_rate = transpose_times(X.E, v.linear);
      if constexpr (std::is_same_v<J, ConstantDistance>)  // positions along the rod may have any length
        r_rate = norm(Vec3::load(own + 4)) / joint.length * r_rate;
      double along[3];
      r_rate.store(along);
      for (int k = 4; k < J::info.n_positions; ++k) out[k] = along[first_axis<J> + k - 4];
    }
  });
}

// dr/dt and d^2r/dt^2 of the origin of S in P, from three positions and their derivatives.
template <class J>
void translation_rates(const J& joint, const Vec3& p, Vec3& rate, Vec3& second) {
  if constexpr (std::is_same_v<J, ConstantDistance>) {  // r = length p / |p|
    const double s = norm(p), s_rate = dot(p, rate) / s;
    const double s_second = (dot(rate, rate) - s_rate * s_rate + dot(p, second)) / s;
    const Vec3 n = 1.0 / s * p, n_rate = 1.0 / s * (rate - s_rate * n);
    second = joint.length / s * (second - 2.0 * s_rate * n_rate - s_second * n);
    rate = joint.length * n_rate;
  }
}

// qd = T_a' v_J and qdd = T_a' (dv_J/dt - (dS/dt) qd), seen from S, of positions with these first and second derivatives;
// quaternions may have any length, and change it.
inline void velocities_of_rates(const Links& links, View<const double> q, View<const double> rate,
                                View<const double> second, View<double> qd, View<double> qdd) {
  visit_links(links, [&]<class J>(Index i, const J& joint) {
    const Index first = links.first_velocity(i), first_position = links.indices[i].first_position;
    const double* p = q.data() + first_position;
    const double *dp = rate.data() + first_position, *ddp = second.data() + first_position;
    if constexpr (!J::info.has_quaternion()) {
      std::copy_n(dp, J::info.n_velocities, qd.data() + first);
      std::copy_n(ddp, J::info.n_velocities, qdd.data() + first);
    } else {
      const Transform X = joint.pose(p);
      const Vec3 u = Vec3::load(p + 1);
      const double square = p[0] * p[0] + dot(u, u);
      const auto twice_vector_part = [&](const double* d) {  // 2 vec(q* d) / q'q
        const Vec3 t = Vec3::load(d + 1);
        return 2.0 / square * (p[0] * t - d[0] * u - cross(u, t));
      };
      const double stretch = 2.0 * (p[0] * dp[0] + dot(u, Vec3::load(dp + 1))) / square;
      Motion v, a;
      v.angular = twice_vector_part(dp);
      a.angular = twice_vector_part(ddp) - stretch * v.angular;
      double r[3]{}, dr[3]{}, ddr[3]{};
      for (int k = 4, axis = first_axis<J>; k < J::info.n_positions; ++k, ++axis)
        r[axis] = p[k], dr[axis] = dp[k], ddr[axis] = ddp[k];
      Vec3 r_rate = Vec3::load(dr), r_second = Vec3::load(ddr);
      translation_rates(joint, Vec3::load(r), r_rate, r_second);
      v.linear = X.E * r_rate;
      a.linear = X.E * r_second - cross(v.angular, v.linear);  // dE/dt = -w x E
      a = a - drift(joint, X, v);
      const auto T_a = active_force_subspace(joint, X);
      for (std::size_t k = 0; k < T_a.size(); ++k) qd[first + k] = dot(v, T_a[k]), qdd[first + k] = dot(a, T_a[k]);
    }
  });
}

}  // namespace sparsebody::tree
