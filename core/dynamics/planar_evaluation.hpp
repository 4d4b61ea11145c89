// Forward dynamics of a mechanism that moves in a plane, from a state to accelerations and multipliers: the system
// (8.64) with three freedoms a body and the rows within the plane, solved by QR of the constraint columns.
#pragma once

#include "dynamics/assembly.hpp"
#include "factorization/block_qr.hpp"

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
    const PlanarWorkspace::Check check = assemble_all(system, in, threads);
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
  void to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
    sparsebody::to_user_order(system, x, acceleration, multiplier, threads);
  }
};

// A planar mechanism on numbers of 31 digits, for residuals.
class ExtendedPlanarSystem {
 public:
  using Extended = DoubleDouble;

  ExtendedPlanarSystem(const PlanarEvaluation& evaluation, const SuccessorFrames& frames);

  // Corrects the solution of `evaluation` at the newest state with residuals made from the state, taken as exact;
  // returns the last correction, relative to the largest acceleration, both where inertias are one.
  double solve(PlanarEvaluation& evaluation, const EvaluationInput& in);

 private:
  template <class F>
  void for_rows(F f);  // f(k, row on one body, its freedoms in x)

  Array<Extended, 3> basis_, rows_;
  Array<Extended, 2> unit_, anchor_;
  Array<Extended> right_, x_;  // (3 n + k,), (3 n,)
  PlanarWorkspaceOf<Extended> system_;
};

}  // namespace sparsebody
