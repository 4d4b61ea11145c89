#include "python/arrays.hpp"

namespace sparsebody {

void bind_dynamics_planar(nb::module_& module);
void bind_dynamics_reduced(nb::module_& module);
void bind_dynamics_spatial(nb::module_& module);

void bind_dynamics(nb::module_& module) {
  bind_dynamics_spatial(module);
  bind_dynamics_planar(module);
  bind_dynamics_reduced(module);
}

}  // namespace sparsebody
