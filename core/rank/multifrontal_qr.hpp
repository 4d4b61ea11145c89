// Rank-revealing multifrontal QR factorization of A' on a tree of parts of the mechanism.
//
// An equation is a row of A' y = 0, six for each body in space. The front of a part holds those of its bodies, on the
// rows of A that couple it to others. Where parts meet, the rows between them are decided: reflections, with column
// pivoting, find the norm |R_jj| of what each adds to those before, and what remains for its dependence. They leave at
// most as many equations as there are coupling rows. A sweep from body to body is a path of parts;
// halves of halves are a binary tree, on which a lattice costs n^1.5 and a decision depends on log n earlier ones.
// George and Heath (1980), Lin. Alg. Appl. 34; Davis (2011), ACM TOMS 38, 8.
#pragma once

#include <algorithm>
#include <numeric>

#include "base/threads.hpp"
#include "graph/adjacency.hpp"
#include "rank/front_qr.hpp"
#include "rank/rows.hpp"

namespace sparsebody {

// Parts in postorder: part p contains the parts first[p] .. p, is contained in parent[p] (-1: none), and body i is
// added in part_of_body[i].
struct PartTree {
  View<const Index> parent, first, part_of_body;

  // The smallest part that contains both.
  Index common_ancestor(Index a, Index b) const {
    Index part = std::max(a, b);
    while (first[part] > std::min(a, b)) part = parent[part];
    return part;
  }
};

// The part in which each joint is decided.
inline std::vector<Index> deciding_parts(const PartTree& tree, View<const Index, 2> ends) {
  std::vector<Index> parts(ends.rows());
  for (Index j = 0; j < ends.rows(); ++j) {
    const Index a = ends(j, 0) >= 0 ? ends(j, 0) : ends(j, 1), b = ends(j, 1) >= 0 ? ends(j, 1) : a;
    parts[j] = tree.common_ancestor(tree.part_of_body[a], tree.part_of_body[b]);
  }
  return parts;
}

// The joints, bodies and rows of all parts. Joints are numbered by when they are decided: their columns keep this
// sequence in all fronts, so that triangles of parts become staircases where they meet.
struct Parts : PartOfRows {
  const PartTree& tree;
  double tolerance;
  GraphArrays decided, bodies;         // joints by part, the last one first; bodies by part
  Incidence at_body;               // joints by body
  std::vector<Index> position;     // of a joint, in that sequence
  std::vector<Index> n_children;

  Parts(const PartTree& tree_, const PartOfRows& part, double tolerance_)
      : PartOfRows(part), tree(tree_), tolerance(tolerance_), at_body(incidence(sizes.size(), ends)),
        n_children(tree.parent.size()) {
    std::vector<Index> last_first(ends.rows());
    std::iota(last_first.rbegin(), last_first.rend(), Index(0));
    decided = grouped(tree.parent.size(), deciding_parts(tree, ends), last_first);
    bodies = grouped(tree.parent.size(), tree.part_of_body);
    position = positions(decided.indices);
    for (const Index parent : tree.parent)
      if (parent >= 0) ++n_children[parent];
  }
  View<const Index> joints(Index body) const {
    return {at_body.edge.data() + at_body.start[body], at_body.start[body + 1] - at_body.start[body]};
  }
};

// Decides one part after the other; their contribution blocks are on a stack.
class MultifrontalQR {
 public:
  MultifrontalQR(const Parts& parts, int threads) : p_(parts), front_(threads), slot_(parts.ends.rows(), -1) {}

  void decide(Index part, View<double> remainders) {
    assemble(part);
    const Index n_decided = p_.decided.degree(part);
    remainder_.resize(group_start_[n_decided]);
    front_.decide(group_start_, n_decided, p_.tolerance, remainder_.data());
    for (Index g = 0; g < n_decided; ++g) {
      const Index r = p_.first_row[p_.decided.indices[groups_[g]]];
      for (Index c = group_start_[g]; c < group_start_[g + 1]; ++c) remainders[r + c - group_start_[g]] = remainder_[c];
    }
    push(n_decided);
  }

  // Decides the parts that a part holds, and the part itself; frees what only that needs.
  void decide_all(Index first, Index part, View<double> remainders) {
    for (Index k = first; k <= part; ++k) decide(k, remainders);
    slot_ = {};
    front_ = FrontQR(1);
  }

  // Pushes the contribution block of a part that another one has decided.
  void push(const MultifrontalQR& other) {
    const Contribution& top = other.stack_.back();
    stack_.push_back({Index(stacked_groups_.size()), Index(stacked_lead_.size()), Index(stacked_values_.size()),
                      top.n_rows, top.n_columns});
    stacked_groups_.insert(stacked_groups_.end(), other.stacked_groups_.begin(), other.stacked_groups_.end());
    stacked_lead_.insert(stacked_lead_.end(), other.stacked_lead_.begin(), other.stacked_lead_.end());
    stacked_values_.insert(stacked_values_.end(), other.stacked_values_.begin(), other.stacked_values_.end());
  }

