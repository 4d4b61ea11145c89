// Multifrontal L D L' of [1 A'; A 0], for wide fronts: Duff and Reid (1983), ACM TOMS 9:302; Liu (1992), SIAM Review
// 34:82. D is positive in primal pivots and negative in dual ones, without interchanges, as in block LDL'.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <utility>

#include "base/array.hpp"
#include "base/dense.hpp"
#include "base/threads.hpp"
#include "factorization/front_ldl.hpp"
#include "factorization/supernodes.hpp"

namespace sparsebody::multifrontal {

using front_ldl::Front;
using front_ldl::padded;

// Where row `row` of a front begins, a pivot's or one below: add a column of the front to it.
inline double* row_of(const Front& front, Index row) {
  if (row < front.n_pivots) return front.values + row * front.stride();
  const Index below = row - front.first_below();
  return front.contribution + below * front.contribution_stride - front.first_below();
}

inline double& reference_of(const Front& front, Index row) {
  return row < front.n_pivots ? front.reference[row] : front.below_reference[row - front.first_below()];
}

// Extend-add: the upper triangle of a contribution of n rows, row by row, and its reference.
inline void add_contribution(View<const Run> runs, const double* source, Index n, const Front& front) {
  const double* const reference = source + n * padded(n);
  for (const Run* run = runs.begin(); run < runs.end(); ++run)
    for (Index i = 0; i < run->length; ++i) {
      const double* const from = source + (run->from + i) * padded(n);
      double* const to = row_of(front, run->to + i);
      dense::add_scaled(to + run->to + i, 1.0, from + run->from + i, run->length - i);
      for (const Run* later = run + 1; later < runs.end(); ++later)
        dense::add_scaled(to + later->to, 1.0, from + later->from, later->length);
      reference_of(front, run->to + i) += reference[run->from + i];
    }
}

class Multifrontal {
 public:
  static constexpr Index regular = -1;
  static constexpr double dual_shift = 0x1p-52;  // of dual pivots, where one of them is lost in rounding

  Index threads = 1;  // any number gives the same bits

  // Lays L out for an admissible order, each subtree of the elimination tree in one piece.
  Multifrontal(View<const Index> offsets, View<const Index, 2> ends, View<const Index> order)
      : offsets_(offsets), ends_(ends), nodes_(pattern(), order), values_(nodes_.n_values),
        workspace_(nodes_.n_workspace), x_(Index(nodes_.natural.size())),
        below_x_(Index(nodes_.rows_below.size()) + 4 * nodes_.n_nodes()) {}

  // ---- elimination ----------------------------------------------------------------------------------------------

  // Fills L for A (n_dual_rows, 2, width), and where a pivot is doubtful once more with all dual ones shifted. Returns
  // `regular`, or the first row in natural order whose pivot may be rounding alone.
  Index factorize(ARows rows) {
    const Index doubt = eliminate(rows, 0.0);
    if (doubt == regular) return regular;
    eliminate(rows, dual_shift);
    return nodes_.natural[doubt];
  }
  // Fills L of [1 A'; A -delta].
  void factorize_shifted(ARows rows, double delta) { eliminate(rows, -delta); }
  // Fills x for a right-hand side (n_rows,).
  void solve(View<const double> rhs, View<double> x) {
    run_tasks_of(nodes_.parent, nodes_.path, [&](const Task& task, Index) {
      for (Index s = task.first; s < task.last; ++s) substitute(s, rhs.data());
    });
    run_tasks_of(nodes_.below, nodes_.reversed_path, [&](const Task& task, Index) {
      for (Index s = task.last - 1; s >= task.first; --s) substitute_back(s, rhs.data(), x.data());
    });
  }
  std::pair<double, Index> smallest_pivot(ARows rows) const {
    SmallestPivot smallest;
    for (Index s = 0; s < nodes_.n_nodes(); ++s) {
      const Supernode& node = nodes_.nodes[s];
      const Index stride = padded(node.n_pivots) + padded(node.n_below);
      for (Index t = 0; t < node.n_pivots; ++t)
        if (const Index pivot = node.first_pivot + t; !nodes_.is_primal[pivot])
          smallest.take(-values_[node.values + t * (stride + 1)], rows,
                        nodes_.natural[pivot] - pattern().n_primal_rows());
    }
    return smallest.sine_and_row();
  }
  // (n_supernodes, 2): pivots of each front, and rows below them.
  Array<Index, 2> front_shapes() const {
    Index n = 0;
    for (Index s = 0; s < nodes_.n_nodes(); ++s) n += nodes_.nodes[s].n_pivots > 0;
    Array<Index, 2> shapes({n, 2});
    for (Index s = nodes_.n_nodes() - 1; s >= 0; --s)
      if (const Supernode& node = nodes_.nodes[s]; node.n_pivots > 0)
        shapes(--n, 0) = node.n_pivots, shapes(n, 1) = node.n_below;
    return shapes;
  }

