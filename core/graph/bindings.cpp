#include "python/arrays.hpp"

namespace sparsebody {

void bind_graph(nb::module_& module) { (void)module; }

}  // namespace sparsebody
