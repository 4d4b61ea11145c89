#include "dynamics/planar_evaluation.hpp"

#include <mutex>

namespace sparsebody {

constexpr double largest_residual = 1e-6;  // of a solution that is one

PlanarEvaluation::Status PlanarEvaluation::assemble(const EvaluationInput& in) {
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

PlanarEvaluation::Status PlanarEvaluation::accelerate(const EvaluationInput& in, View<double, 2> acceleration,
                                                      View<double> multiplier) {
  if (const Status status = assemble(in); status != good) return status;
  BlockQR::Residuals residuals;
  row = qr->factorize_and_solve(rows(), system.right, !multiplier.empty(), x, residuals);
  if (row != BlockQR::regular) return dependent_row;
  residual = residuals.last;
  to_user_order(acceleration, multiplier);
  return residual <= largest_residual ? good : inaccurate;
}

}  // namespace sparsebody
