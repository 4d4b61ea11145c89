// Approximate minimum degree on the quotient graph, weighted by scalar rows, where blocks may have to wait.
// Amestoy, Davis and Duff (1996); Davis (2006), sec. 7.1; with phases Liu (1989), SIAM J. Sci. Stat. Comput. 10:1136.
//
// Eliminated blocks become elements: sets of blocks that they couple. A block couples to others through the matrix
// itself, or through elements. Its degree is an upper bound of the rows that it couples to.
#pragma once

#include <algorithm>
#include <limits>

#include "graph/adjacency.hpp"
#include "graph/elimination_tree.hpp"

namespace sparsebody {

struct Block {
  Index size, degree;
  Index awaited;                      // blocks that it waits for, and one more until its phase begins
  Index start, n_blocks, n_elements;  // its lists begin at `start`; they may hold what is done or absorbed
  Index before, after;                // in the list of its degree
  Index marked = -1;                  // the step in which it was last put in an element; `done` once it is eliminated
  bool is_listed = false;

  static constexpr Index done = std::numeric_limits<Index>::max();
};

struct Element {
  Index first, last;    // members_[first, last)
  Index rows = 0;       // scalar rows in it; none once it is absorbed
  Index outside = 0;    // those outside the newest element, if computed in this step
  Index computed = -1;  // the step in which `outside` was computed
};

class MinimumDegree {
 public:
  MinimumDegree(const Graph& graph, Indices size, Index n_primal, Indices awaited, Indices outer, Indices phase)
      : graph_(graph), outer_(outer), phase_(phase), n_primal_(n_primal), blocks_(graph.size()),
        elements_(graph.size()), block_list_(graph.indices.begin(), graph.indices.end()),
        element_list_(graph.indices.size()) {
    members_.reserve(graph.indices.size() + graph.size());
    Index lowest_phase = 0;
    for (const Index p : phase) lowest_phase = std::min(lowest_phase, p);
    for (Index i = 0; i < graph.size(); ++i) {
      Block& b = blocks_[i];
      b.size = size[i];
      b.awaited = awaited[i];
      b.start = graph.start[i];
      b.n_blocks = graph.degree(i);
      b.n_elements = b.degree = 0;
      for (const Index j : graph[i]) b.degree += size[j];
      rows_left_ += b.size;
      if (phase[i] > lowest_phase) {
        ++b.awaited;
        later_.push_back(i);
      }
    }
    std::stable_sort(later_.begin(), later_.end(), [&](Index i, Index j) { return phase[i] < phase[j]; });
    head_.assign(rows_left_ + 1, -1);
  }

  // The elimination order (n,): next the block i of least degree d_i, a bound of the scalar rows in the union of A_i
  // and L_e, e in E_i, less i: its blocks in the matrix and those of its elements; in the lowest phase that has any.
  Array<Index> order() {
    const Index n = graph_.size();
    Array<Index> order(n);
    Index n_done = 0;
    const auto eliminate = [&](Index i) {
      order[n_done++] = i;
      rows_left_ -= blocks_[i].size;
      finish(i);
    };
    lowest_ = Index(head_.size());
    for (Index i = n - 1; i >= 0; --i) enlist(i);
    while (n_done < n) {
      while (lowest_ < Index(head_.size()) && head_[lowest_] == -1) ++lowest_;
      if (lowest_ == Index(head_.size())) {
        begin_next_phase();
        continue;
      }
      const Index pivot = head_[lowest_], step = n_done, pivot_size = blocks_[pivot].size;
      delist(pivot);
      const Index begin = Index(members_.size());
      form_element(pivot, step);
      eliminate(pivot);
      if (Index(members_.size()) == begin + 1) {  // nothing fills in: no element; dead entries of lists are dropped later
        const Index i = members_.back();
        members_.pop_back();
        delist(i);
        blocks_[i].degree -= pivot_size;
        enlist(i);
        continue;
      }
      measure_outside(step, begin);
      Element& element = elements_[pivot];
      Index last = begin;
      for (Index k = begin; k < Index(members_.size()); ++k) {
        const Index i = members_[k];
        Block& b = blocks_[i];
        delist(i);
        const Index elsewhere = prune(b, step);
        if (elsewhere == 0 && b.awaited == 0) {  // couples to nothing but the new element
          eliminate(i);
          continue;
        }
        element_list_[b.start + b.n_elements++] = pivot;
        element.rows += b.size;
        members_[last++] = i;
        b.degree = std::min(elsewhere, b.degree);
      }
      element.first = begin;
      element.last = last;
      members_.resize(last);
      for (const Index i : View<Index>(members_).slice(begin, last)) {
        Block& b = blocks_[i];
        b.degree = std::min(b.degree + element.rows - b.size, rows_left_ - b.size);
        enlist(i);
      }
    }
    return order;
  }

