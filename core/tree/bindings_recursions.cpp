#include "tree/aba.hpp"
#include "tree/crba.hpp"
#include "tree/frames.hpp"
#include "tree/ltl.hpp"
#include "tree/named_tuples.hpp"
#include "tree/rnea.hpp"

namespace sparsebody {

void bind_tree_recursions(nb::module_& module) {
  using namespace tree;
  using nb::arg;
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
  def_kernel(module, "solve_upper", &solve_upper, arg("pattern"), arg("L"), arg("rows"));
  def_kernel(module, "solve_lower", &solve_lower, arg("pattern"), arg("L"), arg("rows"));
  def_kernel(module, "solve_ltdl", &solve_ltdl, arg("pattern"), arg("LD"), arg("rows"));

  def_kernel(module, "link_forces", &link_forces, arg("links"), arg("motion"), arg("body"), arg("link"));
  def_kernel(module, "body_accelerations", &body_accelerations, arg("links"), arg("motion"), arg("link"), arg("body"));
  def_kernel(module, "joint_accelerations", &joint_accelerations, arg("links"), arg("motion"), arg("body"),
             arg("qdd"));
  def_kernel(module, "largest_inertial_term", &largest_inertial_term, arg("mass"), arg("inertia"), arg("velocity"),
             arg("acceleration"), arg("weight"));
  def_kernel(module, "body_jacobian", &body_jacobian, arg("links"), arg("motion"), arg("link"));
}

}  // namespace sparsebody
