// Vectors of N doubles, N a power of two, that stay in registers. A vector that is wider than the registers of the
// machine is a pair of halves (GCC lowers it to scalars otherwise).
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define SB_INLINE [[gnu::always_inline]] inline  // of functions
#define SB_UNROLL __attribute__((always_inline))  // of the body of a loop: [&](auto k) SB_UNROLL { ... }

namespace sparsebody {

// Calls body(begin), ..., body(end - 1) with constants; the loop disappears before arrays are put into registers.
template <int begin, int end, class F>
SB_INLINE void unrolled(F&& body) {
  if constexpr (begin < end)
    [&]<int... k>(std::integer_sequence<int, k...>) SB_UNROLL {
      (body(std::integral_constant<int, begin + k>{}), ...);
    }(std::make_integer_sequence<int, end - begin>{});
}
// Calls body(end - 1), ..., body(0).
template <int end, class F>
SB_INLINE void unrolled_down(F&& body) {
  unrolled<0, end>([&](auto k) SB_UNROLL { body(std::integral_constant<int, end - 1 - k>{}); });
}

// Calls f with the first of these numbers that n is, as a constant; the last one stands for all others. A chain of
// conditions is faster than a table of jumps.
template <int first, int... others, class N, class F>
SB_INLINE auto with_constant(N n, F&& f) {
  if constexpr (sizeof...(others) > 0)
    if (n != N(first)) return with_constant<others...>(n, f);
  return f(std::integral_constant<int, first>{});
}

// Lanes of the widest register in use. 256-bit registers beat those of 512 bits, which cost no less where they are
// two halves of work, and more where they cross a line of the cache.
#if defined(__AVX2__)
inline constexpr int native_lanes = 4;
#else
inline constexpr int native_lanes = 2;  // SSE2, NEON
#endif

// A register of N lanes, the same at any address, and the result of a comparison.
template <int N>
struct Register {
  typedef double type __attribute__((vector_size(8 * N)));
  typedef double unaligned __attribute__((vector_size(8 * N), aligned(8)));
  typedef long long mask __attribute__((vector_size(8 * N)));
};

template <int N, bool is_whole = N <= native_lanes> struct Vec;

// One register.
template <int N>
struct Vec<N, true> {
  using Type = typename Register<N>::type;
  using Unaligned = typename Register<N>::unaligned;
  using Mask = typename Register<N>::mask;
  Type v{};

  SB_INLINE static Vec load(const double* p) { return {Type(*reinterpret_cast<const Unaligned*>(p))}; }
  SB_INLINE void store(double* p) const { *reinterpret_cast<Unaligned*>(p) = v; }
  // The first `used` lanes only; a load fills the others with zeros.
  template <int used>
  SB_INLINE static Vec load(const double* p) {
    if constexpr (used == N) return load(p);
    if constexpr (used == 0) return {};
#if defined(__AVX2__)
    if constexpr (N == 4) return {_mm256_maskload_pd(p, _mm256_setr_epi64x(-1, -(used > 1), -(used > 2), 0))};
#endif
    Vec loaded;
    if constexpr (used < N) unrolled<0, used>([&](auto k) SB_UNROLL { loaded.v[int(k)] = p[k]; });
    return loaded;
  }
  template <int used>
  SB_INLINE void store(double* p) const {
    if constexpr (used == N) {
      store(p);
    } else if constexpr (used >= 2) {
      half().store(p);
      if constexpr (used == 3) p[2] = v[2];
    } else if constexpr (used == 1) {
      p[0] = v[0];
    }
  }

