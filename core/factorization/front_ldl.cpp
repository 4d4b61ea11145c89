#include "factorization/front_ldl.hpp"

#include <algorithm>
#include <cmath>

#include "base/dense.hpp"
#include "base/threads.hpp"

namespace sparsebody::front_ldl {
namespace {

using dense::for_strips;
using dense::tile_lanes;
using dense::TileLanes;
using dense::Tile;
using dense::tile_columns;
using dense::tile_rows;
using dense::with_tile_rows;

constexpr int panel = 48;                            // most pivots of a block
constexpr int panel_columns = panel + tile_columns;  // of its copy: the last tile may reach beyond it
constexpr int block_rows = 24, block_depth = 256;    // of packed operands, which stay in the level-2 cache

// The first n columns of k rows, packed as a tile's left operand.
void pack(Index k, Index n, const double* rows, Index stride, double* W) {
  for (Index t = 0; t < k; ++t, rows += stride, W += tile_rows) std::copy_n(rows, n, W);
}
// Offset in W of the packed tile of L1' whose columns begin at r0: a tile has all rows down to the end of its diagonal
// block.
Index packed_start(Index r0) { return r0 * (r0 + tile_rows) / 2; }

void pack_triangle(Index k, const double* A, Index stride, double* W) {
  for (Index r0 = 0; r0 < k; r0 += tile_rows) {
    const Index n = std::min<Index>(tile_rows, k - r0);
    pack(r0 + n, n, A + r0, stride, W + packed_start(r0));
  }
}

// One pivot d, and whether it is safe.
struct Pivot {
  double value;
  bool is_safe;
};
Pivot pivot_of(double d, bool is_primal, double reference, double shift) {
  if (is_primal) return {d, d > doubtful_ratio * reference};
  const double scale = shift < 0.0 ? 1.0 : reference;
  // A dual pivot of the wrong sign counts as zero; NaN stays.
  const double shifted = (d >= 0.0 ? 0.0 : d) - std::abs(shift) * scale;
  return {shifted, -shifted > doubtful_ratio * scale};
}

// L D L' of the block of k <= panel pivots, in a copy: P becomes L' with 1 / D on the diagonal,
// V is D L' above the diagonal.
Index factorize_block(Index k, double* A, Index stride, const std::uint8_t* is_primal, double* reference, double shift) {
  alignas(64) double P[panel * panel_columns], V[panel * panel_columns];
  for (Index t = 0; t < k; ++t) {
    std::copy(A + t * (stride + 1), A + t * stride + k, P + t * panel_columns + t);
    std::fill_n(P + t * panel_columns + k, tile_columns, 0.0);
    std::fill_n(V + t * panel_columns + k, tile_columns, 0.0);
  }
  Index doubt = no_doubt;
  for (Index r0 = 0; r0 < k; r0 += tile_rows) {
    with_tile_rows(k - r0, [&](auto n_rows) SB_UNROLL {
      for (Index j = r0; j < k; j += tile_columns) {
        Tile<n_rows, dense::tile_vectors> tile;
        tile.load(P + r0 * panel_columns + j, panel_columns);
        tile.subtract_product(r0, P + r0, panel_columns, V + j, panel_columns);
        tile.store(P + r0 * panel_columns + j, panel_columns);
      }
    });
    for (Index t = r0; t < std::min<Index>(k, r0 + tile_rows); ++t) {
      double *const row = P + t * panel_columns, *const v = V + t * panel_columns;
      const Pivot pivot = pivot_of(row[t], is_primal[t], reference[t], shift);
      if (!pivot.is_safe && doubt == no_doubt) {
        doubt = t;
        if (shift == 0.0) return doubt;
      }
      const double reciprocal = 1.0 / pivot.value;
      for (Index j = t + 1; j < k; ++j) v[j] = row[j], row[j] *= reciprocal;
      row[t] = reciprocal;
      if (is_primal[t])  // its contribution to the scales of later pivots, without cancellation
        for (Index j = t + 1; j < k; ++j) reference[j] += v[j] * row[j];
      for (Index s = t + 1; s < std::min<Index>(k, r0 + tile_rows); ++s)
        dense::add_scaled(P + s * panel_columns + s, -row[s], v + s, k - s);
    }
  }
  for (Index t = 0; t < k; ++t) std::copy(P + t * (panel_columns + 1), P + t * panel_columns + k, A + t * (stride + 1));
  return doubt;
}

// A strip of B becomes L2', and X = L1^-1 B = D L2', packed. W: L1' in packed tiles; of A only the diagonal, 1 / D, is
// read.
template <int V>
void solve_strip(Index k, const double* W, const double* A, Index stride, const std::uint8_t* is_primal, double* B,
                 double* X, double* reference) {
  constexpr int width = V * tile_lanes;
  for (Index r0 = 0; r0 < k; r0 += tile_rows)
    with_tile_rows(k - r0, [&](auto n_rows) SB_UNROLL {
      const double* w = W + packed_start(r0);
      double *const rows = B + r0 * stride, *const x = X + r0 * width;
      Tile<n_rows, V> tile;
      tile.load(rows, stride);
      tile.subtract_product(r0, w, tile_rows, X, width);
      w += r0 * tile_rows;
      unrolled<0, n_rows>([&](auto r) SB_UNROLL {
        unrolled<0, V>([&](auto v) SB_UNROLL {
          const TileLanes value = tile.sum[r][v];
          unrolled<r + 1, n_rows>([&](auto s) SB_UNROLL { tile.sum[s][v] -= value * w[r * tile_rows + s]; });
          value.store(x + r * width + v * tile_lanes);
          (value * A[(r0 + r) * (stride + 1)]).store(rows + r * stride + v * tile_lanes);
        });
        if (is_primal[r0 + r])
          for (Index j = 0; j < width; ++j) reference[j] += x[r * width + j] * rows[r * stride + j];
      });
    });
}

// All strips of B (k, n); the X of the strip at column j is at X + j * k.
void solve_strips(Index k, Index n, const double* W, const double* A, Index stride, const std::uint8_t* is_primal,
                  double* B, double* X, double* reference, Index n_threads) {
  const bool is_large = double(k) * double(k) * double(n) > parallel_flops;
  run_tasks((n + tile_columns - 1) / tile_columns, is_large ? n_threads : 1, [&](Index task) {
    const Index first = task * tile_columns;
    for_strips(first, std::min(n, first + tile_columns), [&](Index j, auto V) {
      solve_strip<V>(k, W, A, stride, is_primal, B + j, X + j * k, reference + j);
    });
  });
}

// C (m, n) -= L2 X with X = D L2': the upper triangle, and the parts below it of the tiles on the diagonal. L2' is the
// first m columns of the k rows at L.
void update(Index k, Index m, Index n, const double* L, Index stride, const double* X, double* C, Index c_stride,
            Index n_threads) {
  const bool is_large = double(k) * double(m) * double(m) > parallel_flops;
  run_tasks((m + block_rows - 1) / block_rows, is_large ? n_threads : 1, [&](Index task) {
    alignas(64) double W[block_rows * block_depth];
    const Index begin = task * block_rows, end = std::min(m, begin + block_rows);
    for (Index t = 0; t < k; t += block_depth) {
      const Index depth = std::min<Index>(block_depth, k - t);
      for (Index i = begin; i < end; i += tile_rows)
        pack(depth, std::min<Index>(tile_rows, end - i), L + t * stride + i, stride, W + (i - begin) * block_depth);
      for_strips(begin, n, [&](Index j, auto V) SB_UNROLL {
        const double* const x = X + j * k + t * V * tile_lanes;
        for (Index i = begin; i < std::min<Index>(end, j + V * tile_lanes); i += tile_rows)
          with_tile_rows(end - i, [&](auto n_rows) SB_UNROLL {
            double* const c = C + i * c_stride + j;
            Tile<n_rows, V> tile;
            tile.load(c, c_stride);
            tile.subtract_product(depth, W + (i - begin) * block_depth, tile_rows, x, V * tile_lanes);
            tile.store(c, c_stride);
          });
      });
    }
  });
}

// Shared state of the steps of an elimination; stride: of the pivots' rows.
struct Elimination {
  Index stride;
  double shift, *scratch;
  Index n_threads;

