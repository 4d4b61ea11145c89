#include "graph/cycles.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_graph_cycles(nb::module_& module) {
  def_kernel(module, "breadth_first_forest",
             [](View<const Index, 2> ends, View<const Index> first, View<const Index> incident) {
               return breadth_first_forest({ends, first, incident});
             },
             nb::arg("ends"), nb::arg("first"), nb::arg("incident"));
  def_kernel(module, "closed_cycles",
             [](View<const Index, 2> ends, View<const Index> first, View<const Index> incident,
                View<const bool> is_usable, View<const Index> chords, bool grows) {
               return closed_cycles({ends, first, incident}, is_usable, chords, grows);
             },
             nb::arg("ends"), nb::arg("first"), nb::arg("incident"), nb::arg("is_usable"), nb::arg("chords"),
             nb::arg("grows"));
  def_kernel(module, "nodes_around", &nodes_around, nb::arg("indptr"), nb::arg("indices"), nb::arg("seeds"),
             nb::arg("n_nodes"), nb::arg("label"));
}

}  // namespace sparsebody
