// Most loops run a few iterations, for which GCC's vectorized code is slower than scalar code.
#pragma GCC optimize("no-tree-loop-vectorize")

#include "factorization/block_qr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/householder.hpp"
#include "factorization/saddle.hpp"
#include "graph/elimination_tree.hpp"

namespace sparsebody {
namespace {

constexpr double negligible = 1e-14;  // pivot relative to its row of A that is a rounding error
constexpr Index large = 1 << 14;      // dual blocks from which on memory is requested before it is needed
constexpr double estimated_residual = 1e-3;  // relative; below it the next one is taken to be smaller by the same ratio

// ---- The tree of fronts

// Dual blocks in elimination order, and the later blocks in the front of each: the pattern of a column of the Cholesky
// factor of A A'. Davis (2006), sec. 5.3.
struct FrontTree {
  GraphArrays quotient;         // primal blocks, then dual ones
  std::vector<Index> parent;
  GraphArrays later;
  Index n_primal;

  FrontTree(View<const Index, 2> all_ends, Index n, Indices order) : n_primal(n) {
    Array<Index, 2> ends(all_ends.shape());
    for (Index j = 0; j < order.size(); ++j) std::copy_n(all_ends[order[j]].begin(), 2, &ends(j, 0));
    quotient = quotient_graph(n, ends);
    const GraphArrays duals = dual_graph(quotient.graph(), n);
    parent = elimination_tree(duals.graph());
    later = column_structures(duals.graph(), parent, postorder(parent));
  }
  Indices later_than(Index j) const { return later[j]; }
  // Calls body(i) for the primal blocks that no front before j has.
  template <class F>
  void for_each_new_end(Index j, F&& body) const {
    for (const Index i : quotient[n_primal + j])
      if (quotient[i][0] == n_primal + j) body(i);
  }
};

// ---- Reflections

// The sum of terms body(begin), ..., body(begin + n - 1), in pairs.
template <int begin, int n, class F>
SB_INLINE auto pairwise_sum(const F& body) {
  if constexpr (n == 1) return body(std::integral_constant<int, begin>{});
  else return pairwise_sum<begin, n / 2>(body) + pairwise_sum<begin + n / 2, n - n / 2>(body);
}

// Householder's reflection of rows t, ..., n_rows - 1 that makes column t zero below row t, where the
// zeros are not stored; returns R_tt.
template <int t, int n_rows, int lanes>
SB_INLINE double reflect(Vec<lanes> (&row)[n_rows], double (&f)[n_rows]) {
  double v[n_rows];
  unrolled<t, n_rows>([&](auto r) SB_UNROLL { v[r] = row[r][t]; });
  const double square = pairwise_sum<t, n_rows - t>([&](auto r) SB_UNROLL { return v[r] * v[r]; });
  const double pivot = -std::copysign(std::sqrt(square), v[t]);
  const double beta = 1.0 / (square - pivot * v[t]);  // 2 / v' v
  v[t] -= pivot;
  auto total = row[t] * v[t];
  double effect = f[t] * v[t];
  if constexpr (t + 1 < n_rows) {  // the sums that need not wait for the pivot
    total = pairwise_sum<t + 1, n_rows - t - 1>([&](auto r) SB_UNROLL { return row[r] * v[r]; }) + total;
    effect = pairwise_sum<t + 1, n_rows - t - 1>([&](auto r) SB_UNROLL { return f[r] * v[r]; }) + effect;
  }
  total = total * beta;
  effect = effect * beta;
  unrolled<t, n_rows>([&](auto r) SB_UNROLL {
    row[r] = row[r] - total * v[r];
    f[r] = f[r] - effect * v[r];
  });
  return pivot;
}

// Sizes of a front: pivots, rows, columns, columns with padding, and rows that go to its parent.
struct FrontShape {
  Index size, n_rows, n_columns, stride, n_remaining;
};

// A small front of `lanes` columns in registers; n_rows = n_pivots + n_remaining.
template <int n_pivots, int n_rows, int lanes>
void eliminate_in_registers(double* front, const FrontShape& shape, double* R, double* stack) {
  Vec<lanes> row[n_rows];
  double f[n_rows];
  double* const f_memory = front + (n_rows + 1) * lanes;
  unrolled<0, n_rows>([&](auto r) SB_UNROLL { row[r] = Vec<lanes>::load(front + r * lanes); });
  unrolled<0, n_rows>([&](auto r) SB_UNROLL { f[r] = f_memory[r]; });
  auto gamma = Vec<lanes>::load(front + n_rows * lanes);
  unrolled<0, n_pivots>([&](auto t) SB_UNROLL {
    const double inverse = 1.0 / reflect<t>(row, f), y = gamma[t] * inverse;  // R'^-1 gamma
    gamma = gamma - row[t] * y;
    f_memory[t] = f[t] - y;
    row[t].template with<t>(inverse).store(R + t * lanes);
  });
  const Index n_others = shape.n_columns - n_pivots;
  unrolled<n_pivots, n_rows>([&](auto r) SB_UNROLL {
    rotated<n_pivots>(row[r]).store(stack);
    stack[n_others] = f[r];
    stack += n_others + 1;
  });
  rotated<n_pivots>(gamma).store(stack);
}
constexpr Index spare = 8;   // numbers behind the stack that vectors may write to
constexpr Index apart = 64;  // between memory of two threads: processors fetch neighbouring lines, too

// The same reflection in memory, of a front whose columns come in fours; v (n_rows,) is room.
double reflect(double* front, Index stride, Index n_rows, double* f, Index t, double* v) {
  double* const top = front + t * stride;
  double square = 0.0, effect = 0.0;
  for (Index r = 0; r < n_rows - t; ++r) v[r] = top[r * stride + t], square += v[r] * v[r];
  if (square == 0.0) return 0.0;
  const auto [pivot, beta] = dense::Reflection(v, square);
  for (Index r = t; r < n_rows; ++r) effect += v[r - t] * f[r];
  for (Index r = t; r < n_rows; ++r) f[r] -= v[r - t] * (beta * effect);
  dense::reflect<Vec<4>, 4>(top, stride, v, n_rows - t, beta, (t + 1) / 4 * 4, stride);
  return top[t] = pivot;
}

// A front of any shape: its rows, then gamma (stride,), f (n_rows,) and as much room. The rows of R go to their storage,
// Q' f - R'^-1 gamma of them into f, and what is left to the stack: row by row (n_others,) and f, then gamma.
void eliminate(double* front, const FrontShape& shape, double* R, double* stack) {
  const auto& [size, n_rows, n_columns, stride, n_remaining] = shape;
  double* const gamma = front + n_rows * stride;
  double *const f = gamma + stride, *const v = f + std::max(n_rows, size);
  for (Index t = 0; t < size; ++t) {
    double* const R_t = R + t * stride;
    const double pivot = t < n_rows ? reflect(front, stride, n_rows, f, t, v) : 0.0, inverse = 1.0 / pivot;
    const double y = gamma[t] * inverse;
    for (Index c = 0; c < stride; ++c) {
      R_t[c] = t < n_rows ? front[t * stride + c] : 0.0;
      gamma[c] -= y * R_t[c];
    }
    R_t[t] = inverse;
    f[t] -= y;
  }
  if (n_rows > size + n_remaining)
    for (Index t = size; t < n_columns; ++t) {
      reflect(front, stride, n_rows, f, t, v);
      for (Index r = t + 1; r < n_rows; ++r) front[r * stride + t] = 0.0;
    }
  for (Index r = size; r < size + n_remaining; ++r) {
    stack = std::copy(front + r * stride + size, front + r * stride + n_columns, stack);
    *stack++ = f[r];
  }
  std::copy(gamma + size, gamma + n_columns, stack);
}

using Eliminate = void (*)(double*, const FrontShape&, double*, double*);

// Code for the shape of a front; two pivots are those of a revolute or prismatic joint in the plane.
Eliminate elimination(const FrontShape& shape) {
  if (shape.n_rows == shape.size + shape.n_remaining && shape.size == 2) {
    constexpr Eliminate of_8[] = {eliminate_in_registers<2, 3, 8>, eliminate_in_registers<2, 4, 8>,
                                  eliminate_in_registers<2, 5, 8>, eliminate_in_registers<2, 6, 8>,
                                  eliminate_in_registers<2, 7, 8>, eliminate_in_registers<2, 8, 8>};
    constexpr Eliminate of_4[] = {eliminate_in_registers<2, 3, 4>, eliminate_in_registers<2, 4, 4>};
    const Index k = shape.n_rows - 3;
    if (shape.stride == 8 && 0 <= k && k < 6) return of_8[k];
    if (shape.stride == 4 && 0 <= k && k < 2) return of_4[k];
  }
  return eliminate;
}

// ---- Products with A

// The columns of primal blocks, of a width that is known when compiling or not (0).
template <int width>
struct Columns {
  const std::uint32_t* begin;
  Index first(Index i) const { return width > 0 ? width * i : begin[i]; }
  Index size(Index i) const { return width > 0 ? width : begin[i + 1] - begin[i]; }
};

struct Range {
  Index begin, end;
};

// Calls body(k, row, i, columns) for every row k of a range of dual blocks: rows row[s] on the primal blocks i[s], of
// which there may be none (n_primal).
template <int width, class F>
SB_INLINE void for_each_row(const ConstraintPattern& pattern, const Range& duals, ConstraintRows A, const F& body) {
  const Index stride = width > 0 ? width : A.shape(2);
  const Columns<width> columns{pattern.columns.data()};
  const bool is_large = pattern.n_dual() > large;
  for (Index j = duals.begin; j < duals.end; ++j) {
    const auto& dual = pattern.duals[j];
    const double* row = A.data() + 2 * stride * dual.first_row;
    if (is_large) prefetch(row + 96), prefetch(row + 104);
    const Index end = pattern.duals[j + 1].first_row;
    for (Index k = dual.first_row; k < end; ++k, row += 2 * stride) {
      const double* const sides[2] = {row, row + stride};
      body(k, sides, dual.ends, columns);
    }
  }
}

struct Sizes {
  double worst = 0.0, largest = 0.0;  // entry of a residual, term of an equation
  double total = 0.0;                 // NaN if any residual is NaN

