// Graphs as tuples (indptr, indices).
#pragma once

#include "graph/adjacency.hpp"
#include "python/signature.hpp"

namespace sparsebody {

template <> inline constexpr bool is_named_tuple<Graph> = true;
template <> inline constexpr bool is_named_tuple<GraphArrays> = true;

}  // namespace sparsebody
