#include "python/arrays.hpp"

namespace sparsebody {

void bind_graph_cycles(nb::module_& module);

void bind_graph(nb::module_& module) { bind_graph_cycles(module); }

}  // namespace sparsebody
