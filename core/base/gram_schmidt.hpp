// Modified Gram-Schmidt with pivoting, of few vectors: Golub and Van Loan (2013), secs. 5.2.8 and 5.4.2.
#pragma once

#include <cmath>
#include <numeric>

#include "base/dense.hpp"

namespace sparsebody::dense {

// Squares of remainders within this ratio are equal but for rounding of the sums that they are, some thousand eps: the
// first vector is taken, so that a choice does not depend on the machine.
inline constexpr double tie_ratio = 1.0 + 1e-12;

// Takes those of the first n vectors in `waiting`, rows of x, whose remainders are above `tolerance`, the largest first:
// calls take(i, remainder) for row i, then of unit length, and makes all that wait orthogonal to it. Of the vectors the
// first `length` numbers count in products; the others tell of which combinations they are.
template <class Take>
void orthogonalize(View<double, 2> x, Index length, std::vector<Index>& waiting, Index n, double tolerance, Take&& take) {
  const Index width = x.shape(1);
  for (; n > 0; --n) {
    double largest = -1.0;
    Index chosen = 0;
    for (Index k = 0; k < n; ++k) {
      const double* const row = x[waiting[k]].data();
      if (const double square = dot(row, row, length); square > largest * tie_ratio) largest = square, chosen = k;
    }
    const double remainder = std::sqrt(largest);
    if (!(remainder > tolerance)) return;
    const Index i = waiting[chosen];
    waiting.erase(waiting.begin() + chosen);
    const View<double> unit = x[i];
    for (double& number : unit) number /= remainder;
    take(i, remainder);
    for (const Index j : waiting) add_scaled(x[j].data(), -dot(x[j].data(), unit.data(), length), unit.data(), width);
  }
}

// 0, ..., n - 1
inline std::vector<Index> first_numbers(Index n) {
  std::vector<Index> numbers(n);
  std::iota(numbers.begin(), numbers.end(), Index(0));
  return numbers;
}

}  // namespace sparsebody::dense
