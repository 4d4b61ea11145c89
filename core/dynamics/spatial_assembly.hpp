// The system (8.64) at a state, in elimination order, in ranges of bodies and joints.
//
// Constraint rows that are constant on the successor need no joint frames: they are carried over to the
// predecessor by the transform between the two body frames.
#pragma once

#include <algorithm>
#include <cmath>

#include "dynamics/constraint_rows.hpp"
#include "dynamics/spatial_workspace.hpp"

namespace sparsebody {

inline constexpr double unit_norm_tolerance = 2.00001e-6;  // of the square of a quaternion's length
inline constexpr Index bodies_ahead = 16, joints_ahead = 32, rows_ahead = 50;  // that memory is requested

// Gathers the states of bodies [first, last), fills rotations and forces -v x* I v + f; returns whether all numbers
// are finite and all quaternions of unit length.
inline bool fill_bodies(const SpatialWorkspace& w, const EvaluationInput& in, Index first, Index last) {
  const Vec3<double> g = Vec3<double>::load(w.gravity.data());
  const bool has_load = in.load.rows() > 0, is_large = w.n_bodies() > large_mechanism;
  bool is_sound = true;
  double total = 0.0;
  for (Index i = first; i < last; ++i) {
    const Index b = w.body[i];
    if (is_large) {
      const Index ahead = std::min(i + bodies_ahead, w.n_bodies() - 1), c = w.body[ahead];
      for (const void* p : {(const void*)(in.position.data() + 3 * c), (const void*)(in.orientation.data() + 4 * c),
                            (const void*)(in.velocity.data() + 6 * c), (const void*)(in.velocity.data() + 6 * c + 5),
                            (const void*)&w.unit_of(ahead), (const void*)(&w.unit_of(ahead).root[0] + cache_line),
                            (const void*)(w.position.data() + 3 * ahead), (const void*)(w.rotation.data() + 9 * ahead),
                            (const void*)(w.rotation.data() + 9 * ahead + cache_line),
                            (const void*)(w.velocity.data() + 6 * ahead), (const void*)(w.right.data() + 6 * ahead)})
        __builtin_prefetch(p);
    }
    const double* q = &in.orientation(b, 0);
    const auto x = Vec3<double>::load(&in.position(b, 0));
    const auto [w_b, u] = Motion<double>::load(&in.velocity(b, 0));
    is_sound &= std::abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0) < unit_norm_tolerance;
    total += (x.x + x.y + x.z) + (w_b.x + w_b.y + w_b.z) + (u.x + u.y + u.z);
    const auto R = Mat3<double>::from_quaternion(q[0], q[1], q[2], q[3]);
    x.store(&w.position(i, 0));
    R.store(&w.rotation(i, 0));
    Motion<double>{w_b, u}.store(&w.velocity(i, 0));

    const BodyUnit& unit = w.unit_of(i);
    const Lower3<double> C = unit.C();
    Force<double> f = {cross(C * transpose_times(C, w_b), w_b),                         // I w x w
                       unit.mass_root * (transpose_times(R, g) - cross(w_b, u))};       // m (R'g - w x u) / sqrt(m)
    if (has_load) {
      const Force<double> load = Force<double>::load(&in.load(b, 0));
      f += {load.angular, unit.mass_inverse * load.linear};
    }
    Force<double>{unit.C_inverse() * f.angular, f.linear}.store(&w.right[6 * i]);
  }
  return is_sound && total - total == 0.0;
}

// Fills the rows of joints [first, last) of a table on their predecessors, and gamma (k,); the bodies come before.
inline void fill_rows(const SpatialWorkspace& w, const RowTable& table, const EvaluationInput& in, double* gamma,
                      Index first, Index last) {
  const Index world = w.n_bodies();
  const bool is_large = table.n_joints() > large_mechanism;
  double* const rows = table.rows.data();
  for (Index j = first; j < last; ++j) {
    const Index begin = table.first_row[j], end = table.first_row[j + 1];
    const Index p = table.predecessor[j], s = table.successor[j];
    if (is_large) {
      for (Index at = 12 * begin; at < 12 * end; at += cache_line) __builtin_prefetch(rows + at + 12 * rows_ahead);
      for (const auto& column : {table.predecessor, table.successor, table.first_row})
        __builtin_prefetch(column.data() + j + joints_ahead);
      __builtin_prefetch(gamma + begin + rows_ahead);
    }
    if (table.is_general[j]) {
      for (Index k = begin; k < end; ++k) {
        const Index g = table.general_row[k];
        gamma[k] = in.general_gamma[g];
        w.unit_of(p).to_unit(Force<double>::load(&in.general_rows(g, 0, 0))).store(rows + 12 * k);
        w.unit_of(s).to_unit(Force<double>::load(&in.general_rows(g, 1, 0))).store(rows + 12 * k + 6);
      }
    } else if (p == world) {
      for (Index k = begin; k < end; ++k) gamma[k] = 0.0;
    } else {
      const auto x_s = Vec3<double>::load(s == world ? &table.anchor(j, 0) : &w.position(s, 0));
      const RelativeMotion<double> motion(Mat3<double>::load(&w.rotation(s, 0)), x_s,
                                          Motion<double>::load(&w.velocity(s, 0)), Mat3<double>::load(&w.rotation(p, 0)),
                                          Vec3<double>::load(&w.position(p, 0)), Motion<double>::load(&w.velocity(p, 0)));
      const BodyUnit unit_s = w.unit_of(s), unit_p = w.unit_of(p);
      for (Index k = begin; k < end; ++k) {
        const Force<double> t = unit_s.from_unit(Force<double>::load(rows + 12 * k + 6));
        gamma[k] = motion.required_acceleration(t);
        unit_p.to_unit(motion.on_predecessor(t)).store(rows + 12 * k);
      }
    }
  }
  if (!in.stabilization.empty())
    for (Index k = table.first_row[first]; k < Index(table.first_row[last]); ++k)
      gamma[k] += in.stabilization[table.user_row[k]];
}

// Fills rows and right-hand side for ranges of bodies and joints; returns as fill_bodies does.
inline bool assemble(const SpatialWorkspace& w, const EvaluationInput& in, Index first_body, Index last_body,
                     Index first_joint, Index last_joint) {
  const bool is_sound = fill_bodies(w, in, first_body, last_body);
  fill_rows(w, w.kept, in, w.right.data() + 6 * w.n_bodies(), first_joint, last_joint);
  return is_sound;
}

}  // namespace sparsebody
