// LDL' of [D A'; A -eps] in any order, by dense columns of blocks, with every operation counted. Nothing is fused
// (see CMakeLists.txt): what cancels exactly must, so that a pivot that is zero is found to be.
#include "factorization/plain_ldl.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sparsebody::plain_ldl {
namespace {

// Subtracts what column p of blocks is to that of the block entry, whose rows begin at `row` of p. Returns the flops.
std::int64_t update(const Columns& columns, Index p, Index entry, Index row, const double* undivided,
                    double* values) {
  const auto& [sizes, base, start, below] = columns;
  const Index target = below[entry], height = columns.height(p), target_height = columns.height(target);
  std::int64_t flops = 0;
  // Block t of the target's column: its own one, then those below it.
  const auto block = [&](Index t) { return t < start[target] ? target : below[t]; };
  Index t = start[target] - 1, to = 0, from = row;
  for (Index e = entry; e < start[p + 1]; ++e) {
    for (; block(t) != below[e]; ++t) to += sizes[block(t)];
    const Index n_rows = sizes[below[e]];
    for (Index c = 0; c < sizes[target]; ++c) {
      const Index above = e == entry ? c : 0;
      double* const destination = values + base[target] + c * target_height + to;
      for (Index k = 0; k < sizes[p]; ++k) {
        const double factor = undivided[k * height + row + c];
        const double* const column = values + base[p] + k * height + from;
        for (Index r = above; r < n_rows; ++r) destination[r] -= column[r] * factor;
        flops += 2 * std::max(n_rows - above, Index(0));
      }
    }
    from += n_rows;
  }
  return flops;
}

}  // namespace

std::pair<Index, std::int64_t> factorize(View<const Index> sizes, View<const Index> base, View<const Index> start,
                                         View<const Index> below, View<double> values) {
  const Columns columns{sizes, base, start, below};
  std::int64_t flops = 0;
  Index largest = 0;
  for (Index p = 0; p < sizes.size(); ++p) largest = std::max(largest, base[p + 1] - base[p]);
  Array<double> undivided(largest);  // L D of the newest column of blocks
  for (Index p = 0; p < sizes.size(); ++p) {
    const Index size = sizes[p], height = columns.height(p);
    for (Index k = 0; k < size; ++k) {
      double* const column = values.data() + base[p] + k * height;
      const double pivot = column[k];
      if (!(0.0 < std::abs(pivot) && std::abs(pivot) < std::numeric_limits<double>::infinity())) return {p, flops};
      for (Index i = k + 1; i < height; ++i) {
        undivided[k * height + i] = column[i];
        column[i] /= pivot;
      }
      flops += height - k - 1;
      for (Index j = k + 1; j < size; ++j) {
        const double factor = undivided[k * height + j];
        double* const other = values.data() + base[p] + j * height;
        for (Index i = j; i < height; ++i) other[i] -= column[i] * factor;
        flops += 2 * (height - j);
      }
    }
    Index row = size;
    for (Index entry = start[p]; entry < start[p + 1]; ++entry) {
      flops += update(columns, p, entry, row, undivided.data(), values.data());
      row += sizes[below[entry]];
    }
  }
  return {-1, flops};
}

void solve(View<const Index> sizes, View<const Index> base, View<const Index> indices, View<const double> values,
           View<double> x) {
  const Columns columns{sizes, base, {}, {}};
  for (Index p = 0; p < sizes.size(); ++p)  // L y = b
    for (Index k = 0; k < sizes[p]; ++k) {
      const Index height = columns.height(p), column = base[p] + k * height;
      const double y = x[indices[column + k]];
      for (Index i = k + 1; i < height; ++i) x[indices[column + i]] -= values[column + i] * y;
    }
  for (Index p = sizes.size() - 1; p >= 0; --p)  // L' x = D^-1 y
    for (Index k = sizes[p] - 1; k >= 0; --k) {
      const Index height = columns.height(p), column = base[p] + k * height;
      double total = x[indices[column + k]] / values[column + k];
      for (Index i = k + 1; i < height; ++i) total -= values[column + i] * x[indices[column + i]];
      x[indices[column + k]] = total;
    }
}

}  // namespace sparsebody::plain_ldl
