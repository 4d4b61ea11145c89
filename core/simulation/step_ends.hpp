// The ends of several steps that one call takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "model/poses.hpp"

namespace sparsebody::simulation {

inline constexpr std::chrono::milliseconds patience{20};  // of several steps, so that Python can handle signals

// States, accelerations and multipliers at k times.
struct Ends {
  Array<double, 3> position, orientation, velocity;  // (k, n, .)
  Array<double, 2> coordinate;                       // (k, n_coordinates)
  Array<double, 3> acceleration;
  Array<double, 2> multiplier;                       // (k, n_rows), or (k, 0) where steps have none of their own
};

// The numbers of such ends, in memory that is used again.
class EndNumbers {
 public:
  void clear() {
    for (auto* numbers : {&position_, &orientation_, &velocity_, &coordinate_, &acceleration_, &multiplier_}) numbers->clear();
    count_ = 0;
  }
  void append(const model::BodyMotions& bodies, View<const double> coordinate, View<const double, 2> acceleration,
              View<const double> multiplier) {
    const auto add = [](const auto& from, std::vector<double>& to) { to.insert(to.end(), from.begin(), from.end()); };
    add(bodies.position, position_), add(bodies.orientation, orientation_), add(bodies.velocity, velocity_);
    add(coordinate, coordinate_), add(acceleration, acceleration_), add(multiplier, multiplier_);
    ++count_;
  }
  Ends ends(Index n_bodies) const {
    const auto of_bodies = [&](const std::vector<double>& numbers, Index width) {
      return Array<double, 3>(View<const double, 3>(numbers.data(), {count_, n_bodies, width}));
    };
    const auto row = [&](const std::vector<double>& numbers) {
      return Array<double, 2>(View<const double, 2>(numbers.data(), {count_, Index(numbers.size()) / std::max(count_, Index(1))}));
    };
    return {of_bodies(position_, 3), of_bodies(orientation_, 4), of_bodies(velocity_, 6), row(coordinate_),
            of_bodies(acceleration_, 6), row(multiplier_)};
  }

 private:
  Index count_ = 0;
  std::vector<double> position_, orientation_, velocity_, coordinate_, acceleration_, multiplier_;
};

}  // namespace sparsebody::simulation