 private:
  SaddlePattern pattern() const { return {offsets_, ends_}; }
  front_ldl::PivotRows factors(const Supernode& node) {
    return {node.n_pivots, node.n_below, values_.data() + node.values};
  }
  // Calls work(task, n_idle), each task before its successors in `after`, the heavier ones first.
  void run_tasks_of(const GraphArrays& after, View<const double> weight, const auto& work) {
    const Index n_threads = nodes_.flops > front_ldl::parallel_flops ? threads : 1;
    run_graph(after, weight, n_threads, [&](Index t, Index n_idle) { work(nodes_.tasks[t], n_idle); });
  }
  // Returns `regular`, or the first doubtful pivot in elimination order of those with none before them.
  Index eliminate(ARows rows, double shift) {
    constexpr Index none = std::numeric_limits<Index>::max();
    std::vector<Index> first(nodes_.tasks.size(), none);
    run_tasks_of(nodes_.parent, nodes_.path, [&](const Task& task, Index n_idle) {
      const Index t = &task - nodes_.tasks.data();
      for (const Index child : nodes_.below[t]) first[t] = std::min(first[t], first[child]);
      for (Index s = task.first; s < task.last && (first[t] == none || shift != 0.0); ++s) {
        const Index doubt = eliminate(s, rows, shift, workspace_.data() + task.scratch, 1 + n_idle);
        if (doubt != regular) first[t] = std::min(first[t], doubt);
      }
    });
    const Index least = first.empty() ? none : *std::ranges::min_element(first);
    return least == none ? regular : least;
  }
  Index eliminate(Index s, ARows rows, double shift, double* scratch, Index n_threads) {
    const Supernode& node = nodes_.nodes[s];
    const Index n_below = padded(node.n_below), n_pivots = padded(node.n_pivots);
    const bool is_constant = node.size > 0;
    double* const contribution = workspace_.data() + node.contribution;
    const Front front{factors(node), contribution, n_below, nodes_.is_primal.data() + node.first_pivot, scratch,
                      contribution + node.n_below * n_below};
    std::fill_n(front.values, (node.n_pivots + node.size) * front.stride(), 0.0);
    for (Index i = 0; i < node.n_below; ++i)
      std::fill(contribution + i * n_below + i / 8 * 8, contribution + (i + 1) * n_below, 0.0);
    std::fill_n(front.reference, n_pivots, 0.0);
    std::fill_n(front.below_reference, n_below, 0.0);
    assemble(s, rows, front);
    if (is_constant) {
      constexpr double ones[] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
      for (Index k = 0; k < node.size; k += std::size(ones))
        dense::subtract_square(std::min<Index>(node.size - k, std::size(ones)), node.n_below,
                               front.values + k * n_below, n_below, ones, true, contribution, n_below);
      for (Index i = 0; i < node.n_below; ++i) front.below_reference[i] = -contribution[i * (n_below + 1)];
      return regular;
    }
    const Index doubt = front_ldl::eliminate(front, shift, scratch + n_pivots, n_threads);
    return doubt == front_ldl::no_doubt ? regular : node.first_pivot + doubt;
  }
  void assemble(Index s, ARows rows, const Front& front) const {
    const Supernode &node = nodes_.nodes[s], &next = nodes_.nodes[s + 1];
    for (Index t = 0; t < node.n_pivots; ++t)
      if (front.is_primal[t]) front.values[t * (front.stride() + 1)] = front.reference[t] = 1.0;
    for (Index e = node.first_entry; e < next.first_entry; ++e) {
      const Entry& entry = nodes_.entries[e];
      for (Index r = 0; r < entry.n_rows; ++r) {
        const double* const row = rows.data() + (2 * (entry.a_row + r) + entry.side) * rows.shape(2);
        double* const to = front.values + entry.offset + r * entry.row_stride;
        for (Index c = 0; c < entry.n_columns; ++c) to[c * entry.column_stride] += row[c];
      }
    }
    for (Index c = node.first_child; c < next.first_child; ++c) {
      const Child* const child = nodes_.children.data() + c;
      const Supernode& from = nodes_.nodes[child->node];
      const auto runs = View<const Run>(nodes_.runs).slice(child->first_run, (child + 1)->first_run);
      add_contribution(runs, workspace_.data() + from.contribution, from.n_below, front);
    }
  }
  // Entries of x in the rows below a supernode's pivots, with room to pad them.
  double* below_of(Index s) { return below_x_.data() + nodes_.nodes[s].first_below + 4 * s; }
  // y = D^-1 L^-1 f in the pivots of a supernode. What these take from the rows below goes from front to front.
  void substitute(Index s, const double* f) {
    const Supernode &node = nodes_.nodes[s], &next = nodes_.nodes[s + 1];
    double *const y = x_.data() + node.first_pivot, *const below = below_of(s);
    const auto front = factors(node);
    std::fill_n(below, padded(node.n_below), 0.0);
    for (Index k = 0; k < node.size; ++k)
      dense::add_scaled(below, f[node.natural + k], front.values + k * front.stride(), padded(node.n_below));
    if (node.size > 0) return;
    for (Index t = 0; t < node.n_pivots; ++t) y[t] = f[nodes_.natural[node.first_pivot + t]];
    for (Index c = node.first_child; c < next.first_child; ++c) {
      const Child* const child = nodes_.children.data() + c;
      const double* const source = below_of(child->node);
      for (const Run& run : View<const Run>(nodes_.runs).slice(child->first_run, (child + 1)->first_run))
        if (run.to < node.n_pivots) dense::add_scaled(y + run.to, -1.0, source + run.from, run.length);
        else dense::add_scaled(below + run.to - front.first_below(), 1.0, source + run.from, run.length);
    }
    front.substitute(y, below);
  }
  // x = L'^-1 y in the pivots of a supernode, from those of the supernodes above; f - A' x in a constant block.
  void substitute_back(Index s, const double* f, double* x) {
    const Supernode& node = nodes_.nodes[s];
    double *const y = x_.data() + node.first_pivot, *const below = below_of(s);
    const Index* const source = nodes_.rows_below.data() + node.first_below;
    for (Index i = 0; i < node.n_below; ++i) below[i] = x_[source[i]];
    const auto front = factors(node);
    for (Index k = 0; k < node.size; ++k)
      x[node.natural + k] = f[node.natural + k] - dense::dot(front.values + k * front.stride(), below, node.n_below);
    if (node.size > 0) return;
    front.substitute_back(y, below);
    for (Index t = 0; t < node.n_pivots; ++t) x[nodes_.natural[node.first_pivot + t]] = y[t];
  }

  Array<Index> offsets_;
  Array<Index, 2> ends_;
  Supernodes nodes_;
  Array<double> values_;     // pivots' rows of all fronts
  Array<double> workspace_;  // contributions and scratch
  Array<double> x_, below_x_;
};

}  // namespace sparsebody::multifrontal
