// Graphs as tuples (indptr, indices).
#pragma once

#include "graph/adjacency.hpp"
#include "python/named_tuple.hpp"

namespace nanobind::detail {

template <>
struct type_caster<sparsebody::Graph>
    : sparsebody::NamedTupleCaster<sparsebody::Graph, sparsebody::Indices, sparsebody::Indices> {};

template <>
struct type_caster<sparsebody::GraphArrays> {
  using Elements = std::tuple<sparsebody::Array<std::ptrdiff_t>, sparsebody::Array<std::ptrdiff_t>>;
  static constexpr auto Name = make_caster<Elements>::Name;
  template <class> using Cast = sparsebody::GraphArrays;
  static handle from_cpp(sparsebody::GraphArrays&& graph, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<Elements>::from_cpp(Elements(std::move(graph.start), std::move(graph.indices)), policy, cleanup);
  }
};

}  // namespace nanobind::detail
