#include "python/arrays.hpp"

namespace sparsebody {

void bind_rank(nb::module_& module) { (void)module; }

}  // namespace sparsebody
