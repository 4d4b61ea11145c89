#include "rank/multifrontal_qr.hpp"

#include <algorithm>

#include "rank/front_qr.hpp"

namespace sparsebody {

std::tuple<Array<Index>, Array<Index>, Array<Index>> halved_parts(Index n) {
  const Index n_parts = std::max<Index>(2 * n - 1, 0);
  Array<Index> parent(n_parts), first(n_parts), leaf(n);
  struct Part {
    Index begin, end, root, parent;  // leaves [begin, end); number of the part, and of the one that holds it
  };
  std::vector<Part> stack;
  if (n > 0) stack.push_back({0, n, n_parts - 1, -1});
  while (!stack.empty()) {
    const auto [begin, end, root, above] = stack.back();
    stack.pop_back();
    parent[root] = above;
    first[root] = root - 2 * (end - begin - 1);
    if (end - begin == 1) {
      leaf[begin] = root;
      continue;
    }
    const Index middle = (begin + end) / 2;
    stack.push_back({begin, middle, root - 1 - (2 * (end - middle) - 1), root});
    stack.push_back({middle, end, root - 1, root});
  }
  return {std::move(parent), std::move(first), std::move(leaf)};
}

namespace {

// Some indices for each of 0 .. n - 1, one after the other.
struct Lists {
  std::vector<Index> start, items;

  // List `key(k, s)` gets k, for all s < n_keys; -1 is none.
  template <class Key>
  Lists(Index n, Index n_items, int n_keys, Key key) : start(n + 2, 0) {
    for (Index k = 0; k < n_items; ++k)
      for (int s = 0; s < n_keys; ++s)
        if (key(k, s) >= 0) ++start[key(k, s) + 2];
    for (Index i = 2; i < n + 2; ++i) start[i] += start[i - 1];
    items.resize(start[n + 1]);
    for (Index k = 0; k < n_items; ++k)
      for (int s = 0; s < n_keys; ++s)
        if (key(k, s) >= 0) items[start[key(k, s) + 1]++] = k;
    start.pop_back();
  }
  View<const Index> operator[](Index i) const {
    return View<const Index>(items.data() + start[i], start[i + 1] - start[i]);
  }
  Index size(Index i) const { return start[i + 1] - start[i]; }
};

// The part in which each joint is decided.
std::vector<Index> meeting_parts(const PartTree& tree, View<const Index, 2> ends) {
  std::vector<Index> parts(ends.rows());
  for (Index j = 0; j < ends.rows(); ++j) {
    const Index a = ends(j, 0) >= 0 ? ends(j, 0) : ends(j, 1), b = ends(j, 1) >= 0 ? ends(j, 1) : a;
    parts[j] = tree.meeting(tree.part_of_body[a], tree.part_of_body[b]);
  }
  return parts;
}

// Joints are numbered by when they are decided: their columns keep this sequence in all fronts, so that triangles of
// parts become staircases where they meet.
class MultifrontalQR {
 public:
  MultifrontalQR(const PartTree& tree, View<const Index, 2> ends, View<const Index> first_row,
                 View<const Index> sizes, View<const double, 3> rows, double tolerance)
      : tree_(tree), ends_(ends), first_row_(first_row), sizes_(sizes), rows_(rows), tolerance_(tolerance),
        decided_in_(meeting_parts(tree, ends)),
        // the last joint first
        decided_(tree.parent.size(), ends.rows(), 1, [&](Index k, int) { return decided_in_[ends.rows() - 1 - k]; }),
        bodies_(tree.parent.size(), sizes.size(), 1, [&](Index i, int) { return tree.part_of_body[i]; }),
        joints_(sizes.size(), ends.rows(), 2,
                [&](Index j, int side) { return side == 1 && ends(j, 1) == ends(j, 0) ? -1 : ends(j, side); }),
        rank_of_(ends.rows()), slot_(ends.rows(), -1), n_children_(tree.parent.size(), 0) {
    for (Index& j : decided_.items) j = ends.rows() - 1 - j;
    for (Index k = 0; k < ends.rows(); ++k) rank_of_[decided_.items[k]] = k;
    for (const Index parent : tree.parent)
      if (parent >= 0) ++n_children_[parent];
  }

  Array<double> remainders() {
    Array<double> pivots(rows_.rows());
    for (Index part = 0; part < tree_.parent.size(); ++part) {
      assemble(part);
      const Index n_decided = decided_.size(part);
      remainder_.resize(group_start_[n_decided]);
      front_.decide(group_start_, n_decided, tolerance_, remainder_.data());
      for (Index g = 0; g < n_decided; ++g) {
        const Index r = first_row_[decided_.items[groups_[g]]];
        for (Index c = group_start_[g]; c < group_start_[g + 1]; ++c) pivots[r + c - group_start_[g]] = remainder_[c];
      }
      push(n_decided);
    }
    return pivots;
  }

 private:
  // What remains of a part, on a stack: groups of columns from `group` on, rows of n_columns from `value` on.
  struct Remainder {
    Index group, row, value, n_rows, n_columns;
  };

  Index group_size(Index rank) const {
    const Index j = decided_.items[rank];
    return first_row_[j + 1] - first_row_[j];
  }