  SB_INLINE double operator[](int lane) const { return v[lane]; }
  // With another number in one lane.
  template <int lane>
  SB_INLINE Vec with(double number) const {
    Mask is_it{};
    is_it[lane] = -1;
    return {is_it ? Type{} + number : v};
  }
  SB_INLINE friend Vec operator+(const Vec& a, const Vec& b) { return {a.v + b.v}; }
  SB_INLINE friend Vec operator-(const Vec& a, const Vec& b) { return {a.v - b.v}; }
  SB_INLINE friend Vec operator-(const Vec& a) { return {-a.v}; }
  SB_INLINE friend Vec operator*(const Vec& a, const Vec& b) { return {a.v * b.v}; }
  SB_INLINE friend Vec operator*(const Vec& a, double s) { return {a.v * s}; }

  // Lane by lane the larger of a size and a magnitude; a NaN may get lost.
  SB_INLINE friend Vec larger(const Vec& size, const Vec& b) {
    const Type magnitude = Type(Mask(b.v) & 0x7fffffffffffffffLL);
    return {magnitude > size.v ? magnitude : size.v};
  }
  // N lanes of those of a and b in sequence, from lane t on.
  template <int t>
  SB_INLINE friend Vec window(const Vec& a, const Vec& b) {
    if constexpr (t == 0) return a;
    else if constexpr (t == N) return b;
    else if constexpr (N == 2) return {__builtin_shufflevector(a.v, b.v, 1, 2)};
    else return {__builtin_shufflevector(a.v, b.v, t, t + 1, t + 2, t + 3)};
  }
  SB_INLINE Vec<2> half() const {
    if constexpr (N == 2) return *this;
    else return {__builtin_shufflevector(v, v, 0, 1)};
  }
};

// Two halves.
template <int N>
struct Vec<N, false> {
  using Half = Vec<N / 2>;
  Half low{}, high{};

  SB_INLINE static Vec load(const double* p) { return {Half::load(p), Half::load(p + N / 2)}; }
  SB_INLINE void store(double* p) const { low.store(p), high.store(p + N / 2); }
  template <int used>
  SB_INLINE static Vec load(const double* p) {
    if constexpr (used <= N / 2) return {Half::template load<used>(p), {}};
    else return {Half::load(p), Half::template load<used - N / 2>(p + N / 2)};
  }
  template <int used>
  SB_INLINE void store(double* p) const {
    if constexpr (used <= N / 2) low.template store<used>(p);
    else low.store(p), high.template store<used - N / 2>(p + N / 2);
  }

