// Breadth-first orders of a graph: narrow bands, distances, nested halves.
#pragma once

#include "graph/adjacency.hpp"

namespace sparsebody {

// The nodes breadth first, one connected component after the other; each begins with a node at its periphery,
// and neighbours of few edges come first. Cuthill and McKee (1969); George and Liu (1979) for the periphery.
Array<Index> cuthill_mckee(const Graph& graph);

// Distances from one node; -1 where there is no path.
std::vector<Index> distances(const Graph& graph, Index source);

// Distances (n, n_landmarks) from landmarks of each component, far apart from each other; components are set
// apart by an offset. In `sequence` every component is in one piece, its first landmark in front.
Array<double, 2> landmark_distances(const Graph& graph, Indices sequence, Index n_landmarks);

// The nodes in an order of nested halves: [a, b) is cut at m = (a + b) / 2, in breadth-first order from the
// periphery of the part or, if `from_farthest_of_another`, from what is farthest from another of its nodes.
// George (1973); George and Liu (1978), SIAM J. Numer. Anal. 15, 5 (automatic dissection).
Array<Index> bisected(const Graph& graph, bool from_farthest_of_another);

}  // namespace sparsebody