 private:
  void begin_next_phase() {
    const Index phase = phase_[later_[n_released_]];
    for (; n_released_ < Index(later_.size()) && phase_[later_[n_released_]] == phase; ++n_released_) {
      --blocks_[later_[n_released_]].awaited;
      enlist(later_[n_released_]);
    }
  }

  // Appends all that `pivot` couples to to members_, and absorbs its elements.
  void form_element(Index pivot, Index step) {
    Block& p = blocks_[pivot];
    p.marked = step;
    const auto append = [&](Index i) {
      if (blocks_[i].marked >= step) return;
      blocks_[i].marked = step;
      members_.push_back(i);
    };
    for (Index k = p.start; k < p.start + p.n_blocks; ++k) append(block_list_[k]);
    for (Index k = p.start; k < p.start + p.n_elements; ++k) {
      Element& e = elements_[element_list_[k]];
      if (std::exchange(e.rows, 0) > 0)
        for (Index m = e.first; m < e.last; ++m) append(members_[m]);
    }
  }

  // Marks a block as eliminated; what waits for it waits no longer.
  void finish(Index block) {
    blocks_[block].marked = Block::done;
    if (block >= n_primal_) return;
    for (const Index joint : graph_[block]) {
      const Index outer = outer_[joint - n_primal_];
      if (outer == -1 || outer == block) --blocks_[joint].awaited;
    }
  }

  // Rows of the other elements outside the new one.
  void measure_outside(Index step, Index begin) {
    for (Index m = begin; m < Index(members_.size()); ++m) {
      const Block& b = blocks_[members_[m]];
      for (Index k = b.start; k < b.start + b.n_elements; ++k) {
        Element& e = elements_[element_list_[k]];
        if (e.rows == 0) continue;
        if (e.computed != step) {
          e.computed = step;
          e.outside = e.rows;
        }
        e.outside -= b.size;
      }
    }
  }

  // Drops what the new element holds from a block's lists; returns a bound of the rows left there. An element that
  // lies in the new one altogether is absorbed.
  Index prune(Block& b, Index step) {
    Index elsewhere = 0, to = b.start;
    for (Index k = b.start; k < b.start + b.n_blocks; ++k) {
      const Index j = block_list_[k];
      if (blocks_[j].marked >= step) continue;
      block_list_[to++] = j;
      elsewhere += blocks_[j].size;
    }
    b.n_blocks = to - b.start;
    to = b.start;
    for (Index k = b.start; k < b.start + b.n_elements; ++k) {
      Element& e = elements_[element_list_[k]];
      if (e.outside == 0) e.rows = 0;
      if (e.rows == 0) continue;
      element_list_[to++] = element_list_[k];
      elsewhere += e.outside;
    }
    b.n_elements = to - b.start;
    return elsewhere;
  }

  // Puts a block in front of the list of its degree, unless it waits.
  void enlist(Index i) {
    Block& b = blocks_[i];
    if (b.awaited > 0) return;
    b.before = -1;
    b.after = head_[b.degree];
    if (b.after >= 0) blocks_[b.after].before = i;
    head_[b.degree] = i;
    b.is_listed = true;
    lowest_ = std::min(lowest_, b.degree);
  }

  void delist(Index i) {
    Block& b = blocks_[i];
    if (!b.is_listed) return;
    (b.before >= 0 ? blocks_[b.before].after : head_[b.degree]) = b.after;
    if (b.after >= 0) blocks_[b.after].before = b.before;
    b.is_listed = false;
  }

  const Graph graph_;
  const Indices outer_, phase_;
  const Index n_primal_;
  std::vector<Block> blocks_;
  std::vector<Element> elements_;  // of every eliminated block
  std::vector<Index> block_list_, element_list_, members_;
  std::vector<Index> later_;  // blocks of later phases, sorted by them
  std::vector<Index> head_;  // of the list of every degree
  Index lowest_ = 0, rows_left_ = 0, n_released_ = 0;
};

// Minimum degree with phases, as the postorder of the same fill-in. awaited: number of primal blocks, 0 .. n_primal-1,
// that a block waits for; a dual block in a tree part waits for one, `outer` (n_dual), which is -1 elsewhere.
inline Array<Index> minimum_degree(const Graph& graph, Indices size, Index n_primal, Indices awaited, Indices outer,
                                   Indices phase) {
  return postordered(graph, MinimumDegree(graph, size, n_primal, awaited, outer, phase).order());
}

}  // namespace sparsebody
