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
  const PlanarRows& kept = evaluation.kept;
  const Index n = evaluation.n_bodies(), m = kept.n_joints();
  const auto basis_of = [&](Index i) -> const Mat3<double>& {
    return i < n ? evaluation.bodies[i].basis : evaluation.axes;
  };
  for (Index i = 0; i <= n; ++i) {  // orthogonal axes of length one
    const double* const B = basis_of(i).m;
    Vec3<Extended> normal = load_extended(B), first = load_extended(B + 3);
    normal = inverse_sqrt(dot(normal, normal)) * normal;
    first = first - dot(normal, first) * normal;
    first = inverse_sqrt(dot(first, first)) * first;
    frames_.push_back({normal, first, cross(normal, first)});
  }
  on_successor_.resize(kept.rows.size());
  for (Index j = 0; j < m; ++j) {
    const Index s = kept.joints[j].successor;
    const Vec3<Extended> point = load_extended(frames.point_of(j));
    const Vec2<Extended> arm{dot(frames_[s].first, point), dot(frames_[s].second, point)};
    arms_.push_back(arm);
    const Mat3<double> R = basis_of(s) * Mat3<double>::load(frames.rotation_of(j));
    for (Index k = kept.joints[j].first_row; k < kept.joints[j + 1].first_row; ++k) {
      const double* const t = frames.subspace_of(k);
      const Vec3<double> moment = R * Vec3<double>::load(t), force = R * Vec3<double>::load(t + 3);
      PlanarForce<Extended>& row = on_successor_[k];
      row = {moment.x, {force.y, force.z}};
      if (s < n) row.n += cross(arm, row.f);  // about the center of mass
    }
  }
  motion_.resize(n + 1);
  motion_[n].R = {Extended(1.0), Extended(0.0)};
  rows_.resize(kept.rows.size());
  gap_.resize(kept.rows.size());
  x_.resize(3 * n);
}

// The motion of all bodies in the plane.
void ExtendedPlanarSystem::gather(const PlanarEvaluation& evaluation, const EvaluationInput& in) {
  const Index n = evaluation.n_bodies();
  const Frame& world = frames_[n];
  for (Index i = 0; i < n; ++i) {
    const Index b = evaluation.bodies[i].user;
    const Frame& frame = frames_[i];
    const Vec3<Extended> x = load_extended(&in.position(b, 0)), w = load_extended(&in.velocity(b, 0));
    const Vec3<Extended> u = load_extended(&in.velocity(b, 0) + 3), along = turned(&in.orientation(b, 0), frame.first);
    const Extended c = dot(world.first, along), s = dot(world.second, along), size = inverse_sqrt(c * c + s * s);
    motion_[i] = {{dot(world.first, x), dot(world.second, x)},
                  {c * size, s * size},
                  dot(frame.normal, w),
                  {dot(frame.first, u), dot(frame.second, u)}};
  }
}

// Rows and gamma; general rows as they are.
void ExtendedPlanarSystem::fill_rows(const PlanarEvaluation& evaluation, const EvaluationInput& in) {
  const PlanarRows& kept = evaluation.kept;
  const Index n = evaluation.n_bodies();
  for (Index j = 0; j < kept.n_joints(); ++j) {
    const auto& joint = kept.joints[j];
    const Index p = joint.predecessor, s = joint.successor;
    const PlanarUnit &unit_p = evaluation.units[p], &unit_s = evaluation.units[s];
    const Index begin = joint.first_row, end = kept.joints[j + 1].first_row;
    if (joint.kind == PlanarRows::general) {
      for (Index k = begin; k < end; ++k) {
        for (int side = 0; side < 2; ++side) {
          const double* const a = &kept.A(k, side, 0);
          rows_[k].on[side] = {a[0], {a[1], a[2]}};
        }
        rows_[k].gamma = evaluation.right[3 * n + k];
      }
      continue;  // gamma has the stabilization already
    }
    if (joint.kind == PlanarRows::line) {
      const Vec2<Extended> normal{joint.constant[0], joint.constant[1]};
      const PlanarLineRow<Extended> row(motion_[p], motion_[s], normal, arms_[j]);
      rows_[begin] = {{unit_p.to_unit(row.on_predecessor), unit_s.to_unit(row.on_successor)}, row.gamma};
    } else {
      const PlanarRelativeMotion<Extended> relative(motion_[p], motion_[s], s < n ? motion_[s].x : arms_[j]);
      for (Index k = begin; k < end; ++k) {
        const PlanarForce<Extended>& t = on_successor_[k];
        rows_[k] = {{unit_p.to_unit(relative.on_predecessor(t)), unit_s.to_unit(t)},
                    p < n ? relative.required_acceleration(t) : Extended(0.0)};
      }
    }
    if (!in.stabilization.empty())
      for (Index k = begin; k < end; ++k) rows_[k].gamma += in.stabilization[kept.rows[k].user];
  }
}

