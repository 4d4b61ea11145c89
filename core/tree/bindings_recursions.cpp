#include "tree/aba.hpp"
#include "tree/tree_motion.hpp"
#include "tree/crba.hpp"
#include "tree/frames.hpp"
#include "tree/branch_sparsity.hpp"
#include "tree/named_tuples.hpp"
#include "tree/rnea.hpp"

namespace sparsebody {

namespace tree {

// Accelerations of the bodies (n) at their poses and velocities, with tau, gravity and nothing else acting.
static void accelerations_at_bodies(const Links& links, const BodyStates& bodies, View<const double> tau,
                                    const TreeMotion& motion, const Articulated& work, View<double> qdd,
                                    View<Motion> acceleration) {
  motion_from_bodies(links, bodies, motion);
  articulated_body(links, motion, tau, {}, {}, work, qdd);
  body_accelerations(links, motion, work.a, acceleration);
}

// qdd at joint coordinates.
static void accelerations_at_coordinates(const Links& links, View<const double> q, View<const double> qd,
                                         View<const double> tau, const TreeMotion& motion, const Articulated& work,
                                         View<double> qdd) {
  motion_from_coordinates(links, q, qd, motion);
  articulated_body(links, motion, tau, {}, {}, work, qdd);
}

// L of H = L' L at joint positions; returns what factorize_ltl does.
static Index inertia_factor(const Links& links, View<const double> q, View<const double> qd,
                            const BranchPattern& pattern, const TreeMotion& motion, View<CompositeInertia> composite,
                            View<double> L) {
  motion_from_coordinates(links, q, qd, motion);
  composite_rigid_body(links, motion, pattern, composite, L);
  return factorize_ltl(pattern, L);
}

}  // namespace tree

void bind_tree_recursions(nb::module_& m) {
  using namespace tree;
  def_kernel<"motion_from_coordinates(links, q, qd, motion)">(m, &motion_from_coordinates);
  def_kernel<"motion_from_bodies(links, bodies, motion)">(m, &motion_from_bodies);
  def_kernel<"positions_of_motion(links, motion, q)">(m, &positions_of_motion);
  def_kernel<"bodies_from_motion(links, motion, position, orientation, velocity)">(m, &bodies_from_motion);
  def_kernel<"position_rates(links, q, qd, rate)">(m, &position_rates);
  def_kernel<"velocities_of_rates(links, q, rate, second, qd, qdd)">(m, &velocities_of_rates);

  def_kernel<"accelerations_at_bodies(links, bodies, tau, motion, work, qdd, acceleration)">(
      m, &accelerations_at_bodies);
  def_kernel<"accelerations_at_coordinates(links, q, qd, tau, motion, work, qdd)">(m, &accelerations_at_coordinates);
  def_kernel<"inertia_factor(links, q, qd, pattern, motion, composite, L)">(m, &inertia_factor);

  def_kernel<"tree_multipliers(links, motion, joint, first_row, T, transmitted, multiplier)">(m, &tree_multipliers);
  def_kernel<"add_stabilization(links, motion, joint, first_row, T, k_stab)">(m, &add_stabilization);

  def_kernel<"symmetric(pattern, values)">(m, &symmetric);
  def_kernel<"multiply(pattern, H, x, y)">(m, &multiply);
  def_kernel<"decouple(pattern, is_prescribed, H)">(m, &decouple);

  def_kernel<"link_accelerations(links, motion, qdd, acceleration)">(m, &link_accelerations);
  def_kernel<"recursive_newton_euler(links, motion, qdd, external, acceleration, transmitted, tau)">(
      m, &recursive_newton_euler);
  def_kernel<"articulated_body(links, motion, tau, external, is_prescribed, work, qdd)">(m, &articulated_body);
  def_kernel<"composite_rigid_body(links, motion, pattern, composite, H)">(m, &composite_rigid_body);

  def_kernel<"factorize_ltl(pattern, H)">(m, &factorize_ltl);
  def_kernel<"factorize_ltdl(pattern, H)">(m, &factorize_ltdl);
  def_kernel<"solve_upper(pattern, L, rows)">(m, &solve_upper<>);
  def_kernel<"solve_lower(pattern, L, rows)">(m, &solve_lower<>);
  def_kernel<"solve_ltdl(pattern, LD, rows)">(m, &solve_ltdl);

  def_kernel<"link_forces(links, motion, body, link)">(m, &link_forces);
  def_kernel<"body_accelerations(links, motion, link, body)">(m, &body_accelerations);
  def_kernel<"largest_inertial_term(mass, inertia, velocity, acceleration, weight)">(m, &largest_inertial_term);
  def_kernel<"joint_accelerations(links, motion, body, qdd)">(m, &joint_accelerations);
}

}  // namespace sparsebody
