// Vectors of N lanes, N a power of two, that stay in registers. A vector that is wider than the registers
// of the machine, or whose numbers are no doubles, is a pair of halves (GCC lowers it to scalars otherwise).
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

// Lanes of the widest register in use. 256-bit registers beat those of 512 bits, which cost no less where they are
// two halves of work, and more where they cross a line of the cache.
#if defined(__AVX2__)
inline constexpr int native_lanes = 4;
#else
inline constexpr int native_lanes = 2;  // SSE2, NEON
#endif

template <class S, int N>
inline constexpr bool is_native = N == 1 || (std::is_same_v<S, double> && N <= native_lanes);

// A register of N lanes, the same at any address, and the result of a comparison.
template <class S, int N> struct Register { using type = S; using unaligned = S; };
template <> struct Register<double, 2> {
  typedef double type __attribute__((vector_size(16)));
  typedef double unaligned __attribute__((vector_size(16), aligned(8)));
  typedef long long mask __attribute__((vector_size(16)));
};
template <> struct Register<double, 4> {
  typedef double type __attribute__((vector_size(32)));
  typedef double unaligned __attribute__((vector_size(32), aligned(8)));
  typedef long long mask __attribute__((vector_size(32)));
};
template <> struct Register<double, 8> {  // only of Vec<double, 8, true>
  typedef double type __attribute__((vector_size(64)));
  typedef double unaligned __attribute__((vector_size(64), aligned(8)));
  typedef long long mask __attribute__((vector_size(64)));
};

template <class S, int N, bool = is_native<S, N>> struct Vec;

// One register.
template <class S, int N>
struct Vec<S, N, true> {
  using Type = typename Register<S, N>::type;
  using Unaligned = typename Register<S, N>::unaligned;
  Type v{};

  SB_INLINE static Vec load(const S* p) { return {Type(*reinterpret_cast<const Unaligned*>(p))}; }
  SB_INLINE void store(S* p) const { *reinterpret_cast<Unaligned*>(p) = v; }
  // The first `used` lanes only; a load fills the others with zeros.
  template <int used>
  SB_INLINE static Vec load(const S* p) {
    if constexpr (used == N) return load(p);
    if constexpr (used == 0) return {};
#if defined(__AVX2__)
    if constexpr (N == 4) return {_mm256_maskload_pd(p, _mm256_setr_epi64x(-1, -(used > 1), -(used > 2), 0))};
#endif
    Vec loaded;
    if constexpr (used < N && N > 1) unrolled<0, used>([&](auto k) SB_UNROLL { loaded.v[int(k)] = p[k]; });
    return loaded;
  }
  template <int used>
  SB_INLINE void store(S* p) const {
    if constexpr (used == N) {
      store(p);
    } else if constexpr (used >= 2) {
      half().store(p);
      if constexpr (used == 3) p[2] = v[2];
    } else if constexpr (used == 1) {
      p[0] = v[0];
    }
  }

  SB_INLINE S operator[](int lane) const {
    if constexpr (N == 1) return v;
    else return v[lane];
  }
  // With another number in one lane.
  template <int lane>
  SB_INLINE Vec with(const S& number) const {
    if constexpr (N == 1) {
      return {number};
    } else {
      typename Register<S, N>::mask is_it{};
      is_it[lane] = -1;
      return {is_it ? Type{} + number : v};
    }
  }
  SB_INLINE friend Vec operator+(const Vec& a, const Vec& b) { return {a.v + b.v}; }
  SB_INLINE friend Vec operator-(const Vec& a, const Vec& b) { return {a.v - b.v}; }
  SB_INLINE friend Vec operator-(const Vec& a) { return {-a.v}; }
  SB_INLINE friend Vec operator*(const Vec& a, const Vec& b) { return {a.v * b.v}; }
  SB_INLINE friend Vec operator*(const Vec& a, const S& s) { return {a.v * s}; }

  // Lane by lane the larger of a size and a magnitude; a NaN may get lost.
  SB_INLINE friend Vec larger(const Vec& size, const Vec& b) {
    if constexpr (N == 1) {
      const S magnitude = double(b.v) < 0.0 ? -b.v : b.v;
      return double(magnitude) > double(size.v) ? Vec{magnitude} : size;
    } else {
      using Mask = typename Register<S, N>::mask;
      const Type magnitude = Type(Mask(b.v) & 0x7fffffffffffffffLL);
      return {magnitude > size.v ? magnitude : size.v};
    }
  }
  // N lanes of those of a and b in sequence, from lane t on.
  template <int t>
  SB_INLINE friend Vec window(const Vec& a, const Vec& b) {
    if constexpr (t == 0) return a;
    else if constexpr (t == N) return b;
    else if constexpr (N == 2) return {__builtin_shufflevector(a.v, b.v, 1, 2)};
    else return {__builtin_shufflevector(a.v, b.v, t, t + 1, t + 2, t + 3)};
  }
  SB_INLINE Vec<S, 2> half() const requires(N >= 2) {
    if constexpr (N == 2) return *this;
    else return {__builtin_shufflevector(v, v, 0, 1)};
  }
};

// Two halves.
template <class S, int N>
struct Vec<S, N, false> {
  using Half = Vec<S, N / 2>;
  Half low{}, high{};

  SB_INLINE static Vec load(const S* p) { return {Half::load(p), Half::load(p + N / 2)}; }
  SB_INLINE void store(S* p) const { low.store(p), high.store(p + N / 2); }
  template <int used>
  SB_INLINE static Vec load(const S* p) {
    if constexpr (used <= N / 2) return {Half::template load<used>(p), {}};
    else return {Half::load(p), Half::template load<used - N / 2>(p + N / 2)};
  }
  template <int used>
  SB_INLINE void store(S* p) const {
    if constexpr (used <= N / 2) low.template store<used>(p);
    else low.store(p), high.template store<used - N / 2>(p + N / 2);
  }

