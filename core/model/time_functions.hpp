// Functions of time with their first two derivatives: polynomials, sinusoids and smooth steps.
#pragma once

#include <cmath>

#include "base/array.hpp"

namespace sparsebody::model {

// Function k has parameters parameter[first[k]] .. parameter[first[k + 1] - 1] (first has n + 1 entries), ordered as the
// fields of the Python classes; coefficients in ascending powers.
struct TimeFunctions {
  enum Kind : Index { polynomial, sinusoid, smooth_step, other };
  View<const Index> kind, first;
  View<const double> parameter;

  // Fills values and derivatives (n, 3) of all functions of these kinds, not of `other` ones.
  void fill(double t, View<double, 2> values) const {
    for (Index k = 0; k < kind.size(); ++k) {
      const double* const c = parameter.data() + first[k];
      double* const out = &values(k, 0);
      if (kind[k] == polynomial) {
        out[0] = out[1] = out[2] = 0.0;
        for (Index i = first[k + 1] - first[k] - 1; i >= 0; --i) {  // Horner
          out[2] = out[2] * t + 2.0 * out[1];
          out[1] = out[1] * t + out[0];
          out[0] = out[0] * t + c[i];
        }
      } else if (kind[k] == sinusoid) {  // amplitude, angular frequency, phase, offset
        const double a = c[0], w = c[1], s = std::sin(w * t + c[2]);
        out[0] = c[3] + a * s, out[1] = a * w * std::cos(w * t + c[2]), out[2] = -a * w * w * s;
      } else if (kind[k] == smooth_step) {  // start, end, duration, delay
        const double rise = c[1] - c[0], T = c[2], s = std::min(std::max((t - c[3]) / T, 0.0), 1.0);
        out[0] = s < 1.0 ? c[0] + rise * (s * s * s * (10.0 + s * (6.0 * s - 15.0))) : c[1];
        out[1] = rise * (30.0 * s * s * (1.0 - s) * (1.0 - s) / T);
        out[2] = rise * (60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / (T * T));
      }
    }
  }
};

}  // namespace sparsebody::model