  // Fill the front with the equations of the parts below and of the bodies that are added, sorted by leading columns.
  void assemble(Index part) {
    const Index n_children = n_children_[part], base = Index(stack_.size()) - n_children;
    groups_.clear();
    if (n_children > 0) {
      groups_.assign(stacked_groups_.begin() + stack_[base].group, stacked_groups_.end());
      if (n_children > 1) {
        std::sort(groups_.begin(), groups_.end());
        groups_.erase(std::unique(groups_.begin(), groups_.end()), groups_.end());
      }
    }
    for (const Index rank : groups_) slot_[rank] = 0;
    const std::size_t n_old = groups_.size();
    for (const Index body : bodies_[part])
      for (const Index j : joints_[body])
        if (slot_[rank_of_[j]] < 0) {
          slot_[rank_of_[j]] = 0;
          groups_.push_back(rank_of_[j]);
        }
    std::sort(groups_.begin() + n_old, groups_.end());
    std::inplace_merge(groups_.begin(), groups_.begin() + n_old, groups_.end());
    group_start_.assign(1, 0);
    for (const Index rank : groups_) {
      slot_[rank] = group_start_.back();
      group_start_.push_back(group_start_.back() + group_size(rank));
    }
    const Index n = group_start_.back();
    // the columns of the parts below, and a counting sort of all equations by their leading columns
    map_.clear();
    following_.assign(n + 1, 0);
    for (Index child = base; child < Index(stack_.size()); ++child) {
      const Remainder& below = stack_[child];
      const Index map = Index(map_.size()), group_end = child + 1 < Index(stack_.size())
                                                            ? stack_[child + 1].group
                                                            : Index(stacked_groups_.size());
      for (Index g = below.group; g < group_end; ++g)
        for (Index c = 0; c < group_size(stacked_groups_[g]); ++c) map_.push_back(slot_[stacked_groups_[g]] + c);
      for (Index i = 0; i < below.n_rows; ++i) ++following_[map_[map + stacked_lead_[below.row + i]] + 1];
    }
    for (const Index body : bodies_[part])
      if (joints_.size(body) > 0) following_[first_slot(body) + 1] += sizes_[body];
    for (Index c = 0; c < n; ++c) following_[c + 1] += following_[c];
    front_.reset(following_[n], n);
    const Index* map = map_.data();
    for (Index child = base; child < Index(stack_.size()); ++child) {
      const Remainder& below = stack_[child];
      const double* values = stacked_values_.data() + below.value;
      for (Index i = 0; i < below.n_rows; ++i, values += below.n_columns) {
        const Index lead = stacked_lead_[below.row + i], to = following_[map[lead]]++;
        front_.lead[to] = map[lead];
        double* row = front_.row(to);
        for (Index c = lead; c < below.n_columns; ++c) row[map[c]] = values[c];
      }
      map += below.n_columns;
    }
    for (const Index body : bodies_[part])
      if (joints_.size(body) > 0) append(body);
    for (const Index rank : groups_) slot_[rank] = -1;
    if (n_children > 0) {
      stacked_groups_.resize(stack_[base].group);
      stacked_lead_.resize(stack_[base].row);
      stacked_values_.resize(stack_[base].value);
      stack_.resize(base);
    }
  }

  Index first_slot(Index body) const {
    Index lead = slot_[rank_of_[joints_[body][0]]];
    for (const Index j : joints_[body]) lead = std::min(lead, slot_[rank_of_[j]]);
    return lead;
  }

  // The equations of one body: its columns of A, transposed.
  void append(Index body) {
    const Index lead = first_slot(body), to = following_[lead];
    following_[lead] += sizes_[body];
    for (Index a = 0; a < sizes_[body]; ++a) front_.lead[to + a] = lead;
    for (const Index j : joints_[body])
      for (int side = 0; side < 2; ++side) {
        if (ends_(j, side) != body) continue;
        const Index shift = slot_[rank_of_[j]] - first_row_[j];
        for (Index r = first_row_[j]; r < first_row_[j + 1]; ++r)
          for (Index a = 0; a < sizes_[body]; ++a) front_.row(to + a)[shift + r] += rows_(r, side, a);
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

  const PartTree& tree_;
  View<const Index, 2> ends_;
  View<const Index> first_row_, sizes_;
  View<const double, 3> rows_;
  double tolerance_;
  std::vector<Index> decided_in_;
  Lists decided_, bodies_, joints_;  // joints by part, in the sequence of decisions; bodies by part; joints by body
  std::vector<Index> rank_of_, slot_, n_children_;  // of a joint: its place in that sequence; its first column
  std::vector<Remainder> stack_;
  std::vector<Index> stacked_groups_, stacked_lead_;
  std::vector<double> stacked_values_;
  FrontQR front_;
  std::vector<Index> groups_, group_start_, map_, following_;
  std::vector<double> remainder_;
};

}  // namespace

Array<double> row_remainders(const PartTree& tree, View<const Index, 2> ends, View<const Index> first_row,
                             View<const Index> sizes, View<const double, 3> rows, double tolerance) {
  return MultifrontalQR(tree, ends, first_row, sizes, rows, tolerance).remainders();
}

double remainder_flops(const PartTree& tree, View<const Index, 2> ends, View<const Index> first_row) {
  const Index n = tree.parent.size();
  const std::vector<Index> meeting = meeting_parts(tree, ends);
  std::vector<double> width(n), below(n);  // rows that lead out of a part, and out of those that it is made of
  for (Index j = 0; j < ends.rows(); ++j) {
    const double size = double(first_row[j + 1] - first_row[j]);
    for (int side = 0; side < 2; ++side) {
      if (ends(j, side) < 0 || ends(j, 1 - side) < 0) continue;
      width[tree.part_of_body[ends(j, side)]] += size;
      width[meeting[j]] -= size;
    }
  }
  double flops = 0.0;
  for (Index part = 0; part < n; ++part) {
    if (tree.first[part] < part) {  // a QR of the equations of the parts below, as many as their rows
      width[part] += below[part];
      const double columns = 0.5 * (below[part] + width[part]);
      flops += 2.0 * columns * columns * (below[part] - columns / 3.0);
    }
    if (tree.parent[part] >= 0) below[tree.parent[part]] += width[part];
  }
  return flops;
}

}  // namespace sparsebody
