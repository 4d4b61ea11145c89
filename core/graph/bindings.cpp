#include "graph/admissibility.hpp"
#include "graph/components.hpp"
#include "graph/cycles.hpp"
#include "graph/elimination_tree.hpp"
#include "graph/fill.hpp"
#include "graph/levels.hpp"
#include "python/graphs.hpp"

namespace sparsebody {

void bind_graph(nb::module_& m) {
  using namespace nb::literals;
  using Ends = View<const Index, 2>;

  // Adjacency
  def_kernel(m, "quotient_graph", &quotient_graph, "n_primal"_a, "ends"_a);
  def_kernel(m, "incidence", [](Index n_primal, Ends ends) {
               const Incidence at = incidence(n_primal, ends);
               return std::tuple(Array<Index>(at.start), Array<Index>(at.edge), Array<Index>(at.other));
             }, "n_primal"_a, "ends"_a);
  def_kernel(m, "dual_graph", &dual_graph, "quotient"_a, "n_primal"_a);
  def_kernel(m, "reordered", &reordered, "graph"_a, "order"_a);
  def_kernel(m, "is_permutation", &is_permutation, "order"_a);
  def_kernel(m, "positions", [](Indices order) { return Array<Index>(positions(order)); }, "order"_a);

  // Components, levels, cycles
  def_kernel(m, "biconnected_components", &biconnected_components, "n_primal"_a, "ends"_a);
  def_kernel(m, "cuthill_mckee", &cuthill_mckee, "graph"_a);
  def_kernel(m, "distances", &distances, "graph"_a, "source"_a);
  def_kernel(m, "landmark_distances", &landmark_distances, "graph"_a, "sequence"_a, "n_landmarks"_a);
  def_kernel(m, "bisected", &bisected, "graph"_a, "from_farthest_of_another"_a);
  def_kernel(m, "nodes_around", &nodes_around, "graph"_a, "seeds"_a, "n_nodes"_a, "label"_a);
  def_kernel(m, "breadth_first_forest", &breadth_first_forest, "n_nodes"_a, "ends"_a);
  def_kernel(m, "closed_cycles", &closed_cycles, "n_nodes"_a, "ends"_a, "is_usable"_a, "chords"_a, "grows"_a);

  // Admissible orders
  def_kernel(m, "joints_after_bodies", &joints_after_bodies, "order"_a, "ends"_a);
  def_kernel(m, "tree_parts", &tree_parts, "quotient"_a, "size"_a, "ends"_a, "position"_a);
  def_kernel(m, "early_joints", &early_joints, "quotient"_a, "size"_a, "ends"_a, "order"_a);
  def_kernel(m, "with_primal_blocks", &with_primal_blocks, "quotient"_a, "duals"_a);
  def_kernel(m, "sweep_fronts", &sweep_fronts, "order"_a, "ends"_a, "size"_a);

  // Elimination tree
  def_kernel(m, "elimination_tree", &elimination_tree, "graph"_a);
  def_kernel(m, "postorder", &postorder, "parent"_a);
  def_kernel(m, "postordered", &postordered, "graph"_a, "order"_a);
  def_kernel(m, "tree_height", &tree_height, "parent"_a);
  def_kernel(m, "column_counts", &column_counts, "graph"_a, "parent"_a, "sequence"_a, "weight"_a);
  def_kernel(m, "column_structures", &column_structures, "graph"_a, "parent"_a, "sequence"_a);

  // Fill
  def_kernel(m, "order_cost", [](const Graph& graph, Indices parent, Indices front, Indices size) {
               const OrderCost c = order_cost(graph, parent, front, size);
               return std::tuple(c.n_entries, c.flops, c.block_bandwidth, c.scalar_bandwidth, c.profile, c.tree_height,
                                 c.largest_front);
             }, "graph"_a, "parent"_a, "front"_a, "size"_a);
  def_kernel(m, "block_flops", static_cast<Array<double> (*)(Indices, Indices)>(&block_flops), "front"_a, "size"_a);
  def_kernel(m, "wavefronts", &wavefronts, "graph"_a, "size"_a);
  def_kernel(m, "depths", &depths, "parent"_a);
  def_kernel(m, "critical_path", &critical_path, "parent"_a, "flops"_a);
  def_kernel(m, "widest_core", &widest_core, "graph"_a, "weight"_a);
}

}  // namespace sparsebody