// A x - gamma; returns its largest entry.
double ExtendedPlanarSystem::fill_residual(const PlanarRows& kept) {
  double largest = 0.0;
  const std::size_t n = x_.size() / 3;
  for (Index j = 0; j < kept.n_joints(); ++j) {
    const auto& joint = kept.joints[j];
    for (Index k = joint.first_row; k < kept.joints[j + 1].first_row; ++k) {
      Extended total = -rows_[k].gamma;
      for (int side = 0; side < 2; ++side) {
        const std::size_t body = side == 0 ? joint.predecessor : joint.successor;
        if (body >= n) continue;
        const PlanarForce<Extended>& row = rows_[k].on[side];
        const Extended* const x = &x_[3 * body];
        total += row.n * x[0] + (row.f.x * x[1] + row.f.y * x[2]);
      }
      gap_[k] = total.high;
      largest = std::max(largest, std::abs(total.high));
    }
  }
  return largest;
}

// x -= A' y for the y in place of the residual; returns the largest change.
double ExtendedPlanarSystem::subtract_forces(const PlanarRows& kept) {
  double largest = 0.0;
  const std::size_t n = x_.size() / 3;
  for (Index j = 0; j < kept.n_joints(); ++j) {
    const auto& joint = kept.joints[j];
    for (Index k = joint.first_row; k < kept.joints[j + 1].first_row; ++k)
      for (int side = 0; side < 2; ++side) {
        const std::size_t body = side == 0 ? joint.predecessor : joint.successor;
        if (body >= n) continue;
        const PlanarForce<Extended>& row = rows_[k].on[side];
        const Extended* const entries[3] = {&row.n, &row.f.x, &row.f.y};
        for (int a = 0; a < 3; ++a) {
          const Extended change = *entries[a] * Extended(gap_[k]);
          largest = std::max(largest, std::abs(change.high));
          x_[3 * body + a] -= change;
        }
      }
  }
  return largest;
}

double ExtendedPlanarSystem::solve(PlanarEvaluation& evaluation, const EvaluationInput& in) {
  gather(evaluation, in);
  fill_rows(evaluation, in);
  const Index n = 3 * evaluation.n_bodies(), m = Index(gap_.size());
  const View<double> x = evaluation.x;
  std::copy(evaluation.right.begin(), evaluation.right.begin() + n, x_.begin());
  std::fill(x.begin() + n, x.end(), 0.0);
  double before = std::numeric_limits<double>::infinity(), correction = 0.0;
  for (int step = 0; step < max_corrections; ++step) {
    const double worst = fill_residual(evaluation.kept);
    if (step > 1 && !(worst < before / 2)) break;
    before = worst;
    evaluation.qr->substitute(gap_);
    for (Index k = 0; k < m; ++k) x[n + k] += gap_[k];
    const double largest = subtract_forces(evaluation.kept);
    double size = 0.0;
    for (const Extended& entry : x_) size = std::max(size, std::abs(entry.high));
    correction = size > 0.0 ? largest / size : 0.0;
    if (correction <= last_correction) break;
  }
  for (Index i = 0; i < n; ++i) x[i] = x_[i].high;
  return correction;
}

}  // namespace sparsebody
