#include "python/arrays.hpp"

namespace sparsebody {

void bind_rank_band(nb::module_& module);

void bind_rank(nb::module_& module) { bind_rank_band(module); }

}  // namespace sparsebody
