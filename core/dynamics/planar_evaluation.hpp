// Forward dynamics of a mechanism that moves in a plane, from a state to accelerations and multipliers: the system
// (8.64) with three freedoms a body and the rows within the plane, solved by QR of the constraint columns.
#pragma once

#include <mutex>

#include "dynamics/assembly.hpp"
#include "factorization/block_qr.hpp"
#include "spatial/double_double.hpp"

namespace sparsebody {

struct PlanarEvaluation {
  static constexpr double largest_residual = 1e-6;  // of a solution that is one
  enum Status { good, not_finite, out_of_plane, dependent_row, inaccurate };

  PlanarWorkspace system;
  BlockQR* qr;             // none where other factorizations solve
  View<double> x;          // (3 n + k,) accelerations, and multipliers with opposite signs
  Index n_tracked = 0;     // joint coordinates of a state
  Index threads = 1;       // that an evaluation may use
  double residual = 0.0;   // relative, of the constraint rows, of the newest solution
  Index row = 0;           // that depends on others

  Index n_bodies() const { return system.n_bodies(); }
  Index n_coordinates() const { return n_tracked; }
  ConstraintRows rows() const { return system.kept.rows; }

  // Fills rows and right-hand side; returns good, not_finite or out_of_plane.
  Status assemble(const EvaluationInput& in) {
    PlanarWorkspace::Check check;
    std::mutex mutex;
    run_ranges(n_bodies(), threads, [&](Index first, Index last) {
      const PlanarWorkspace::Check part = fill_bodies(system, in, first, last);
      const std::lock_guard lock(mutex);
      check.take(part);
    });
    fill_rows(system, system.kept, in, system.right.data() + 3 * n_bodies(), threads);
    return !check.is_sound() ? not_finite : check.is_in_plane() ? good : out_of_plane;
  }
  // Assembles, factorizes and solves at once. With multipliers (k_all,) the residual is that of the solution, without,
  // (0,), it may be an estimate.
  Status accelerate(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier) {
    if (const Status status = assemble(in); status != good) return status;
    BlockQR::Residuals residuals;
    row = qr->factorize_and_solve(rows(), system.right, !multiplier.empty(), x, residuals);
    if (row != BlockQR::regular) return dependent_row;
    residual = residuals.last;
    to_user_order(acceleration, multiplier);
    return residual <= largest_residual ? good : inaccurate;
  }
  // Fills x for a right-hand side from the newest factors; the residual is an estimate unless `accurate`.
  void solve(View<const double> rhs, bool accurate) { residual = qr->solve(rows(), rhs, accurate, x).last; }
  void to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
    sparsebody::to_user_order(system, x, acceleration, multiplier, threads);
  }
};

// A planar mechanism with twice the digits, for residuals.
class ExtendedPlanarSystem {
 public:
  using Extended = DoubleDouble;

  ExtendedPlanarSystem(const PlanarEvaluation& evaluation, const SuccessorFrames& frames);

  // Corrects the solution of `evaluation` at the newest state with residuals made from the state, taken as exact;
  // returns the last correction, relative to the largest acceleration, both where inertias are one.
  double solve(PlanarEvaluation& evaluation, const EvaluationInput& in);

 private:
  struct Frame {
    Vec3<Extended> normal, first, second;
  };
  struct Row {
    PlanarForce<Extended> on[2];  // predecessor and successor, in units
    Extended gamma;
  };
  void gather(const PlanarEvaluation& evaluation, const EvaluationInput& in);
  void fill_rows(const PlanarEvaluation& evaluation, const EvaluationInput& in);
  double fill_residual(const RowTable& kept);
  double subtract_forces(const RowTable& kept);

  std::vector<Frame> frames_;                             // (n + 1,) of bodies, in their axes, and of the world
  std::vector<Vec2<Extended>> arms_;                      // (m,) the joint's point in the successor's frame [m]
  std::vector<PlanarForce<Extended>> on_successor_;       // (k,) rows that are constant there
  std::vector<BodyMotion<InPlane<Extended>>> motion_;     // (n + 1,)
  std::vector<Row> rows_;                                 // (k,)
  std::vector<Extended> x_;                               // (3 n,)
  std::vector<double> gap_;                               // (k,)
};


}  // namespace sparsebody
