// The saddle-point matrix [D A'; A 0] of blocks: its products, scales, values in flat arrays, coordinates in which D is
// the identity, and the Schur complement A D^-1 A'. Vavasis (1994), SIAM J. Matrix Anal. Appl. 15:1108.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/array.hpp"
#include "base/small_cholesky.hpp"
#include "base/vec.hpp"
#include "spatial/double_double.hpp"

namespace sparsebody {

// Blocks of scalar rows, primal ones first, and the two primal blocks that each dual one touches, -1 for none.
struct SaddlePattern {
  View<const Index> offsets;  // (n_blocks + 1,) first row of each block
  View<const Index, 2> ends;  // (n_dual, 2)

  Index n_dual() const { return ends.rows(); }
  Index n_primal() const { return offsets.size() - 1 - n_dual(); }
  Index n_primal_rows() const { return offsets[n_primal()]; }
  Index size(Index block) const { return offsets[block + 1] - offsets[block]; }

  // Calls visit(row, side, block) for each row of A, counted from 0, and each primal block that it touches;
  // visit_none(row, side) where there is none.
  template <class F, class G>
  void for_each_part(F&& visit, G&& visit_none) const {
    const Index first = n_primal_rows();
    for (Index j = 0; j < n_dual(); ++j)
      for (Index row = offsets[n_primal() + j]; row < offsets[n_primal() + j + 1]; ++row)
        for (Index side = 0; side < 2; ++side)
          if (ends(j, side) >= 0) visit(row - first, side, ends(j, side));
          else visit_none(row - first, side);
  }
  template <class F>
  void for_each_part(F&& visit) const {
    for_each_part(visit, [](Index, Index) {});
  }
};

using Blocks = View<const double, 3>;   // (n_primal, width, width)
using ARows = View<const double, 3>;    // (n_dual_rows, 2, width) of A, on the first and the second end
using Columns = View<const double, 2>;  // vectors (n_rows, k)

// D and A; a block of fewer than `width` rows uses the leading part of its storage.
struct Saddle {
  View<const Index> offsets;
  View<const Index, 2> ends;
  Blocks diagonal;
  ARows rows;

