#include "python/arrays.hpp"

namespace sparsebody {

void bind_factorization_block_qr(nb::module_& module);

void bind_factorization(nb::module_& module) {
  bind_factorization_block_qr(module);
}

}  // namespace sparsebody
