// Large arrays that a kernel reads from end to end at every call.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/array.hpp"

namespace sparsebody {

// Zeros that begin with a cache line, for vectors across two lines take twice the time. From a megabyte on they
// lie in huge pages where the system has any.
template <class T>
class LargeArray {
 public:
  LargeArray() = default;
  explicit LargeArray(Index size) : size_(size) {
    constexpr std::size_t line = 64, huge_page = std::size_t(1) << 21;
    const std::size_t n_bytes = std::size_t(size) * sizeof(T);
    const std::size_t unit = n_bytes < huge_page / 2 ? line : huge_page;
    const std::size_t n_units = n_bytes / unit + 1;
    data_.reset(static_cast<T*>(std::aligned_alloc(unit, n_units * unit)));
    if (!data_) throw std::bad_alloc();
#if defined(__linux__)
    if (unit == huge_page) madvise(data_.get(), n_units * unit, MADV_HUGEPAGE);
#endif
    std::memset(static_cast<void*>(data_.get()), 0, n_bytes);
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  Index size() const { return size_; }
  T& operator[](Index i) {
    SB_ASSERT(0 <= i && i < size_);
    return data_.get()[i];
  }
  const T& operator[](Index i) const {
    SB_ASSERT(0 <= i && i < size_);
    return data_.get()[i];
  }
  View<T> view() { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  Index size_ = 0;
  std::unique_ptr<T, Free> data_;
};

}  // namespace sparsebody
