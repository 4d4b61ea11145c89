#include "graph/cycles.hpp"

#include <limits>

namespace sparsebody {

std::tuple<Array<Index>, Array<bool>> breadth_first_forest(const EdgeGraph& graph) {
  const Index n = graph.n_nodes();
  Array<Index> depth(n);
  Array<bool> is_tree(graph.ends.rows());
  std::fill(depth.begin(), depth.end(), -1);
  std::vector<Index> queue;
  queue.reserve(n);
  for (Index k = 0; k < n; ++k) {
    const Index root = (n - 1 + k) % n;  // the world first
    if (depth[root] >= 0) continue;
    depth[root] = 0;
    queue.assign(1, root);
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const Index node = queue[head];
      for (Index entry = graph.first[node]; entry < graph.first[node + 1]; ++entry) {
        const Index edge = graph.incident[entry], other = graph.other_end(edge, node);
        if (depth[other] >= 0) continue;
        depth[other] = depth[node] + 1;
        is_tree[edge] = true;
        queue.push_back(other);
      }
    }
  }
  return {std::move(depth), std::move(is_tree)};
}

namespace {

// A breadth-first search from one end of a chord; a stamp tells which search has reached a node.
struct Search {
  std::vector<Index> stamp, distance, came_by, queue;
  Index head = 0, tail = 0, work = 0;

  explicit Search(Index n) : stamp(n, -1), distance(n), came_by(n), queue(n) {}
  void begin(const EdgeGraph& graph, Index node, Index search) {
    stamp[node] = search;
    distance[node] = 0;
    queue[0] = node;
    head = 0;
    tail = 1;
    work = graph.first[node + 1] - graph.first[node];
  }
};

// A node on a shortest path between the ends of a chord. Pohl (1971): the search from either end goes on level by
// level, always the one that has fewer edges to look at.
Index meeting_node(const EdgeGraph& graph, View<const bool> is_usable, Index chord, Index search, Search (&sides)[2]) {
  for (int side = 0; side < 2; ++side) sides[side].begin(graph, graph.ends(chord, side), search);
  Index meeting = -1, shortest = std::numeric_limits<Index>::max();
  while (meeting < 0) {
    int side = sides[0].work <= sides[1].work ? 0 : 1;
    if (sides[side].head == sides[side].tail) side = 1 - side;
    Search& here = sides[side];
    const Search& there = sides[1 - side];
    const Index end_of_level = here.tail;
    here.work = 0;
    while (here.head < end_of_level) {
      const Index node = here.queue[here.head++];
      for (Index entry = graph.first[node]; entry < graph.first[node + 1]; ++entry) {
        const Index edge = graph.incident[entry], other = graph.other_end(edge, node);
        if (!is_usable[edge] || here.stamp[other] == search) continue;
        here.stamp[other] = search;
        here.came_by[other] = edge;
        here.distance[other] = here.distance[node] + 1;
        here.queue[here.tail++] = other;
        here.work += graph.first[other + 1] - graph.first[other];
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

}  // namespace

std::tuple<Array<Index>, Array<Index>, Array<Index>> closed_cycles(const EdgeGraph& graph, View<const bool> is_usable,
                                                                   View<const Index> chords, bool grows) {
  std::vector<Index> edges, signs;
  Array<bool> usable(is_usable.size());
  std::copy(is_usable.begin(), is_usable.end(), usable.begin());
  Array<Index> start(chords.size() + 1);
  Search sides[2] = {Search(graph.n_nodes()), Search(graph.n_nodes())};
  for (Index c = 0; c < chords.size(); ++c) {
    const Index chord = chords[c], meeting = meeting_node(graph, usable, chord, c, sides);
    const Index back = sides[1].distance[meeting], length = 1 + back + sides[0].distance[meeting];
    edges.resize(start[c] + length);
    signs.resize(start[c] + length);
    edges[start[c]] = chord;
    signs[start[c]] = 1;
    Index node = meeting, slot = start[c] + back;
    while (sides[1].distance[node] > 0) {  // from the chord's second end to the meeting node, filled backwards
      const Index edge = sides[1].came_by[node];
      node = graph.other_end(edge, node);
      edges[slot] = edge;
      signs[slot--] = graph.ends(edge, 0) == node ? 1 : -1;
    }
    node = meeting;
    slot = start[c] + back + 1;
    while (sides[0].distance[node] > 0) {  // on to its first end
      const Index edge = sides[0].came_by[node];
      edges[slot] = edge;
      signs[slot++] = graph.ends(edge, 0) == node ? 1 : -1;
      node = graph.other_end(edge, node);
    }
    start[c + 1] = start[c] + length;
    usable[chord] = grows;
  }
  return {std::move(start), Array<Index>(edges), Array<Index>(signs)};
}

Array<Index> nodes_around(View<const Index> indptr, View<const Index> indices, View<const Index> seeds,
                          Index n_nodes, View<Index> label) {
  std::vector<Index> nodes;
  for (const Index seed : seeds) {
    if (label[seed] >= 0) continue;
    std::size_t head = nodes.size();
    const Index most = Index(head) + n_nodes;
    label[seed] = Index(nodes.size());
    nodes.push_back(seed);
    while (head < nodes.size()) {
      const Index node = nodes[head++];
      for (Index entry = indptr[node]; entry < indptr[node + 1]; ++entry) {
        const Index joint = indices[entry];
        for (Index k = indptr[joint]; k < indptr[joint + 1]; ++k) {
          if (label[indices[k]] >= 0 || Index(nodes.size()) >= most) continue;
          label[indices[k]] = Index(nodes.size());
          nodes.push_back(indices[k]);
        }
      }
    }
  }
  return Array<Index>(nodes);
}

}  // namespace sparsebody
