// K qdd = k: the rows of loop joints on the velocity coordinates of the tree. Featherstone (2008), sec. 8.2.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/array.hpp"
#include "graph/union_find.hpp"
#include "tree/motion.hpp"

namespace sparsebody::tree {

// ---- Minimal loop clusters: loops that share tree joints, for which K is block diagonal. Featherstone (2008), sec. 8.9.

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

// Cluster labels: the lowest-numbered tree joint of the cluster of each tree joint, and of each loop.
//
// The joints of a cluster are a subtree; a walk towards the world enters it, and leaves it at the parent of its
// lowest-numbered joint, or ends in it where the other end of the loop is there too.
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

// A constraint row on the links of its LoopEnds: [-t, t], t a column of T, in world axes about the links' origins.
struct LoopRow {
  Force on[2];
};

// Constants of the loop joints that have rows: Python's LoopTable.
struct LoopTable {
  View<const LoopEnds> ends;
  View<const Index> first_row;
  View<const Force> T;  // columns, in the axes of the successor's link about its origin
  View<const Vec3> anchor;      // origin of S in the world, where the successor is the world
};

// From rows in body coordinates about the centers of mass to those about the links' origins.
inline void rows_to_links(const Links& links, const TreeMotion& motion, View<const LoopEnds> ends, View<LoopRow> rows) {
  for (const Index r : range(0, rows.size()))
    for (int e = 0; e < 2; ++e) {
      const Index i = ends[r].link[e];
      if (i < 0) continue;
      const Mat3 R = motion.body_rotation(links, i);
      Force& f = rows[r].on[e];
      f = rotate(R, f).about(-motion.inertia[i].com);
    }
}

// The rows T of passive loop joints on both links, and gamma of T'(a_s - a_p) = gamma = T'(v_p x v_s): T is constant in S.
// `position`: the centers of mass in the system's order. Featherstone (2008), table 8.4.
inline void fill_loop_rows(const Links& links, const LoopTable& table, View<const Vec3> position,
                           const TreeMotion& motion, View<LoopRow> rows, View<double> gamma) {
  for (const Index loop : range(0, table.ends.size())) {
    const auto [p, s] = table.ends[loop].link;
    Vec3 d = table.anchor[loop];  // from the predecessor's origin to the successor's
    Mat3 R = Mat3::identity();
    Motion v_p, v_s;
    if (s >= 0) {
      R = motion.pose[s].rotation;
      d = position[links.indices[s].body] - motion.inertia[s].com;
      v_s = motion.v[s];
    }
    if (p >= 0) {
      d = d - position[links.indices[p].body] + motion.inertia[p].com;
      v_p = motion.v[p].about(d);
    }
    const Motion c = cross(v_p, v_s);
    for (const Index r : range(table.first_row[loop], table.first_row[loop + 1])) {
      const Force T = rotate(R, table.T[r]);
      gamma[r] = dot(c, T);
      rows[r] = {{-T.about(-d), T}};
    }
  }
}

// K: row r, coordinate k at values[row_start[r] + column_in_block[k]]; values start at zero. Table 8.4.
inline void fill_loop_blocks(const Links& links, const TreeMotion& motion, View<const LoopEnds> ends,
                             View<const LoopRow> rows, View<const Index> row_start,
                             View<const Index> column_in_block, View<double> values) {
  for (const Index r : range(0, rows.size())) {
    auto [link] = ends[r];
    auto [f] = rows[r];
    double* const K_r = values.data() + row_start[r];
    while (link[0] != link[1]) {  // towards the world from the later of both ends, until the paths meet
      const int e = link[0] > link[1] ? 0 : 1;
      const Index i = link[e];
      for (const Index k : links.velocities(i)) K_r[column_in_block[k]] = dot(motion.S[k], f[e]);  // K = f' S
      f[e] = motion.X(i).to_parent(f[e]);
      link[e] = links.parent(i);
    }
  }
}

// Norms sqrt(A I^-1 A') of rows `row` of A, upper bounds of sqrt(K H^-1 K'): bodies free instead of on the tree.
inline Array<double> row_norms(View<const LoopRow> A, View<const Index> row, View<const LoopEnds> bodies,
                                  View<const double, 3> inverse_inertia) {
  Array<double> length(row.size());
  for (const Index r : range(0, row.size())) {
    double sum = 0.0;
    for (int e = 0; e < 2; ++e) {
      const Index b = bodies[r].link[e];
      if (b < 0) continue;
      double a[6];
      A[row[r]].on[e].store(a);
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) sum += a[i] * inverse_inertia(b, i, j) * a[j];
    }
    length[r] = std::sqrt(sum);
  }
  return length;
}

// K x - k of every row relative to the largest of k, and of K times the largest `acceleration` at all, in its cluster.
inline Array<double> loop_violation(const BlockLayout& blocks, View<const Index> first_row, View<const double> K,
                                    View<const double> k, View<const double> x, double acceleration) {
  Array<double> violation(k.size());
  for (const Index c : range(0, first_row.size() - 1)) {
    double largest = std::max(acceleration, 1e-300);  // the scale of empty rows of K, as T has unit columns
    for (const Index r : range(first_row[c], first_row[c + 1])) {
      double excess = -k[r];
      largest = std::max(largest, std::abs(k[r]));
      const double* K_r = blocks.row(K, r);
      for (const Index j : blocks.coordinates(r)) {
        largest = std::max(largest, std::abs(*K_r) * acceleration);
        excess += *K_r++ * x[j];
      }
      violation[r] = excess;
    }
    for (const Index r : range(first_row[c], first_row[c + 1])) violation[r] /= largest;
  }
  return violation;
}

}  // namespace sparsebody::tree
