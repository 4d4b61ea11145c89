// Four numbers at once, a scalar of vectors and transforms: one of each of four bodies, or joints.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/array.hpp"
#include "base/vec.hpp"

namespace sparsebody {

inline constexpr int n_lanes = 4;

struct Lanes {
  Vec<n_lanes> v;

  SB_INLINE Lanes(double s = 0.0) : v(broadcast<n_lanes>(s)) {}
  SB_INLINE Lanes(const Vec<n_lanes>& lanes) : v(lanes) {}
  SB_INLINE Lanes(const Lanes& other) : v(other.v) {}
  SB_INLINE Lanes& operator=(const Lanes& other) { return v = other.v, *this; }
  SB_INLINE friend Lanes operator+(const Lanes& a, const Lanes& b) { return a.v + b.v; }
  SB_INLINE friend Lanes operator-(const Lanes& a, const Lanes& b) { return a.v - b.v; }
  SB_INLINE friend Lanes operator-(const Lanes& a) { return -a.v; }
  SB_INLINE friend Lanes operator*(const Lanes& a, const Lanes& b) { return a.v * b.v; }
  SB_INLINE friend Lanes inverse_sqrt(const Lanes& a) {
    double of[n_lanes];
    a.v.store(of);
    for (double& x : of) x = 1.0 / std::sqrt(x);
    return Vec<n_lanes>::load(of);
  }
};
SB_INLINE double inverse_sqrt(double a) { return 1.0 / std::sqrt(a); }

// Whether a < b, in all lanes.
template <class T>
SB_INLINE bool all_less(const T& a, const T& b) { return a < b; }
SB_INLINE bool all_less(const Lanes& a, const Lanes& b) {
  double of[2][n_lanes];
  a.v.store(of[0]), b.v.store(of[1]);
  bool is_less = true;
  for (int k = 0; k < n_lanes; ++k) is_less &= of[0][k] < of[1][k];
  return is_less;
}

// Transposes four rows of four numbers.
template <class Row>
SB_INLINE void transpose(Row (&row)[n_lanes]) {
  if constexpr (native_lanes >= n_lanes) {
    const auto pairs = [&](int k, auto shuffle) SB_UNROLL { return shuffle(row[k].v, row[k + 1].v); };
    const auto even = [](auto a, auto b) SB_UNROLL { return __builtin_shufflevector(a, b, 0, 4, 2, 6); };
    const auto odd = [](auto a, auto b) SB_UNROLL { return __builtin_shufflevector(a, b, 1, 5, 3, 7); };
    const auto a = pairs(0, even), b = pairs(0, odd), c = pairs(2, even), d = pairs(2, odd);
    row[0].v = __builtin_shufflevector(a, c, 0, 1, 4, 5), row[1].v = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    row[2].v = __builtin_shufflevector(a, c, 2, 3, 6, 7), row[3].v = __builtin_shufflevector(b, d, 2, 3, 6, 7);
  } else {
    double of[n_lanes][n_lanes];
    for (int k = 0; k < n_lanes; ++k) row[k].store(of[k]);
    for (int k = 0; k < n_lanes; ++k) row[k] = gathered<n_lanes>({of[0][k], of[1][k], of[2][k], of[3][k]});
  }
}

// The first n numbers of each of four rows, and back: at most four at a time, the last ones again if need be.
template <int n>
SB_INLINE void load_lanes(const double* const (&of)[n_lanes], Lanes* numbers) {
  constexpr int width = n < 4 ? n : 4;
  const auto take = [&](auto first) SB_UNROLL {
    Vec<n_lanes> row[n_lanes];
    unrolled<0, n_lanes>([&](auto lane) SB_UNROLL { row[lane] = Vec<n_lanes>::template load<width>(of[lane] + first); });
    transpose(row);
    unrolled<0, width>([&](auto k) SB_UNROLL { numbers[first + k] = row[k]; });
  };
  unrolled<0, n / 4>([&](auto k) SB_UNROLL { take(std::integral_constant<int, 4 * k>{}); });
  if constexpr (n % 4 > 0) take(std::integral_constant<int, n - width>{});
}
template <int n>
SB_INLINE void store_lanes(const Lanes* numbers, double* const (&of)[n_lanes]) {
  constexpr int width = n < 4 ? n : 4;
  const auto put = [&](auto first) SB_UNROLL {
    Vec<n_lanes> row[n_lanes];
    unrolled<0, width>([&](auto k) SB_UNROLL { row[k] = numbers[first + k].v; });
    transpose(row);
    unrolled<0, n_lanes>([&](auto lane) SB_UNROLL { row[lane].template store<width>(of[lane] + first); });
  };
  unrolled<0, n / 4>([&](auto k) SB_UNROLL { put(std::integral_constant<int, 4 * k>{}); });
  if constexpr (n % 4 > 0) put(std::integral_constant<int, n - width>{});
}

// f(rows) for the rows of an array that begin those of four bodies, the last one in place of missing ones.
template <class T, class F>
SB_INLINE void with_rows(View<T, 2> array, Index block, F f) {
  const Index first = n_lanes * block, last = array.rows() - 1;
  const auto row = [&](Index lane) SB_UNROLL { return array.data() + std::min(first + lane, last) * array.shape(1); };
  f({row(0), row(1), row(2), row(3)});
}
template <int n>
SB_INLINE void load_lanes(View<const double, 2> array, Index block, Lanes* numbers) {
  with_rows(array, block, [&](const double* const (&rows)[n_lanes]) SB_UNROLL { load_lanes<n>(rows, numbers); });
}
template <int n>
SB_INLINE void store_lanes(const Lanes* numbers, View<double, 2> array, Index block) {
  with_rows(array, block, [&](double* const (&rows)[n_lanes]) SB_UNROLL { store_lanes<n>(numbers, rows); });
}
// The number of such blocks of four.
inline Index n_blocks(Index n_bodies) { return (n_bodies + n_lanes - 1) / n_lanes; }

}  // namespace sparsebody