  SaddlePattern pattern() const { return {offsets, ends}; }
};

// ---- products ----------------------------------------------------------------------------------------------------

inline bool is_positive_and_finite(double x) { return x > 0.0 && x < std::numeric_limits<double>::infinity(); }

// Calls f(n), with n = 6 as a compile-time constant.
template <class F>
void with_size(Index n, F&& f) {
  if (n == 6) f(std::integral_constant<Index, 6>{});
  else f(n);
}

// The product of a row of a block and a column of vectors, whose rows are `stride` apart.
template <class Size>
double product(Size size, const double* row, const double* x, Index stride) {
  double total = 0.0;
  for (Index b = 0; b < size; ++b) total += row[b] * x[b * stride];
  return total;
}

// Calls take(row, column, product) of D x, for a block diagonal matrix D, or one if it is empty.
template <class Take>
void diagonal_product(const SaddlePattern& pattern, Blocks D, Columns x, Take&& take) {
  const Index n_columns = x.shape(1), width = D.shape(2);
  for (Index i = 0; i < pattern.n_primal(); ++i)
    with_size(pattern.size(i), [&](auto size) {
      const Index first = pattern.offsets[i];
      if (D.rows() == 0)
        for (Index row = first; row < first + size; ++row)
          for (Index k = 0; k < n_columns; ++k) take(row, k, x(row, k));
      else for (Index a = 0; a < size; ++a)
        for (Index k = 0; k < n_columns; ++k)
          take(first + a, k,
               product(size, D.data() + (i * width + a) * width, x.data() + first * n_columns + k, n_columns));
    });
}

// Calls visit(r, row, first, size) for each end of each row of A, which is on the primal rows [first, first + size).
template <class Visit>
void for_each_end(const SaddlePattern& pattern, ARows rows, Visit&& visit) {
  pattern.for_each_part([&](Index r, Index side, Index i) {
    with_size(pattern.size(i), [&](auto size) { visit(r, &rows(r, side, 0), pattern.offsets[i], size); });
  });
}

// Calls take(row, column, product) of A x for each end of each row.
template <class Take>
void row_product(const SaddlePattern& pattern, ARows rows, Columns x, Take&& take) {
  const Index n_columns = x.shape(1);
  for_each_end(pattern, rows, [&](Index r, const double* row, Index first, auto size) {
    for (Index k = 0; k < n_columns; ++k) take(r, k, product(size, row, x.data() + first * n_columns + k, n_columns));
  });
}

// x -= y row'
template <class Size>
void subtract_force(Size size, const double* row, const double* y, double* x, Index n_columns) {
  for (Index k = 0; k < n_columns; ++k)
    for (Index b = 0; b < size; ++b) x[b * n_columns + k] -= row[b] * y[k];
}

// A x, and A' y.
inline Array<double> constraint_product(const SaddlePattern& pattern, ARows rows, View<const double> x) {
  Array<double> product(rows.rows());
  row_product(pattern, rows, {x.data(), {x.size(), 1}}, [&](Index r, Index, double total) { product[r] += total; });
  return product;
}
inline Array<double> constraint_forces(const SaddlePattern& pattern, ARows rows, View<const double> y) {
  Array<double> force(pattern.n_primal_rows());
  for_each_end(pattern, rows, [&](Index r, const double* row, Index first, auto size) {
    for (Index a = 0; a < size; ++a) force[first + a] += row[a] * y[r];
  });
  return force;
}
// residual -= [D A'; A 0] x.
inline void subtract_product(const Saddle& K, Columns x, View<double, 2> residual) {
  const SaddlePattern pattern = K.pattern();
  const Index n_columns = x.shape(1), n_primal_rows = pattern.n_primal_rows();
  diagonal_product(pattern, K.diagonal, x, [&](Index row, Index k, double total) { residual(row, k) -= total; });
  for_each_end(pattern, K.rows, [&](Index r, const double* row, Index first, auto size) {
    const Index dual = (n_primal_rows + r) * n_columns;
    for (Index k = 0; k < n_columns; ++k)
      residual.data()[dual + k] -= product(size, row, x.data() + first * n_columns + k, n_columns);
    subtract_force(size, row, x.data() + dual, residual.data() + first * n_columns, n_columns);
  });
}
// (k, 2): what the primal and the dual residual of each column are measured against: the largest entry of f and D x,
// and that of g and A D^-1 f, for right-hand sides (f, g).
inline Array<double, 2> residual_scales(const Saddle& K, Blocks inverse, Columns x, Columns rhs) {
  const SaddlePattern pattern = K.pattern();
  const Index first = pattern.n_primal_rows();
  Array<double, 2> scales({x.shape(1), 2}), free({first, x.shape(1)});  // D^-1 f
  const auto enlarge = [&](Index k, Index half, double entry) {
    scales(k, half) = std::max(scales(k, half), std::abs(entry));
  };
  for (Index row = 0; row < rhs.rows(); ++row)
    for (Index k = 0; k < x.shape(1); ++k) enlarge(k, row < first ? 0 : 1, rhs(row, k));
  diagonal_product(pattern, K.diagonal, x, [&](Index, Index k, double total) { enlarge(k, 0, total); });
  diagonal_product(pattern, inverse, rhs, [&](Index row, Index k, double total) { free(row, k) = total; });
  row_product(pattern, K.rows, free, [&](Index, Index k, double total) { enlarge(k, 1, total); });
  return scales;
}
// right - K (high + low), K in compressed sparse rows, accumulated in double-double (31 digits) and rounded once.
inline Array<double> exact_residual(View<const Index> indptr, View<const Index> indices, View<const double> data,
                                    View<const double> right, View<const double> high, View<const double> low) {
  Array<double> residual(right.size());
  for (Index i = 0; i < right.size(); ++i) {
    DoubleDouble total(right[i]);
    for (Index entry = indptr[i]; entry < indptr[i + 1]; ++entry) {
      const Index j = indices[entry];
      total += DoubleDouble::product(-data[entry], high[j]);
      if (low[j] != 0.0) total += DoubleDouble(low[j]) * DoubleDouble(-data[entry]);
    }
    residual[i] = total.high;
  }
  return residual;
}

// ---- coordinates L' x with D = L L', in which D is the identity --------------------------------------------------

// Fills `unit` with A L'^-1, and `root` with the factors L, with reciprocals in place of their diagonals. Returns -1, or
// the first block of D that is not positive definite.
inline Index unit_rows(const Saddle& K, View<double, 3> unit, View<double, 3> root) {
  const SaddlePattern pattern = K.pattern();
  for (Index i = 0; i < pattern.n_primal(); ++i) {
    const Index n = pattern.size(i);
    double* const L = root[i].data();
    for (Index j = 0; j < n; ++j) std::copy_n(&K.diagonal(i, j, 0), n, L + n * j);
    bool is_regular = small::cholesky(int(n), L);
    for (Index j = 0; j < n; ++j) is_regular &= L[(n + 1) * j] > 0.0;  // finite pivots
    if (!is_regular) return i;
  }
  std::fill(unit.begin(), unit.end(), 0.0);
  pattern.for_each_part([&](Index r, Index side, Index i) {
    std::copy_n(&K.rows(r, side, 0), pattern.size(i), &unit(r, side, 0));
    small::forward(int(pattern.size(i)), root[i].data(), &unit(r, side, 0));
  });
  return -1;
}
// The primal part of a right-hand side (n_rows,) becomes L^-1 times that.
inline void to_unit(View<const Index> offsets, Blocks root, View<double> x) {
  for (Index i = 0; i < root.rows(); ++i)
    small::forward(int(offsets[i + 1] - offsets[i]), root[i].data(), x.data() + offsets[i]);
}
// The primal part of a solution (n_rows,) becomes L'^-1 times that.
inline void from_unit(View<const Index> offsets, Blocks root, View<double> x) {
  for (Index i = 0; i < root.rows(); ++i)
    small::backward(int(offsets[i + 1] - offsets[i]), root[i].data(), x.data() + offsets[i]);
}

// ---- values ------------------------------------------------------------------------------------------------------

// Scalar row of each stored value; block k, (row[k], column[k]), is column-major at base[k], columns stride[k] apart.
inline Array<std::int32_t> row_indices(View<const Index> offsets, View<const Index> row, View<const Index> column,
                                       View<const Index> base, View<const Index> stride, Index n_values) {
  Array<std::int32_t> indices(n_values);
  for (Index k = 0; k < row.size(); ++k) {
    const Index height = offsets[row[k] + 1] - offsets[row[k]], width = offsets[column[k] + 1] - offsets[column[k]];
    for (Index c = 0; c < width; ++c)
      for (Index r = 0; r < height; ++r)
        indices[base[k] + c * stride[k] + r] = std::int32_t(offsets[row[k]] + r);
  }
  return indices;
}
// Fills the scale (n_rows,) of rows and columns that makes units and masses irrelevant: D_aa ** -0.5 of primal ones,
// the same of A D^-1 A' of dual ones. Returns -1, or the first row whose scale is not positive and finite.
inline Index saddle_scales(const Saddle& K, Blocks inverse, View<double> scale) {
  const auto& [offsets, ends, diagonal, rows] = K;
  const SaddlePattern pattern = K.pattern();
  const Index n_primal = pattern.n_primal(), first = pattern.n_primal_rows();
  for (Index i = 0; i < n_primal; ++i)
    for (Index a = 0; a < pattern.size(i); ++a) {
      const double square = diagonal(i, a, a);
      if (!is_positive_and_finite(square)) return offsets[i] + a;
      scale[offsets[i] + a] = 1.0 / std::sqrt(square);
    }
  std::fill(scale.begin() + first, scale.end(), 0.0);
  pattern.for_each_part([&](Index r, Index side, Index i) {
    double square = 0.0;  // of the row in the metric of D^-1
    const Index size = pattern.size(i);
    const double* const row = &K.rows(r, side, 0);
    for (Index a = 0; a < size; ++a) {
      double part = 0.0;
      for (Index b = 0; b < size; ++b) part += inverse(i, a, b) * row[b];
      square += part * row[a];
    }
    scale[first + r] += square;
  });
  for (Index row = first; row < scale.size(); ++row) {
    if (!is_positive_and_finite(scale[row])) return row;
    scale[row] = 1.0 / std::sqrt(scale[row]);
  }
  return -1;
}
// Fills `data` with the scaled [D A'; A shift], blocks at (base, stride), none where base < 0; if both ends of a dual
// block are the same primal block, their parts add up.
inline void fill_saddle(const Saddle& K, View<const double> scale, double shift, View<const Index, 2> slot_D,
                        View<const Index, 3> slot_A, View<const Index, 3> slot_At, View<double> data) {
  const auto& [offsets, ends, diagonal, rows] = K;
  const SaddlePattern pattern = K.pattern();
  const Index n_primal = pattern.n_primal();
  std::fill(data.begin(), data.end(), 0.0);
  for (Index i = 0; i < n_primal; ++i) {
    const Index first = offsets[i], base = slot_D(i, 0), stride = slot_D(i, 1);
    if (base < 0) continue;
    for (Index c = 0; c < pattern.size(i); ++c)
      for (Index r = 0; r < pattern.size(i); ++r)
        data[base + c * stride + r] = diagonal(i, r, c) * scale[first + c] * scale[first + r];
  }
  for (Index j = 0; j < pattern.n_dual(); ++j) {
    const Index block = n_primal + j, first = offsets[block], first_row = first - pattern.n_primal_rows();
    const Index size = pattern.size(block);
    if (shift != 0.0 && slot_D(block, 0) >= 0)
      for (Index r = 0; r < size; ++r) data[slot_D(block, 0) + r * slot_D(block, 1) + r] = shift;
    for (Index side = 0; side < 2; ++side) {
      const Index i = ends(j, side);
      if (i < 0) continue;
      const Index base = slot_A(j, side, 0), stride = slot_A(j, side, 1);
      const Index base_t = slot_At(j, side, 0), stride_t = slot_At(j, side, 1);
      for (Index r = 0; r < size; ++r)
        for (Index c = 0; c < pattern.size(i); ++c) {
          const double value = rows(first_row + r, side, c) * (scale[first + r] * scale[offsets[i] + c]);
          if (base >= 0) data[base + c * stride + r] += value;
          if (base_t >= 0) data[base_t + r * stride_t + c] += value;
        }
    }
  }
}

// ---- Schur complement --------------------------------------------------------------------------------------------

// (p, side of p, q, side of q) of all block products in the lower triangle of A D^-1 A', dual block p at position[p].
// incidence (k, 2): (dual block, side) at each primal block, in the ranges of indptr.
inline Array<Index, 2> schur_products(View<const Index> indptr, View<const Index, 2> incidence,
                                      View<const Index> position) {
  std::vector<std::array<Index, 4>> products;
  for (Index i = 0; i + 1 < indptr.size(); ++i)
    for (Index a = indptr[i]; a < indptr[i + 1]; ++a)
      for (Index b = indptr[i]; b < indptr[i + 1]; ++b)
        if (position[incidence(a, 0)] >= position[incidence(b, 0)])
          products.push_back({incidence(a, 0), incidence(a, 1), incidence(b, 0), incidence(b, 1)});
  Array<Index, 2> result({Index(products.size()), 4});
  for (std::size_t k = 0; k < products.size(); ++k) std::copy_n(products[k].data(), 4, result.data() + 4 * k);
  return result;
}
// Fills `data` with A D^-1 A', rows and columns scaled; contributions (k, 6) are products, base and stride.
inline void fill_schur(const Saddle& K, Blocks inverse, View<const double> scale, View<const Index, 2> contributions,
                       View<double> data) {
  const SaddlePattern pattern = K.pattern();
  const ARows rows = K.rows;
  const Index n_primal = pattern.n_primal(), first = pattern.n_primal_rows(), width = rows.shape(2);
  Array<double, 3> half(rows.shape());  // A D^-1, rows scaled
  pattern.for_each_part([&](Index r, Index side, Index i) {
    const Index size = pattern.size(i);
    for (Index a = 0; a < size; ++a) {
      double total = 0.0;
      for (Index b = 0; b < size; ++b) total += inverse(i, a, b) * rows(r, side, b);
      half(r, side, a) = total * scale[first + r];
    }
  });

  std::fill(data.begin(), data.end(), 0.0);
  for (Index k = 0; k < contributions.rows(); ++k) {
    const Index p = contributions(k, 0), side_p = contributions(k, 1), q = contributions(k, 2);
    const Index side_q = contributions(k, 3), stride = contributions(k, 5), size = pattern.size(K.ends(q, side_q));
    const Index row_p = K.offsets[n_primal + p] - first, row_q = K.offsets[n_primal + q] - first;
    double* const block = data.data() + contributions(k, 4);
    for (Index c = 0; c < pattern.size(n_primal + q); ++c) {
      const double factor = scale[first + row_q + c];
      const double* const right = rows.data() + (2 * (row_q + c) + side_q) * width;
      for (Index r = 0; r < pattern.size(n_primal + p); ++r) {
        const double* const left = half.data() + (2 * (row_p + r) + side_p) * width;
        double total = 0.0;
        for (Index a = 0; a < size; ++a) total += left[a] * right[a];
        block[c * stride + r] += total * factor;
      }
    }
  }
}
// A D^-1 f - g (n_dual_rows, k) of right-hand sides [f; g] (n_rows, k).
inline Array<double, 2> dual_rhs(const Saddle& K, Blocks inverse, Columns rhs) {
  const SaddlePattern pattern = K.pattern();
  const Index first = pattern.n_primal_rows();
  Array<double, 2> reduced({K.rows.rows(), rhs.shape(1)}), free({first, rhs.shape(1)});
  std::transform(rhs.begin() + first * rhs.shape(1), rhs.end(), reduced.begin(), std::negate<>());
  diagonal_product(pattern, inverse, rhs, [&](Index row, Index k, double total) { free(row, k) = total; });
  row_product(pattern, K.rows, free, [&](Index r, Index k, double total) { reduced(r, k) += total; });
  return reduced;
}
// [D^-1 (f - A' y); y].
inline Array<double, 2> primal_solution(const Saddle& K, Blocks inverse, Columns rhs, Columns y) {
  const SaddlePattern pattern = K.pattern();
  Array<double, 2> force({pattern.n_primal_rows(), rhs.shape(1)}), x(rhs.shape());
  std::copy_n(rhs.begin(), force.size(), force.begin());
  for_each_end(pattern, K.rows, [&](Index r, const double* row, Index first, auto size) {  // f - A' y
    subtract_force(size, row, &y(r, 0), &force(first, 0), y.shape(1));
  });
  diagonal_product(pattern, inverse, force, [&](Index row, Index k, double total) { x(row, k) = total; });
  std::copy(y.begin(), y.end(), x.begin() + force.size());
  return x;
}

// ---- dependence of rows ------------------------------------------------------------------------------------------

// The smallest dual pivot over the squared norm of its row of A, and that row, where D is the identity: sin^2 of the
// angle between the row and those before it if all primal blocks of these rows precede it as well, otherwise a lower bound.
struct SmallestPivot {
  View<double> inverse_squares;  // (n_rows,) of the sines of all rows, (0,) where they are not asked for
  double largest = 0.0;          // of these; infinite for a pivot that is not positive
  Index row = -1;

