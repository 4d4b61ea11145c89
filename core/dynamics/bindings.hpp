// What the bindings of all evaluations of forward dynamics share.
#pragma once

#include <cmath>
#include <optional>

#include "dynamics/spatial_workspace.hpp"
#include "python/signature.hpp"

namespace sparsebody {

using Vector = View<double>;
using Table = View<double, 2>;
using Matrices = View<double, 3>;
using Values = View<const double>;
using Loads = View<const double, 2>;
using Rows = View<const double, 3>;

// Runs f, without the GIL where that pays.
template <class F>
auto unlocked(Index n_bodies, F&& f) {
  constexpr Index few_bodies = 50;  // evaluations of fewer take less time than releasing the GIL is worth
  std::optional<nb::gil_scoped_release> released;
  if (n_bodies > few_bodies) released.emplace();
  return f();
}

// The arrays of a state are taken as they are; others raise TypeError.
template <class E>
void check_state(const E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time) {
  using Shape = Table::Shape;
  const Index n = self.n_bodies();
  if (position.shape() != Shape{n, 3} || orientation.shape() != Shape{n, 4} || velocity.shape() != Shape{n, 6} ||
      coordinate.size() != self.n_coordinates() || !std::isfinite(time))
    throw nb::type_error("the arrays are no state of the system");
}

template <class E>
void def_evaluation(nb::class_<E>& type) {
  def<"assemble(position, orientation, velocity, coordinate, time, load, general_rows, general_gamma, stabilization)">(
      type,
      [](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time, Loads load,
         Rows general_rows, Values general_gamma, Values stabilization) {
        check_state(self, position, orientation, velocity, coordinate, time);
        const EvaluationInput in{position, orientation, velocity, load, general_rows, general_gamma, stabilization};
        return Index(unlocked(self.n_bodies(), [&] { return self.assemble(in); }));
      },
      "Fill rows and right-hand side at a state; return the status.");
  def<"accelerate(position, orientation, velocity, coordinate, time, load, general_rows, general_gamma, stabilization, "
      "acceleration, multiplier)">(
      type,
      [](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time, Loads load,
         Rows general_rows, Values general_gamma, Values stabilization, Table acceleration, Vector multiplier) {
        check_state(self, position, orientation, velocity, coordinate, time);
        if (acceleration.shape() != Table::Shape{self.n_bodies(), 6})
          throw nb::type_error("accelerations are (n_bodies, 6)");
        const EvaluationInput in{position, orientation, velocity, load, general_rows, general_gamma, stabilization};
        return result(unlocked(self.n_bodies(), [&] { return self.accelerate(in, acceleration, multiplier); }));
      },
      "Assemble, factorize and solve at once; return the status, and where it is not kept how accurate the solution is.");
  def<"to_user_order(acceleration, multiplier)">(
      type, [](E& self, Table acceleration, Vector multiplier) { self.to_user_order(acceleration, multiplier); },
      "Fill accelerations, and multipliers if there are any, in the user's numbering and units.");
}

// factors: what has threads, too; null where other factorizations solve.
template <class E, class Factors>
void def_threads(nb::class_<E>& type, Factors* E::*factors) {
  type.def_prop_rw(
      "threads", [](const E& self) { return self.threads; },
      [factors](E& self, Index threads) {
        self.threads = threads;
        if (self.*factors != nullptr) (self.*factors)->threads = threads;
      },
      "Threads that an evaluation may use; its result does not depend on them.");
}

}  // namespace sparsebody
