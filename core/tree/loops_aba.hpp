// Accelerations and multipliers of a tree with loops by proximal iterations on the factors of its fronts: O(n) where
// fronts stay bounded. Carpentier, Budhiraja and Mansard (2021), sec. III; Rockafellar (1976).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "base/dense.hpp"
#include "tree/fronts.hpp"
#include "tree/rnea.hpp"

namespace sparsebody::tree {

// The rows of the loops on their links, A a = gamma.
struct LoopSystem {
  View<const LoopEnds> ends;  // of each row
  View<const Index> first_row;  // of each loop
  View<const LoopRow> rows;
  View<const double> gamma;
};

// Python's ProximalWork.
struct ProximalWork {
  Fronts fronts;
  View<Force> force;  // on the links, with those of the loops
  View<Motion> acceleration;
  View<Force> transmitted;
  View<double> tau, b;  // residuals of the equations of motion and of the loops
  View<double> qdd_step, lambda_step;
};

constexpr int most_iterations = 30;
constexpr double step_tolerance = 1e-12;     // of accelerations, relative to the largest
constexpr double best_rate = 1e-3;           // least rate of convergence assumed: the softest motions converge last
constexpr double rounding_tolerance = 1e-9;  // steps below this that do not shrink are rounding errors

// tau = -(H qdd + C - K' lambda) and b = k - K qdd.
inline void fill_residuals(const Links& links, const TreeMotion& motion, View<const double> qdd,
                           View<const Force> external, const LoopSystem& loops, View<const double> lambda,
                           const ProximalWork& work) {
  if (external.empty())
    std::fill(work.force.begin(), work.force.end(), Force{});
  else
    std::copy(external.begin(), external.end(), work.force.begin());
  for (const Index r : range(0, lambda.size()))
    for (int e = 0; e < 2; ++e)
      if (const Index i = loops.ends[r].link[e]; i >= 0) work.force[i] += loops.rows[r].on[e] * lambda[r];
  recursive_newton_euler(links, motion, qdd, work.force, work.acceleration, work.transmitted, work.tau);
  for (double& tau_k : work.tau) tau_k = -tau_k;
  for (const Index r : range(0, lambda.size())) {
    work.b[r] = loops.gamma[r];
    for (int e = 0; e < 2; ++e)
      if (const Index i = loops.ends[r].link[e]; i >= 0) work.b[r] -= dot(work.acceleration[i], loops.rows[r].on[e]);
  }
}

// Solves H qdd + C - K' lambda = tau, K qdd = k for qdd, lambda, and the accelerations of the links in `work`.
//
// Each iteration solves [H, K'; K, -mu] for the residuals of both, recomputed from the accelerations of all links, so
// that the limit depends neither on mu nor on the rounding of the factors. Where it does not converge, mu is multiplied
// by `stiffening`, at most `levels` - 1 times. Returns the number of solutions and of factorizations, and the last
// relative step of the accelerations.
inline std::tuple<Index, Index, double> proximal_iterations(
    const Links& links, const FrontPlan& plan, const TreeMotion& motion, View<const Force> external,
    const LoopSystem& loops, View<const double> softness, View<const bool> is_prescribed,
    View<const double> prescribed_qdd, Index levels, double stiffening, const ProximalWork& work, View<double> qdd,
    View<double> lambda) {
  std::vector<double> mu(softness.begin(), softness.end());
  const double gravity = dense::largest(links.gravity_.data(), 3);
  Index n_solutions = 0;
  double step = 0.0;
  for (Index level = 0; level < levels; ++level) {
    factorize_fronts(links, plan, motion, loops.rows, mu, is_prescribed, work.fronts);
    std::copy(prescribed_qdd.begin(), prescribed_qdd.end(), qdd.begin());
    std::fill(lambda.begin(), lambda.end(), 0.0);
    double last = std::numeric_limits<double>::infinity();
    int stalls = 0;
    for (int iteration = 0; iteration < most_iterations; ++iteration) {
      fill_residuals(links, motion, qdd, external, loops, lambda, work);
      const double change = solve_fronts(links, plan, motion, loops.first_row, is_prescribed, work.fronts, work.tau,
                                         work.b, work.qdd_step, work.lambda_step);
      ++n_solutions;
      for (Index k = 0; k < qdd.size(); ++k) qdd[k] += work.qdd_step[k];
      for (Index r = 0; r < lambda.size(); ++r) lambda[r] += work.lambda_step[r];
      const double largest =
          dense::largest(reinterpret_cast<const double*>(work.acceleration.data()), 6 * links.size());
      const double size = std::max({n_solutions == 1 ? change : 0.0, gravity, largest});
      step = size > 0.0 ? change / size : change;
      const bool is_last = step * std::min(1.0, std::max(best_rate, step / last)) <= step_tolerance;
      if (is_last || lambda.empty()) return {n_solutions, level + 1, step};
      if (!(step < 0.5 * last)) {
        ++stalls;
        if (step < rounding_tolerance) return {n_solutions, level + 1, step};
        if (stalls > 2) break;
      }
      last = step;
    }
    for (double& mu_r : mu) mu_r *= stiffening;
  }
  return {n_solutions, levels + 1, step};
}

}  // namespace sparsebody::tree
