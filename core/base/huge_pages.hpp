// Huge pages for large memory: the system hands a page out at its first use, which costs less a byte the larger it is.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sparsebody {

// Asks for huge pages where memory of `n_bytes` just allocated is large, as NumPy does.
inline void use_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t n_bytes) {
#if defined(__linux__)
  constexpr std::size_t large = std::size_t(1) << 22, page = 4096;
  if (n_bytes < large) return;
  const std::size_t offset = page - reinterpret_cast<std::uintptr_t>(memory) % page;
  madvise(static_cast<char*>(memory) + offset, n_bytes - offset, MADV_HUGEPAGE);
#endif
}

}  // namespace sparsebody