  void take(double inverse_pivot, ARows rows, Index r) {
    const Index n = 2 * rows.shape(2);
    const double* a = rows.data() + n * r;
    take(inverse_pivot * (n == 12 ? square<12>(a) : n == 6 ? square<6>(a) : square<2>(a, n)), r);
  }
  void take(double ratio, Index r) {
    if (!(ratio > 0.0 && ratio <= largest)) largest = ratio > 0.0 ? ratio : std::numeric_limits<double>::infinity(), row = r;
    if (inverse_squares.size() > 0) inverse_squares[r] = ratio;
  }
  std::pair<double, Index> sine_and_row() const { return {1.0 / std::sqrt(largest), row}; }

 private:
  // The square of the length of a row, whose numbers are even.
  template <int n>
  SB_INLINE static double square(const double* a, Index size = n) {
    Vec<2> sum;
    for (Index k = 0; k < size; k += 2) {
      const Vec<2> pair = Vec<2>::load(a + k);
      sum = sum + pair * pair;
    }
    return sum[0] + sum[1];
  }
};

// The first row of A that is zero or not finite, or -1.
inline Index vanishing_row(const SaddlePattern& pattern, ARows rows) {
  Array<double> square(rows.rows());
  pattern.for_each_part([&](Index r, Index side, Index) {
    for (const double a : rows[r][side]) square[r] += a * a;
  });
  for (Index r = 0; r < square.size(); ++r)
    if (!is_positive_and_finite(square[r])) return r;
  return -1;
}
// The largest entries of A' y and of |A|' |y|, for the dual part of y (n_rows,).
inline std::pair<double, double> cancellation(const SaddlePattern& pattern, ARows rows, View<const double> y) {
  const Index width = rows.shape(2), first = pattern.n_primal_rows();
  Array<double, 2> wrench({pattern.n_primal(), width}), magnitude({pattern.n_primal(), width});
  pattern.for_each_part([&](Index r, Index side, Index i) {
    for (Index a = 0; a < width; ++a) {
      const double term = rows(r, side, a) * y[first + r];
      wrench(i, a) += term;
      magnitude(i, a) += std::abs(term);
    }
  });
  double largest = 0.0, largest_magnitude = 0.0;
  for (const double x : wrench) largest = std::max(largest, std::abs(x));
  for (const double x : magnitude) largest_magnitude = std::max(largest_magnitude, x);
  return {largest, largest_magnitude};
}

}  // namespace sparsebody
