#include "python/arrays.hpp"

namespace sparsebody {

void bind_spatial(nb::module_& module) { (void)module; }

}  // namespace sparsebody
