// The extension: one submodule a folder, each bound in the folder's bindings.cpp.
#define SPARSEBODY_IMPORTS_NUMPY
#include "python/arrays.hpp"

namespace sparsebody {

#define SB_PARTS(X) \
  X(spatial) X(joints) X(model) X(graph) X(rank) X(ordering) X(factorization) X(dynamics) X(tree) X(simulation)

#define SB_DECLARE(part) void bind_##part(nb::module_& module);
SB_PARTS(SB_DECLARE)

namespace {
bool import_numpy() {
  import_array1(false);
  return true;
}
}  // namespace

NB_MODULE(SPARSEBODY_MODULE, module) {
  if (!import_numpy()) throw nb::python_error();
  module.doc() = "The native kernels of sparsebody.";
#define SB_BIND(part)                                        \
  {                                                          \
    nb::module_ submodule = module.def_submodule(#part);     \
    bind_##part(submodule);                                  \
  }
  SB_PARTS(SB_BIND)
}

}  // namespace sparsebody
