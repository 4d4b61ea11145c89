// Branch-induced sparsity: H and its factors as packed rows of their supports. Featherstone (2008), secs. 6.4, 6.5.
#pragma once

#include <ranges>

#include "tree/links.hpp"

namespace sparsebody::tree {

// Row k of a lower triangle has an entry for every velocity coordinate between the world and k, k itself the last:
// the supports of two coordinates on one branch begin alike, so that rows are combined as they lie in memory.
struct BranchPattern {
  View<const Index> parent;  // lambda(k), the expanded parent array
  View<const Index> depth;   // number of coordinates before k on its support
  View<const Index> start;   // where row k begins; entry (k, j) is at start[k] + depth[j]

  Index size() const { return parent.size(); }
  Index diagonal(Index k) const { return start[k] + depth[k]; }
};

// The dense lower triangle of packed values.
inline Array<double, 2> lower_triangle(const BranchPattern& pattern, View<const double> values) {
  Array<double, 2> dense({pattern.size(), pattern.size()});
  for (const Index k : range(0, pattern.size()))
    for (Index j = k, entry = pattern.diagonal(k); j >= 0; j = pattern.parent[j]) dense(k, j) = values[entry--];
  return dense;
}

// y = H x of the symmetric H with this lower triangle.
inline void multiply(const BranchPattern& pattern, View<const double> H, View<const double> x, View<double> y) {
  for (const Index k : range(0, pattern.size())) {
    Index entry = pattern.diagonal(k);
    y[k] = H[entry] * x[k];
    for (Index j = pattern.parent[k]; j >= 0; j = pattern.parent[j]) {
      const double H_kj = H[--entry];
      y[k] += H_kj * x[j];
      y[j] += H_kj * x[k];
    }
  }
}

// Rows and columns of prescribed coordinates become those of the identity.
inline void decouple(const BranchPattern& pattern, View<const bool> is_prescribed, View<double> H) {
  for (const Index k : range(0, pattern.size()))
    for (Index j = k, entry = pattern.diagonal(k); j >= 0; j = pattern.parent[j], --entry)
      if (is_prescribed[k] || is_prescribed[j]) H[entry] = j == k ? 1.0 : 0.0;
}

}  // namespace sparsebody::tree
