#include "tree/delassus.hpp"
#include "tree/explicit_constraints.hpp"
#include "tree/loop_constraints.hpp"
#include "tree/loops_aba.hpp"
#include "tree/named_tuples.hpp"
#include "tree/tree_search.hpp"

namespace nanobind::detail {

template <>
struct type_caster<tree::BlockLayout>
    : sparsebody::NamedTupleCaster<tree::BlockLayout, View<const Index>, View<const Index>, View<const Index>,
                                   View<const Index>, View<const Index>, View<const Index>> {};

template <>
struct type_caster<tree::LoopTable>
    : sparsebody::NamedTupleCaster<tree::LoopTable, View<const tree::LoopEnds>, View<const Index>,
                                   View<const tree::Force>, View<const tree::Vec3>> {};

template <>
struct type_caster<tree::LoopSystem>
    : sparsebody::NamedTupleCaster<tree::LoopSystem, View<const tree::LoopEnds>, View<const Index>,
                                   View<const tree::LoopRow>, View<const double>> {};

template <>
struct type_caster<tree::DelassusGroups>
    : sparsebody::NamedTupleCaster<tree::DelassusGroups, View<const Index>, View<const Index>, View<const Index>,
                                   View<const Index>, View<const Index>, View<const Index>, View<const Index>,
                                   View<const Index>, View<const Index>> {};

template <>
struct type_caster<tree::ExplicitRows>
    : sparsebody::NamedTupleCaster<tree::ExplicitRows, View<const double>, View<const Index>, View<const Index>,
                                   View<const Index>, View<const double>> {};

template <>
struct type_caster<tree::FrontPlan>
    : sparsebody::NamedTupleCaster<tree::FrontPlan, View<const tree::FrontStep>, View<const tree::FrontJoin>,
                                   View<const tree::RowPair>, View<const tree::FrontEntry>, View<const Index>> {};

template <>
struct type_caster<tree::Fronts>
    : sparsebody::NamedTupleCaster<tree::Fronts, View<double>, View<double>, View<double>, View<double>,
                                   View<double>> {};

template <>
struct type_caster<tree::ProximalWork>
    : sparsebody::NamedTupleCaster<tree::ProximalWork, tree::Fronts, View<tree::Force>, View<tree::Motion>,
                                   View<tree::Force>, View<double>, View<double>, View<double>, View<double>> {};

}  // namespace nanobind::detail

