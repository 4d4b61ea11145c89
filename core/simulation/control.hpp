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

  // Fills `wrench` at a state; returns what the function does, or `not_finite` if a wrench is not, though the velocities
  // are. The coordinates are filled before.
  int fill_wrenches(double time, const model::BodyMotions& bodies) const {
    std::fill(wrench.begin(), wrench.end(), 0.0);
    const int failure = reinterpret_cast<ControlFunction>(function)(
        time, wrench.rows(), bodies.position.data(), bodies.orientation.data(), bodies.velocity.data(), coordinate.data(),
        wrench.data(), reinterpret_cast<void*>(data));
    const auto count_infinite = [](View<const double, 2> of) {
      Index n = 0;
      for (const double x : of) n += !(x - x == 0.0);  // unless x is infinite or NaN
      return n;
    };
    return failure == 0 && count_infinite(wrench) > 0 && count_infinite(bodies.velocity) == 0 ? not_finite : failure;
  }
};

}  // namespace sparsebody::simulation
