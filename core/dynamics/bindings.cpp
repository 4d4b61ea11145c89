#include "dynamics/reduced.hpp"
#include "python/signature.hpp"

namespace sparsebody {

void bind_dynamics_planar(nb::module_& m);
void bind_dynamics_spatial(nb::module_& m);

void bind_dynamics(nb::module_& m) {
  bind_dynamics_spatial(m);
  bind_dynamics_planar(m);
  def_kernel<"fill_complementary_reactions(bodies, joints, joint_rows, predecessor, successor, row_joint, rows, "
             "required, multiplier)">(m, &fill_complementary_reactions);
  def_kernel<"rows_on_freedoms(row_joint, ends, rows, to_freedoms, inverse, reduced)">(m, &rows_on_freedoms);
  def_kernel<"locally_independent_rows(first_row, is_within, reduced, size, is_prescribed)">(
      m, &locally_independent_rows);
  def_kernel<"reaction_tree(begin, incident, ends, freedoms, n_dropped)">(m, &reaction_tree);
}

}  // namespace sparsebody
