// LDL' by dense columns of blocks in any order, an instrument that counts its operations. Davis (2006), sec. 4.3.
#pragma once

#include <cstdint>
#include <utility>

#include "base/array.hpp"

namespace sparsebody::plain_ldl {

// One column of dense blocks after the other, each as high as its own block and those below it.
struct Columns {
  View<const Index> sizes;  // (n,) rows of the blocks by position
  View<const Index> base;   // (n + 1,) where the values of each begin
  View<const Index> start;  // (n + 1,) into `below`
  View<const Index> below;  // positions of the blocks below
  Index height(Index p) const { return sizes[p] > 0 ? (base[p + 1] - base[p]) / sizes[p] : 0; }
};

// Overwrites the matrix by L, with D in place of its unit diagonal. Returns -1 or the position of a block with a pivot
// that is zero or not finite, and the multiplications, divisions and additions that were done.
std::pair<Index, std::int64_t> factorize(View<const Index> sizes, View<const Index> base, View<const Index> start,
                                         View<const Index> below, View<double> values);

// Overwrites a right-hand side, in the order of elimination, by the solution; indices: the row of every value.
void solve(View<const Index> sizes, View<const Index> base, View<const Index> indices, View<const double> values,
           View<double> x);

}  // namespace sparsebody::plain_ldl
