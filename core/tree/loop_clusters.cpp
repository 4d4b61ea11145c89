#include "tree/loop_clusters.hpp"

#include <algorithm>
#include <numeric>

#include "tree/tree_search.hpp"

namespace sparsebody::tree {

std::pair<Array<Index>, Array<Index>> loop_labels(View<const Index> parent, View<const Index> predecessor,
                                                  View<const Index> successor) {
  Array<Index> label(parent.size()), loop_label(predecessor.size());
  std::iota(label.begin(), label.end(), 0);
  UnionFind joints(label.view());  // the representative of a set is its least member
  for (Index e = 0; e < predecessor.size(); ++e) {
    Index i = predecessor[e], j = successor[e], cluster = -1;
    while (i != j) {
      Index least = joints.find(std::max(i, j));
      if (least == cluster) break;
      (i > j ? i : j) = parent[least];
      if (cluster >= 0) {
        const Index other = std::max(cluster, least);
        least = std::min(cluster, least);
        joints.unite(other, least);
      }
      cluster = least;
    }
  }
  for (Index e = 0; e < predecessor.size(); ++e) loop_label[e] = joints.find(std::max(predecessor[e], successor[e]));
  for (Index i = 0; i < parent.size(); ++i) label[i] = joints.find(i);
  return {std::move(label), std::move(loop_label)};
}

}  // namespace sparsebody::tree
