// The ends of several steps that one call takes.
#pragma once

#include <algorithm>
#include <chrono>

#include "model/joint_motion.hpp"

namespace sparsebody::simulation {

inline constexpr std::chrono::milliseconds patience{50};  // of several steps, so that Python can handle signals

// Memory for states, accelerations and multipliers at k times.
struct Ends {
  View<double, 3> position, orientation, velocity;  // (k, n, .)
  View<double, 2> coordinate;                       // (k, n_coordinates)
  View<double, 3> acceleration;
  View<double, 2> multiplier;                       // (k, n_rows), or (k, 0) where steps have none of their own

  void keep(Index k, const model::BodyMotions& bodies, View<const double> coordinates, View<const double, 2> accelerations,
            View<const double> multipliers) const {
    const auto copy = [](const auto& from, const auto& to) { std::copy(from.begin(), from.end(), to.begin()); };
    copy(bodies.position, position[k]), copy(bodies.orientation, orientation[k]), copy(bodies.velocity, velocity[k]);
    copy(coordinates, coordinate[k]), copy(accelerations, acceleration[k]), copy(multipliers, multiplier[k]);
  }
};

}  // namespace sparsebody::simulation
