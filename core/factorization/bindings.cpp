#include "python/arrays.hpp"

namespace sparsebody {

void bind_factorization(nb::module_& module) { (void)module; }

}  // namespace sparsebody
