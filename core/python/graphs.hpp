// Graphs as tuples (indptr, indices).
#pragma once

#include "graph/adjacency.hpp"
#include "python/signature.hpp"

namespace sparsebody {

template <OneOf<Graph, GraphArrays> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

}  // namespace sparsebody