  SB_INLINE double operator[](int lane) const { return lane < N / 2 ? low[lane] : high[lane - N / 2]; }
  template <int lane>
  SB_INLINE Vec with(double number) const {
    if constexpr (lane < N / 2) return {low.template with<lane>(number), high};
    else return {low, high.template with<lane - N / 2>(number)};
  }
  SB_INLINE friend Vec operator+(const Vec& a, const Vec& b) { return {a.low + b.low, a.high + b.high}; }
  SB_INLINE friend Vec operator-(const Vec& a, const Vec& b) { return {a.low - b.low, a.high - b.high}; }
  SB_INLINE friend Vec operator-(const Vec& a) { return {-a.low, -a.high}; }
  SB_INLINE friend Vec operator*(const Vec& a, const Vec& b) { return {a.low * b.low, a.high * b.high}; }
  SB_INLINE friend Vec operator*(const Vec& a, double s) { return {a.low * s, a.high * s}; }
  SB_INLINE friend Vec larger(const Vec& size, const Vec& b) {
    return {larger(size.low, b.low), larger(size.high, b.high)};
  }
  template <int t>
  SB_INLINE friend Vec window(const Vec& a, const Vec& b) {
    if constexpr (t < N / 2) return {window<t>(a.low, a.high), window<t>(a.high, b.low)};
    else return {window<t - N / 2>(a.high, b.low), window<t - N / 2>(b.low, b.high)};
  }
};

template <int N>
SB_INLINE Vec<N> operator*(double s, const Vec<N>& a) { return a * s; }
template <int N, bool is_whole>
SB_INLINE Vec<N, is_whole>& operator+=(Vec<N, is_whole>& a, const Vec<N, is_whole>& b) { return a = a + b; }
template <int N, bool is_whole>
SB_INLINE Vec<N, is_whole>& operator-=(Vec<N, is_whole>& a, const Vec<N, is_whole>& b) { return a = a - b; }

// All lanes the same.
template <int N>
SB_INLINE Vec<N> broadcast(double s) {
  if constexpr (N <= native_lanes) return {s - typename Vec<N>::Type{}};  // not s + 0, which is +0 where s is -0
  else return {broadcast<N / 2>(s), broadcast<N / 2>(s)};
}

// A vector of n <= N numbers, filled up with zeros.
template <int N, std::size_t n>
SB_INLINE Vec<N> gathered(const double (&numbers)[n]) {
  static_assert(n <= N);
  const auto number = [&](std::size_t k) SB_UNROLL { return k < n ? numbers[k < n ? k : 0] : 0.0; };
  if constexpr (N > native_lanes) {
    Vec<N> v;
    unrolled<0, int(n)>([&](auto k) SB_UNROLL { v = v.template with<k>(numbers[k]); });
    return v;
  } else if constexpr (N == 2) {
    return {typename Vec<N>::Type{number(0), number(1)}};
  } else {
    return {typename Vec<N>::Type{number(0), number(1), number(2), number(3)}};
  }
}

// A vector of four lanes with the same sum.
template <int N>
SB_INLINE Vec<4> folded(const Vec<N>& v) {
  if constexpr (N == 4) return v;
  else return v.low + v.high;
}

namespace detail {
// (a_0 + a_1, b_0 + b_1)
SB_INLINE Vec<2> pair_sums(const Vec<2>& a, const Vec<2>& b) {
  return {__builtin_shufflevector(a.v, b.v, 0, 2) + __builtin_shufflevector(a.v, b.v, 1, 3)};
}
// Sums of four vectors of four: halves of two are folded into one, then neighbours.
template <class V>
SB_INLINE V sums4(const V& a, const V& b, const V& c, const V& d) {
  if constexpr (native_lanes >= 4) {
    const auto even = __builtin_shufflevector(a.v, c.v, 0, 1, 4, 5) + __builtin_shufflevector(a.v, c.v, 2, 3, 6, 7);
    const auto odd = __builtin_shufflevector(b.v, d.v, 0, 1, 4, 5) + __builtin_shufflevector(b.v, d.v, 2, 3, 6, 7);
    return {__builtin_shufflevector(even, odd, 0, 4, 2, 6) + __builtin_shufflevector(even, odd, 1, 5, 3, 7)};
  } else {
    return {pair_sums(a.low + a.high, b.low + b.high), pair_sums(c.low + c.high, d.low + d.high)};
  }
}
}  // namespace detail

// The sums of n <= N vectors of four, filled up with zeros.
template <int N, std::size_t n>
SB_INLINE Vec<N> sums(const Vec<4> (&v)[n]) {
  const auto at = [&](auto k) SB_UNROLL {
    if constexpr (k < int(n)) return v[k];
    else return Vec<4>{};
  };
  const auto four = [&]<int k>(std::integral_constant<int, k>) SB_UNROLL {
    using std::integral_constant;
    return detail::sums4(at(integral_constant<int, k>{}), at(integral_constant<int, k + 1>{}),
                         at(integral_constant<int, k + 2>{}), at(integral_constant<int, k + 3>{}));
  };
  if constexpr (N == 4) return four(std::integral_constant<int, 0>{});
  else return {four(std::integral_constant<int, 0>{}), four(std::integral_constant<int, 4>{})};
}

// Lanes t, ..., N - 1, 0, ..., t - 1.
template <int t, int N>
SB_INLINE Vec<N> rotated(const Vec<N>& v) { return window<t>(v, v); }

// Requests the line of memory of an address, which need not exist, before it is needed: into the second cache,
// because in the small first one the streams of an evaluation, each some kB ahead, displace what is in use.
SB_INLINE void prefetch(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace sparsebody
