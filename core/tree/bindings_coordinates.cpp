#include "tree/aba.hpp"
#include "tree/coordinates.hpp"
#include "tree/crba.hpp"
#include "tree/frames.hpp"
#include "tree/loop_origins.hpp"
#include "tree/ltl.hpp"
#include "tree/named_tuples.hpp"
#include "tree/tree_rows.hpp"

namespace sparsebody {

namespace tree {

using Quaternion = std::array<double, 4>;

// Accelerations of the bodies (n) at their poses and velocities, with tau, gravity and nothing else acting.
static void accelerations_at_bodies(const Links& links, View<const Vec3> position, View<const Quaternion> orientation,
                                    View<const Motion> velocity, View<const double> tau, const TreeMotion& motion,
                                    const Articulated& work, View<double> qdd, View<Motion> acceleration) {
  motion_from_bodies(links, {position, orientation, velocity}, motion);
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

void bind_tree_coordinates(nb::module_& module) {
  using namespace tree;
  using nb::arg;
  def_kernel(module, "motion_from_coordinates", &motion_from_coordinates, arg("links"), arg("q"), arg("qd"),
             arg("motion"));
  def_kernel(
      module, "motion_from_bodies",
      [](const Links& links, View<const tree::Vec3> position, View<const Quaternion> orientation,
         View<const tree::Motion> velocity, const TreeMotion& motion) {
        motion_from_bodies(links, {position, orientation, velocity}, motion);
      },
      arg("links"), arg("position"), arg("orientation"), arg("velocity"), arg("motion"));
  def_kernel(
      module, "coordinates_from_bodies",
      [](const Links& links, View<const tree::Vec3> position, View<const Quaternion> orientation,
         View<const tree::Motion> velocity, const TreeMotion& work, View<double> q, View<double> qd) {
        coordinates_from_bodies(links, {position, orientation, velocity}, work, q, qd);
      },
      arg("links"), arg("position"), arg("orientation"), arg("velocity"), arg("work"), arg("q"), arg("qd"));
  def_kernel(module, "bodies_from_motion", &bodies_from_motion, arg("links"), arg("motion"), arg("position"),
             arg("orientation"), arg("velocity"));
  def_kernel(module, "position_rates", &position_rates, arg("links"), arg("q"), arg("qd"), arg("rate"));
  def_kernel(module, "velocities_of_rates", &velocities_of_rates, arg("links"), arg("q"), arg("rate"), arg("second"),
             arg("qd"), arg("qdd"));

  def_kernel(module, "accelerations_at_bodies", &accelerations_at_bodies, arg("links"), arg("position"),
             arg("orientation"), arg("velocity"), arg("tau"), arg("motion"), arg("work"), arg("qdd"),
             arg("acceleration"));
  def_kernel(module, "accelerations_at_coordinates", &accelerations_at_coordinates, arg("links"), arg("q"),
             arg("qd"), arg("tau"), arg("motion"), arg("work"), arg("qdd"));
  def_kernel(module, "inertia_factor", &inertia_factor, arg("links"), arg("q"), arg("qd"), arg("pattern"),
             arg("motion"), arg("composite"), arg("L"));

  def_kernel(module, "loop_rows_about_one_origin", &loop_rows_about_one_origin, arg("links"), arg("motion"),
             arg("velocity_product"), arg("is_floating"), arg("ends"), arg("rotation"), arg("point"), arg("T"),
             arg("bias"), arg("row_start"), arg("local"), arg("values"), arg("k"));
  def_kernel(module, "tree_multipliers", &tree_multipliers, arg("links"), arg("motion"), arg("joint"),
             arg("first_row"), arg("T"), arg("transmitted"), arg("multiplier"));
  def_kernel(module, "add_stabilization", &add_stabilization, arg("links"), arg("motion"), arg("joint"),
             arg("first_row"), arg("T"), arg("k_stab"));
}

}  // namespace sparsebody
