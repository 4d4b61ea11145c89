// Six freedoms a body, and QR of the constraint columns: what `ExplicitSteps` asks of it.
#pragma once

#include "dynamics/spatial_evaluation.hpp"
#include "factorization/block_qr.hpp"
#include "simulation/explicit_step.hpp"

namespace sparsebody::simulation {

struct SpatialQR {
  SpatialEvaluation& system;
  BlockQR& qr;
  bool is_last_resort;  // there is no other factorization for what this one is too rough for

  Index n_bodies() const { return system.n_bodies(); }
  void to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
    system.to_user_order(acceleration, multiplier);
  }
};

inline bool factorize(SpatialQR& e, const EvaluationInput& in) {
  return e.system.assemble(in) == block_ldl::regular && e.qr.factorize(e.system.rows()) == BlockQR::regular;
}
inline void solve(SpatialQR& e, View<const double> right) {
  e.qr.solve(e.system.rows(), right, false, e.system.solution.x(), 0);
}
inline std::pair<double, Index> smallest_pivot(const SpatialQR& e, Index) {
  return e.qr.smallest_pivot(e.system.rows());
}
inline bool accelerate(SpatialQR& e, const EvaluationInput& in, View<double, 2> acceleration) {
  constexpr double rough = 0.1;  // residual before refinement that is worth a warning
  BlockQR::Residuals residuals;
  if (e.system.assemble(in) != block_ldl::regular ||
      e.qr.factorize_and_solve(e.system.rows(), e.system.system.right, false, e.system.solution.x(), residuals) !=
          BlockQR::regular)
    return false;
  e.to_user_order(acceleration, {});
  return residuals.last <= largest_residual && !(e.is_last_resort && residuals.first > rough);
}

}  // namespace sparsebody::simulation
