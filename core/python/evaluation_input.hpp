// The arrays that Python gives to an evaluation.
#pragma once

#include <cmath>
#include <optional>

#include "dynamics/spatial_workspace.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

// The arrays of a state are taken as they are; other ones raise TypeError.
struct StateArrays {
  View<double, 2> position, orientation, velocity;
  View<double> coordinate;
  double time;
};

struct GeneralArrays {
  View<const double, 2> load;
  View<const double, 3> general_rows;
  View<const double> general_gamma, stabilization;
};

inline EvaluationInput checked_input(Index n_bodies, Index n_coordinates, const StateArrays& state,
                                     const GeneralArrays& in = {}) {
  if (state.position.shape() != std::array{n_bodies, Index(3)} ||
      state.orientation.shape() != std::array{n_bodies, Index(4)} ||
      state.velocity.shape() != std::array{n_bodies, Index(6)} || state.coordinate.size() != n_coordinates ||
      !std::isfinite(state.time))
    throw nb::type_error("the arrays are no state of the system");
  return {state.position, state.orientation, state.velocity, in.load, in.general_rows, in.general_gamma,
          in.stabilization};
}

// Runs f, without the GIL where that pays.
template <class F>
auto run_released(Index n_bodies, F&& f) {
  constexpr Index few_bodies = 50;  // evaluations of fewer take less time than releasing the GIL is worth
  std::optional<nb::gil_scoped_release> released;
  if (n_bodies > few_bodies) released.emplace();
  return f();
}

}  // namespace sparsebody
