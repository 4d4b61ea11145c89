#include "dynamics/planar_evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/threads.hpp"
#include "base/vec.hpp"

namespace sparsebody {
namespace {

constexpr double unit_quaternion_tolerance = 2.00001e-6;  // of the square of the length
constexpr double plane_tolerance = 1e-9;      // how far a state may leave the plane: angles, and parts of velocities
constexpr double rest_tolerance = 1e-12;      // velocities that are none [rad/s, m/s]
constexpr double row_tolerance = 1e-9;        // part of a row within the plane that is nothing but rounding
constexpr double largest_residual = 1e-6;     // of a solution that is one

PlanarForce<double> load_force(const double* row) { return {row[0], {row[1], row[2]}}; }
void store_force(const PlanarForce<double>& t, double* row) { row[0] = t.n, row[1] = t.f.x, row[2] = t.f.y; }

}  // namespace

// ---- Bodies: a state in the plane, and the forces of (8.64)

void PlanarEvaluation::StateCheck::take(const StateCheck& other) {
  is_unit &= other.is_unit, is_upright &= other.is_upright, total += other.total;
  turning = std::max(turning, other.turning), tilting = std::max(tilting, other.tilting);
  moving = std::max(moving, other.moving), slipping = std::max(slipping, other.slipping);
}

PlanarEvaluation::Status PlanarEvaluation::StateCheck::status() const {
  if (!(is_unit && total - total == 0.0)) return not_finite;
  const bool is_level = tilting <= plane_tolerance * turning + rest_tolerance &&
                        slipping <= plane_tolerance * moving + rest_tolerance;
  return is_upright && is_level ? good : out_of_plane;
}

PlanarEvaluation::StateCheck PlanarEvaluation::assemble_bodies(const EvaluationInput& in, Index begin, Index end) {
  const Vec3<double> normal = axes.row(0), first = axes.row(1), second = axes.row(2);
  const bool has_load = in.load.rows() > 0;
  bool is_unit = true, is_upright = true;
  double total = 0.0, turning = 0.0, moving = 0.0, tilting = 0.0, slipping = 0.0;
  for (Index i = begin; i < end; ++i) {
    const auto& [b, B] = bodies[i];
    const PlanarUnit& unit = units[i];
    const double* const q = &in.orientation(b, 0);
    is_unit &= std::abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0) < unit_quaternion_tolerance;
    const auto R = Mat3<double>::from_quaternion(q[0], q[1], q[2], q[3]);
    const Vec3<double> up = R * B.row(0), along = R * B.row(1), x = Vec3<double>::load(&in.position(b, 0));
    const double* const v = &in.velocity(b, 0);
    const Vec3<double> w = B * Vec3<double>::load(v), u = B * Vec3<double>::load(v + 3);

    // The plane: the body's normal is that of the world, and velocities lie in it.
    const double tilt_1 = dot(first, up), tilt_2 = dot(second, up);
    is_upright &= tilt_1 * tilt_1 + tilt_2 * tilt_2 < plane_tolerance * plane_tolerance && dot(normal, up) > 0.0;
    turning = std::max(turning, std::abs(w.x));
    tilting = std::max(tilting, std::max(std::abs(w.y), std::abs(w.z)));
    moving = std::max(moving, std::max(std::abs(u.y), std::abs(u.z)));
    slipping = std::max(slipping, std::abs(u.x));
    total += (x.x + x.y + x.z) + (w.x + w.y + w.z) + (u.x + u.y + u.z);

    const Rotation2<double> turned{dot(first, along), dot(second, along)};
    motion[i] = {{dot(first, x), dot(second, x)}, turned, w.x, {u.y, u.z}};
    // m (R' g - w x u) / sqrt(m); the moment v x* I v of a planar motion is zero
    const Vec2<double> f = unit.mass_root * (transpose_times(turned, gravity) - cross(w.x, Vec2<double>{u.y, u.z}));
    PlanarForce<double> force{0.0, f};
    if (has_load) {
      const double* const load = &in.load(b, 0);
      const Vec3<double> moment = B * Vec3<double>::load(load), push = B * Vec3<double>::load(load + 3);
      force.n += unit.turn_inverse * moment.x;
      force.f = force.f + unit.mass_inverse * Vec2<double>{push.y, push.z};
    }
    store_force(force, &right[3 * i]);
  }
  return {is_unit, is_upright, total, turning, moving, tilting, slipping};
}

