// Forces on the bodies: velocity products, springs, dampers and efforts on joint coordinates and between points, loads.
#pragma once

#include "joints/joint.hpp"
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

// m joints, k rows.
struct JointTable {
  JointFrames frames;
  View<const Index> kind, first_row;  // (m,), (m + 1,)
  View<const double> parameter;
  Subspaces subspaces;                // (k,) rows of T' where it is constant

  Index size() const { return kind.size(); }
};

// Joint coordinates with a spring, a damper or an effort, or with a prescribed motion.
struct TrackedCoordinates {
  View<const Index> joint, index, row;  // row of a prescribed coordinate, or -1
  View<const bool> is_angle;
  View<const Index> kind;               // type of each coordinate's joint
  View<const double> parameter;

  // The value with as many whole turns as bring it closest to `previous`.
  template <class T>
  T unwrapped(Index item, const T& value, double previous) const {
    return is_angle[item] ? value - joints::whole_turns(value - T(previous)) : value;
  }
  // Difference of a value from a prescribed one, modulo whole turns.
  template <class T>
  T prescribed_error(Index item, const T& value, double prescribed) const {
    const T difference = value - T(prescribed);
    return is_angle[item] ? difference - joints::whole_turns(difference) : difference;
  }
};

struct CoordinateSprings {
  View<const Index> item;
  View<const double> stiffness, rest, damping;
};

// Springs between points in body coordinates; bodies are -1 for the world.
struct PointSprings {
  View<const Index> first, second;
  View<const double, 2> first_point, second_point;
  View<const double> stiffness, rest_length, damping;

  Index size() const { return first.size(); }
};

// The line between the points of a spring, on any scalar.
template <class T>
struct PointLine {
  T length, rate{};
  Force<T> row[2];  // dl/dt = row[0] v_first + row[1] v_second

  PointLine(const PointSprings& springs, Index k, const sparsebody::BodyMotion<InSpace<T>>& first,
            const sparsebody::BodyMotion<InSpace<T>>& second) {
    const double *const p = &springs.first_point(k, 0), *const q = &springs.second_point(k, 0);
    const Vec3<T> point[2] = {{p[0], p[1], p[2]}, {q[0], q[1], q[2]}};
    const Vec3<T> line = second.x - first.x + second.R * point[1] - first.R * point[0];
    length = norm(line);
    for (int side = 0; side < 2; ++side) {
      const auto& [R, x, v] = side == 0 ? first : second;
      const Vec3<T> n = transpose_times(R, T(side == 0 ? -1.0 : 1.0) / length * line);
      row[side] = {cross(point[side], n), n};
      rate += dot(v, row[side]);
    }
  }
  // The forces on the bodies are -tension row.
  T tension(const PointSprings& springs, Index k, double effort) const {
    return springs.stiffness[k] * (length - T(springs.rest_length[k])) + springs.damping[k] * rate - T(effort);
  }
};

// Adds the forces in body coordinates. Returns -1, or the first spring whose points coincide and have no direction.
inline Index add_point_forces(const PointSprings& springs, View<const double> effort, const BodyMotions& bodies,
                              View<double, 2> force) {
  constexpr double coincidence_tolerance = 1e-12;  // [m]
  for (Index k = 0; k < springs.size(); ++k) {
    const Index body[2] = {springs.first[k], springs.second[k]};
    const PointLine<double> line(springs, k, bodies[body[0]], bodies[body[1]]);
    if (line.length < coincidence_tolerance) return k;
    for (int side = 0; side < 2; ++side)
      if (body[side] >= 0) (line.row[side] * -line.tension(springs, k, effort[k])).add_to(&force(body[side], 0));
  }
  return -1;
}

// Constant wrenches on bodies, in world or in body axes, at points in body coordinates.
struct ExternalForces {
  View<const Index> body;
  View<const double, 2> wrench, point;
  View<const bool> in_world;

  Vec3<double> at(Index k) const { return Vec3<double>::load(&point(k, 0)); }
  // In the axes of the body, R to world axes, about the point.
  Force<double> in_body(Index k, const Mat3<double>& R) const {
    const auto f = Force<double>::load(&wrench(k, 0));
    return in_world[k] ? Force<double>{transpose_times(R, f.angular), transpose_times(R, f.linear)} : f;
  }
};

}  // namespace sparsebody::model
