#include "ordering/annealing.hpp"
#include "ordering/orderings.hpp"
#include "python/graphs.hpp"

namespace sparsebody {

void bind_ordering(nb::module_& m) {
  using namespace nb::literals;
  def_kernel(m, "minimum_degree", &minimum_degree, "graph"_a, "size"_a, "n_primal"_a, "awaited"_a, "outer"_a,
             "phase"_a);
  def_kernel(m, "minimum_fill", &minimum_fill, "graph"_a, "size"_a);
  def_kernel(m, "dissection", &dissection, "ends"_a, "joint_size"_a, "coordinates"_a);
  def_kernel(m, "level_sweep", &level_sweep, "n_primal"_a, "ends"_a);
  def_kernel(m, "pathwidth_sweep", &pathwidth_sweep, "ends"_a, "joint_size"_a, "sequence"_a, "start"_a, "n_starts"_a);
  def_kernel(m, "sloan", &sloan, "graph"_a, "sequence"_a);
  def_kernel(m, "search_from_world", &search_from_world, "quotient"_a, "to_world"_a, "is_depth_first"_a);

  nb::class_<Annealing>(m, "Annealing")
      .def("__init__", [](Annealing* self, const Graph& graph, Indices size, Indices order, Index most_visits,
                          nb::capsule bits) {
             new (self) Annealing(graph, size, order, most_visits, static_cast<bitgen_t*>(bits.data("BitGenerator")));
           }, "graph"_a, "size"_a, "order"_a, "most_visits"_a, "bits"_a, nb::keep_alive<1, 6>())
      .def("run", &Annealing::run, "visits"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("best", &Annealing::best);
}

}  // namespace sparsebody