// ---- Rows

// The part in the plane of a wrench on a body, in units; zero if it is rounding.
PlanarForce<double> PlanarEvaluation::part_in_plane(Index body, const Vec3<double>& moment,
                                                    const Vec3<double>& force) const {
  const PlanarUnit& unit = units[body];
  const Mat3<double>& B = body < n_bodies() ? bodies[body].basis : axes;
  const Vec3<double> m = unit.turn_inverse * (B * moment), f = unit.mass_inverse * (B * force);
  const double within = m.x * m.x + f.y * f.y + f.z * f.z, across = m.y * m.y + m.z * m.z + f.x * f.x;
  if (within <= row_tolerance * row_tolerance * across) return {};
  return {m.x, {f.y, f.z}};
}

void PlanarEvaluation::fill_rows_on_successors(PlanarRows& table, const SuccessorFrames& frames) const {
  for (Index j = 0; j < table.n_joints(); ++j) {
    const auto& joint = table.joints[j];
    if (joint.kind != PlanarRows::carried) continue;
    const auto R = Mat3<double>::load(frames.rotation_of(j));
    const bool on_world = joint.successor == n_bodies();
    for (Index k = joint.first_row; k < table.joints[j + 1].first_row; ++k) {
      const double* const t = frames.subspace_of(k);
      const Vec3<double> force = R * Vec3<double>::load(t + 3);
      Vec3<double> moment = R * Vec3<double>::load(t);  // about the origin of S
      if (!on_world) moment += cross(Vec3<double>::load(frames.point_of(j)), force);
      store_force(part_in_plane(joint.successor, moment, force), &table.A(k, 1, 0));
    }
  }
}

// Fills the rows of a table on their predecessors and gamma, at the newest state.
void PlanarEvaluation::fill_rows(PlanarRows& table, const EvaluationInput& in, double* gamma) const {
  run_ranges(table.n_joints(), threads,
             [&](Index first, Index last) { fill_rows(table, in, gamma, first, last); });
}

void PlanarEvaluation::fill_rows(PlanarRows& table, const EvaluationInput& in, double* gamma, Index first,
                                 Index last) const {
  const Index m = table.n_joints(), n = n_bodies();
  for (Index j = first; j < last; ++j) {
    const auto& joint = table.joints[j];
    const Index p = joint.predecessor, s = joint.successor;
    const Index begin = joint.first_row, end = table.joints[j + 1].first_row;
    if (m > large_mechanism) prefetch(table.A.data() + 6 * begin + 96), prefetch(table.A.data() + 6 * begin + 104);
    if (joint.kind == PlanarRows::general) {
      for (Index k = begin; k < end; ++k) {
        const Index row = table.rows[k].general;
        gamma[k] = in.general_gamma[row];
        for (int side = 0; side < 2; ++side) {
          const Index body = side == 0 ? p : s;
          const double* const t = &in.general_rows(row, side, 0);
          PlanarForce<double> part;
          if (body < n) part = part_in_plane(body, Vec3<double>::load(t), Vec3<double>::load(t + 3));
          store_force(part, &table.A(k, side, 0));
        }
      }
    } else if (joint.kind == PlanarRows::line) {
      const double* const c = joint.constant;
      const PlanarLineRow<double> row(motion[p], motion[s], {c[0], c[1]}, {c[2], c[3]});
      store_force(units[p].to_unit(row.on_predecessor), &table.A(begin, 0, 0));
      store_force(units[s].to_unit(row.on_successor), &table.A(begin, 1, 0));
      gamma[begin] = row.gamma;
    } else if (p == n) {
      std::fill(gamma + begin, gamma + end, 0.0);
    } else {
      const Vec2<double> x_s = s < n ? motion[s].x : Vec2<double>{joint.constant[0], joint.constant[1]};
      const PlanarRelativeMotion<double> relative(motion[p], motion[s], x_s);
      for (Index k = begin; k < end; ++k) {
        const PlanarForce<double> scaled = load_force(&table.A(k, 1, 0));
        const PlanarForce<double> t{units[s].turn_root * scaled.n, units[s].mass_root * scaled.f};
        gamma[k] = relative.required_acceleration(t);
        store_force(units[p].to_unit(relative.on_predecessor(t)), &table.A(k, 0, 0));
      }
    }
  }
  if (!in.stabilization.empty())
    for (Index k = table.joints[first].first_row; k < Index(table.joints[last].first_row); ++k)
      gamma[k] += in.stabilization[table.rows[k].user];
}

