#include "graph/admissibility.hpp"
#include "graph/components.hpp"
#include "graph/elimination_tree.hpp"
#include "graph/fill.hpp"
#include "graph/levels.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_graph_cycles(nb::module_& module);

namespace {

using nb::arg;
using Ends = View<const Index, 2>;
using Rows = std::tuple<Array<Index>, Array<Index>>;

Rows as_tuple(GraphArrays graph) { return {std::move(graph.start), std::move(graph.indices)}; }

}  // namespace

void bind_graph(nb::module_& m) {
  bind_graph_cycles(m);
  // Adjacency
  def_kernel(m, "quotient_graph", [](Index n_primal, Ends ends) { return as_tuple(quotient_graph(n_primal, ends)); },
             arg("n_primal"), arg("ends"));
  def_kernel(m, "incidence", [](Index n_primal, Ends ends) {
               const Incidence at = incidence(n_primal, ends);
               return std::tuple(Array<Index>(at.start), Array<Index>(at.edge), Array<Index>(at.other));
             }, arg("n_primal"), arg("ends"));
  def_kernel(m, "dual_graph", [](Indices start, Indices indices, Index n_primal) {
               return as_tuple(dual_graph({start, indices}, n_primal));
             }, arg("start"), arg("indices"), arg("n_primal"));
  def_kernel(m, "reordered", [](Indices start, Indices indices, Indices order) {
               return as_tuple(reordered({start, indices}, order));
             }, arg("start"), arg("indices"), arg("order"));
  def_kernel(m, "is_permutation", &is_permutation, arg("order"));
  def_kernel(m, "positions", [](Indices order) { return Array<Index>(positions(order)); }, arg("order"));

  // Components and levels
  def_kernel(m, "connected_components", [](Indices start, Indices indices) {
               auto [component, count] = connected_components({start, indices});
               return std::tuple(std::move(component), count);
             }, arg("start"), arg("indices"));
  def_kernel(m, "biconnected_components", &biconnected_components, arg("n_primal"), arg("ends"));
  def_kernel(m, "cuthill_mckee", [](Indices start, Indices indices) { return cuthill_mckee({start, indices}); },
             arg("start"), arg("indices"));
  def_kernel(m, "distances", [](Indices start, Indices indices, Index source) {
               return distances({start, indices}, source);
             }, arg("start"), arg("indices"), arg("source"));
  def_kernel(m, "landmark_distances", [](Indices start, Indices indices, Indices sequence, Index n_landmarks) {
               return landmark_distances({start, indices}, sequence, n_landmarks);
             }, arg("start"), arg("indices"), arg("sequence"), arg("n_landmarks"));
  def_kernel(m, "bisected", [](Indices start, Indices indices, bool from_farthest_of_another) {
               return bisected({start, indices}, from_farthest_of_another);
             }, arg("start"), arg("indices"), arg("from_farthest_of_another"));
  def_kernel(m, "level_order", [](Indices start, Indices indices) { return level_order({start, indices}); },
             arg("start"), arg("indices"));

  // Admissible orders
  def_kernel(m, "joints_after_bodies", &joints_after_bodies, arg("order"), arg("ends"));
  def_kernel(m, "tree_parts", [](Indices start, Indices indices, Indices size, Ends ends, Indices position) {
               auto [outer, stripped] = tree_parts({start, indices}, size, ends, position);
               return Rows(std::move(outer), Array<Index>(stripped));
             }, arg("start"), arg("indices"), arg("size"), arg("ends"), arg("position"));
  def_kernel(m, "early_joints", [](Indices start, Indices indices, Indices size, Ends ends, Indices order) {
               return Array<Index>(early_joints({start, indices}, size, ends, order));
             }, arg("start"), arg("indices"), arg("size"), arg("ends"), arg("order"));
  def_kernel(m, "with_primal_blocks", [](Indices start, Indices indices, Indices duals) {
               return with_primal_blocks({start, indices}, duals);
             }, arg("start"), arg("indices"), arg("duals"));
  def_kernel(m, "sweep_fronts", &sweep_fronts, arg("order"), arg("ends"), arg("size"));

  // Elimination tree
  def_kernel(m, "elimination_tree", [](Indices start, Indices indices) { return elimination_tree({start, indices}); },
             arg("start"), arg("indices"));
  def_kernel(m, "postorder", &postorder, arg("parent"));
  def_kernel(m, "postordered", [](Indices start, Indices indices, Indices order) {
               return postordered({start, indices}, order);
             }, arg("start"), arg("indices"), arg("order"));
  def_kernel(m, "tree_height", &tree_height, arg("parent"));
  def_kernel(m, "column_counts", [](Indices start, Indices indices, Indices parent, Indices sequence, Indices weight) {
               return column_counts({start, indices}, parent, sequence, weight);
             }, arg("start"), arg("indices"), arg("parent"), arg("sequence"), arg("weight"));
  def_kernel(m, "column_structures", [](Indices start, Indices indices, Indices parent, Indices sequence) {
               return as_tuple(column_structures({start, indices}, parent, sequence));
             }, arg("start"), arg("indices"), arg("parent"), arg("sequence"));

  // Fill
  def_kernel(m, "order_cost", [](Indices start, Indices indices, Indices parent, Indices front, Indices size) {
               const OrderCost c = order_cost({start, indices}, parent, front, size);
               return std::tuple(c.n_entries, c.flops, c.block_bandwidth, c.scalar_bandwidth, c.profile, c.tree_height,
                                 c.largest_front);
             }, arg("start"), arg("indices"), arg("parent"), arg("front"), arg("size"));
  def_kernel(m, "block_flops", static_cast<Array<double> (*)(Indices, Indices)>(&block_flops), arg("front"),
             arg("size"));
  def_kernel(m, "wavefronts", [](Indices start, Indices indices, Indices size) {
               return wavefronts({start, indices}, size);
             }, arg("start"), arg("indices"), arg("size"));
  def_kernel(m, "depths", &depths, arg("parent"));
  def_kernel(m, "critical_path", &critical_path, arg("parent"), arg("flops"));
  def_kernel(m, "widest_core", [](Indices start, Indices indices, Indices weight) {
               return widest_core({start, indices}, {weight.begin(), weight.end()});
             }, arg("start"), arg("indices"), arg("weight"));
}

}  // namespace sparsebody
