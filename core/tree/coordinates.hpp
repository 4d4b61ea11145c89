// Joint coordinates from states of the bodies and back, and rates of positions: dq/dt = Q(q) qd.
//
// Spherical and free joints have quaternions as positions and angular velocities as velocities, so that qd is not
// dq/dt. Featherstone (2008), eqs. (3.6) and (3.7), sec. 4.6.
#pragma once

#include <algorithm>
#include <vector>

#include "tree/tree_motion.hpp"

namespace sparsebody::tree {

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

// Of positions after a quaternion, which are coordinates of the origin of S in P: the axis of the first.
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

// qd = W' v_J and qdd = W' (dv_J/dt - (dS/dt) qd), seen from S, of positions with these first and second derivatives;
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
      const auto W = active_force_subspace(joint, X);
      for (std::size_t k = 0; k < W.size(); ++k) qd[first + k] = dot(v, W[k]), qdd[first + k] = dot(a, W[k]);
    }
  });
}

}  // namespace sparsebody::tree
