#include "tree/named_tuples.hpp"

namespace sparsebody {

void bind_tree_recursions(nb::module_& module) {
  using namespace tree;
  using nb::arg;
  module.def("branch_depths", &branch_depths, arg("parent"));
  def_kernel(module, "lower_triangle", &lower_triangle, arg("pattern"), arg("values"));
  def_kernel(module, "multiply", &multiply, arg("pattern"), arg("H"), arg("x"), arg("y"));
  def_kernel(module, "decouple", &decouple, arg("pattern"), arg("is_prescribed"), arg("H"));
}

}  // namespace sparsebody
