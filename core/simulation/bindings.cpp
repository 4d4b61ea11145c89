#include "model/momentum.hpp"
#include "python/arrays.hpp"
#include "simulation/constraint_errors.hpp"
#include "simulation/pose_curves.hpp"

namespace sparsebody {

namespace {

using Rows = View<const double, 2>;

}  // namespace

void bind_simulation(nb::module_& module) {
  module.def(
      "pose_derivatives",
      [](Rows orientation, Rows velocity, Rows acceleration) {
        auto [rate, curvature] = simulation::pose_derivatives(orientation, velocity, acceleration);
        return std::tuple(std::move(rate), std::move(curvature));
      },
      nb::arg("orientation"), nb::arg("velocity"), nb::arg("acceleration"), "y' and y'' (n, 7) of y = (x, q).");
  module.def(
      "moved",
      [](Rows position, Rows orientation, Rows rate, Rows pose_curvature, Rows rate_curvature, double h) {
        auto [x, q, v] = simulation::moved(position, orientation, rate, pose_curvature, rate_curvature, h);
        return std::tuple(std::move(x), std::move(q), std::move(v));
      },
      nb::arg("position"), nb::arg("orientation"), nb::arg("rate"), nb::arg("pose_curvature"),
      nb::arg("rate_curvature"), nb::arg("h"), "Positions, orientations and velocities after a time h.");
  module.def(
      "constraint_errors",
      [](View<const Index> predecessor, View<const Index> successor, View<const double, 3> predecessor_rotation,
         Rows predecessor_point, View<const double, 3> successor_rotation, Rows successor_point,
         View<const Index> kind, View<const Index> first_row, View<const double> parameter, Rows subspace,
         Rows position, Rows orientation, Rows velocity) {
        const model::JointFrames frames{predecessor,        successor,      predecessor_rotation, predecessor_point,
                                        successor_rotation, successor_point};
        auto [delta, rate] = simulation::constraint_errors(frames, kind, first_row, parameter, subspace,
                                                           {position, orientation, velocity});
        return std::pair(std::move(delta), std::move(rate));
      },
      nb::arg("predecessor"), nb::arg("successor"), nb::arg("predecessor_rotation"), nb::arg("predecessor_point"),
      nb::arg("successor_rotation"), nb::arg("successor_point"), nb::arg("kind"), nb::arg("first_row"),
      nb::arg("parameter"), nb::arg("subspace"), nb::arg("position"), nb::arg("orientation"), nb::arg("velocity"),
      "delta and T' v_J of all rows.");
  module.def(
      "momentum",
      [](View<const double> mass, View<const double, 3> inertia, Rows position, Rows orientation, Rows velocity) {
        const auto [kinetic_energy, total] = model::momentum(mass, inertia, position, orientation, velocity);
        Array<double> out = Array<double>::uninitialized({6});
        total.store(out.data());
        return std::pair(kinetic_energy, std::move(out));
      },
      nb::arg("mass"), nb::arg("inertia"), nb::arg("position"), nb::arg("orientation"), nb::arg("velocity"),
      "Kinetic energy, and the momentum (6,) about the world's origin.");
}

}  // namespace sparsebody
