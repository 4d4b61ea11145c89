// Cycles of a graph of nodes (bodies, -1 for the world, which is the last) and edges (joints); searches around nodes.
#pragma once

#include <limits>
#include <stdexcept>
#include <tuple>

#include "graph/adjacency.hpp"
#include "graph/searches.hpp"

namespace sparsebody {

// The edges at all nodes, the world being the last one.
struct EdgeGraph {
  Index world;
  View<const Index, 2> ends;
  Incidence at = incidence(world, ends, World::is_last_node);

  Index end(Index edge, int side) const { return ends(edge, side) < 0 ? world : ends(edge, side); }
};

// A breadth-first search from one end of a chord. Nodes reached: the search that did, the distance, the last edge of the
// path and the node before it. `work`: edges at the nodes from head to tail of the queue, which are to be visited.
struct Search {
  std::vector<Index> stamp, distance, came_by, came_from, queue;
  Index head = 0, tail = 0, work = 0;

  explicit Search(Index n) : stamp(n, -1), distance(n), came_by(n), came_from(n), queue(n) {}
  void reach(const EdgeGraph& graph, Index node, Index search) {
    stamp[node] = search;
    queue[tail++] = node;
    work += graph.at.graph().degree(node);
  }
};

// A node on a shortest path of usable edges between the ends of a chord. Pohl (1971): the search from either end goes on
// level by level, always the one that has fewer edges to look at.
inline Index meeting_node(const EdgeGraph& graph, View<const bool> is_usable, Index chord, Index search,
                          Search (&sides)[2]) {
  for (int side = 0; side < 2; ++side) {
    const Index node = graph.end(chord, side);
    sides[side].head = sides[side].tail = sides[side].work = sides[side].distance[node] = 0;
    sides[side].reach(graph, node, search);
  }
  if (graph.end(chord, 0) == graph.end(chord, 1)) return graph.end(chord, 0);
  Index meeting = -1, shortest = std::numeric_limits<Index>::max();
  while (meeting < 0) {
    int side = sides[0].work <= sides[1].work ? 0 : 1;
    if (sides[side].head == sides[side].tail) side = 1 - side;
    if (sides[side].head == sides[side].tail) throw std::invalid_argument("no usable edges connect the ends of a chord");
    Search& here = sides[side];
    const Search& there = sides[1 - side];
    const Index end_of_level = here.tail;
    here.work = 0;
    while (here.head < end_of_level) {
      const Index node = here.queue[here.head++];
      for (Index entry = graph.at.start[node]; entry < graph.at.start[node + 1]; ++entry) {
        const Index edge = graph.at.edge[entry], other = graph.at.other[entry];
        if (other < 0 || !is_usable[edge] || here.stamp[other] == search) continue;
        here.reach(graph, other, search);
        here.came_by[other] = edge;
        here.came_from[other] = node;
        here.distance[other] = here.distance[node] + 1;
        if (there.stamp[other] != search) continue;
        const Index length = here.distance[other] + there.distance[other];
        if (length < shortest) {
          meeting = other;
          shortest = length;
        }
      }
    }
  }
  return meeting;
}

// The depth of every node in a breadth-first forest from the world, and which edges are in the forest.
inline std::pair<std::vector<Index>, Array<bool>> breadth_first_forest(Index n_nodes, View<const Index, 2> ends) {
  const Incidence at = incidence(n_nodes, ends, World::is_last_node);
  const Index n = n_nodes + 1;
  std::vector<Index> depth(n, -1), queue(n);
  Array<bool> is_tree(ends.rows());
  for (Index root = n_nodes, k = 0; k < n; root = k++) {  // the world first
    if (depth[root] >= 0) continue;
    depth[root] = 0;
    queue[0] = root;
    breadth_first(at.graph(), queue, 0, 1, [&](Index node, Index other, Index entry) {
      if (depth[other] >= 0) return false;
      depth[other] = depth[node] + 1;
      is_tree[at.edge[entry]] = true;
      return true;
    });
  }
  return {std::move(depth), std::move(is_tree)};
}

// The shortest cycle that each chord closes with usable edges: edge[start[c]] .. edge[start[c + 1] - 1], the chord
// first; sign 1 where the cycle passes an edge from its first end to the second, else -1. If `grows`, a chord becomes
// usable to those after it.
inline std::tuple<Array<Index>, std::vector<Index>, std::vector<Index>> closed_cycles(Index n_nodes,
                                                                                      View<const Index, 2> ends,
                                                                                      View<const bool> is_usable,
                                                                                      View<const Index> chords,
                                                                                      bool grows) {
  const EdgeGraph graph{n_nodes, ends};
  std::vector<Index> edges, signs;
  Array<bool> usable(is_usable);
  Array<Index> start(chords.size() + 1);
  Search sides[2] = {Search(n_nodes + 1), Search(n_nodes + 1)};
  for (Index c = 0; c < chords.size(); ++c) {
    const Index meeting = meeting_node(graph, usable, chords[c], c, sides);
    const Index back = sides[1].distance[meeting], length = 1 + back + sides[0].distance[meeting];
    edges.resize(start[c] + length);
    signs.resize(start[c] + length);
    const auto pass = [&](Index k, Index edge, Index from) {
      edges[start[c] + k] = edge;
      signs[start[c] + k] = graph.end(edge, 0) == from ? 1 : -1;
    };
    pass(0, chords[c], graph.end(chords[c], 0));
    Index node = meeting;
    for (Index k = back; k > 0; --k) {  // from the chord's second end to the meeting node, filled backwards
      const Index before = sides[1].came_from[node];
      pass(k, sides[1].came_by[node], before);
      node = before;
    }
    node = meeting;
    for (Index k = back + 1; k < length; ++k) {  // on to its first end
      pass(k, sides[0].came_by[node], node);
      node = sides[0].came_from[node];
    }
    start[c + 1] = start[c] + length;
    usable[chords[c]] = grows;
  }
  return {std::move(start), std::move(edges), std::move(signs)};
}

// Up to n_nodes nodes around each seed, breadth first; label[node] is the position in the result, -1 before.
inline std::vector<Index> nodes_around(const Graph& graph, Indices seeds, Index n_nodes, View<Index> label) {
  std::vector<Index> queue(graph.size());
  Index end = 0;
  for (const Index seed : seeds) {
    if (label[seed] >= 0) continue;
    const Index most = end + n_nodes;
    Index next = end;
    label[seed] = next++;
    queue[end] = seed;
    end = breadth_first(graph, queue, end, end + 1, [&](Index, Index other, Index) {
      if (label[other] >= 0 || next >= most) return false;
      label[other] = next++;
      return true;
    });
  }
  queue.resize(end);
  return queue;
}

}  // namespace sparsebody
