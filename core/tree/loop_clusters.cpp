#include "tree/loop_clusters.hpp"

#include <algorithm>

#include "graph/union_find.hpp"

namespace sparsebody::tree {

std::pair<Array<Index>, Array<Index>> loop_labels(View<const Index> parent, View<const LoopEnds> ends) {
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
