// Predictor of the generalized-alpha method on SE(3). Bruels, Cardona and Arnold (2012), Mech. Mach. Theory 48:121.
#pragma once

#include <algorithm>
#include <cmath>

#include "simulation/implicit_equations.hpp"

namespace sparsebody::implicit {

struct AlphaCoefficients {
  double alpha_m, alpha_f, beta, gamma;
};
// The start of a step: velocities, dv/dt and algorithmic accelerations a, all (n, 6), and multipliers (n_rows,).
struct AlphaStart {
  View<const double, 2> velocity, acceleration, algorithmic;
  View<const double> multiplier;
};

// Fills the unknowns at the end with dv/dt and multipliers of the start:
//   a_1 = (dv/dt - alpha_m a_0) / (1 - alpha_m),  y = h v_0 + h^2 ((1/2 - beta) a_0 + beta a_1),
//   v_1 = v_0 + h ((1 - gamma) a_0 + gamma a_1).
// Returns the largest angular and linear dv/dt.
inline std::pair<double, double> predict(const AlphaCoefficients& method, const AlphaStart& start, double h,
                                         const End& end) {
  double angular = 0.0, linear = 0.0;
  for (Index i = 0; i < start.velocity.rows(); ++i)
    for (Index a = 0; a < 6; ++a) {
      const double v = start.velocity(i, a), rate = start.acceleration(i, a), algorithmic = start.algorithmic(i, a);
      const double next = (rate - method.alpha_m * algorithmic) / (1.0 - method.alpha_m);
      end.displacement(i, a) = h * v + h * h * ((0.5 - method.beta) * algorithmic + method.beta * next);
      end.velocity(i, a) = v + h * ((1.0 - method.gamma) * algorithmic + method.gamma * next);
      end.acceleration(i, a) = rate;
      double& largest = a < 3 ? angular : linear;
      largest = std::max(largest, std::abs(rate));
    }
  std::copy(start.multiplier.begin(), start.multiplier.end(), end.multiplier.begin());
  return {angular, linear};
}

// a_1 = ((v_1 - v_0) / h - (1 - gamma) a_0) / gamma
inline Array<double, 2> next_algorithmic_acceleration(const AlphaCoefficients& method, const AlphaStart& start,
                                                      double h, const End& end) {
  auto algorithmic = Array<double, 2>::uninitialized(start.algorithmic.shape());
  for (Index k = 0; k < algorithmic.size(); ++k) {
    const double v_0 = start.velocity.data()[k], a_0 = start.algorithmic.data()[k], v_1 = end.velocity.data()[k];
    algorithmic.data()[k] = (v_1 - (v_0 + h * (1.0 - method.gamma) * a_0)) / (h * method.gamma);
  }
  return algorithmic;
}

}  // namespace sparsebody::implicit
