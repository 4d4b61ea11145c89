#include "ordering/annealing.hpp"
#include "ordering/orderings.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_ordering(nb::module_& m) {
  using nb::arg;
  using Ends = View<const Index, 2>;

  def_kernel(m, "minimum_degree", [](Indices start, Indices indices, Indices size, Index n_primal, Indices awaited,
                                     Indices outer, Indices phase) {
               return minimum_degree({start, indices}, size, n_primal, awaited, outer, phase);
             }, arg("start"), arg("indices"), arg("size"), arg("n_primal"), arg("awaited"), arg("outer"), arg("phase"));
  def_kernel(m, "minimum_fill", [](Indices start, Indices indices, Indices size) {
               return minimum_fill({start, indices}, size);
             }, arg("start"), arg("indices"), arg("size"));
  def_kernel(m, "dissection", [](Indices start, Indices indices, Indices joint, Indices rows,
                                 View<const double, 2> coordinates, Index n_joints) {
               return dissection({start, indices}, joint, rows, coordinates, n_joints);
             }, arg("start"), arg("indices"), arg("joint"), arg("rows"), arg("coordinates"), arg("n_joints"));
  def_kernel(m, "level_sweep", [](Index n_primal, Ends ends) { return level_sweep(n_primal, ends); },
             arg("n_primal"), arg("ends"));
  def_kernel(m, "pathwidth_sweep", [](Indices start, Indices indices, Indices rows, Indices sequence, Index begin,
                                      Index n_starts) {
               return pathwidth_sweep({start, indices}, rows, sequence, begin, n_starts);
             }, arg("start"), arg("indices"), arg("rows"), arg("sequence"), arg("begin"), arg("n_starts"));
  def_kernel(m, "sloan", [](Indices start, Indices indices, Indices sequence) {
               return sloan({start, indices}, sequence);
             }, arg("start"), arg("indices"), arg("sequence"));
  def_kernel(m, "search_from_world", [](Indices start, Indices indices, Indices to_world, bool is_depth_first) {
               auto [sequence, came_from] = search_from_world({start, indices}, to_world, is_depth_first);
               return std::tuple(std::move(sequence), std::move(came_from));
             }, arg("start"), arg("indices"), arg("to_world"), arg("is_depth_first"));

  nb::class_<Annealing>(m, "Annealing")
      .def("__init__", [](Annealing* self, Indices start, Indices indices, Indices size, Indices order,
                          Index most_visits, nb::capsule bits) {
             new (self) Annealing({start, indices}, size, order, most_visits,
                                  static_cast<bitgen_t*>(bits.data("BitGenerator")));
           }, arg("start"), arg("indices"), arg("size"), arg("order"), arg("most_visits"), arg("bits"),
           nb::keep_alive<1, 7>())
      .def("run", &Annealing::run, arg("visits"), nb::call_guard<nb::gil_scoped_release>())
      .def("best", &Annealing::best);
}

}  // namespace sparsebody
