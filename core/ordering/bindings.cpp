#include "python/arrays.hpp"

namespace sparsebody {

void bind_ordering(nb::module_& module) { (void)module; }

}  // namespace sparsebody
