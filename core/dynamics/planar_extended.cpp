// Iterative refinement of planar solutions with residuals in double-double precision, 31 digits. Rounding of A changes
// the accelerations in proportion to its condition number, and residuals of the rounded A do not contain that error. So
// rows and gamma are computed from the state in 31 digits; corrections are solved for by the factors of the rounded A.
#include <limits>

#include "dynamics/planar_evaluation.hpp"

namespace sparsebody {

ExtendedPlanarSystem::ExtendedPlanarSystem(const PlanarEvaluation& evaluation, const SuccessorFrames& frames)
    : basis_({evaluation.n_bodies() + 1, 3, 3}), rows_(evaluation.system.constraints.rows.shape()),
      unit_(evaluation.system.unit.shape()), anchor_(evaluation.system.constraints.anchor.shape()),
      right_(evaluation.system.right.size()), x_(3 * evaluation.n_bodies()) {
  const PlanarWorkspace& system = evaluation.system;
  const RowTable& table = system.constraints;
  const Index n = system.n_bodies();
  // Rounded, axes are no exact unit vectors, and roots of inertias no exact inverses of their inverse roots: made anew
  // with 31 digits, the axes orthonormal, the roots from the inverse roots.
  for (Index i = 0; i <= n; ++i) {
    const auto unit_vector = [](const Vec3<Extended>& v) { return inverse_sqrt(dot(v, v)) * v; };
    const Vec3<Extended> normal = unit_vector(Vec3<Extended>::load(&system.basis(i, 0, 0)));
    const auto axis = Vec3<Extended>::load(&system.basis(i, 1, 0));
    const Vec3<Extended> first = unit_vector(axis - dot(normal, axis) * normal);
    normal.store(&basis_(i, 0, 0)), first.store(&basis_(i, 1, 0)), cross(normal, first).store(&basis_(i, 2, 0));
    for (int a = 0; a < 2; ++a) {
      const Extended inverse = unit_(i, 2 + a) = system.unit(i, 2 + a);
      unit_(i, a) = inverse_sqrt(inverse * inverse);  // 1 / inverse: DoubleDouble has no division
    }
  }
  for (Index j = 0; j < table.n_joints(); ++j) {  // the joint's point in the plane of the successor
    const Index s = table.successor[j], joint = frames.row_joint[table.user_row[table.first_row[j]]];
    const auto B = Mat3<Extended>::load(&basis_(s, 0, 0));
    const Vec3<Extended> point = B * Vec3<Extended>::load(&frames.point(joint, 0));
    const bool is_line = table.kind[j] == RowTable::line;
    // anchor of a line: normal, then point; else the point (used where the successor is the world)
    for (int a = 0; a < 2; ++a) anchor_(j, a) = table.anchor(j, a);
    anchor_(j, is_line ? 2 : 0) = point.y, anchor_(j, is_line ? 3 : 1) = point.z;
  }
  system_ = {{table.predecessor, table.successor, table.kind, anchor_, table.first_row, table.user_row, table.general_row,
              rows_},
             system.body, system.gravity_, unit_, basis_, right_};
  fill_rows_on_successors(system_, system_.constraints, frames, 1);
}

template <class F>
void ExtendedPlanarSystem::for_rows(F f) {
  const auto& table = system_.constraints;
  for (Index j = 0; j < table.n_joints(); ++j)
    for (Index k = table.first_row[j]; k < table.end(j); ++k)
      for (int side = 0; side < 2; ++side)
        if (const Index body = side == 0 ? table.predecessor[j] : table.successor[j]; body < system_.n_bodies())
          f(k, &rows_(k, side, 0), &x_[3 * body]);
}

// Iterative refinement of a = f - A' y, A a = gamma: y += (A A')^-1 (A a - gamma), a -= A' dy; a (3 n,) and rows A
// (m, 2, 3) in 31 digits, y (m,) and the factors in 16. Higham (2002), ch. 12. Returns the last correction of a,
// relative to the largest acceleration.
double ExtendedPlanarSystem::solve(PlanarEvaluation& evaluation, const EvaluationInput& in) {
  constexpr int max_corrections = 12;  // residuals at least halve in each, from the third on
  constexpr double last_correction = 1e-17;  // of the largest acceleration; after one as small, stop
  const Index n = 3 * evaluation.n_bodies(), m = right_.size() - n;
  fill_bodies(system_, in, 0, evaluation.n_bodies());
  fill_rows(system_, system_.constraints, in, right_.data() + n, 1);
  const View<double> x = evaluation.x, forces = evaluation.system.right;  // forces in 16 digits
  std::copy(forces.begin(), forces.begin() + n, x_.begin());
  std::fill(x.begin() + n, x.end(), 0.0);
  double before = std::numeric_limits<double>::infinity(), correction = 0.0;
  std::vector<Extended> residual(m);
  std::vector<double> dy(m);
  for (int step = 0; step < max_corrections; ++step) {
    for (Index k = 0; k < m; ++k) residual[k] = -right_[n + k];
    for_rows([&](Index k, const Extended* row, const Extended* a) {  // A a - gamma
      residual[k] += row[0] * a[0] + (row[1] * a[1] + row[2] * a[2]);
    });
    double worst = 0.0, largest = 0.0, size = 0.0;
    for (Index k = 0; k < m; ++k) dy[k] = residual[k].high, worst = std::max(worst, std::abs(dy[k]));
    if (step > 1 && !(worst < before / 2)) break;  // two corrections at least, then as long as residuals halve
    before = worst;
    evaluation.qr->substitute(View<double>(dy));  // (A A')^-1 of the residual
    for (Index k = 0; k < m; ++k) x[n + k] += dy[k];
    for_rows([&](Index k, const Extended* row, Extended* a) {  // a -= A' dy
      for (int i = 0; i < 3; ++i) {
        const Extended change = row[i] * Extended(dy[k]);
        largest = std::max(largest, std::abs(change.high));
        a[i] -= change;
      }
    });
    for (const Extended& entry : x_) size = std::max(size, std::abs(entry.high));
    correction = size > 0.0 ? largest / size : 0.0;
    if (correction <= last_correction) break;
  }
  for (Index i = 0; i < n; ++i) x[i] = x_[i].high;
  return correction;
}

}  // namespace sparsebody
