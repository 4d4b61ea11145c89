#include "tree/delassus.hpp"
#include "tree/explicit_constraints.hpp"
#include "tree/loop_constraints.hpp"
#include "tree/loops_aba.hpp"
#include "tree/named_tuples.hpp"
#include "tree/tree_search.hpp"

namespace sparsebody {

template <OneOf<tree::BlockLayout, tree::LoopTable, tree::LoopSystem, tree::DelassusGroups, tree::ExplicitRows,
                tree::FrontPlan, tree::Fronts, tree::ProximalWork> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

void bind_tree_derivatives(nb::module_& module);
void bind_tree_recursions(nb::module_& module);

void bind_tree(nb::module_& m) {
  using namespace tree;
  bind_tree_recursions(m);
  bind_tree_derivatives(m);

  nb::class_<JointGraph> graph(m, "JointGraph", "Bodies and joints; the world is node n_bodies.");
  def<"__init__(ends, n_bodies)">(graph, construct<JointGraph, View<const Index, 2>, Index>);
  def<"connected(root)">(graph, &JointGraph::connected);
  def<"unite(joints)">(graph, &JointGraph::unite);
  def<"unite_with_world(body)">(graph, &JointGraph::unite_with_world);
  def<"grow(roots, search, freedoms, is_free, is_required, is_usable, tree_joint, depth)">(graph, &JointGraph::grow);
  def<"preorder(tree_joint)">(graph, &JointGraph::preorder);
  def<"middle(bodies)">(graph, &JointGraph::middle);
  def<"median(bodies)">(graph, &JointGraph::median);
  def<"sweep(is_usable)">(graph, &JointGraph::sweep);
  def<"reduce_nonzeros(freedoms, movable, tree_joint)">(graph, &JointGraph::reduce_nonzeros);
  def<"depths(parent, step)">(m, &depths);

  def<"loop_labels(parent, ends)">(m, &loop_labels);
  def_kernel<"rows_to_links(links, motion, ends, rows)">(m, &rows_to_links);
  def_kernel<"fill_loop_blocks(links, motion, ends, rows, row_start, column_in_block, values)">(m, &fill_loop_blocks);
  def_kernel<"row_norms(A, row, bodies, inverse_inertia)">(m, &row_norms);
  def_kernel<"loop_violation(blocks, first_row, K, k, x, acceleration)">(m, &loop_violation);

  def_kernel<"eliminate(K, k, is_independent, tolerance, row_order, column_order)">(m, &eliminate);
  def_kernel<"eliminate_blocks(blocks, first_row, is_independent, weight, row_size, tolerance, K, k)">(
      m, &eliminate_blocks);
  def_kernel<"block_multipliers(blocks, first_row, K, rank, row_order, column_order, row_size, weighted_force)">(
      m, &block_multipliers);
  def_kernel<"unpack_g(G, n_independent)">(m, &unpack_g);
  def_kernel<"expand(G, y)">(m, &expand);
  def_kernel<"project(G, n_independent, force)">(m, &project);
  def_kernel<"projected_inertia(pattern, H, G, n_independent)">(m, &projected_inertia);

  def<"coordinate_groups(expanded_parent, last, group, local)">(m, &coordinate_groups);
  def_kernel<"fill_scaled_rows(blocks, groups, K, pattern, L, X)">(m, &fill_scaled_rows);
  def_kernel<"solve_delassus(groups, X, A, k, size, worst, tolerance, force, w)">(m, &solve_delassus);

  def_kernel<"fill_loop_rows(links, table, position, motion, rows, gamma)">(m, &fill_loop_rows);
  def_kernel<"factorize_fronts(links, plan, motion, rows, mu, is_prescribed, fronts)">(m, &factorize_fronts);
  def_kernel<"solve_fronts(links, plan, motion, first_row, is_prescribed, fronts, tau, b, qdd, multiplier)">(
      m, &solve_fronts);
  def_kernel<"weakest_pivot(plan, first_row, compliance, fronts)">(m, &weakest_pivot);
  def_kernel<"proximal_iterations(links, plan, motion, external, loops, mu, is_prescribed, prescribed_qdd, levels, "
             "stiffening, work, qdd, multiplier)">(m, &proximal_iterations);
}

}  // namespace sparsebody
