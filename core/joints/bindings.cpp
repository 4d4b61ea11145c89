#include "python/arrays.hpp"

namespace sparsebody {

void bind_joints(nb::module_& module) { (void)module; }

}  // namespace sparsebody