 private:
  // The contribution block of a part, on a stack: groups of columns from `group` on, rows of n_columns from `value` on.
  struct Contribution {
    Index group, row, value, n_rows, n_columns;
  };

  Index group_size(Index position) const {
    const Index j = p_.decided.indices[position];
    return p_.first_row[j + 1] - p_.first_row[j];
  }

  // [F_1; ..; F_c; B_1; ..], the contribution blocks of the c parts below and the equations of the bodies B added, on
  // the rows of A that lead out of the part, sorted by leading columns, so that the front is nearly triangular.
  void assemble(Index part) {
    const Index n_children = p_.n_children[part], base = Index(stack_.size()) - n_children;
    groups_.clear();
    if (n_children > 0) {
      groups_.assign(stacked_groups_.begin() + stack_[base].group, stacked_groups_.end());
      if (n_children > 1) {
        std::sort(groups_.begin(), groups_.end());
        groups_.erase(std::unique(groups_.begin(), groups_.end()), groups_.end());
      }
    }
    for (const Index position : groups_) slot_[position] = 0;
    const std::size_t n_old = groups_.size();
    for (const Index body : p_.bodies[part])
      for (const Index j : p_.joints(body))
        if (slot_[p_.position[j]] < 0) {
          slot_[p_.position[j]] = 0;
          groups_.push_back(p_.position[j]);
        }
    std::sort(groups_.begin() + n_old, groups_.end());
    std::inplace_merge(groups_.begin(), groups_.begin() + n_old, groups_.end());
    group_start_.assign(1, 0);
    for (const Index position : groups_) {
      slot_[position] = group_start_.back();
      group_start_.push_back(group_start_.back() + group_size(position));
    }
    const Index n = group_start_.back();
    // the columns of the parts below, and a counting sort of all equations by their leading columns
    map_.clear();
    following_.assign(n + 1, 0);
    for (Index child = base; child < Index(stack_.size()); ++child) {
      const Contribution& below = stack_[child];
      const Index map = Index(map_.size()), group_end = child + 1 < Index(stack_.size())
                                                            ? stack_[child + 1].group
                                                            : Index(stacked_groups_.size());
      for (Index g = below.group; g < group_end; ++g)
        for (Index c = 0; c < group_size(stacked_groups_[g]); ++c) map_.push_back(slot_[stacked_groups_[g]] + c);
      for (Index i = 0; i < below.n_rows; ++i) ++following_[map_[map + stacked_lead_[below.row + i]] + 1];
    }
    for (const Index body : p_.bodies[part])
      if (!p_.joints(body).empty()) following_[first_slot(body) + 1] += p_.sizes[body];
    for (Index c = 0; c < n; ++c) following_[c + 1] += following_[c];
    front_.reset(following_[n], n);
    const Index* map = map_.data();
    for (Index child = base; child < Index(stack_.size()); ++child) {
      const Contribution& below = stack_[child];
      const double* values = stacked_values_.data() + below.value;
      for (Index i = 0; i < below.n_rows; ++i, values += below.n_columns) {
        const Index lead = stacked_lead_[below.row + i], to = following_[map[lead]]++;
        front_.lead[to] = map[lead];
        double* row = front_.row(to);
        for (Index c = lead; c < below.n_columns; ++c) row[map[c]] = values[c];
      }
      map += below.n_columns;
    }
    for (const Index body : p_.bodies[part])
      if (!p_.joints(body).empty()) append(body);
    for (const Index position : groups_) slot_[position] = -1;
    if (n_children > 0) {
      stacked_groups_.resize(stack_[base].group);
      stacked_lead_.resize(stack_[base].row);
      stacked_values_.resize(stack_[base].value);
      stack_.resize(base);
    }
  }

  Index first_slot(Index body) const {
    Index lead = slot_[p_.position[p_.joints(body)[0]]];
    for (const Index j : p_.joints(body)) lead = std::min(lead, slot_[p_.position[j]]);
    return lead;
  }

  // The equations of one body: its columns of A, transposed.
  void append(Index body) {
    const Index lead = first_slot(body), to = following_[lead];
    following_[lead] += p_.sizes[body];
    for (Index a = 0; a < p_.sizes[body]; ++a) front_.lead[to + a] = lead;
    for (const Index j : p_.joints(body))
      for (int side = 0; side < 2; ++side) {
        if (p_.ends(j, side) != body) continue;
        const Index shift = slot_[p_.position[j]] - p_.first_row[j];
        for (Index r = p_.first_row[j]; r < p_.first_row[j + 1]; ++r)
          for (Index a = 0; a < p_.sizes[body]; ++a) front_.row(to + a)[shift + r] += p_.rows(r, side, a);
      }
  }

