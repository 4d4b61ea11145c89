#include "tree/delassus.hpp"
#include "tree/explicit_constraints.hpp"
#include "tree/loop_constraints.hpp"
#include "tree/loops_aba.hpp"
#include "tree/named_tuples.hpp"
#include "tree/tree_search.hpp"

namespace sparsebody {

template <> inline constexpr bool is_named_tuple<tree::BlockLayout> = true;
template <> inline constexpr bool is_named_tuple<tree::LoopTable> = true;
template <> inline constexpr bool is_named_tuple<tree::LoopSystem> = true;
template <> inline constexpr bool is_named_tuple<tree::DelassusGroups> = true;
template <> inline constexpr bool is_named_tuple<tree::ExplicitRows> = true;
template <> inline constexpr bool is_named_tuple<tree::FrontPlan> = true;
template <> inline constexpr bool is_named_tuple<tree::Fronts> = true;
template <> inline constexpr bool is_named_tuple<tree::ProximalWork> = true;

using namespace tree;
using nb::arg;

void bind_tree_recursions(nb::module_& module);

void bind_tree(nb::module_& module) {
  bind_tree_recursions(module);

  nb::class_<JointGraph>(module, "JointGraph", "Bodies and joints; the world is node n_bodies.")
      .def(nb::init<View<const Index, 2>, Index>(), arg("ends"), arg("n_bodies"))
      .def("connected", &JointGraph::connected, arg("root"))
      .def("unite", &JointGraph::unite, arg("joints"))
      .def("unite_with_world", &JointGraph::unite_with_world, arg("body"))
      .def("grow", &JointGraph::grow, arg("roots"), arg("search"), arg("freedoms"), arg("is_free"),
           arg("is_required"), arg("is_usable"), arg("tree_joint"), arg("depth"))
      .def("preorder", &JointGraph::preorder, arg("tree_joint"))
      .def("middle", &JointGraph::middle, arg("bodies"))
      .def("median", &JointGraph::median, arg("bodies"))
      .def("sweep", &JointGraph::sweep, arg("is_usable"))
      .def("reduce_nonzeros", &JointGraph::reduce_nonzeros, arg("freedoms"), arg("movable"), arg("tree_joint"));
  module.def("subtree_ends", &subtree_ends, arg("parent"));
  module.def("depths", &depths, arg("parent"), arg("step"));

  module.def("loop_labels", &loop_labels, arg("parent"), arg("ends"));
  def_kernel(module, "rows_to_links", &rows_to_links, arg("links"), arg("motion"), arg("ends"), arg("rows"));
  def_kernel(module, "fill_loop_blocks", &fill_loop_blocks, arg("links"), arg("motion"), arg("ends"), arg("rows"),
             arg("row_start"), arg("column"), arg("values"));
  def_kernel(module, "free_lengths", &free_lengths, arg("A"), arg("row"), arg("bodies"), arg("inverse_inertia"));
  def_kernel(module, "loop_violation", &loop_violation, arg("blocks"), arg("first_row"), arg("K"), arg("k"), arg("x"),
             arg("acceleration"));

  def_kernel(module, "eliminate", &eliminate, arg("K"), arg("k"), arg("is_independent"), arg("tolerance"),
             arg("row_order"), arg("column_order"));
  def_kernel(module, "eliminate_blocks", &eliminate_blocks, arg("blocks"), arg("first_row"), arg("is_independent"),
             arg("weight"), arg("row_size"), arg("tolerance"), arg("K"), arg("k"));
  def_kernel(module, "block_multipliers", &block_multipliers, arg("blocks"), arg("first_row"), arg("K"), arg("rank"),
             arg("row_order"), arg("column_order"), arg("row_size"), arg("weighted_force"));
  def_kernel(module, "unpack_g", &unpack_g, arg("G"), arg("n_independent"));
  def_kernel(module, "expand", &expand, arg("G"), arg("y"));
  def_kernel(module, "project", &project, arg("G"), arg("n_independent"), arg("force"));
  def_kernel(module, "projected_inertia", &projected_inertia, arg("pattern"), arg("H"), arg("G"),
             arg("n_independent"));

  module.def("coordinate_groups", &coordinate_groups, arg("expanded_parent"), arg("last"), arg("group"), arg("local"));
  def_kernel(module, "fill_whitened_rows", &fill_whitened_rows, arg("blocks"), arg("groups"), arg("K"), arg("pattern"),
             arg("L"), arg("X"));
  def_kernel(module, "solve_delassus", &solve_delassus, arg("groups"), arg("X"), arg("A"), arg("k"), arg("size"),
             arg("worst"), arg("tolerance"), arg("force"), arg("w"));

  def_kernel(module, "fill_loop_rows", &fill_loop_rows, arg("links"), arg("table"), arg("position"), arg("motion"),
             arg("rows"), arg("gamma"));
  def_kernel(module, "factorize_fronts", &factorize_fronts, arg("links"), arg("plan"), arg("motion"), arg("rows"),
             arg("mu"), arg("is_prescribed"), arg("fronts"));
  def_kernel(module, "solve_fronts", &solve_fronts, arg("links"), arg("plan"), arg("motion"), arg("first_row"),
             arg("is_prescribed"), arg("fronts"), arg("tau"), arg("b"), arg("qdd"), arg("multiplier"));
  def_kernel(module, "weakest_pivot", &weakest_pivot, arg("plan"), arg("first_row"), arg("compliance"), arg("fronts"));
  def_kernel(module, "proximal_iterations", &proximal_iterations, arg("links"), arg("plan"), arg("motion"),
             arg("external"), arg("loops"), arg("mu"), arg("is_prescribed"), arg("prescribed_qdd"), arg("levels"),
             arg("stiffening"), arg("work"), arg("qdd"), arg("multiplier"));
}

}  // namespace sparsebody
