// Graphs in compressed rows, the edges at the nodes of a multigraph, and the graphs that follow from them.
#pragma once

#include <vector>

#include "base/array.hpp"

namespace sparsebody {

using Indices = View<const Index>;

// Neighbours of node i: indices[start[i]] .. indices[start[i + 1] - 1]; -1 stands for none.
struct Graph {
  Indices start, indices;

  Index size() const { return start.size() - 1; }
  Index degree(Index node) const { return start[node + 1] - start[node]; }
  Indices operator[](Index node) const { return indices.slice(start[node], start[node + 1]); }
};

// A graph that owns its rows; or the items of every group, one after the other.
struct GraphArrays {
  std::vector<Index> start, indices;

  Graph graph() const { return {start, indices}; }
  Index degree(Index node) const { return graph().degree(node); }
  Indices operator[](Index node) const { return graph()[node]; }
};

enum class World { is_no_node, is_last_node };

// The edges at every node of a multigraph, by their numbers, and the node at the other end of each:
// -1 where the edge leads to no other node. An edge with both ends at one node is listed once.
struct Incidence {
  std::vector<Index> start, edge, other;

  Graph graph() const { return {start, other}; }
};

// ends(e, 0), ends(e, 1): the nodes of edge e; -1 is the world, which may be one more node, n_nodes.
Incidence incidence(Index n_nodes, View<const Index, 2> ends, World world = World::is_no_node);

// The items of `order` by their groups key[item] in 0 .. n - 1, those of a group in the sequence of `order`; or all
// items in theirs. Items of key -1 are in no group.
GraphArrays grouped(Index n, Indices key, Indices order);
GraphArrays grouped(Index n, Indices key);

// The edges at every node, those before the others whose first end it is. ends (2, n_edges); an edge with both ends at
// one node is listed twice.
GraphArrays edges_at_nodes(Index n_nodes, View<const Index, 2> ends);

// The quotient graph of [D A'; A 0]: edges become nodes n_nodes + e, next to their ends. Rows are sorted.
GraphArrays quotient_graph(Index n_nodes, View<const Index, 2> ends);

// The line graph: dual blocks are joined where they share a primal one. Rows are sorted.
GraphArrays dual_graph(const Graph& quotient, Index n_primal);

// The same graph in positions: node order[p] becomes p. Rows are not sorted.
GraphArrays reordered(const Graph& graph, Indices order);

// positions[order[p]] = p.
std::vector<Index> positions(Indices order);

}  // namespace sparsebody
