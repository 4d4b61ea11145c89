// [J' E'; A -C] [w; u] = [f; 0], the exact transpose of Newton's matrix at the end of an implicit step:
// J = K + (c D + b M) T(y)^-1, for dv = c dy and d(dv/dt) = b dy (simulation/implicit_equations.hpp).
//
// K, D, M: derivatives of the force residual F with respect to twists, velocities, accelerations; T(y): tangent of exp
// on SE(3); E: derivative of the joints' errors with respect to twists, A where they are closed. Elastic elements enter
// as forces, in K and D. Newton's factors are those of [H A'; A -C], H the symmetric part of J's diagonal blocks, and
// refinement with J' corrects the difference: Higham (2002), Accuracy and Stability of Numerical Algorithms, ch. 12.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "linearization/motion_residuals.hpp"
#include "simulation/newton.hpp"

namespace sparsebody::linearization {

// The displacements y (n, 6) of T at the end of a step, and b and c of Newton's matrix.
struct EndOfStep {
  View<const double, 2> displacement;
  double b, c;
};

class TransposedStep {
 public:
  // Newton's equations, their joint rows set, and their residuals; compliance: the diagonal of C; length: makes an
  // angle a distance [m].
  TransposedStep(implicit::Newton& newton, implicit::Equations& equations, const implicit::Residual& residual,
                 const Inertias& inertias, View<const double> compliance, double length)
      : newton_(newton), equations_(equations), residual_(residual), inertias_(inertias), compliance_(compliance),
        length_(length), no_rows_(compliance.size()), row_(compliance.size()), force_({inertias.mass.size(), 6}),
        velocity_({inertias.mass.size(), 6}), inertia_gradient_({inertias.mass.size(), 6}),
        mass_gradient_(inertias.mass.size()), gravity_gradient_(3) {}

  // Fills w (n, 6) and u (n_rows,); `effort` (n_springs,) is scratch of the product. False if refinement does not
  // converge: the terms missing from the factors are too large.
  bool solve(const MotionResiduals& motion, const EndOfStep& end, View<const double, 2> force, View<double> effort,
             View<double, 2> w, View<double> u) {
    std::fill(w.begin(), w.end(), 0.0), std::fill(u.begin(), u.end(), 0.0);
    std::copy(force.begin(), force.end(), force_.begin()), std::fill(row_.begin(), row_.end(), 0.0);
    double size = std::numeric_limits<double>::infinity();
    for (int k = 0; k < most_refinements; ++k) {
      const double last = size;
      size = size_of(correct(w, u));
      const double contraction = size / last, solution = size_of(w), relative = solution > 0.0 ? size / solution : size;
      if (!(contraction < slow)) return relative <= rounded;
      if (relative * std::max(contraction, relative) <= refined) return true;  // the next change is smaller by this
      set_residual(motion, end, force, effort, w, u);
    }
    return false;
  }

 private:
  static constexpr int most_refinements = 30;
  static constexpr double refined = 1e-14;  // predicted change, relative, at which refinement ends
  static constexpr double rounded = 1e-9;   // last change, relative, up to which a stalled refinement has converged
  static constexpr double slow = 0.5;       // contraction from which on it has stalled

  // Adds the solution by the factors for the present residuals, and returns its twists.
  View<const double, 2> correct(View<double, 2> w, View<double> u) {
    for (Index i = 0; i < force_.size(); ++i) residual_.force.data()[i] = -force_.data()[i];  // Newton::solve negates
    std::fill(residual_.row.begin(), residual_.row.end(), 0.0);
    for (Index k = 0; k < row_.size(); ++k) residual_.row[k] = -row_[k];
    const implicit::Correction& change = newton_.solve();
    for (Index i = 0; i < w.size(); ++i) w.data()[i] += change.twist.data()[i];
    for (Index k = 0; k < u.size(); ++k) u[k] += change.multiplier[k];
    return change.twist;
  }

  // Sets the residuals f - J' w - E' u and C u - A w.
  void set_residual(const MotionResiduals& motion, const EndOfStep& end, View<const double, 2> force,
                    View<double> effort, View<const double, 2> w, View<const double> u) {
    motion.vjp(w, no_rows_,
               {force_, velocity_, mass_gradient_, inertia_gradient_, gravity_gradient_, effort, {}, {}, {}, {}, {}});
    equations_.add_error_forces(u, force_);
    for (Index i = 0; i < w.rows(); ++i) {
      const auto [angular, linear] = Motion<double>::load(&w(i, 0));
      const Force<double> momentum{Mat3<double>::load(&inertias_.inertia(i, 0, 0)) * angular, inertias_.mass[i] * linear};
      const Force<double> by_rates = end.c * Force<double>::load(&velocity_(i, 0)) + end.b * momentum;
      const auto y = Motion<double>::load(&end.displacement(i, 0));
      (Force<double>::load(&force(i, 0)) - Force<double>::load(&force_(i, 0)) - inverse_tangent_transposed(y, by_rates))
          .store(&force_(i, 0));
    }
    equations_.row_products(w, row_);
    for (Index k = 0; k < u.size(); ++k) row_[k] = compliance_[k] * u[k] - row_[k];
  }

  // The largest component of twists [m], angles times the length; NaN if one is.
  double size_of(View<const double, 2> twist) const {
    double most = 0.0;
    for (Index i = 0; i < twist.rows(); ++i)
      for (int a = 0; a < 6; ++a) {
        const double number = std::abs(twist(i, a)) * (a < 3 ? length_ : 1.0);
        if (number > most || number != number) most = number;
      }
    return most;
  }

  implicit::Newton& newton_;
  implicit::Equations& equations_;
  implicit::Residual residual_;
  Inertias inertias_;
  View<const double> compliance_;
  double length_;
  Array<double> no_rows_, row_;
  Array<double, 2> force_, velocity_, inertia_gradient_;  // the last and the next two: outputs of vjp, discarded
  Array<double> mass_gradient_, gravity_gradient_;
};

}  // namespace sparsebody::linearization
