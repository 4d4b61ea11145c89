// Thresholds of rank decisions beside those of sparse/rank/tolerances.py, which are arguments.
#pragma once

namespace sparsebody {

// Squares of remainders within this ratio are equal but for rounding of the sums that they are, some thousand eps: the
// first row is taken, so that a choice does not depend on the machine.
inline constexpr double tie_ratio = 1.0 + 1e-12;

// A pivot is a divisor, and its gap to others a quotient: at least this, the smallest power of ten whose inverse is
// finite with room for a product.
inline constexpr double least_pivot = 1e-300;

}  // namespace sparsebody
