// Accelerations and multipliers of a tree with loops by proximal iterations on the factors of its fronts: O(n) where
// fronts stay bounded. Carpentier, Budhiraja and Mansard (2021), sec. III; Rockafellar (1976).
#pragma once

#include <tuple>

#include "tree/fronts.hpp"

namespace sparsebody::tree {

// Python's ProximalWork.
struct ProximalWork {
  Fronts fronts;
  View<Force> force;  // on the links, with those of the loops
  View<Motion> acceleration;
  View<Force> transmitted;
  View<double> tau, b;  // residuals of the equations of motion and of the loops
  View<double> qdd_step, lambda_step;
};

// Solves H qdd + C - K' lambda = tau, K qdd = k for qdd, lambda, and the accelerations of the links in `work`.
//
// Each iteration solves [H, K'; K, -mu] for the residuals of both, formed anew from the accelerations of all links, so
// that neither mu nor the rounding of the factors stays. Where it does not converge, mu becomes `stiffening` times as
// large, at most `levels` - 1 times. Returns the number of solutions and of factorizations, and the last relative step
// of the accelerations.
std::tuple<Index, Index, double> proximal_iterations(const Links& links, const FrontPlan& plan,
                                                     const TreeMotion& motion, View<const Force> external,
                                                     View<const LoopEnds> ends, View<const Index> first_row,
                                                     View<const LoopRow> rows, View<const double> gamma,
                                                     View<const double> mu, View<const bool> is_prescribed,
                                                     View<const double> prescribed_qdd, Index levels,
                                                     double stiffening, const ProximalWork& work, View<double> qdd,
                                                     View<double> lambda);

}  // namespace sparsebody::tree
