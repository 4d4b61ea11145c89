// Wrenches on the bodies by a C function that the user gives.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/vec.hpp"
#include "model/poses.hpp"

namespace sparsebody::simulation {

// Fills `wrench` (n, 6), zero before, with wrenches about the centers of mass in body axes, moment first [N m, N], at a
// time and a state: position (n, 3), unit quaternions (n, 4), velocity (n, 6) in body axes, tracked coordinates.
// Anything but 0 ends the motion. From C:
//
//   int control(double time, ptrdiff_t n_bodies, const double *position, const double *orientation,
//               const double *velocity, const double *coordinate, double *wrench, void *data);
using ControlFunction = int (*)(double time, Index n_bodies, const double* position, const double* orientation,
                                const double* velocity, const double* coordinate, double* wrench, void* data);

struct Control {
  std::uintptr_t function = 0, data = 0;  // their addresses
  View<double> coordinate;  // memory that Python holds
  View<double, 2> wrench;

  static constexpr int not_finite = -1;

  // Adds the wrenches at a state to `load`; returns what the function does, or `not_finite` if a wrench is not, though the
  // velocities are. The coordinates are filled before.
  int add_wrenches(double time, const model::BodyMotions& bodies, View<double, 2> load) const {
    std::fill(wrench.begin(), wrench.end(), 0.0);
    const int failure = reinterpret_cast<ControlFunction>(function)(
        time, wrench.rows(), bodies.position.data(), bodies.orientation.data(), bodies.velocity.data(), coordinate.data(),
        wrench.data(), reinterpret_cast<void*>(data));
    Index n_infinite = 0, n_of_state = 0;  // x - x is zero unless x is infinite or NaN
    for (Index k = 0; k < load.size(); ++k) {
      const double x = wrench.data()[k], v = bodies.velocity.data()[k];
      load.data()[k] += x, n_infinite += !(x - x == 0.0), n_of_state += !(v - v == 0.0);
    }
    return failure == 0 && n_infinite > 0 && n_of_state == 0 ? not_finite : failure;
  }
};

}  // namespace sparsebody::simulation