  void push(Index n_decided) {
    const Index n_columns = front_.n_columns() - front_.first_column();
    stack_.push_back({Index(stacked_groups_.size()), Index(stacked_lead_.size()), Index(stacked_values_.size()),
                      n_columns > 0 ? front_.n_rows() - front_.first_row() : 0, n_columns});
    stacked_groups_.insert(stacked_groups_.end(), groups_.begin() + n_decided, groups_.end());
    if (n_columns == 0) return;
    for (Index i = front_.first_row(); i < front_.n_rows(); ++i) {
      const double* row = front_.row(i) + front_.first_column();
      stacked_values_.insert(stacked_values_.end(), row, row + n_columns);
      stacked_lead_.push_back(front_.lead[i]);
    }
  }

  const Parts& p_;
  FrontQR front_;
  std::vector<Index> slot_;  // by position: a joint's first column in the front, -1 if it is not there
  std::vector<Contribution> stack_;
  std::vector<Index> stacked_groups_, stacked_lead_;
  std::vector<double> stacked_values_;
  std::vector<Index> groups_, group_start_;  // positions of the joints in the front, and their first columns
  std::vector<Index> map_, following_;       // columns of contribution blocks; next row, by leading column
  std::vector<double> remainder_;
};

// The largest parts that hold at most an eighth of all parts: disjoint, so that they can be decided at the same time.
inline std::vector<Index> independent_parts(const PartTree& tree) {
  const Index n = tree.parent.size();
  const auto is_small = [&](Index part) { return part - tree.first[part] < n / 8; };
  std::vector<Index> parts;
  for (Index part = 0; part < n; ++part)
    if (is_small(part) && (tree.parent[part] < 0 || !is_small(tree.parent[part]))) parts.push_back(part);
  return parts;
}

// |R_jj| of every row of A: the norm of its part orthogonal to the rows decided before. A row is decided in the smallest part
// that holds all its bodies; of several, joint by joint, the last one first, and the largest remainder of a joint
// first. So all rows that a loop makes dependent belong to one joint, and the others stay independent when the
// mechanism moves. Remainders up to `tolerance` count as zero: the row is dependent, and not used.
inline Array<double> row_remainders(const PartTree& tree, const PartOfRows& part_of_rows, double tolerance,
                                    int threads) {
  const Parts parts(tree, part_of_rows, tolerance);
  Array<double> remainders(parts.rows.rows());
  const std::vector<Index> apart = independent_parts(tree);
  std::vector<MultifrontalQR> subtrees;
  for (std::size_t k = 0; k < apart.size(); ++k) subtrees.emplace_back(parts, 1);
  run_tasks(Index(apart.size()), threads,
            [&](Index k) { subtrees[k].decide_all(tree.first[apart[k]], apart[k], remainders); });
  MultifrontalQR top(parts, threads);
  Index part = 0;
  for (std::size_t k = 0; k <= apart.size(); ++k) {
    const Index end = k < apart.size() ? tree.first[apart[k]] : tree.parent.size();
    for (; part < end; ++part) top.decide(part, remainders);
    if (k < apart.size()) top.push(subtrees[k]), part = apart[k] + 1;
  }
  return remainders;
}

// Estimated flops of `row_remainders`: k reflections of an (m, n) front take 4 m n k - 2 (m + n) k^2 + 4 k^3 / 3, Golub
// and Van Loan (2013), sec. 5.2.2; m counts its equations, n the d rows decided and the w rows that lead out. It leaves
// min(w, max(m - d, 6)) equations: each row decided uses up one (Maxwell's count), the six of a rigid motion remain.
inline double remainder_flops(const PartTree& tree, const PartOfRows& part_of_rows) {
  const auto& [rows, ends, first_row, sizes] = part_of_rows;
  const Index n = tree.parent.size();
  const std::vector<Index> part = deciding_parts(tree, ends);
  std::vector<double> equations(n), decided(n), width(n), below(n);  // width, below: rows that lead out of a part,
  for (Index body = 0; body < sizes.size(); ++body)                  // and out of those that it is made of
    equations[tree.part_of_body[body]] += double(sizes[body]);
  for (Index j = 0; j < ends.rows(); ++j) {
    const double size = double(first_row[j + 1] - first_row[j]);
    decided[part[j]] += size;
    for (int side = 0; side < 2; ++side) {
      if (ends(j, side) < 0 || ends(j, 1 - side) < 0) continue;
      width[tree.part_of_body[ends(j, side)]] += size;
      width[part[j]] -= size;
    }
  }
  double flops = 0.0;
  for (Index part = 0; part < n; ++part) {
    width[part] += below[part];
    const double columns = decided[part] + width[part], reflections = std::min(equations[part], columns);
    flops += 2.0 * reflections *
             (2.0 * equations[part] * columns - (equations[part] + columns - reflections / 1.5) * reflections);
    const Index parent = tree.parent[part];
    if (parent < 0) continue;
    below[parent] += width[part];
    equations[parent] += std::min(width[part], std::max(equations[part] - decided[part], 6.0));
  }
  return flops;
}

}  // namespace sparsebody
