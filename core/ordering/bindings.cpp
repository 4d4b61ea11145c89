#include "ordering/annealing.hpp"
#include "ordering/orderings.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_ordering(nb::module_& m) {
  using nb::arg;

  def_kernel(m, "minimum_degree", [](Indices start, Indices indices, Indices size, Index n_primal, Indices awaited,
                                     Indices outer, Indices phase) {
               return minimum_degree({start, indices}, size, n_primal, awaited, outer, phase);
             }, arg("start"), arg("indices"), arg("size"), arg("n_primal"), arg("awaited"), arg("outer"), arg("phase"));
  def_kernel(m, "minimum_fill", [](Indices start, Indices indices, Indices size) {
               return minimum_fill({start, indices}, size);
             }, arg("start"), arg("indices"), arg("size"));
  def_kernel(m, "dissection", &dissection, arg("ends"), arg("joint_size"), arg("coordinates"));
  def_kernel(m, "level_sweep", &level_sweep, arg("n_primal"), arg("ends"));
  def_kernel(m, "pathwidth_sweep", &pathwidth_sweep, arg("ends"), arg("joint_size"), arg("sequence"), arg("start"),
             arg("n_starts"));
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
