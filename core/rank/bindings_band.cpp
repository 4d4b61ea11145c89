// Pivots of LDL' of a band matrix, without pivoting. Golub and Van Loan (2013), sec. 4.3.5.
#include <algorithm>

#include "python/arrays.hpp"

namespace sparsebody {

namespace {

// band(i, d): element (i + d, i) of a symmetric matrix; overwritten. Pivots are kept above zero.
Array<double> band_pivots(View<double, 2> band) {
  const Index n = band.rows(), width = band.shape(1);
  Array<double> pivots(n);
  for (Index k = 0; k < n; ++k) {
    const double* column = &band(k, 0);
    const double pivot = pivots[k] = std::max(column[0], 1e-300);
    const Index end = std::min(width, n - k);
    for (Index c = 1; c < end; ++c) {
      const double l = column[c] / pivot;  // L(k + c, k)
      if (l == 0.0) continue;
      double* update = &band(k + c, 0);
      for (Index r = c; r < end; ++r) update[r - c] -= l * column[r];
    }
  }
  return pivots;
}

}  // namespace

void bind_rank_band(nb::module_& module) { def_kernel(module, "band_pivots", &band_pivots, nb::arg("band")); }

}  // namespace sparsebody