// ---- Evaluations

PlanarEvaluation::Status PlanarEvaluation::assemble(const EvaluationInput& in) {
  StateCheck check;
  std::mutex mutex;
  run_ranges(n_bodies(), threads, [&](Index first, Index last) {
    const StateCheck part = assemble_bodies(in, first, last);
    const std::lock_guard lock(mutex);
    check.take(part);
  });
  fill_rows(kept, in, right.data() + 3 * n_bodies());
  return check.status();
}

PlanarEvaluation::Status PlanarEvaluation::accelerate(const EvaluationInput& in, View<double, 2> acceleration,
                                                      View<double> multiplier) {
  if (const Status status = assemble(in); status != good) return status;
  BlockQR::Residuals residuals;
  row = qr->factorize_and_solve(kept.A, right, !multiplier.empty(), x, residuals);
  if (row != BlockQR::regular) return dependent_row;
  residual = residuals.last;
  to_user_order(acceleration, multiplier);
  return residual <= largest_residual ? good : inaccurate;
}

void PlanarEvaluation::to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
  const Index n = n_bodies();
  run_ranges(n, threads, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const auto& [b, B] = bodies[i];
      const double w = units[i].turn_inverse * x[3 * i], s = units[i].mass_inverse;
      (w * B.row(0)).store(&acceleration(b, 0));
      (s * x[3 * i + 1] * B.row(1) + s * x[3 * i + 2] * B.row(2)).store(&acceleration(b, 3));
    }
  });
  if (multiplier.empty()) return;
  run_ranges(Index(kept.rows.size()), threads, [&](Index first, Index last) {
    for (Index k = first; k < last; ++k) multiplier[kept.rows[k].user] = -x[3 * n + k];
  });
}

double PlanarEvaluation::violation(PlanarRows& left_out, const EvaluationInput& in) const {
  const Index n = n_bodies();
  std::vector<double> gamma(left_out.rows.size());
  fill_rows(left_out, in, gamma.data());
  double gap = 0.0, largest_entry = 0.0, scale = 0.0, largest_x = 0.0, total = 0.0;
  for (Index i = 0; i < 3 * n; ++i) largest_x = std::max(largest_x, std::max(std::abs(x[i]), std::abs(right[i])));
  for (Index k = 3 * n; k < right.size(); ++k) scale = std::max(scale, std::abs(right[k]));
  for (Index j = 0; j < left_out.n_joints(); ++j) {
    const auto& joint = left_out.joints[j];
    for (Index k = joint.first_row; k < left_out.joints[j + 1].first_row; ++k) {
      double rest = -gamma[k];
      scale = std::max(scale, std::abs(gamma[k]));
      for (int side = 0; side < 2; ++side) {
        const Index body = side == 0 ? joint.predecessor : joint.successor;
        for (Index a = 0; a < 3; ++a) {
          largest_entry = std::max(largest_entry, std::abs(left_out.A(k, side, a)));
          if (body < n) rest += left_out.A(k, side, a) * x[3 * body + a];
        }
      }
      gap = std::max(gap, std::abs(rest));
      total += rest;
    }
  }
  scale = std::max(scale, largest_entry * largest_x);
  return scale > 0.0 ? (gap + (total - total)) / scale : 0.0;  // NaN if any of them is NaN
}

}  // namespace sparsebody
