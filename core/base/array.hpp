// Views of arrays that Python owns, and arrays that a kernel returns. No kernel sees a Python object.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/huge_pages.hpp"

#ifdef SPARSEBODY_CHECKED
#include <cstdio>
#define SB_ASSERT(condition)                                                           \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);     \
      std::abort();                                                                    \
    }                                                                                  \
  } while (false)
#else
#define SB_ASSERT(condition) ((void)0)
#endif

namespace sparsebody {

using Index = std::ptrdiff_t;  // numpy.intp

// A C-contiguous array of N axes in somebody else's memory. A checked build checks every index.
template <class T, int N = 1>
class View {
 public:
  using Shape = std::array<Index, N>;

  View() : data_(nullptr), shape_{} {}
  View(T* data, Shape shape) : data_(data), shape_(shape) {}
  View(T* data, Index size) requires(N == 1) : data_(data), shape_{size} {}
  template <class U>
  View(std::vector<U>& v) requires(N == 1) : data_(v.data()), shape_{Index(v.size())} {}
  template <class U>
  View(const std::vector<U>& v) requires(N == 1) : data_(v.data()), shape_{Index(v.size())} {}

  operator View<const T, N>() const requires(!std::is_const_v<T>) { return {data_, shape_}; }
  operator std::span<T>() const requires(N == 1) { return {data_, std::size_t(shape_[0])}; }

  T* data() const { return data_; }
  const Shape& shape() const { return shape_; }
  Index shape(int axis) const { return shape_[axis]; }
  Index rows() const { return shape_[0]; }
  Index size() const {
    Index n = 1;
    for (const Index extent : shape_) n *= extent;
    return n;
  }
  bool empty() const { return size() == 0; }

  T& operator[](Index i) const requires(N == 1) {
    SB_ASSERT(0 <= i && i < shape_[0]);
    return data_[i];
  }
  // Row i, with one axis less.
  View<T, N - 1> operator[](Index i) const requires(N > 1) {
    SB_ASSERT(0 <= i && i < shape_[0]);
    std::array<Index, N - 1> shape;
    Index stride = 1;
    for (int a = 1; a < N; ++a) stride *= shape[a - 1] = shape_[a];
    return {data_ + i * stride, shape};
  }
  template <class... I>
  T& operator()(I... i) const {
    static_assert(sizeof...(I) == N);
    const Index index[N] = {Index(i)...};
    Index offset = 0;
    for (int a = 0; a < N; ++a) {
      SB_ASSERT(0 <= index[a] && index[a] < shape_[a]);
      offset = offset * shape_[a] + index[a];
    }
    return data_[offset];
  }
  // The elements [first, last) of a vector.
  View slice(Index first, Index last) const requires(N == 1) {
    SB_ASSERT(0 <= first && first <= last && last <= shape_[0]);
    return {data_ + first, last - first};
  }

  T* begin() const { return data_; }
  T* end() const { return data_ + size(); }

 private:
  T* data_;
  Shape shape_;
};

// An array of N axes that owns its memory, zero-initialized; Python gets it without a copy. Aligned to a cache line,
// for SIMD loads across two lines take twice the time.
template <class T, int N = 1>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using Shape = std::array<Index, N>;

  Array() : shape_{} {}
  explicit Array(Shape shape) : shape_(shape) { allocate(true); }
  explicit Array(Index size) requires(N == 1) : Array(Shape{size}) {}
  // Memory that the caller fills: zeroing a large array takes as long as some kernels.
  static Array uninitialized(Shape shape) {
    Array array;
    array.shape_ = shape;
    array.allocate(false);
    return array;
  }
  explicit Array(View<const T, N> view) : Array(uninitialized(view.shape())) { std::copy(view.begin(), view.end(), data_); }
  Array(const std::vector<T>& v) requires(N == 1) : Array(View<const T>(v)) {}

  View<T, N> view() { return {data_, shape_}; }
  View<const T, N> view() const { return {data_, shape_}; }
  operator View<T, N>() { return view(); }
  operator View<const T, N>() const { return view(); }
  T* data() { return data_; }
  const T* data() const { return data_; }
  const Shape& shape() const { return shape_; }
  Index shape(int axis) const { return shape_[axis]; }
  Index size() const { return view().size(); }
  T& operator[](Index i) requires(N == 1) { return view()[i]; }
  const T& operator[](Index i) const requires(N == 1) { return view()[i]; }
  template <class... I>
  T& operator()(I... i) { return view()(i...); }
  template <class... I>
  const T& operator()(I... i) const { return view()(i...); }
  T* begin() { return data(); }
  T* end() { return data() + size(); }

 private:
  // calloc leaves it to the system to zero the pages of large arrays at their first use.
  void allocate(bool is_zero) {
    constexpr std::size_t line = 64;
    const std::size_t n_bytes = std::size_t(size()) * sizeof(T) + line;
    memory_.reset(is_zero ? std::calloc(n_bytes, 1) : std::malloc(n_bytes));
    if (!memory_) throw std::bad_alloc();
    use_huge_pages(memory_.get(), n_bytes);
    std::size_t space = n_bytes;
    void* aligned = memory_.get();
    data_ = static_cast<T*>(std::align(line, n_bytes - line, aligned, space));
  }

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  Shape shape_;
  std::unique_ptr<void, Free> memory_;
  T* data_ = nullptr;
};

}  // namespace sparsebody
