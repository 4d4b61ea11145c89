#include "python/signature.hpp"

namespace sparsebody {

void bind_base(nb::module_& m) {
  def<"zero_bytes(n_bytes)">(m, [](Index n_bytes) { return Array<std::uint8_t>(n_bytes); }, "Zeros that begin with a cache line.");
}

}  // namespace sparsebody
