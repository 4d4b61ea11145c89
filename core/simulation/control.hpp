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
  // Memory of its arguments, always the same: Python holds it.
  View<double, 2> position, orientation, velocity;
  View<double> coordinate;
  View<double, 2> wrench;

  // Adds the wrenches at a state to `load`; returns what the function does. The coordinates are filled before.
  int add_wrenches(double time, const model::BodyMotions& bodies, View<double, 2> load) const {
    std::copy(bodies.position.begin(), bodies.position.end(), position.begin());
    std::copy(bodies.orientation.begin(), bodies.orientation.end(), orientation.begin());
    std::copy(bodies.velocity.begin(), bodies.velocity.end(), velocity.begin());
    std::fill(wrench.begin(), wrench.end(), 0.0);
    const int failure = reinterpret_cast<ControlFunction>(function)(
        time, position.rows(), position.data(), orientation.data(), velocity.data(), coordinate.data(), wrench.data(),
        reinterpret_cast<void*>(data));
    for (Index k = 0; k < load.size(); ++k) load.data()[k] += wrench.data()[k];
    return failure;
  }
};

}  // namespace sparsebody::simulation
