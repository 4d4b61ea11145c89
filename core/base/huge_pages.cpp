// The vectors of all kernels lie in huge pages where they are large.
#include "base/huge_pages.hpp"

#include <cstdlib>
#include <new>

void* operator new(std::size_t n_bytes) {
  void* memory = std::malloc(n_bytes > 0 ? n_bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  sparsebody::use_huge_pages(memory, n_bytes);
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
