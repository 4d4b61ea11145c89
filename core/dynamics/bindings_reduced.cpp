#include "dynamics/reduced.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_dynamics_reduced(nb::module_& module) {
  using namespace nb::literals;
  def_kernel(module, "fill_complementary_reactions", &fill_complementary_reactions, "bodies"_a, "joints"_a,
             "joint_rows"_a, "predecessor"_a, "successor"_a, "row_joint"_a, "rows"_a, "required"_a, "multiplier"_a);
}

}  // namespace sparsebody
