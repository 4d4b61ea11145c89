#include "model/poses.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_simulation_implicit(nb::module_& module);

void bind_simulation(nb::module_& module) {
  bind_simulation_implicit(module);
  def_kernel(
      module, "pose_rates",
      [](View<const double, 2> orientation, View<const double, 2> velocity) {
        auto [x, q] = model::pose_rates(orientation, velocity);
        return std::tuple(std::move(x), std::move(q));
      },
      nb::arg("orientation"), nb::arg("velocity"));
  def_kernel(
      module, "normalize",
      [](View<double, 2> orientation) {
        for (Index i = 0; i < orientation.rows(); ++i) model::normalize_quaternion(&orientation(i, 0));
      },
      nb::arg("orientation"), "Gives every quaternion unit length.");
}

}  // namespace sparsebody
