// A small dense graph as rows of bits: n^2 / 8 bytes, and pairs of rows intersected word by word.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "graph/adjacency.hpp"

namespace sparsebody {

class BitRows {
 public:
  // Without edges from nodes to themselves.
  explicit BitRows(const Graph& graph)
      : n_words_((graph.size() + 63) / 64), words_(std::size_t(graph.size()) * std::size_t(n_words_)) {
    for (Index i = 0; i < graph.size(); ++i)
      for (const Index j : graph[i])
        if (i != j) set(i, j);
  }

  bool has(Index i, Index j) const { return row(i)[j >> 6] >> (j & 63) & 1; }
  void set(Index i, Index j) { row(i)[j >> 6] |= std::uint64_t(1) << (j & 63); }
  void clear(Index i, Index j) { row(i)[j >> 6] &= ~(std::uint64_t(1) << (j & 63)); }

  // Calls visit(node) for the neighbours of i in increasing order. It does not see changes that `visit`
  // makes to edges of i to the 64 nodes of the present word.
  template <class Visit>
  void for_each(Index i, Visit visit) const {
    for_each(i, std::bit_and(), i, visit);
  }
  // Likewise for the common neighbours of i and j (std::bit_and), or all of either (std::bit_or).
  template <class Operation, class Visit>
  void for_each(Index i, Operation combined, Index j, Visit visit) const {
    for (Index w = 0; w < n_words_; ++w)
      for (std::uint64_t bits = combined(row(i)[w], row(j)[w]); bits != 0; bits &= bits - 1)
        visit(64 * w + std::countr_zero(bits));
  }
  Index count_shared(Index i, Index j) const {
    Index count = 0;
    for (Index w = 0; w < n_words_; ++w) count += std::popcount(row(i)[w] & row(j)[w]);
    return count;
  }
  Index degree(Index i) const { return count_shared(i, i); }

 private:
  std::uint64_t* row(Index i) { return &words_[std::size_t(i) * std::size_t(n_words_)]; }
  const std::uint64_t* row(Index i) const { return &words_[std::size_t(i) * std::size_t(n_words_)]; }

  Index n_words_;
  std::vector<std::uint64_t> words_;
};

}  // namespace sparsebody
