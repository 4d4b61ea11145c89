// Corrections of planar solutions by residuals of 31 digits. What rounding of A does to the accelerations grows with
// its condition number, and corrections with the rounded A do not see it. So rows and gamma are made anew from the
// state with twice the digits; the factors of the rounded A serve to solve for the corrections.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/planar_evaluation.hpp"

namespace sparsebody {
namespace {

using Extended = DoubleDouble;

constexpr int max_corrections = 12;
constexpr double last_correction = 1e-17;  // of the largest acceleration, one that nothing has to follow

Vec3<Extended> load_extended(const double* p) { return {p[0], p[1], p[2]}; }

// v turned by the quaternion q of doubles, times the square of its length
Vec3<Extended> turned(const double* q, const Vec3<Extended>& v) {
  const Extended w = q[0];
  const Vec3<Extended> u = load_extended(q + 1), uv = cross(u, v), uuv = cross(u, uv);
  return (w * w + dot(u, u)) * v + (Extended(2.0) * w) * uv + Extended(2.0) * uuv;
}

}  // namespace

ExtendedPlanarSystem::ExtendedPlanarSystem(const PlanarEvaluation& evaluation, const SuccessorFrames& frames) {
  const PlanarWorkspace& system = evaluation.system;
  const RowTable& kept = system.kept;
  const Index n = system.n_bodies(), m = kept.n_joints();
  for (Index i = 0; i <= n; ++i) {  // orthogonal axes of length one
    Vec3<Extended> normal = load_extended(&system.basis(i, 0, 0)), first = load_extended(&system.basis(i, 1, 0));
    normal = inverse_sqrt(dot(normal, normal)) * normal;
    first = first - dot(normal, first) * normal;
    first = inverse_sqrt(dot(first, first)) * first;
    frames_.push_back({normal, first, cross(normal, first)});
  }
  const Index n_rows = kept.user_row.size();
  on_successor_.resize(n_rows);
  for (Index j = 0; j < m; ++j) {
    const Index s = kept.successor[j], joint = frames.row_joint[kept.user_row[kept.first_row[j]]];
    const Vec3<Extended> point = load_extended(&frames.point(joint, 0));
    const Vec2<Extended> arm{dot(frames_[s].first, point), dot(frames_[s].second, point)};
    arms_.push_back(arm);
    const Mat3<double> R = system.basis_of(s) * Mat3<double>::load(&frames.rotation(joint, 0, 0));
    for (Index k = kept.first_row[j]; k < kept.end(j); ++k) {
      const double* const t = frames.T(kept.user_row[k]);
      const Vec3<double> moment = R * Vec3<double>::load(t), force = R * Vec3<double>::load(t + 3);
      PlanarForce<Extended>& row = on_successor_[k];
      row = {moment.x, {force.y, force.z}};
      if (s < n) row.angular += cross(arm, row.linear);  // about the center of mass
    }
  }
  motion_.resize(n + 1);
  rows_.resize(n_rows);
  gap_.resize(n_rows);
  x_.resize(3 * n);
}

// The motion of all bodies in the plane.
void ExtendedPlanarSystem::gather(const PlanarEvaluation& evaluation, const EvaluationInput& in) {
  const Index n = evaluation.n_bodies();
  const Frame& world = frames_[n];
  for (Index i = 0; i < n; ++i) {
    const Index b = evaluation.system.body[i];
    const Frame& frame = frames_[i];
    const Vec3<Extended> x = load_extended(&in.position(b, 0)), w = load_extended(&in.velocity(b, 0));
    const Vec3<Extended> u = load_extended(&in.velocity(b, 0) + 3), along = turned(&in.orientation(b, 0), frame.first);
    const Extended c = dot(world.first, along), s = dot(world.second, along), size = inverse_sqrt(c * c + s * s);
    motion_[i] = {{c * size, s * size},
                  {dot(world.first, x), dot(world.second, x)},
                  {dot(frame.normal, w), {dot(frame.first, u), dot(frame.second, u)}}};
  }
}

// Rows and gamma; general rows as they are.
void ExtendedPlanarSystem::fill_rows(const PlanarEvaluation& evaluation, const EvaluationInput& in) {
  const PlanarWorkspace& system = evaluation.system;
  const RowTable& kept = system.kept;
  const Index n = system.n_bodies();
  for (Index j = 0; j < kept.n_joints(); ++j) {
    const Index p = kept.predecessor[j], s = kept.successor[j];
    const PlanarUnit &unit_p = system.unit_of(p), &unit_s = system.unit_of(s);
    const Index begin = kept.first_row[j], end = kept.end(j);
    if (kept.kind[j] == RowTable::general) {
      for (Index k = begin; k < end; ++k) {
        for (int side = 0; side < 2; ++side) {
          const double* const a = &kept.rows(k, side, 0);
          rows_[k].on[side] = {a[0], {a[1], a[2]}};
        }
        rows_[k].gamma = system.right[3 * n + k];
      }
      continue;  // gamma has the stabilization already
    }
    if (kept.kind[j] == RowTable::line) {
      const Vec2<Extended> normal{kept.anchor(j, 0), kept.anchor(j, 1)};
      const PlanarLineRow<Extended> row(motion_[p], motion_[s], normal, arms_[j]);
      rows_[begin] = {{unit_p.to_unit(row.on_predecessor), unit_s.to_unit(row.on_successor)}, row.gamma};
    } else {
      const RelativeMotion<InPlane<Extended>> relative(motion_[p], motion_[s], s < n ? motion_[s].x : arms_[j]);
      for (Index k = begin; k < end; ++k) {
        const PlanarForce<Extended>& t = on_successor_[k];
        rows_[k] = {{unit_p.to_unit(relative.on_predecessor(t)), unit_s.to_unit(t)},
                    p < n ? relative.required_acceleration(t) : Extended(0.0)};
      }
    }
    if (!in.stabilization.empty())
      for (Index k = begin; k < end; ++k) rows_[k].gamma += in.stabilization[kept.user_row[k]];
  }
}

// A x - gamma; returns its largest entry.
double ExtendedPlanarSystem::fill_residual(const RowTable& kept) {
  double largest = 0.0;
  const std::size_t n = x_.size() / 3;
  for (Index j = 0; j < kept.n_joints(); ++j)
    for (Index k = kept.first_row[j]; k < kept.end(j); ++k) {
      Extended total = -rows_[k].gamma;
      for (int side = 0; side < 2; ++side) {
        const std::size_t body = side == 0 ? kept.predecessor[j] : kept.successor[j];
        if (body >= n) continue;
        const PlanarForce<Extended>& row = rows_[k].on[side];
        const Extended* const x = &x_[3 * body];
        total += row.angular * x[0] + (row.linear.x * x[1] + row.linear.y * x[2]);
      }
      gap_[k] = total.high;
      largest = std::max(largest, std::abs(total.high));
    }
  return largest;
}

// x -= A' y for the y in place of the residual; returns the largest change.
double ExtendedPlanarSystem::subtract_forces(const RowTable& kept) {
  double largest = 0.0;
  const std::size_t n = x_.size() / 3;
  for (Index j = 0; j < kept.n_joints(); ++j)
    for (Index k = kept.first_row[j]; k < kept.end(j); ++k)
      for (int side = 0; side < 2; ++side) {
        const std::size_t body = side == 0 ? kept.predecessor[j] : kept.successor[j];
        if (body >= n) continue;
        const PlanarForce<Extended>& row = rows_[k].on[side];
        const Extended* const entries[3] = {&row.angular, &row.linear.x, &row.linear.y};
        for (int a = 0; a < 3; ++a) {
          const Extended change = *entries[a] * Extended(gap_[k]);
          largest = std::max(largest, std::abs(change.high));
          x_[3 * body + a] -= change;
        }
      }
  return largest;
}

double ExtendedPlanarSystem::solve(PlanarEvaluation& evaluation, const EvaluationInput& in) {
  gather(evaluation, in);
  fill_rows(evaluation, in);
  const Index n = 3 * evaluation.n_bodies(), m = Index(gap_.size());
  const View<double> x = evaluation.x;
  std::copy(evaluation.system.right.begin(), evaluation.system.right.begin() + n, x_.begin());
  std::fill(x.begin() + n, x.end(), 0.0);
  double before = std::numeric_limits<double>::infinity(), correction = 0.0;
  for (int step = 0; step < max_corrections; ++step) {
    const double worst = fill_residual(evaluation.system.kept);
    if (step > 1 && !(worst < before / 2)) break;
    before = worst;
    evaluation.qr->substitute(gap_);
    for (Index k = 0; k < m; ++k) x[n + k] += gap_[k];
    const double largest = subtract_forces(evaluation.system.kept);
    double size = 0.0;
    for (const Extended& entry : x_) size = std::max(size, std::abs(entry.high));
    correction = size > 0.0 ? largest / size : 0.0;
    if (correction <= last_correction) break;
  }
  for (Index i = 0; i < n; ++i) x[i] = x_[i].high;
  return correction;
}

}  // namespace sparsebody
