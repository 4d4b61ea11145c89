#include "tree/aba.hpp"
#include "tree/coordinates.hpp"
#include "tree/crba.hpp"
#include "tree/frames.hpp"
#include "tree/ltl.hpp"
#include "tree/named_tuples.hpp"
#include "tree/rnea.hpp"
#include "tree/tree_rows.hpp"

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

void bind_tree_recursions(nb::module_& module) {
  using namespace tree;
  using nb::arg;
  def_kernel(module, "motion_from_coordinates", &motion_from_coordinates, arg("links"), arg("q"), arg("qd"),
             arg("motion"));
  def_kernel(module, "motion_from_bodies", &motion_from_bodies, arg("links"), arg("bodies"), arg("motion"));
  def_kernel(module, "positions_of_motion", &positions_of_motion, arg("links"), arg("motion"), arg("q"));
  def_kernel(module, "bodies_from_motion", &bodies_from_motion, arg("links"), arg("motion"), arg("position"),
             arg("orientation"), arg("velocity"));
  def_kernel(module, "position_rates", &position_rates, arg("links"), arg("q"), arg("qd"), arg("rate"));
  def_kernel(module, "velocities_of_rates", &velocities_of_rates, arg("links"), arg("q"), arg("rate"), arg("second"),
             arg("qd"), arg("qdd"));

  def_kernel(module, "accelerations_at_bodies", &accelerations_at_bodies, arg("links"), arg("bodies"), arg("tau"),
             arg("motion"), arg("work"), arg("qdd"), arg("acceleration"));
  def_kernel(module, "accelerations_at_coordinates", &accelerations_at_coordinates, arg("links"), arg("q"),
             arg("qd"), arg("tau"), arg("motion"), arg("work"), arg("qdd"));
  def_kernel(module, "inertia_factor", &inertia_factor, arg("links"), arg("q"), arg("qd"), arg("pattern"),
             arg("motion"), arg("composite"), arg("L"));

  def_kernel(module, "tree_multipliers", &tree_multipliers, arg("links"), arg("motion"), arg("joint"),
             arg("first_row"), arg("T"), arg("transmitted"), arg("multiplier"));
  def_kernel(module, "add_stabilization", &add_stabilization, arg("links"), arg("motion"), arg("joint"),
             arg("first_row"), arg("T"), arg("k_stab"));

  def_kernel(module, "lower_triangle", &lower_triangle, arg("pattern"), arg("values"));
  def_kernel(module, "multiply", &multiply, arg("pattern"), arg("H"), arg("x"), arg("y"));
  def_kernel(module, "decouple", &decouple, arg("pattern"), arg("is_prescribed"), arg("H"));

  def_kernel(module, "link_accelerations", &link_accelerations, arg("links"), arg("motion"), arg("qdd"),
             arg("acceleration"));
  def_kernel(module, "recursive_newton_euler", &recursive_newton_euler, arg("links"), arg("motion"), arg("qdd"),
             arg("external"), arg("acceleration"), arg("transmitted"), arg("tau"));
  def_kernel(module, "articulated_body", &articulated_body, arg("links"), arg("motion"),
             arg("tau"), arg("external"), arg("is_prescribed"), arg("work"), arg("qdd"));
  def_kernel(module, "composite_rigid_body", &composite_rigid_body, arg("links"), arg("motion"), arg("pattern"),
             arg("composite"), arg("H"));

  def_kernel(module, "factorize_ltl", &factorize_ltl, arg("pattern"), arg("H"));
  def_kernel(module, "factorize_ltdl", &factorize_ltdl, arg("pattern"), arg("H"));
  def_kernel(module, "solve_upper", &solve_upper<>, arg("pattern"), arg("L"), arg("rows"));
  def_kernel(module, "solve_lower", &solve_lower<>, arg("pattern"), arg("L"), arg("rows"));
  def_kernel(module, "solve_ltdl", &solve_ltdl, arg("pattern"), arg("LD"), arg("rows"));

  def_kernel(module, "link_forces", &link_forces, arg("links"), arg("motion"), arg("body"), arg("link"));
  def_kernel(module, "body_accelerations", &body_accelerations, arg("links"), arg("motion"), arg("link"), arg("body"));
  def_kernel(module, "largest_inertial_term", &largest_inertial_term, arg("mass"), arg("inertia"), arg("velocity"),
             arg("acceleration"), arg("weight"));
  def_kernel(module, "joint_accelerations", &joint_accelerations, arg("links"), arg("motion"), arg("body"),
             arg("qdd"));
}

}  // namespace sparsebody
