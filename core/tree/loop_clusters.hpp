// Minimal loop clusters: loops that share tree joints, for which K is block diagonal. Featherstone (2008), sec. 8.9.
#pragma once

#include <algorithm>
#include <utility>

#include "base/array.hpp"
#include "graph/union_find.hpp"

namespace sparsebody::tree {

// The links of a loop's predecessor and successor, -1 for the world.
struct LoopEnds {
  using Element = Index;
  Index link[2];
};

// The blocks of K in its packed values, cluster by cluster, row by row.
struct BlockLayout {
  View<const Index> row_start;
  View<const Index> column_in_block;  // of each velocity coordinate, -1 for those of no loop
  View<const Index> row_cluster, column_cluster;
  View<const Index> first_column;
  View<const Index> coordinate;  // velocity coordinate of each column, ascending in a cluster

  // The velocity coordinates of row r of K, and its values.
  View<const Index> coordinates(Index r) const {
    const Index c = row_cluster[r];
    return coordinate.slice(first_column[c], first_column[c + 1]);
  }
  template <class T>
  T* row(View<T> K, Index r) const { return K.data() + row_start[r]; }
};

// The least joint that coupling connects with each tree joint, and with each loop.
//
// Joints that are connected are a subtree; a walk towards the world enters it, and leaves it at the body below its
// least joint, or ends in it where the other end of the loop is there too.
inline std::pair<Array<Index>, Array<Index>> loop_labels(View<const Index> parent, View<const LoopEnds> ends) {
  UnionFind joints(parent.size());  // the root of a set is its least member
  for (const LoopEnds& loop : ends) {
    Index i = loop.link[0], j = loop.link[1], cluster = -1;
    while (i != j) {
      const Index least = joints.find(std::max(i, j));
      if (least == cluster) break;
      (i > j ? i : j) = parent[least];
      if (cluster >= 0) joints.unite(std::min(cluster, least), std::max(cluster, least));
      cluster = cluster >= 0 ? std::min(cluster, least) : least;
    }
  }
  Array<Index> label(parent.size()), loop_label(ends.size());
  for (Index i = 0; i < parent.size(); ++i) label[i] = joints.find(i);
  for (Index e = 0; e < ends.size(); ++e) loop_label[e] = label[std::max(ends[e].link[0], ends[e].link[1])];
  return {std::move(label), std::move(loop_label)};
}

}  // namespace sparsebody::tree
