#include "python/arrays.hpp"

namespace sparsebody {

void bind_model(nb::module_& module) { (void)module; }

}  // namespace sparsebody