namespace sparsebody {

using namespace tree;
using nb::arg;

namespace {

void bind_search(nb::module_& module) {
  nb::class_<JointGraph>(module, "JointGraph", "Bodies and joints; the world is node n_bodies.")
      .def(nb::init<View<const Index, 2>, Index>(), arg("ends"), arg("n_bodies"))
      .def("connected", &JointGraph::connected, arg("root"),
           "Return the bodies that joints connect with one, not by way of the world.")
      .def(
          "grow",
          [](JointGraph& graph, View<const Index> roots, Index search, View<const Index> freedoms,
             View<const bool> is_free, View<const bool> is_required, View<const bool> is_usable,
             View<Index> tree_joint, View<Index> depth) {
            graph.grow(roots, Search(search), {freedoms, is_free, is_required, is_usable}, tree_joint, depth);
          },
          arg("roots"), arg("search"), arg("freedoms"), arg("is_free"), arg("is_required"), arg("is_usable"),
          arg("tree_joint"), arg("depth"),
          "Fill the tree joint (n,) and the depth (n + 1,) of all bodies reached from the roots; -2 is not reached.")
      .def("unite", &JointGraph::unite, arg("joints"),
           "Return which joints, one after the other, unite groups of bodies.")
      .def("unite_with_world", &JointGraph::unite_with_world, arg("body"), "Put a body into the group of the world.")
      .def("preorder", &JointGraph::preorder, arg("tree_joint"),
           "Return bodies and parents in a numbering in which every subtree is contiguous, parents first.")
      .def("middle", &JointGraph::middle, arg("bodies"),
           "Return the body half way along a longest path of two searches.")
      .def("median", &JointGraph::median, arg("bodies"), "Return the body with the least sum of distances.")
      .def("sweep", &JointGraph::sweep, arg("is_usable"),
           "Return the joint (n,) by which a depth-first sweep away from the world reaches each body, -1 for none.")
      .def("reduce_nonzeros", &JointGraph::reduce_nonzeros, arg("freedoms"), arg("movable"), arg("tree_joint"),
           "Hang bodies elsewhere as long as nnz(H) falls.");
  module.def("subtree_ends", &subtree_ends, arg("parent"));
  module.def("expanded_parents", &expanded_parents, arg("parent"), arg("first_velocity"));
  module.def("depths", &depths, arg("parent"), arg("step"));
  module.def("inertia_nonzeros", &tree::inertia_nonzeros, arg("parent"), arg("freedoms"));
}

void bind_constraints(nb::module_& module) {
  module.def("loop_labels", &loop_labels, arg("parent"), arg("ends"));
  def_kernel(module, "rows_to_links", &rows_to_links, arg("links"), arg("motion"), arg("ends"), arg("rows"));
  def_kernel(module, "fill_loop_blocks", &fill_loop_blocks, arg("links"), arg("motion"), arg("ends"), arg("rows"),
             arg("row_start"), arg("column"), arg("values"));
  def_kernel(module, "fill_loop_matrix", &fill_loop_matrix, arg("links"), arg("motion"), arg("ends"), arg("rows"),
             arg("K"));
  def_kernel(module, "free_lengths", &free_lengths, arg("A"), arg("row"), arg("bodies"), arg("inverse_inertia"));
  def_kernel(module, "loop_violation", &loop_violation, arg("blocks"), arg("first_row"), arg("K"), arg("k"), arg("x"),
             arg("acceleration"));
  def_kernel(module, "clear_prescribed_columns", &clear_prescribed_columns, arg("blocks"), arg("is_prescribed"),
             arg("K"));
}

void bind_explicit(nb::module_& module) {
  def_kernel(module, "eliminate", &eliminate, arg("K"), arg("k"), arg("is_independent"), arg("tolerance"),
             arg("row_order"), arg("column_order"));
  def_kernel(module, "eliminate_blocks", &eliminate_blocks, arg("blocks"), arg("first_row"), arg("velocity_order"),
             arg("is_independent"), arg("weight"), arg("row_size"), arg("tolerance"), arg("K"), arg("k"));
  def_kernel(module, "block_multipliers", &block_multipliers, arg("blocks"), arg("first_row"), arg("K"), arg("rank"),
             arg("row_order"), arg("column_order"), arg("row_size"), arg("weighted_force"));
  def_kernel(module, "unpack_g", &unpack_g, arg("G"), arg("n_independent"));
  def_kernel(module, "expand", &expand, arg("G"), arg("y"));
  def_kernel(module, "project", &project, arg("G"), arg("n_independent"), arg("force"));
  def_kernel(module, "projected_inertia", &projected_inertia, arg("pattern"), arg("H"), arg("G"),
             arg("n_independent"));
}

void bind_delassus(nb::module_& module) {
  module.def("coordinate_groups", &coordinate_groups, arg("expanded_parent"), arg("last"), arg("group"), arg("local"));
  def_kernel(module, "fill_whitened_rows", &fill_whitened_rows, arg("blocks"), arg("groups"), arg("K"), arg("pattern"),
             arg("L"), arg("X"));
  def_kernel(module, "solve_delassus", &solve_delassus, arg("groups"), arg("X"), arg("A"), arg("k"), arg("size"),
             arg("worst"), arg("tolerance"), arg("force"), arg("w"));
}

void bind_fronts(nb::module_& module) {
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

}  // namespace

void bind_tree_recursions(nb::module_& module);

void bind_tree(nb::module_& module) {
  bind_tree_recursions(module);
  bind_search(module);
  bind_constraints(module);
  bind_explicit(module);
  bind_delassus(module);
  bind_fronts(module);
}

}  // namespace sparsebody
