#include "model/poses.hpp"
#include "python/signature.hpp"

namespace sparsebody {

template <> inline constexpr bool is_named_tuple<model::Poses> = true;

void bind_simulation_implicit(nb::module_& m);

void bind_simulation(nb::module_& m) {
  bind_simulation_implicit(m);
  def_kernel<"pose_rates(orientation, velocity)">(m, &model::pose_rates);
  def_kernel<"normalize(orientation)">(
      m,
      [](View<double, 2> orientation) {
        for (Index i = 0; i < orientation.rows(); ++i) model::normalize_quaternion(&orientation(i, 0));
      },
      "Gives every quaternion unit length.");
}

}  // namespace sparsebody
