// The numeric phase of block LDL'. The steps at a pivot are templates on the rows of its block, at most six.
#include "factorization/block_ldl.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/vec.hpp"
#include "factorization/saddle.hpp"

namespace sparsebody::block_ldl {
namespace {

constexpr double doubtful_ratio = 1e-13;  // of a pivot that may be rounding alone
constexpr Index prefetch_threshold = 1 << 14;  // pivots from which on tables and factors exceed the caches
constexpr int line = 8;                        // numbers of a line of memory
// Lines, or entries, that are requested before they are needed.
constexpr int pivots_ahead = 16, below_ahead = 48, fills_ahead = 24, updates_ahead = 256, values_ahead = 512;
constexpr int numbers_ahead = 128, row_numbers_ahead = 1024;
constexpr Index pipeline_length = 512, chunks_ahead = 4;  // pivots of a chunk, and chunks, of two threads

// Calls f with the number of rows as a constant; of a constant pivot 3 or 6; with the lanes of a block, 4 or 8.
template <class F>
SB_INLINE auto with_size(std::uint32_t size, F&& f) { return with_constant<6, 5, 3, 2, 1, 4, 0>(size, f); }
template <class F>
SB_INLINE auto with_constant_size(std::uint32_t size, F&& f) { return with_constant<6, 3>(size, f); }
template <class F>
SB_INLINE auto with_lanes(std::uint32_t rows, F&& f) { return with_constant<4, 8>(lanes_of(rows), f); }

// A ring buffer of a vector in padded order: row r at r modulo its length, a power of two; 8 more entries take the end
// of a block that begins at its last rows.
struct Window {
  double* data;
  std::uint32_t mask;
  explicit Window(View<double> window) : data(window.data()), mask(std::uint32_t(window.size() - 9)) {}
  SB_INLINE double* at(std::uint32_t row) const { return data + (row & mask); }
};

// The rows of A below a constant pivot, one joint after the other.
struct FillRows {
  const double* data;
  Index width;
  explicit FillRows(Rows rows) : data(rows.data()), width(rows.shape(2)) {}
  SB_INLINE const double* at(const Fill& fill) const { return data + width * (2 * Index(fill.a_row) + fill.side); }
  SB_INLINE Index stride() const { return 2 * width; }
};

SB_INLINE void prefetch_tables(const Layout& layout, const Pivot& pivot) {
  prefetch(&pivot + pivots_ahead);
  prefetch(layout.below.data() + pivot.first_below + below_ahead);
  prefetch(layout.fills.data() + pivot.first_fill + fills_ahead);
}
SB_INLINE void prefetch_range(const double* values, Index begin, Index end) {
  for (Index i = begin; i < end; i += line) prefetch(values + i + values_ahead);
}
SB_INLINE void prefetch_panel(const double* values, const Pivot& pivot, const Pivot& following) {
  prefetch_range(values, pivot.start, following.start);
  prefetch_range(values, pivot.own, following.own);
}

// ---- elimination ----------------------------------------------------------------------------------------------

// Begins the own block of a panel: the identity or zero, and the right-hand side in the spare lane.
template <int size>
SB_INLINE void begin_own(double* own, const double* rhs, double diagonal) {
  constexpr int lanes = lanes_of(size);
  unrolled<0, size>([&](auto k) SB_UNROLL {
    Vec<lanes>{}.template with<lanes - 1>(rhs[k]).template with<k>(diagonal).store(own + k * lanes);
  });
}

// The columns of a block of A, of `n` rows each, at(k): lane r is entry k of row r.
template <int n>
SB_INLINE auto column_of(const double* rows, Index stride, Index k) {
  double column[n > 0 ? n : 1] = {};
  unrolled<0, n>([&](auto r) SB_UNROLL { column[r] = rows[stride * r + k]; });
  return gathered<lanes_of(n)>(column);
}

// Sets a block of a panel to a block of A or its transpose, or adds that.
template <bool adds>
SB_INLINE void take_block(const Fill& fill, const FillRows& A, double* values) {
  const double* const rows = A.at(fill);
  const Index stride = A.stride();
  const auto put = [](auto column, double* block) SB_UNROLL {
    if constexpr (adds) column += decltype(column)::load(block);
    column.store(block);
  };
  double* const block = values + fill.offset;
  if (fill.by_row) {
    with_size(fill.n_rows, [&](auto n) SB_UNROLL {
      for (Index k = 0; k < Index(fill.n_columns); ++k)
        put(column_of<n>(rows, stride, k), block + k * lanes_of(n));
    });
  } else {
    with_size(fill.n_columns, [&](auto n) SB_UNROLL {
      constexpr int lanes = lanes_of(n);
      for (Index r = 0; r < Index(fill.n_rows); ++r)
        put(Vec<lanes>::template load<n>(rows + stride * r), block + r * lanes);
    });
  }
}

// Fills a panel with its part of the matrix.
SB_INLINE void open(const Layout& layout, const Pivot& pivot, const FillRows& A, const double* rhs, double* values) {
  const Pivot& following = *(&pivot + 1);
  constexpr double zeros[6] = {};
  with_size(pivot.size, [&](auto size) SB_UNROLL {
    begin_own<size>(values + pivot.own, pivot.kind == contribution ? zeros : rhs + pivot.natural,
                    pivot.kind == primal ? 1.0 : 0.0);
  });
  const auto clear = [&](Index begin, Index end) SB_UNROLL {
    for (Index i = begin; i < end; i += 4) Vec<4>{}.store(values + i);
  };
  Index filled_end = pivot.start;
  for (std::uint32_t f = pivot.first_fill; f < following.first_fill; ++f) {
    const Fill& fill = layout.fills[f];
    if (Index(fill.offset) < filled_end) {  // a joint of a body with itself
      take_block<true>(fill, A, values);
      continue;
    }
    clear(filled_end, fill.offset);
    take_block<false>(fill, A, values);
    filled_end = Index(fill.offset) + Index(pivot.size) * lanes_of(fill.by_row ? fill.n_rows : fill.n_columns);
  }
  clear(filled_end, following.start);
}

// L D L' = P of a positive definite pivot; returns whether it is safe. Columns are taken in pairs, so that only
// every other division waits for the one before: of the second column, d_2 - l^2 / d_1 is (d_1 d_2 - l^2) / d_1.
template <int size>
SB_INLINE bool factorize_primal(double* block, const double* reference) {
  constexpr int lanes = lanes_of(size);
  Vec<lanes> P[size];
  unrolled<0, size>([&](auto k) SB_UNROLL { P[k] = Vec<lanes>::load(block + k * lanes); });
  bool is_safe = true;
  const auto eliminate_column = [&](auto k, double reciprocal, auto first) SB_UNROLL {
    unrolled<first, size>([&](auto j) SB_UNROLL { P[j] -= P[k] * P[k][j] * reciprocal; });
    (P[k] * reciprocal).template with<k>(reciprocal).store(block + k * lanes);
  };
  unrolled<0, (size + 1) / 2>([&](auto pair) SB_UNROLL {
    constexpr int k = 2 * pair;
    const std::integral_constant<int, k> first;
    const std::integral_constant<int, k + 1> second;
    const std::integral_constant<int, k + 2> third;
    const double d = P[k][k], reciprocal = 1.0 / d;
    is_safe &= d > doubtful_ratio * reference[k];
    if constexpr (second < size) {
      const double l = P[k][second], both = d * P[second][second] - l * l;
      is_safe &= both * reciprocal > doubtful_ratio * reference[second];
      const double second_reciprocal = d / both;
      eliminate_column(first, reciprocal, second);
      eliminate_column(second, second_reciprocal, third);
    } else {
      eliminate_column(first, reciprocal, second);
    }
  });
  return is_safe;
}

// L D L' = P of a negative definite pivot; returns whether it is safe. A shift, relative to the pivot before its updates
// by other dual ones (`reference`), keeps the matrix definite even where its eigenvalues are below rounding.
template <int size>
SB_INLINE bool factorize_dual(double* block, const double* reference, double shift) {
  constexpr int lanes = lanes_of(size);
  Vec<lanes> P[size];
  unrolled<0, size>([&](auto k) SB_UNROLL { P[k] = Vec<lanes>::load(block + k * lanes); });
  bool is_safe = true;
  unrolled<0, size>([&](auto k) SB_UNROLL {
    const double scale = reference[k], pivot = P[k][k];
    const double d = (pivot >= 0.0 ? 0.0 : pivot) - shift * scale;  // NaN stays
    is_safe &= -d > doubtful_ratio * scale;
    const double reciprocal = 1.0 / d;
    unrolled<k + 1, size>([&](auto j) SB_UNROLL { P[j] -= P[k] * P[k][j] * reciprocal; });
    (P[k] * reciprocal).template with<k>(reciprocal).store(block + k * lanes);
  });
  return is_safe;
}

// Adds left V' to the blocks of later panels that one block below a pivot updates, those above it and itself.
template <int size, int lanes>
SB_INLINE void update(const Vec<lanes> (&left)[size], const double* right, const Below* above, const Below* end,
                      const std::uint32_t*& target, double* values) {
  for (; above < end; ++above) {
    double* const block = values + *target++;
    with_size(above->rows, [&](auto n_columns) SB_UNROLL {
      unrolled<0, n_columns>([&](auto j) SB_UNROLL {
        auto total = Vec<lanes>::load(block + j * lanes);
        unrolled<0, size>([&](auto k) SB_UNROLL { total += left[k] * right[lanes_of(n_columns) * k + j]; });
        total.store(block + j * lanes);
      });
      right += size * lanes_of(n_columns);
    });
  }
}

// Update of the diagonal of a block below a primal pivot: -left V', lane by lane.
template <int size, int lanes>
SB_INLINE void add_to_reference(const Vec<lanes> (&left)[size], const Vec<lanes> (&V)[size], double* reference) {
  auto total = Vec<lanes>::load(reference);
  unrolled<0, size>([&](auto k) SB_UNROLL { total -= left[k] * V[k]; });
  total.store(reference);
}

// A primal pivot that nothing has changed: P = 1, so left = -V and right = V.
template <int size>
SB_INLINE bool eliminate_constant(const Layout& layout, const Pivot& pivot, const FillRows& A, const double* rhs,
                                  const Storage& storage, const Window& reference) {
  const Below* const first = layout.below.data() + pivot.first_below;
  const Below* const end = layout.below.data() + (&pivot + 1)->first_below;
  const std::uint32_t* target = layout.updates.data() + pivot.first_update;
  const Fill* fill = layout.fills.data() + pivot.first_fill;
  double* right = storage.right.data();
  for (const Below* below = first; below < end; ++below, ++fill) {
    with_size(below->rows, [&](auto n_rows) SB_UNROLL {
      constexpr int lanes = lanes_of(n_rows);
      const double* const rows = A.at(*fill);
      Vec<lanes> V[size], left[size];
      unrolled<0, size>([&](auto k) SB_UNROLL {
        V[k] = column_of<n_rows>(rows, A.stride(), k).template with<lanes - 1>(rhs[pivot.natural + k]);
        left[k] = -V[k];
        V[k].store(right + k * lanes);
      });
      add_to_reference(left, V, reference.at(below->row));
      update(left, storage.right.data(), first, below + 1, target, storage.values.data());
      right += size * lanes;
    });
  }
  return true;
}

// Any other pivot; returns whether it is safe.
template <int size>
SB_INLINE bool eliminate_block(const Layout& layout, const Pivot& pivot, double shift, const Storage& storage,
                               const Window& reference) {
  constexpr int own_lanes = lanes_of(size);
  const bool is_primal = pivot.kind == primal;
  double* const own = storage.values.data() + pivot.own;
  double* const scale = reference.at(pivot.padded);
  if (shift < 0.0 && !is_primal) std::fill(scale, scale + size, 1.0);
  const bool is_safe =
      is_primal ? factorize_primal<size>(own, scale) : factorize_dual<size>(own, scale, std::abs(shift));

  const Below* const first = layout.below.data() + pivot.first_below;
  const Below* const end = layout.below.data() + (&pivot + 1)->first_below;
  const std::uint32_t* target = layout.updates.data() + pivot.first_update;
  double* right = storage.right.data();
  double* block = storage.values.data() + pivot.start;
  for (const Below* below = first; below < end; ++below) {
    with_lanes(below->rows, [&](auto lanes) SB_UNROLL {
      Vec<lanes> V[size], left[size];
      unrolled<0, size>([&](auto k) SB_UNROLL { V[k] = Vec<lanes>::load(block + k * lanes); });
      unrolled<0, size>([&](auto k) SB_UNROLL {
        const double* const column = own + k * own_lanes;
        unrolled<k + 1, size>([&](auto j) SB_UNROLL { V[j] -= V[k] * column[j]; });       // V L'^-1
        left[k] = (V[k] * -column[k]).template with<lanes - 1>(-column[own_lanes - 1]);  // -V L'^-1 D^-1
        V[k].store(right + k * lanes);
      });
      Vec<lanes> quotient[size];
      unrolled<0, size>([&](auto k) SB_UNROLL { quotient[k] = left[k]; });
      unrolled_down<size>([&](auto k) SB_UNROLL {  // -V P^-1
        unrolled<0, k>([&](auto j) SB_UNROLL { quotient[j] -= quotient[k] * own[j * own_lanes + k]; });
        quotient[k].store(block + k * lanes);
      });
      if (is_primal) add_to_reference(left, V, reference.at(below->row));
      update(left, storage.right.data(), first, below + 1, target, storage.values.data());
      right += size * lanes;
      block += size * lanes;
    });
  }
  return is_safe;
}

// Keeps the reference of a contribution with its panel.
SB_INLINE void keep_reference(const Pivot& copy, double* values, const Window& reference) {
  const double* const scale = reference.at(copy.padded);
  std::copy(scale, scale + copy.size, values + copy.own + Index(copy.size) * lanes_of(copy.size));
}

// Adds a contribution to the panel of its pivot.
void add_contribution(const Layout& layout, const Pivot& copy, double* values, const Window& reference) {
  const std::uint32_t* target = layout.updates.data() + copy.first_update;
  const Pivot& pivot = layout.pivots[*target++];
  const auto add = [&](const double* from, Index n, double* to) {
    for (Index i = 0; i < n; ++i) to[i] += from[i];
  };
  const double* const own = values + copy.own;
  const Index n_own = Index(copy.size) * lanes_of(copy.size);
  add(own, n_own, values + pivot.own);
  add(own + n_own, copy.size, reference.at(pivot.padded));
  const double* block = values + copy.start;
  for (Index i = copy.first_below; i < Index((&copy + 1)->first_below) && layout.below[i].rows > 0; ++i) {
    const Index n = Index(copy.size) * lanes_of(layout.below[i].rows);
    add(block, n, values + *target++);
    block += n;
  }
}

// Calls visit(panel) for the panels that a pivot, or what is added to one, writes into first.
template <class Visit>
SB_INLINE void for_opened(const Layout& layout, const Pivot& pivot, const Visit& visit) {
  for (std::uint32_t i = pivot.first_opened; i < (&pivot + 1)->first_opened; ++i) {
    const Pivot& opened = layout.pivots[layout.opened[i]];
    if (opened.kind != constant) visit(opened);
  }
}

// Begins the reference of a panel: its part of the diagonal.
SB_INLINE void open_reference(const Pivot& pivot, const Window& reference) {
  const auto diagonal = broadcast<4>(pivot.kind == primal ? 1.0 : 0.0);
  for (int lane = 0; lane < lanes_of(pivot.size); lane += 4) diagonal.store(reference.at(pivot.padded) + lane);
}

}  // namespace

void open_panels(const Layout& layout, Rows rows, View<const double> rhs, const Storage& storage, Index begin,
                 Index end) {
  const bool is_large = layout.n_pivots() >= prefetch_threshold;
  const FillRows A(rows);
  for (Index j = begin; j < end; ++j) {
    const Pivot& pivot = layout.pivots[j];
    if (is_large) {
      prefetch_tables(layout, pivot);
      prefetch_panel(storage.values.data(), pivot, layout.pivots[j + 1]);
    }
    for_opened(layout, pivot, [&](const Pivot& opened) SB_UNROLL {
      open(layout, opened, A, rhs.data(), storage.values.data());
    });
  }
}

Index eliminate(const Layout& layout, Rows rows, View<const double> rhs, double shift, const Storage& storage,
                Index begin, Index end, bool are_open) {
  const bool is_large = layout.n_pivots() >= prefetch_threshold;
  const Window reference(storage.reference);
  const FillRows A(rows);
  Index status = regular;
  for (Index j = begin; j < end; ++j) {
    const Pivot &pivot = layout.pivots[j], &following = layout.pivots[j + 1];
    if (is_large) {
      prefetch_tables(layout, pivot);
      prefetch(layout.updates.data() + pivot.first_update + updates_ahead);
      prefetch_panel(storage.values.data(), pivot, following);
    }
    if (pivot.kind == contribution) {
      keep_reference(pivot, storage.values.data(), reference);
      continue;
    }
    for_opened(layout, pivot, [&](const Pivot& opened) SB_UNROLL {
      if (!are_open) open(layout, opened, A, rhs.data(), storage.values.data());
      open_reference(opened, reference);
    });
    bool is_safe;
    if (pivot.kind == constant)
      is_safe = with_constant_size(pivot.size, [&](auto size) SB_UNROLL {
        return eliminate_constant<size>(layout, pivot, A, rhs.data(), storage, reference);
      });
    else
      is_safe = with_size(pivot.size, [&](auto size) SB_UNROLL {
        if constexpr (size > 0) return eliminate_block<size>(layout, pivot, shift, storage, reference);
        else return true;
      });
    if (!is_safe && status == regular) {
      status = doubtful - j;
      if (shift == 0.0) break;
    }
  }
  return status;
}

// ---- substitution ---------------------------------------------------------------------------------------------

namespace {

// Prefetches for a pivot before this one in a backward substitution.
template <Steps steps>
SB_INLINE void prefetch_before(const Layout& layout, const Pivot& pivot, const FillRows& A, const double* values,
                               const double* rhs, const double* solution) {
  const Pivot& following = *(&pivot + 1);
  prefetch(&pivot - pivots_ahead);
  if constexpr (steps != second_step) {
    prefetch(layout.below.data() + pivot.first_below - below_ahead);
    for (Index i = pivot.start; i < Index(following.start); i += line) prefetch(values + i - values_ahead);
  }
  if constexpr (steps == first_step) return;
  prefetch(layout.fills.data() + pivot.first_fill - fills_ahead);
  if (pivot.kind == constant)
    for (std::uint32_t f = pivot.first_fill; f < following.first_fill; ++f) {
      const double* const begin = A.data + A.stride() * Index(layout.fills.data()[f].a_row);
      const double* const end = begin + A.stride() * Index(layout.fills.data()[f].n_rows);
      for (const double* p = begin; p < end; p += line) prefetch(p - row_numbers_ahead);
    }
  prefetch(rhs + pivot.natural - numbers_ahead);
  prefetch(solution + pivot.natural - numbers_ahead);
}

// -P^-1 V' x of the blocks V below a pivot. With `carried`, D^-1 L^-1 rhs is added, which the elimination has left in the
// spare lane of the first block.
template <int size, bool carried>
SB_INLINE auto gather(const Layout& layout, const Pivot& pivot, const double* block, const double* rows_of_x) {
  const Below* below = layout.below.data() + pivot.first_below;
  const Below* const end = layout.below.data() + (&pivot + 1)->first_below;
  Vec<4> parts[size];
  const auto add = [&](auto is_first) SB_UNROLL {
    with_lanes(below->rows, [&](auto lanes) SB_UNROLL {
      auto x = Vec<lanes>::load(rows_of_x + below->row);
      if constexpr (is_first) x = x.template with<lanes - 1>(carried ? -1.0 : 0.0);  // of an empty block: others
      unrolled<0, size>([&](auto k) SB_UNROLL {
        const auto part = folded(Vec<lanes>::load(block + k * lanes) * x);
        if constexpr (is_first) parts[k] = part;
        else parts[k] += part;
      });
      block += size * lanes;
    });
  };
  add(std::true_type{});
  for (++below; below < end; ++below) add(std::false_type{});
  return sums<lanes_of(size)>(parts);
}

// -V P^-1 y is added to the rows below a pivot.
template <int size>
SB_INLINE void forward(const Layout& layout, const Pivot& pivot, const double* block, double* x) {
  const Below* const end = layout.below.data() + (&pivot + 1)->first_below;
  double y[size];
  unrolled<0, size>([&](auto k) SB_UNROLL { y[k] = x[pivot.padded + k]; });
  for (const Below* below = layout.below.data() + pivot.first_below; below < end; ++below)
    with_lanes(below->rows, [&](auto lanes) SB_UNROLL {
      auto total = Vec<lanes>::load(x + below->row);
      unrolled<0, size>([&](auto k) SB_UNROLL { total += Vec<lanes>::load(block + k * lanes) * y[k]; });
      total.template with<lanes - 1>(0.0).store(x + below->row);
      block += size * lanes;
    });
}

// y = P^-1 y = L'^-1 D^-1 L^-1 y of a pivot.
template <int size>
SB_INLINE void apply_inverse(const double* L, double* x) {
  constexpr int lanes = lanes_of(size);
  double y[size];
  unrolled<0, size>([&](auto k) SB_UNROLL { y[k] = x[k]; });
  unrolled<0, size>([&](auto k) SB_UNROLL {
    unrolled<k + 1, size>([&](auto j) SB_UNROLL { y[j] -= L[k * lanes + j] * y[k]; });
  });
  unrolled<0, size>([&](auto k) SB_UNROLL { y[k] = L[k * lanes + k] * y[k]; });
  unrolled_down<size>([&](auto k) SB_UNROLL {
    unrolled<0, k>([&](auto j) SB_UNROLL { y[j] -= L[j * lanes + k] * y[k]; });
  });
  gathered<lanes>(y).store(x);
}

// -V y is added to the rows below a constant pivot.
template <int size>
SB_INLINE void forward_constant(const Layout& layout, const Pivot& pivot, const FillRows& A, const double* rhs,
                                double* x) {
  constexpr int lanes = lanes_of(size);
  const auto y = Vec<lanes>::template load<size>(rhs + pivot.natural);
  const Fill* fill = layout.fills.data() + pivot.first_fill;
  const Below* const end = layout.below.data() + (&pivot + 1)->first_below;
  for (const Below* below = layout.below.data() + pivot.first_below; below < end; ++below, ++fill)
    with_size(below->rows, [&](auto n_rows) SB_UNROLL {
      if constexpr (n_rows > 0) {
        const double* const rows = A.at(*fill);
        Vec<4> terms[n_rows];
        unrolled<0, n_rows>([&](auto r) SB_UNROLL {
          terms[r] = folded(Vec<lanes>::template load<size>(rows + A.stride() * r) * y);
        });
        constexpr int lanes_below = lanes_of(n_rows);
        (Vec<lanes_below>::load(x + below->row) - sums<lanes_below>(terms)).store(x + below->row);
      }
    });
}

// x = y - V' x of a constant pivot.
template <int size>
SB_INLINE auto backward_constant(const Layout& layout, const Pivot& pivot, const FillRows& A, const double* rhs,
                                 double share, const double* rows_of_x) {
  constexpr int lanes = lanes_of(size);
  auto total = Vec<lanes>::template load<size>(rhs + pivot.natural) * share;
  const Fill* fill = layout.fills.data() + pivot.first_fill;
  const Below* const end = layout.below.data() + (&pivot + 1)->first_below;
  for (const Below* below = layout.below.data() + pivot.first_below; below < end; ++below, ++fill)
    with_size(below->rows, [&](auto n_rows) SB_UNROLL {
      const double* const x = rows_of_x + below->row;
      unrolled<0, n_rows>([&](auto r) SB_UNROLL {
        total -= Vec<lanes>::template load<size>(A.at(*fill) + A.stride() * r) * x[r];
      });
    });
  return total;
}

// L' x = y backwards in [begin, end) of a part, where y is D^-1 L^-1 rhs of the elimination, if `carried`, or storage.x:
// overwrites that with x, and then calls finish(pivot, size, x). The first step leaves out
// constant pivots, for which no other waits, and `finish`.
template <Steps steps, bool carried, class Finish>
SB_INLINE void substitute_back(const Layout& layout, const FillRows& A, const Storage& storage, const double* rhs,
                               double share, const double* solution, Index begin, Index end, const Finish& finish) {
  const bool is_large = layout.n_pivots() >= prefetch_threshold;
  const double* const values = storage.values.data();
  double* const x = storage.x.data();
  for (Index j = end - 1; j >= begin; --j) {
    const Pivot& pivot = layout.pivots[j];
    if (is_large) prefetch_before<steps>(layout, pivot, A, values, rhs, solution);
    if (pivot.kind == constant) {
      if constexpr (steps != first_step)
        with_constant_size(pivot.size, [&](auto size) SB_UNROLL {
          finish(pivot, size, backward_constant<size>(layout, pivot, A, rhs, share, x));
        });
    } else if (pivot.kind == contribution) {
      if constexpr (steps != second_step)
        with_size(pivot.size, [&](auto size) SB_UNROLL {
          const double* const updated = x + layout.pivots[layout.updates[pivot.first_update]].padded;
          if constexpr (size > 0) Vec<lanes_of(size)>::template load<size>(updated).store(x + pivot.padded);
        });
    } else {
      with_size(pivot.size, [&](auto size) SB_UNROLL {
        if constexpr (size > 0) {
          using Rows = Vec<lanes_of(size)>;
          Rows total;
          if constexpr (steps != second_step) total = gather<size, carried>(layout, pivot, values + pivot.start, x);
          if constexpr (steps == second_step) total = Rows::load(x + pivot.padded);
          else if constexpr (!carried) total += Rows::load(x + pivot.padded);
          if constexpr (steps != second_step) total.store(x + pivot.padded);
          if constexpr (steps != first_step) finish(pivot, size, total);
        }
      });
    }
  }
}

}  // namespace

void substitute(const Layout& layout, Rows rows, const Storage& storage, View<const double> rhs, View<double> solution,
                Index begin, Index end, Steps steps) {
  with_constant<both_steps, first_step, second_step>(steps, [&](auto value) {
    constexpr auto constant_steps = Steps(decltype(value)::value);
    substitute_back<constant_steps, true>(layout, FillRows(rows), storage, rhs.data(), 1.0, solution.data(), begin, end,
                                          [&](const Pivot& pivot, auto size, auto total) SB_UNROLL {
                                            total.template store<size>(solution.data() + pivot.natural);
                                          });
  });
}

namespace {

// Fills the right-hand sides of the panels that a pivot writes into first.
SB_INLINE void open_rows(const Layout& layout, const Pivot& pivot, const double* rhs, double* x) {
  for_opened(layout, pivot, [&](const Pivot& opened) {
    with_size(opened.size, [&](auto size) SB_UNROLL {
      if constexpr (size > 0) {
        using Rows = Vec<lanes_of(size)>;  // zero in spare rows, which gathers read, too
        (opened.kind == contribution ? Rows{} : Rows::template load<size>(rhs + opened.natural)).store(x + opened.padded);
      }
    });
  });
}

// Calls run(steps, begin, end) for the pivots of a part, in chunks. Of two threads the leading one takes the first steps,
// and both steps of a chunk while it is far enough ahead.
template <class Run>
void run_steps(const Part& part, Index threads, bool is_backward, const Run& run) {
  const std::integral_constant<Steps, both_steps> both;
  if (threads < 2) return run(both, part.begin, part.end);
  const Index n_chunks = (part.end - part.begin + pipeline_length - 1) / pipeline_length;
  const auto run_chunk = [&](auto steps, Index i) {
    const Index begin = part.begin + pipeline_length * (is_backward ? n_chunks - 1 - i : i);
    run(steps, begin, std::min(begin + pipeline_length, part.end));
  };
  std::vector<std::uint8_t> is_done(n_chunks);
  run_pipeline(
      n_chunks, threads, chunks_ahead,
      [&](Index i, Index n_ahead) {
        is_done[i] = n_ahead > chunks_ahead / 2;
        if (is_done[i]) run_chunk(both, i);
        else run_chunk(std::integral_constant<Steps, first_step>{}, i);
      },
      [&](Index i) {
        if (!is_done[i]) run_chunk(std::integral_constant<Steps, second_step>{}, i);
      });
}

// The first half of a solution, L D y = rhs, in a part: fills x in padded order. The second step applies inverses.
void solve_forward(const Layout& layout, Rows rows, const Storage& storage, View<const double> rhs, double share,
                   const Part& part, Index threads) {
  const bool is_large = layout.n_pivots() >= prefetch_threshold;
  const FillRows A(rows);
  const double* const values = storage.values.data();
  double* const x = storage.x.data();
  run_steps(part, threads, false, [&](auto steps, Index begin, Index end) {
    for (Index j = begin; j < std::min(end, part.contributions); ++j) {
      const Pivot &pivot = layout.pivots[j], &following = layout.pivots[j + 1];
      if (is_large) {
        prefetch_tables(layout, pivot);
        if constexpr (steps != second_step) prefetch_range(values, pivot.start, following.start);
        if constexpr (steps != first_step) prefetch_range(values, pivot.own, following.own);
        prefetch(x + pivot.padded + 2 * numbers_ahead);
        prefetch(rhs.data() + pivot.natural + numbers_ahead);
      }
      if constexpr (steps != second_step) open_rows(layout, pivot, rhs.data(), x);
      if (pivot.kind != constant)
        with_size(pivot.size, [&](auto size) SB_UNROLL {
          if constexpr (size > 0 && steps != second_step) forward<size>(layout, pivot, values + pivot.start, x);
          if constexpr (size > 0 && steps != first_step) apply_inverse<size>(values + pivot.own, x + pivot.padded);
        });
      else if (steps != second_step && share != 0.0)
        with_constant_size(pivot.size, [&](auto size) SB_UNROLL {
          forward_constant<size>(layout, pivot, A, rhs.data(), x);
        });
    }
  });
  std::fill_n(x + part.empty_row, 4, 0.0);  // NaN would stay
}

// The second half, L' x = y; returns the largest entries of the primal part.
Vec<8> solve_backward(const Layout& layout, Rows rows, const Storage& storage, View<const double> rhs, double share,
                      bool adds, View<double> solution, const Part& part, Index threads) {
  Vec<8> largest_of_threads[2];
  run_steps(part, threads, true, [&](auto steps, Index begin, Index end) {
    Vec<8>& largest = largest_of_threads[steps == second_step];
    substitute_back<steps, false>(layout, FillRows(rows), storage, rhs.data(), share, solution.data(), begin, end,
                                  [&](const Pivot& pivot, auto size, auto total) SB_UNROLL {
      double* const result = solution.data() + pivot.natural;
      if (pivot.kind != dual) {
        if constexpr (lanes_of(size) == 4) largest.low = larger(largest.low, total);
        else largest = larger(largest, total);
      }
      if (adds) total += decltype(total)::template load<size>(result);
      total.template store<size>(result);
    });
  });
  return larger(largest_of_threads[0], largest_of_threads[1]);
}

}  // namespace

// ---- all parts ------------------------------------------------------------------------------------------------

Factors::Factors(const Layout& layout) : layout(layout), values_(layout.n_values), x_(layout.n_padded) {
  const auto scratch = [&](Index size) {
    scratch_.emplace_back(size);
    return scratch_.back().view();
  };
  for (const Part& part : layout.parts)
    storage_.push_back({values_.view(), x_.view(), scratch(part.window + 8), scratch(layout.largest_panel)});
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();  // dual row, in natural order
  const auto for_dual = [&](const auto& f) {
    for (Index j = 0; j < layout.n_pivots(); ++j)
      if (layout.pivots[j].kind == dual) f(layout.pivots[j]);
  };
  for_dual([&](const Pivot& pivot) { first = std::min(first, pivot.natural); });
  for_dual([&](const Pivot& pivot) {
    for (std::uint32_t t = 0; t < pivot.size; ++t)
      dual_pivots_.push_back({pivot.own + std::uint32_t(lanes_of(pivot.size) + 1) * t, pivot.natural - first + t});
  });
}

void Factors::add_contributions(Rows rows, View<const double> rhs) {
  const Window reference(ancestors().reference);
  for (const Part& part : layout.parts)
    for (Index j = part.contributions; j < part.end; ++j) {
      const Pivot& copy = layout.pivots[j];
      for_opened(layout, copy, [&](const Pivot& opened) {
        open(layout, opened, FillRows(rows), rhs.data(), values_.data());
        open_reference(opened, reference);
      });
      add_contribution(layout, copy, values_.data(), reference);
    }
}

Index Factors::eliminate(Rows rows, View<const double> rhs, double shift) {
  return eliminate_parts(rows, rhs, shift, [&](Index p, const Storage& storage) {
    return block_ldl::eliminate(layout, rows, rhs, shift, storage, layout.parts[p].begin, layout.parts[p].end);
  });
}

Index Factors::factorize(Rows rows, View<const double> rhs) {
  const Index status = eliminate(rows, rhs, 0.0);
  if (status != regular) eliminate(rows, rhs, dual_shift);
  return status;
}

double Factors::solve(Rows rows, View<const double> rhs, double share, bool adds, View<double> solution) {
  for_each_part([&](Index, const Part& part, const Storage& storage) {
    solve_forward(layout, rows, storage, rhs, share, part, 1);
  });
  double* const x = x_.data();
  for (const Part& part : layout.parts)
    for (Index j = part.contributions; j < part.end; ++j) {
      const Pivot& copy = layout.pivots[j];
      open_rows(layout, copy, rhs.data(), x);
      double* const to = x + layout.pivots[layout.updates[copy.first_update]].padded;
      for (Index k = 0; k < Index(copy.size); ++k) to[k] += x[copy.padded + k];
    }
  solve_forward(layout, rows, ancestors(), rhs, share, layout.ancestors(), threads_of_part());

  std::vector<Vec<8>> largest(layout.parts.size());
  largest.back() = solve_backward(layout, rows, ancestors(), rhs, share, adds, solution, layout.ancestors(),
                                  threads_of_part());
  for_each_part([&](Index p, const Part& part, const Storage& storage) {
    largest[p] = solve_backward(layout, rows, storage, rhs, share, adds, solution, part, 1);
  });
  double result = 0.0;
  for (const auto& sizes : largest)
    for (int k = 0; k < 8; ++k) result = std::max(result, sizes[k]);
  return result;
}

std::pair<double, Index> Factors::smallest_pivot(Rows rows, View<double> inverse_squares) const {
  SmallestPivot smallest{inverse_squares};
  for (const auto& [offset, row] : dual_pivots_) smallest.take(-values_[offset], rows, row);
  return smallest.sine_and_row();
}

}  // namespace sparsebody::block_ldl
