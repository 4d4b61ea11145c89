#include "python/arrays.hpp"

namespace sparsebody {

void bind_tree_coordinates(nb::module_& module);
void bind_tree_recursions(nb::module_& module);
void bind_tree_loops(nb::module_& module);

void bind_tree(nb::module_& module) {
  bind_tree_coordinates(module);
  bind_tree_recursions(module);
  bind_tree_loops(module);
}

}  // namespace sparsebody
