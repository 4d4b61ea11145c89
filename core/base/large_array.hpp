// Large arrays that a kernel reads from end to end at every call.
#pragma once

#include <memory>

#include "base/array.hpp"

namespace sparsebody {

// Zeros that begin with a cache line, for vectors across two lines take twice the time.
template <class T>
class LargeArray {
 public:
  LargeArray() = default;
  explicit LargeArray(Index size) : size_(size) {
    constexpr std::size_t line = 64;
    const std::size_t n_bytes = std::size_t(size) * sizeof(T) + line;
    memory_.reset(std::calloc(n_bytes, 1));  // large memory is new, and its pages are made at first use
    if (!memory_) throw std::bad_alloc();
    use_huge_pages(memory_.get(), n_bytes);
    std::size_t space = n_bytes;
    void* aligned = memory_.get();
    data_ = static_cast<T*>(std::align(line, n_bytes - line, aligned, space));
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  Index size() const { return size_; }
  T& operator[](Index i) {
    SB_ASSERT(0 <= i && i < size_);
    return data_[i];
  }
  const T& operator[](Index i) const {
    SB_ASSERT(0 <= i && i < size_);
    return data_[i];
  }
  View<T> view() { return {data_, size_}; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  Index size_ = 0;
  std::unique_ptr<void, Free> memory_;
  T* data_ = nullptr;
};

}  // namespace sparsebody
