#include "graph/admissibility.hpp"
#include "graph/components.hpp"
#include "graph/cycles.hpp"
#include "graph/elimination_tree.hpp"
#include "graph/fill.hpp"
#include "graph/levels.hpp"
#include "python/signature.hpp"

namespace sparsebody {

template <> inline constexpr bool is_named_tuple<Incidence> = true;

void bind_graph(nb::module_& m) {
  // Adjacency
  def_kernel<"quotient_graph(n_primal, ends)">(m, &quotient_graph, "Block graph of [D A'; A 0].");
  def_kernel<"incidence(n_primal, ends)">(m, [](Index n, View<const Index, 2> ends) { return incidence(n, ends); });
  def_kernel<"dual_graph(quotient, n_primal)">(
      m, &dual_graph, "Joints, adjacent if they share a body: the pattern of A D^-1 A'.");
  def_kernel<"reordered(graph, order)">(m, &reordered);
  def_kernel<"positions(order)">(m, &positions);
  def_kernel<"selected_items(start, is_selected, groups)">(
      m, &selected_items, "Those of the items of some groups that are selected, and how many each group has.");

  // Components, levels, cycles
  def_kernel<"biconnected_components(n_primal, ends)">(m, &biconnected_components);
  def_kernel<"cuthill_mckee(graph, towards_world)">(m, &cuthill_mckee);
  def_kernel<"distances(graph, source)">(m, &distances);
  def_kernel<"landmark_distances(graph, component_order, n_landmarks)">(m, &landmark_distances);
  def_kernel<"bisected(graph, from_farthest_of_another)">(m, &bisected);
  def_kernel<"nodes_around(graph, seeds, n_nodes, label)">(m, &nodes_around);
  def_kernel<"breadth_first_forest(n_nodes, ends)">(m, &breadth_first_forest);
  def_kernel<"closed_cycles(n_nodes, ends, is_usable, chords, grows)">(m, &closed_cycles);

  // Admissible patterns and orders
  def_kernel<"pattern_bounds(block_sizes, ends)">(
      m, &pattern_bounds, "The fewest rows of a block, and the least and the largest of the ends of dual blocks.");
  def_kernel<"joints_after_bodies(order, ends)">(m, &joints_after_bodies);
  def_kernel<"with_dual_blocks(primal_order, ends)">(m, &with_dual_blocks);
  def_kernel<"tree_parts(quotient, size, ends, position)">(m, &tree_parts);
  def_kernel<"with_primal_blocks(quotient, duals)">(m, &with_primal_blocks);

  // Elimination tree
  def_kernel<"elimination_tree(graph)">(m, &elimination_tree);
  def_kernel<"postorder(parent)">(m, &postorder);
  def_kernel<"postordered(graph, order)">(m, &postordered);
  def_kernel<"column_counts(graph, parent, postorder, weight)">(m, &column_counts);
  def_kernel<"column_structures(graph, parent, postorder)">(m, &column_structures);

  // Fill
  def_kernel<"first_coupled(graph)">(m, &first_coupled, "First nonzero of each row (envelope).");
  def_kernel<"block_flops(front, size)">(m, nb::overload_cast<Indices, Indices>(&block_flops));
  def_kernel<"depths(parent)">(m, &depths);
  def_kernel<"subtree_sums(parent, weight)">(m, &subtree_sums);
  def_kernel<"minor_min_width(graph, weight)">(m, &minor_min_width, "A lower bound of weighted treewidth + 1: minor-min-width.");
}

}  // namespace sparsebody