  SB_INLINE S operator[](int lane) const { return lane < N / 2 ? low[lane] : high[lane - N / 2]; }
  template <int lane>
  SB_INLINE Vec with(const S& number) const {
    if constexpr (lane < N / 2) return {low.template with<lane>(number), high};
    else return {low, high.template with<lane - N / 2>(number)};
  }
  SB_INLINE friend Vec operator+(const Vec& a, const Vec& b) { return {a.low + b.low, a.high + b.high}; }
  SB_INLINE friend Vec operator-(const Vec& a, const Vec& b) { return {a.low - b.low, a.high - b.high}; }
  SB_INLINE friend Vec operator-(const Vec& a) { return {-a.low, -a.high}; }
  SB_INLINE friend Vec operator*(const Vec& a, const Vec& b) { return {a.low * b.low, a.high * b.high}; }
  SB_INLINE friend Vec operator*(const Vec& a, const S& s) { return {a.low * s, a.high * s}; }
  SB_INLINE friend Vec larger(const Vec& size, const Vec& b) {
    return {larger(size.low, b.low), larger(size.high, b.high)};
  }
  template <int t>
  SB_INLINE friend Vec window(const Vec& a, const Vec& b) {
    if constexpr (t < N / 2) return {window<t>(a.low, a.high), window<t>(a.high, b.low)};
    else return {window<t - N / 2>(a.high, b.low), window<t - N / 2>(b.low, b.high)};
  }
};

template <class S, int N>
SB_INLINE Vec<S, N> operator*(const S& s, const Vec<S, N>& a) { return a * s; }
template <class S, int N, bool is_whole>
SB_INLINE Vec<S, N, is_whole>& operator+=(Vec<S, N, is_whole>& a, const Vec<S, N, is_whole>& b) { return a = a + b; }
template <class S, int N, bool is_whole>
SB_INLINE Vec<S, N, is_whole>& operator-=(Vec<S, N, is_whole>& a, const Vec<S, N, is_whole>& b) { return a = a - b; }

// All lanes the same.
template <int N, class S>
SB_INLINE Vec<S, N> broadcast(const S& s) {
  if constexpr (N == 1) return {s};
  else if constexpr (is_native<S, N>) return {typename Vec<S, N>::Type{} + s};
  else return {broadcast<N / 2>(s), broadcast<N / 2>(s)};
}

// A vector of n <= N numbers, filled up with zeros.
template <int N, class S, std::size_t n>
SB_INLINE Vec<S, N> gathered(const S (&numbers)[n]) {
  static_assert(n <= N);
  const auto number = [&](std::size_t k) SB_UNROLL { return k < n ? numbers[k < n ? k : 0] : S(0.0); };
  using Type = typename Register<S, N>::type;
  if constexpr (!is_native<S, N>) {
    Vec<S, N> v;
    unrolled<0, int(n)>([&](auto k) SB_UNROLL { v = v.template with<k>(numbers[k]); });
    return v;
  } else if constexpr (N == 1) {
    return {number(0)};
  } else if constexpr (N == 2) {
    return {Type{number(0), number(1)}};
  } else {
    return {Type{number(0), number(1), number(2), number(3)}};
  }
}

// A vector of four lanes with the same sum.
template <class S, int N>
SB_INLINE Vec<S, 4> folded(const Vec<S, N>& v) {
  if constexpr (N == 4) return v;
  else return v.low + v.high;
}

namespace detail {
// (a_0 + a_1, b_0 + b_1)
template <class S>
SB_INLINE Vec<S, 2> pair_sums(const Vec<S, 2>& a, const Vec<S, 2>& b) {
  if constexpr (is_native<S, 2>)
    return {__builtin_shufflevector(a.v, b.v, 0, 2) + __builtin_shufflevector(a.v, b.v, 1, 3)};
  else return {a.low + a.high, b.low + b.high};
}
// Sums of four vectors of four: halves of two are folded into one, then neighbours.
template <class S>
SB_INLINE Vec<S, 4> sums4(const Vec<S, 4>& a, const Vec<S, 4>& b, const Vec<S, 4>& c, const Vec<S, 4>& d) {
  if constexpr (is_native<S, 4>) {
    const auto even = __builtin_shufflevector(a.v, c.v, 0, 1, 4, 5) + __builtin_shufflevector(a.v, c.v, 2, 3, 6, 7);
    const auto odd = __builtin_shufflevector(b.v, d.v, 0, 1, 4, 5) + __builtin_shufflevector(b.v, d.v, 2, 3, 6, 7);
    return {__builtin_shufflevector(even, odd, 0, 4, 2, 6) + __builtin_shufflevector(even, odd, 1, 5, 3, 7)};
  } else {
    return {pair_sums(a.low + a.high, b.low + b.high), pair_sums(c.low + c.high, d.low + d.high)};
  }
}
}  // namespace detail

// The sums of n <= N vectors of four, filled up with zeros.
template <int N, class S, std::size_t n>
SB_INLINE Vec<S, N> sums(const Vec<S, 4> (&v)[n]) {
  const auto at = [&](auto k) SB_UNROLL {
    if constexpr (k < int(n)) return v[k];
    else return Vec<S, 4>{};
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
template <int t, class S, int N>
SB_INLINE Vec<S, N> rotated(const Vec<S, N>& v) { return window<t>(v, v); }

// Requests the line of memory of an address, which need not exist, before it is needed: into the second cache,
// because in the small first one the streams of an evaluation, each some kB ahead, displace what is in use.
SB_INLINE void prefetch(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace sparsebody
