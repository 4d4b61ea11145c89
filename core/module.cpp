// The extension: one submodule a folder, each bound in the folder's bindings.cpp.
#define SPARSEBODY_IMPORTS_NUMPY
#include "python/arrays.hpp"

// Vectors of all kernels lie in huge pages where they are large.
void* operator new(std::size_t n_bytes) {
  void* memory = std::malloc(n_bytes > 0 ? n_bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  sparsebody::use_huge_pages(memory, n_bytes);
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sparsebody {

#define SB_PARTS(X) \
  X(base) X(joints) X(model) X(graph) X(rank) X(ordering) X(factorization) X(dynamics) X(tree) X(simulation) X(linearization)

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
  nb::set_leak_warnings(false);  // at exit others may still hold modules, which is no leak
#define SB_BIND(part)                                        \
  {                                                          \
    nb::module_ submodule = module.def_submodule(#part);     \
    bind_##part(submodule);                                  \
  }
  SB_PARTS(SB_BIND)
}

}  // namespace sparsebody
