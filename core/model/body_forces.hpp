// Velocity-product forces of the bodies, and forces along the lines between points of two bodies.
#pragma once

#include "model/joint_motion.hpp"

namespace sparsebody::model {

// p = v x* I v with I = diag(I_c, m 1); u x m u = 0. Featherstone (2008), (2.32).
inline Array<double, 2> bias_forces(View<const double, 3> inertia, View<const double> mass,
                                    View<const double, 2> velocity) {
  const Index n = velocity.rows();
  auto force = Array<double, 2>::uninitialized({n, 6});
  for (Index i = 0; i < n; ++i) {
    const auto [w, u] = Motion<double>::load(&velocity(i, 0));
    const Force<double> p{cross(w, Mat3<double>::load(&inertia(i, 0, 0)) * w), mass[i] * cross(w, u)};
    p.store(&force(i, 0));
  }
  return force;
}

// Springs, dampers and efforts, which push the points apart; points in body coordinates, bodies -1 for the world.
struct PointForces {
  View<const Index> first, second;
  View<const double, 2> first_point, second_point;
  View<const double> stiffness, rest_length, damping, effort;
};

// Adds the forces in body coordinates. Returns -1, or the first force whose points coincide and have no direction.
inline Index add_point_forces(const PointForces& forces, const BodyMotions& bodies, View<double, 2> force) {
  constexpr double coincidence_tolerance = 1e-12;  // [m]
  for (Index k = 0; k < forces.first.size(); ++k) {
    const Index body[2] = {forces.first[k], forces.second[k]};
    const BodyMotion motion[2] = {bodies[body[0]], bodies[body[1]]};
    const Vec3<double> point[2] = {Vec3<double>::load(&forces.first_point(k, 0)),
                                   Vec3<double>::load(&forces.second_point(k, 0))};
    Vec3<double> line = motion[1].x - motion[0].x, line_rate;
    for (int side = 0; side < 2; ++side) {
      const auto& [R, x, v] = motion[side];
      const double sign = side == 0 ? -1.0 : 1.0;
      line += sign * (R * point[side]);
      line_rate += sign * (R * v.about(point[side]).linear);
    }
    const double length = norm(line);
    if (length < coincidence_tolerance) return k;
    const double rate = dot(line, line_rate) / length;
    const double pull =
        forces.stiffness[k] * (length - forces.rest_length[k]) + forces.damping[k] * rate - forces.effort[k];
    for (int side = 0; side < 2; ++side) {
      if (body[side] < 0) continue;
      const Vec3<double> f = (side == 0 ? pull : -pull) / length * transpose_times(motion[side].R, line);
      const Force<double> at_point{cross(point[side], f), f};
      at_point.add_to(&force(body[side], 0));
    }
  }
  return -1;
}

}  // namespace sparsebody::model
