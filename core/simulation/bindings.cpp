#include "python/arrays.hpp"

namespace sparsebody {

void bind_simulation(nb::module_& module) { (void)module; }

}  // namespace sparsebody