  // B (k, m) becomes L2', and C (m, m) the Schur complement.
  void reduce(Index k, const double* A, const std::uint8_t* is_primal, double* B, Index m, double* C, Index c_stride,
              double* reference) const {
    double *const W = scratch, *const X = scratch + packed_start(k + tile_rows);
    pack_triangle(k, A, stride, W);
    solve_strips(k, padded(m), W, A, stride, is_primal, B, X, reference, n_threads);
    update(k, m, padded(m), B, stride, X, C, c_stride, n_threads);
  }

  // L1 D L1' of the block of pivots, by recursive halving, so that operands stay in the caches.
  Index factorize(Index k, double* A, const std::uint8_t* is_primal, double* reference) const {
    if (k <= panel) return factorize_block(k, A, stride, is_primal, reference, shift);
    const Index half = (k / 2 + panel - 1) / panel * panel, n_trailing = k - half;
    double* const trailing = A + half * (stride + 1);
    const Index first = factorize(half, A, is_primal, reference);
    if (first != no_doubt && shift == 0.0) return first;
    reduce(half, A, is_primal, A + half, n_trailing, trailing, stride, reference + half);
    const Index second = factorize(n_trailing, trailing, is_primal + half, reference + half);
    return first != no_doubt || second == no_doubt ? first : half + second;
  }
};

// At most six pivots, one tile of rows, without packing: row by row.
Index eliminate_few(const Front& front, double shift) {
  const Index k = front.n_pivots, stride = front.stride(), n = front.n_below;
  double inverse[tile_rows] = {};
  Index doubt = no_doubt;
  for (Index t = 0; t < k; ++t) {
    double* const row = front.values + t * stride;
    const Pivot pivot = pivot_of(row[t], front.is_primal[t], front.reference ? front.reference[t] : 0.0, shift);
    if (!pivot.is_safe && doubt == no_doubt) {
      doubt = t;
      if (shift == 0.0) return doubt;
    }
    inverse[t] = 1.0 / pivot.value;
    for (Index s = t + 1; s < k; ++s) {
      const double scaled = row[s] * inverse[t];
      if (front.reference && front.is_primal[t]) front.reference[s] += row[s] * scaled;
      dense::add_scaled(front.values + s * stride + s, -scaled, row + s, stride - s);
    }
  }
  const double* const V = front.values + front.first_below();
  dense::subtract_square(k, n, V, stride, inverse, !front.is_whole, front.contribution, front.contribution_stride);
  for (Index t = 0; t < k; ++t) {
    double* const row = front.values + t * stride;
    if (front.reference && front.is_primal[t])
      for (Index j = 0; j < n; ++j) front.below_reference[j] += inverse[t] * V[t * stride + j] * V[t * stride + j];
    for (Index j = t + 1; j < stride; ++j) row[j] *= inverse[t];
    row[t] = inverse[t];
  }
  return doubt;
}

}  // namespace

Index scratch_size(Index n_pivots, Index n_below) {
  return packed_start(n_pivots + tile_rows) + n_pivots * std::max(padded(n_pivots), padded(n_below));
}

Index eliminate(const Front& front, double shift, double* scratch, Index n_threads) {
  if (front.n_pivots <= tile_rows) return eliminate_few(front, shift);
  const Elimination elimination{front.stride(), shift, scratch, n_threads};
  double* const A = front.values;
  const Index doubt = elimination.factorize(front.n_pivots, A, front.is_primal, front.reference);
  if (front.n_below > 0 && (doubt == no_doubt || shift != 0.0))
    elimination.reduce(front.n_pivots, A, front.is_primal, A + front.first_below(), front.n_below, front.contribution,
                       front.contribution_stride, front.below_reference);
  return doubt;
}

void PivotRows::substitute(double* y, double* below) const {
  const double* row = values;
  for (Index t = 0; t < n_pivots; ++t, row += stride()) {
    dense::add_scaled(y + t + 1, -y[t], row + t + 1, n_pivots - t - 1);
    dense::add_scaled(below, y[t], row + first_below(), padded(n_below));
    y[t] *= row[t];
  }
}

void PivotRows::substitute_back(double* y, const double* below) const {
  for (Index t = n_pivots - 1; t >= 0; --t) {
    const double* const row = values + t * stride();
    y[t] -= dense::dot(row + t + 1, y + t + 1, n_pivots - t - 1) + dense::dot(row + first_below(), below, n_below);
  }
}

}  // namespace sparsebody::front_ldl