  void enlarge(const Sizes& part) {
    worst = std::max(worst, part.worst), largest = std::max(largest, part.largest), total += part.total;
  }
  double worst_or_nan() const { return worst + (total - total); }
};

// Fills residual = A x - gamma; its size is relative to the largest term of A x, gamma and, unless it is known, A f, f being
// the free motion.
template <int width, bool with_free>
Sizes fill_residual(const ConstraintPattern& pattern, const Range& duals, ConstraintRows A, const double* x, const double* f,
                    const double* gamma, double* residual) {
  double worst = 0.0, largest = 0.0, total = 0.0;
  const auto n = std::uint32_t(pattern.n_primal());
  for_each_row<width>(pattern, duals, A, [&](Index k, const auto& row, const auto& ends, const auto& columns) SB_UNROLL {
    double of_x[2] = {}, of_f[2] = {};
    for (int side = 0; side < 2; ++side) {
      if (ends[side] >= n) continue;
      const Index first = columns.first(ends[side]);
      for (Index a = 0; a < columns.size(ends[side]); ++a) {
        of_x[side] += row[side][a] * x[first + a];
        if constexpr (with_free) of_f[side] += row[side][a] * f[first + a];
      }
    }
    const double error = of_x[0] + of_x[1] - gamma[k];
    residual[k] = error;
    total += error;
    worst = std::max(worst, std::abs(error));
    const double terms = std::max(std::max(std::abs(of_x[0]), std::abs(of_x[1])),
                                  std::max(std::abs(of_f[0]), std::abs(of_f[1])));
    largest = std::max(largest, std::max(terms, std::abs(gamma[k])));
  });
  return {worst, largest, total};
}

// x -= A' y
template <int width, class T>
void subtract_forces(const ConstraintPattern& pattern, const Range& duals, ConstraintRows A, const T* y, T* x) {
  const auto n = std::uint32_t(pattern.n_primal());
  for_each_row<width>(pattern, duals, A, [&](Index k, const auto& row, const auto& ends, const auto& columns) SB_UNROLL {
    for (int side = 0; side < 2; ++side) {
      if (ends[side] >= n) continue;
      const Index first = columns.first(ends[side]);
      for (Index a = 0; a < columns.size(ends[side]); ++a) x[first + a] -= y[k] * row[side][a];
    }
  });
}

}  // namespace

ConstraintPattern::ConstraintPattern(View<const Index> block_sizes, View<const Index, 2> ends) {
  const Index m = ends.rows(), n = block_sizes.size() - m;
  duals.reserve(m + 1), columns.reserve(n + 1);
  columns.push_back(0);
  for (Index i = 0; i < n; ++i) columns.push_back(columns.back() + std::uint32_t(block_sizes[i]));
  width = n > 0 ? block_sizes[0] : 0;
  for (Index i = 0; i < n; ++i)
    if (block_sizes[i] != width) width = 0;
  std::uint32_t row = 0;
  const auto block = [&](Index end) { return std::uint32_t(end < 0 ? n : end); };
  for (Index j = 0; j < m; ++j) {
    duals.push_back({{block(ends(j, 0)), block(ends(j, 1))}, row});
    row += std::uint32_t(block_sizes[n + j]);
  }
  duals.push_back({{std::uint32_t(n), std::uint32_t(n)}, row});
}

// ---- Layout

Partition dual_partition(View<const Index> block_sizes, View<const Index, 2> ends, View<const Index> order,
                         Index fewest) {
  const Index n = block_sizes.size() - ends.rows();
  const GraphArrays graph = dual_graph(quotient_graph(n, ends).graph(), n);
  return partition_from_both_ends(graph.graph(), block_sizes.slice(n, block_sizes.size()), order, fewest);
}

BlockQR::BlockQR(View<const Index> block_sizes, View<const Index, 2> ends, View<const Index> order_,
                 View<const Index> part_starts)
    : pattern_(block_sizes, ends) {
  const Index n = pattern_.n_primal(), m = pattern_.n_dual();
  std::vector<Index> order(order_.begin(), order_.end());
  FrontTree tree(ends, n, order);
  const Index n_parts = part_starts.size() - 1, first_ancestor = part_starts[n_parts];
  if (Array<Index> sequence = postorder(tree.parent); n_parts == 0 && !std::ranges::is_sorted(sequence)) {
    for (Index j = 0; j < m; ++j) order[j] = order_[sequence[j]];
    tree = FrontTree(ends, n, order);
  }
  const auto size = [&](Index j) { return block_sizes[n + order[j]]; };
  const auto first_row = [&](Index j) { return pattern_.duals[order[j]].first_row; };

  // Fronts, and where they and their contribution blocks lie.
  std::vector<Index> rows_of_children(m), n_children(m), child_begin(m + 1), column(m);
  for (Index j = 0; j < m; ++j)
    if (tree.parent[j] >= 0) ++child_begin[tree.parent[j] + 1];
  for (Index j = 0; j < m; ++j) child_begin[j + 1] += child_begin[j];
  children_.resize(child_begin[m]);
  Index n_columns = 0;  // of all fronts
  for (Index j = 0; j < m; ++j) {
    n_columns += size(j);
    for (const Index k : tree.later_than(j)) n_columns += size(k);
  }
  fronts_.reserve(m + 1), parts_.reserve(2 * m), columns_.reserve(n_columns), parent_columns_.reserve(n_columns);
  Front next{};
  Index height = 0, largest_front = 0, n_begun = 0;
  for (Index j = 0; j < m; ++j) {
    if (n_begun <= n_parts && part_starts[n_begun] == j) next.stack = height + apart, ++n_begun;
    Front front = next;
    front.size = std::uint32_t(size(j));
    front.n_rows = std::uint32_t(rows_of_children[j]);
    tree.for_each_new_end(j, [&](Index i) { front.n_rows += std::uint32_t(block_sizes[i]); });
    column[j] = 0;
    front.n_columns = front.n_inner = front.size;
    for (const Index k : tree.later_than(j)) {
      if (k < first_ancestor || j >= first_ancestor) front.n_inner += std::uint32_t(size(k));
      column[k] = front.n_columns;
      front.n_columns += std::uint32_t(size(k));
    }
    if (n_children[j] > 0 && (n_parts == 0 || j < first_ancestor)) front.stack = fronts_[children_[child_begin[j]]].stack;

    // Columns, and where they are in the parent's front.
    const Index p = tree.parent[j];
    for (Index i = 0; i < size(j); ++i) {
      columns_.push_back(first_row(j) + std::uint32_t(i));
      parent_columns_.push_back(0);
    }
    Index parent_column = 0;
    const Index* other = p >= 0 ? tree.later_than(p).begin() : nullptr;
    for (const Index k : tree.later_than(j)) {
      if (k != p) {
        if (parent_column == 0) parent_column = size(p);
        for (; *other != k; ++other) parent_column += size(*other);
      }
      for (Index i = 0; i < size(k); ++i) {
        columns_.push_back(first_row(k) + std::uint32_t(i));
        parent_columns_.push_back(std::uint32_t(parent_column + i));
      }
      if (k != p) parent_column += size(k), ++other;
    }

    // Blocks of A on its new primal blocks, whose rows come after those of children.
    std::uint32_t top = front.n_rows;
    tree.for_each_new_end(j, [&](Index i) {
      const auto width = std::uint32_t(block_sizes[i]);
      top -= width;
      for (const Index dual : tree.quotient[i]) {
        const Index k = dual - n;
        for (std::uint32_t side = 0; side < 2; ++side)
          if (ends(order[k], side) == i)
            parts_.push_back({first_row(k), side, std::uint32_t(size(k)), width, top, std::uint32_t(column[k]),
                              k == j ? std::uint32_t(i) : none});
      }
    });

    next.stack = front.stack;
    if (p >= 0) {
      children_[child_begin[p] + n_children[p]++] = std::uint32_t(j);
      rows_of_children[p] += front.n_remaining();
      next.stack += (front.n_remaining() + 1) * (front.n_columns - front.size + 1) - 1;
      height = std::max(height, next.stack);
    }
    next.first_column = std::uint32_t(columns_.size());
    next.first_part = std::uint32_t(parts_.size());
    next.first_child = std::uint32_t(child_begin[j + 1]);
    next.start = front.start + front.size * front.stride();
    const Index rows = std::max(front.n_rows, front.size);
    largest_front = std::max(largest_front, (rows + 1) * front.stride() + 2 * rows);
    fronts_.push_back(front);
  }
  fronts_.push_back(next);
  R_ = Array<double>(next.start);
  stack_ = Array<double>(height + spare);
  residual_ = Array<double>(pattern_.n_rows()), inverse_squares_ = Array<double>(pattern_.n_rows());
  const Index n_shared = n_parts == 0 ? 0 : pattern_.n_rows() - pattern_.duals[first_ancestor].first_row;
  for (Index p = 0; p <= n_parts; ++p)
    subtrees_.push_back({part_starts[p], p < n_parts ? part_starts[p + 1] : m, Array<double>(largest_front + apart),
                         Array<double>(p < n_parts ? 2 * n_shared : 0)});
}

Array<Index, 2> BlockQR::front_shapes() const {
  Array<Index, 2> shapes({pattern_.n_dual(), 4});
  for (Index j = 0; j < pattern_.n_dual(); ++j) {
    const Front& front = fronts_[j];
    const Index shape[4] = {front.size, front.n_rows, front.stride(), front.n_remaining()};
    for (int c = 0; c < 4; ++c) shapes(j, c) = shape[c];
  }
  return shapes;
}

// ---- Factorization

namespace {

template <int n>
SB_INLINE double square_of(const double* v) {
  return pairwise_sum<0, n>([&](auto k) SB_UNROLL { return v[k] * v[k]; });
}

}  // namespace

// Prefetches what the eighth front from here on will use, by the sizes of fronts of planar joints.
void BlockQR::prefetch_front(Index j, ConstraintRows A) const {
  const Front& front = fronts_[j];
  prefetch(fronts_.data() + j + 8);
  prefetch(columns_.data() + front.first_column + 64);
  prefetch(parent_columns_.data() + front.first_column + 64);
  prefetch(parts_.data() + front.first_part + 16);
  prefetch(parts_.data() + front.first_part + 18);
  prefetch(R_.data() + front.start + 128);
  prefetch(R_.data() + front.start + 136);
  const double* row = A.data() + 2 * A.shape(2) * columns_[front.first_column];
  prefetch(row + 96);
  prefetch(row + 104);
}

// Adds the contribution block of a child, its rows to those from `top` on.
void BlockQR::add_contribution(Index child, double* rows, double* gamma, double* f, Index stride, Index& top) {
  const Front& front = fronts_[child];
  const double* block = stack_.data() + front.stack;
  const std::uint32_t* const first = parent_columns_.data() + front.first_column + front.size;
  const std::uint32_t* const last = parent_columns_.data() + front.first_column + front.n_columns;
  double* row = rows + top * stride;
  for (Index r = front.n_remaining(); r > 0; --r, ++top, row += stride) {
    for (const auto* parent_column = first; parent_column < last; ++parent_column) row[*parent_column] = *block++;
    f[top] = *block++;
  }
  for (const auto* parent_column = first; parent_column < last; ++parent_column) gamma[*parent_column] += *block++;
}

// Fills the front with contribution blocks and with rows of A', which bring their part of the right-hand side.
void BlockQR::assemble(Index j, const Front& front, ConstraintRows A, View<const double> rhs, double* rows) {
  const Front& next = fronts_[j + 1];
  const Index stride = front.stride(), width = A.shape(2);
  double* const gamma = rows + front.n_rows * stride;
  double* const f = gamma + stride;
  std::fill(rows, f + std::max(front.n_rows, front.size), 0.0);
  Index top = 0;
  for (Index q = front.first_child; q < next.first_child; ++q) add_contribution(children_[q], rows, gamma, f, stride, top);
  for (Index q = front.first_part; q < next.first_part; ++q) {
    const Part& part = parts_[q];
    double* to = rows + part.top * stride + part.column;
    const double* row = A.data() + (2 * Index(part.row) + part.side) * width;
    const auto add = [&](Index n_rows, Index part_width) SB_UNROLL {
      for (Index i = 0; i < n_rows; ++i, row += 2 * width, ++to)
        for (Index a = 0; a < part_width; ++a) to[a * stride] += row[a];
    };
    if (part.width == 3 && part.n_rows == 2) add(2, 3);
    else add(part.n_rows, part.width);
    if (!rhs.empty() && part.primal != none) {
      const double* from = rhs.data() + pattern_.columns[part.primal];
      std::copy(from, from + part.width, f + part.top);
    }
  }
  if (!rhs.empty())
    for (Index t = 0; t < front.size; ++t) gamma[t] += rhs[pattern_.n_columns() + columns_[front.first_column + t]];
}

Index BlockQR::factorize(ConstraintRows A, View<const double> rhs, View<double> y) {
  std::vector<Index> status(subtrees_.size());
  for_each_part([&](Index p) { status[p] = factorize(subtrees_[p], A, rhs, y); });
  status.back() = factorize(common_ancestors(), A, rhs, y);
  for (const Index s : status)
    if (s != regular) return s;
  return regular;
}

Index BlockQR::factorize(Subtrees& part, ConstraintRows A, View<const double> rhs, View<double> y) {
  Index status = regular;
  const bool is_large = pattern_.n_dual() > large;
  const Index width = A.shape(2);
  double* const rows = part.front.data();
  for (Index j = part.begin; j < part.end; ++j) {
    const Front& front = fronts_[j];
    if (is_large) prefetch_front(j, A);
    assemble(j, front, A, rhs, rows);
    const FrontShape shape{front.size, front.n_rows, front.n_columns, front.stride(), front.n_remaining()};
    double* const R = R_.data() + front.start;
    elimination(shape)(rows, shape, R, stack_.data() + front.stack);
    const double* const f = rows + (shape.n_rows + 1) * shape.stride;
    for (Index t = 0; t < front.size; ++t) {  // |R_tt| < negligible |row|, or NaN
      const Index k = columns_[front.first_column + t];
      const double inverse = R[t * shape.stride + t], *row = A.data() + 2 * width * k;
      double square = 0.0;
      if (width == 3) square = square_of<6>(row);
      else for (Index a = 0; a < 2 * width; ++a) square += row[a] * row[a];
      inverse_squares_[k] = square * inverse * inverse;
      if (!(negligible * negligible * inverse_squares_[k] < 1.0) && status == regular) status = k;
      if (!rhs.empty()) y[k] = f[t];
    }
  }
  return status;
}

Index BlockQR::factorize_with_duals(ConstraintRows A, View<const double> rhs, View<double> x) {
  const View<double> y = x.slice(pattern_.n_columns(), x.size());
  const Index status = factorize(A, rhs, y);
  if (status == regular) substitute_back(y);
  return status;
}

// ---- Substitution

namespace {

// L y = x and x -= L' y of a front, R = L', whose first columns are pivots: n of them, or `size` if n is 0.
template <int n, class T>
SB_INLINE void substitute_front(const double* R, Index stride, Index size, Index n_inner, Index n_columns,
                                const std::uint32_t* column, T* x, T* of_ancestors) {
  if constexpr (n == 0) {
    for (Index t = 0; t < size; ++t, R += stride) {
      const T y = x[column[t]] = x[column[t]] * R[t];
      for (Index c = t + 1; c < n_inner; ++c) x[column[c]] -= y * R[c];
      for (Index c = n_inner; c < n_columns; ++c) of_ancestors[column[c]] -= y * R[c];
    }
  } else {
    T y[n];
    for (Index t = 0; t < n; ++t) {
      T total = x[column[t]];
      for (Index s = 0; s < t; ++s) total -= y[s] * R[s * stride + t];
      x[column[t]] = y[t] = total * R[t * stride + t];
    }
    const auto product = [&](Index c) SB_UNROLL {
      T total{};
      for (Index t = 0; t < n; ++t) total += y[t] * R[t * stride + c];
      return total;
    };
    for (Index c = n; c < n_inner; ++c) x[column[c]] -= product(c);
    for (Index c = n_inner; c < n_columns; ++c) of_ancestors[column[c]] -= product(c);
  }
}

// R x = x of a front.
template <int n, class T>
SB_INLINE void substitute_front_back(const double* R, Index stride, Index size, Index n_columns,
                                     const std::uint32_t* column, T* x) {
  if constexpr (n == 0) {
    for (Index t = size - 1; t >= 0; --t) {
      T total = x[column[t]];
      for (Index c = n_columns - 1; c > t; --c) total -= x[column[c]] * R[t * stride + c];
      x[column[t]] = total * R[t * stride + t];
    }
  } else {
    T total[n];
    for (Index t = 0; t < n; ++t) total[t] = x[column[t]];
    for (Index c = n_columns - 1; c >= n; --c) {  // the newest ones last
      const T y = x[column[c]];
      for (Index t = 0; t < n; ++t) total[t] -= y * R[t * stride + c];
    }
    for (Index t = n - 1; t >= 0; --t) {
      for (Index c = n - 1; c > t; --c) total[t] -= total[c] * R[t * stride + c];
      x[column[t]] = total[t] = total[t] * R[t * stride + t];
    }
  }
}

// Calls body(n) with a number of pivots as a constant, 0 for those that no usual joint has.
template <class F>
SB_INLINE void with_pivots(Index n, F&& body) {
  with_constant<2, 1, 3, 5, 6, 0>(n, body);
}

}  // namespace

template <class T>
void BlockQR::substitute(Subtrees& part, T* x) {
  const bool is_large = pattern_.n_dual() > large;
  T* const of_ancestors = reinterpret_cast<T*>(part.ancestors.data()) - (pattern_.n_rows() - n_shared(part));
  for (Index j = part.begin; j < part.end; ++j) {
    const Front& front = fronts_[j];
    const std::uint32_t* const column = columns_.data() + front.first_column;
    const double* const R = R_.data() + front.start;
    if (is_large) prefetch(&front + 8), prefetch(column + 64), prefetch(R + 128), prefetch(R + 136);
    with_pivots(front.size, [&](auto n) SB_UNROLL {
      substitute_front<n>(R, front.stride(), front.size, front.n_inner, front.n_columns, column, x, of_ancestors);
    });
  }
}

template <class T>
void BlockQR::substitute_back(const Subtrees& part, T* x) const {
  const bool is_large = pattern_.n_dual() > large;
  for (Index j = part.end - 1; j >= part.begin; --j) {
    const Front& front = fronts_[j];
    const std::uint32_t* const column = columns_.data() + front.first_column;
    const double* const R = R_.data() + front.start;
    if (is_large) prefetch(&front - 8), prefetch(column - 64), prefetch(R - 128), prefetch(R - 136);
    with_pivots(front.size, [&](auto n) SB_UNROLL {
      substitute_front_back<n>(R, front.stride(), front.size, front.n_columns, column, x);
    });
  }
}

template <class T>
void BlockQR::substitute(View<T> x) {
  for_each_part([&](Index p) { substitute(subtrees_[p], x.data()); });
  for (Index p = 0; p + 1 < Index(subtrees_.size()); ++p) {
    T* const from = reinterpret_cast<T*>(subtrees_[p].ancestors.data());
    const Index n = n_shared(subtrees_[p]);
    T* const to = x.data() + x.size() - n;
    for (Index k = 0; k < n; ++k) to[k] += std::exchange(from[k], T{});
  }
  substitute(common_ancestors(), x.data());
  substitute_back(x);
}

template <class T>
void BlockQR::substitute_back(View<T> x) const {
  substitute_back(subtrees_.back(), x.data());
  for_each_part([&](Index p) { substitute_back(subtrees_[p], x.data()); });
}
template void BlockQR::substitute(View<double>);
template void BlockQR::substitute_back(View<double>) const;

std::pair<double, Index> BlockQR::smallest_pivot() const {
  SmallestPivot smallest;
  for (Index k = 0; k < pattern_.n_rows(); ++k) smallest.take(inverse_squares_[k], k);
  return smallest.sine_and_row();
}

// ---- Solution

template <class Task>
void BlockQR::in_parts(const Task& task) const {
  for_each_part([&](Index p) { task(p, Range{subtrees_[p].begin, subtrees_[p].end}); });
  task(Index(subtrees_.size()) - 1, Range{subtrees_.back().begin, subtrees_.back().end});
}

constexpr BlockQR::Goal BlockQR::exact{1e-14, true};        // which no correction reduces
constexpr BlockQR::Goal BlockQR::rough{1e-10, false};       // that suffices for accelerations alone, which steps project onto the rows
constexpr BlockQR::Goal BlockQR::by_factors{residual_by_factors, false};

Index BlockQR::factorize_and_solve(ConstraintRows A, View<const double> rhs, bool accurate, View<double> x,
                                   Residuals& residuals) {
  const Index status = factorize(A, rhs, residual_.view());
  if (status == regular) residuals = refined(A, rhs, accurate ? exact : rough, forward, x, 4);
  return status;
}

template <class T>
void BlockQR::subtract(ConstraintRows A, const T* y, T* x) const {
  in_parts([&](Index, const Range& duals) {
    pattern_.with_width([&](auto width) { subtract_forces<width>(pattern_, duals, A, y, x); });
  });
}

template <class T>
void BlockQR::correct(ConstraintRows A, View<T> error, View<T> x) {
  substitute(error);
  std::fill(x.begin(), x.begin() + pattern_.n_columns(), T{});
  subtract(A, error.data(), x.data());
}
template void BlockQR::correct(ConstraintRows, View<double>, View<double>);
template void BlockQR::correct(ConstraintRows, View<Pair>, View<Pair>);

// Solves by iterative refinement.
BlockQR::Residuals BlockQR::refined(ConstraintRows A, View<const double> rhs, const Goal& goal, Begun begun,
                                    View<double> x, int corrections) {
  const Index n = pattern_.n_columns();
  const View<double> residual = residual_.view();
  std::copy(rhs.begin(), rhs.begin() + n, x.begin());
  if (begun == duals) subtract(A, x.data() + n, x.data());
  else std::fill(x.begin() + n, x.end(), 0.0);
  std::vector<Sizes> sizes(subtrees_.size());
  double before = std::numeric_limits<double>::infinity(), scale = 0.0, last = 0.0, first = 0.0;
  for (int step = 0; step <= corrections; ++step) {
    if (step > 0 || begun != forward) {  // A x - gamma
      in_parts([&](Index p, const Range& duals) {
        pattern_.with_width([&](auto width) {
          const auto fill = scale == 0.0 ? fill_residual<width, true> : fill_residual<width, false>;
          sizes[p] = fill(pattern_, duals, A, x.data(), rhs.data(), rhs.data() + n, residual.data());
        });
      });
      Sizes all;
      for (const Sizes& part : sizes) all.enlarge(part);
      scale = std::max(scale, all.largest);
      last = scale > 0.0 ? all.worst_or_nan() / scale : all.worst_or_nan();
      if (step == 1) first = last;
      if ((step > 0 && last <= goal.residual) || (step > 1 && !(last < before / 2))) break;
      substitute(residual);
    } else {
      substitute_back(residual);
      last = 1.0;
    }
    in_parts([&](Index, const Range& duals) {
      for (Index k = pattern_.duals[duals.begin].first_row; k < Index(pattern_.duals[duals.end].first_row); ++k)
        x[n + k] += residual[k];
      pattern_.with_width([&](auto width) { subtract_forces<width>(pattern_, duals, A, residual.data(), x.data()); });
    });
    if (step > 0) {
      const double next = last * std::min(last / before, 1.0);
      if (last < estimated_residual && next <= goal.residual && !goal.is_exact) return {next, first};
    }
    before = last;
  }
  return {last, first};
}

}  // namespace sparsebody
