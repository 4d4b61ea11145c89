#include "python/arrays.hpp"

namespace sparsebody {

void bind_dynamics(nb::module_& module) { (void)module; }

}  // namespace sparsebody
