#include "python/arrays.hpp"

namespace sparsebody {

void bind_tree(nb::module_& module) { (void)module; }

}  // namespace sparsebody
