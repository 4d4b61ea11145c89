#include "dynamics/reduced.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_dynamics_reduced(nb::module_& module) {
  using namespace nb::literals;
  def_kernel(module, "fill_complementary_reactions", &fill_complementary_reactions, "bodies"_a, "joints"_a,
             "joint_rows"_a, "predecessor"_a, "successor"_a, "row_joint"_a, "rows"_a, "required"_a, "multiplier"_a);
  def_kernel(module, "rows_on_freedoms", &rows_on_freedoms, "row_joint"_a, "ends"_a, "rows"_a, "to_freedoms"_a,
             "inverse"_a, "reduced"_a);
  def_kernel(module, "locally_independent_rows", &locally_independent_rows, "first_row"_a, "is_within"_a,
             "reduced"_a, "size"_a, "is_prescribed"_a);
  def_kernel(module, "reaction_tree", &reaction_tree, "begin"_a, "incident"_a, "ends"_a, "freedoms"_a,
             "n_dropped"_a);
}

}  // namespace sparsebody
