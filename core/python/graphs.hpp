// Graphs as tuples (indptr, indices).
#pragma once

#include "graph/adjacency.hpp"
#include "python/named_tuple.hpp"

namespace sparsebody {

template <> inline constexpr bool is_named_tuple<Graph> = true;

}  // namespace sparsebody

namespace nanobind::detail {

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
