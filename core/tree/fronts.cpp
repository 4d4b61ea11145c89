#include "tree/fronts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dense.hpp"

namespace sparsebody::tree {

namespace {

constexpr Index link_size = 6;

// A front in use.
struct Front {
  double* F;
  Index stride, width;

  double* row(Index r) const { return F + r * stride; }

  void clear(Index slot, Index size) const {
    for (Index e = slot; e < slot + size; ++e) std::fill(row(e), row(e) + width, 0.0);
    for (Index r = 0; r < width; ++r) std::fill(row(r) + slot, row(r) + slot + size, 0.0);
  }
  // [A, B; B', m 1] of a link.
  void add(const ArticulatedInertia& I, Index slot) const {
    for (int i = 0, k = 0; i < 3; ++i) {
      double* const angular = row(slot + i) + slot;
      double* const linear = row(slot + 3 + i) + slot;
      for (int j = 0; j <= i; ++j, ++k) {
        angular[j] += I.a.m[k];
        if (j < i) row(slot + j)[slot + i] += I.a.m[k];
      }
      for (int j = 0; j < 3; ++j) {
        angular[3 + j] += I.b(i, j);
        row(slot + 3 + j)[slot + i] += I.b(i, j);
      }
      linear[3 + i] += I.d.m[0];
    }
  }
  void add(const FrontEntry& entry, View<const LoopRow> rows, View<const double> mu, Index slot) const {
    for (Index r = entry.first, own = entry.slot; r < entry.last; ++r, ++own) {
      double T[link_size];
      rows[r].on[entry.end].store(T);
      for (Index e = 0; e < link_size; ++e) {
        row(own)[slot + e] += T[e];
        row(slot + e)[own] += T[e];
      }
      if (entry.is_new) row(own)[own] -= mu[r];
    }
  }
  // U = F S
  void multiply(const Motion& S, Index slot, double* U) const {
    double s[link_size];
    S.store(s);
    const double* const f[] = {row(slot),     row(slot + 1), row(slot + 2),
                               row(slot + 3), row(slot + 4), row(slot + 5)};
    const double P[link_size][1] = {{s[0]}, {s[1]}, {s[2]}, {s[3]}, {s[4]}, {s[5]}};
    std::fill(U, U + width, 0.0);
    dense::add_products<link_size, 1>(width, P, f, {U});
  }
  // F - U_1 U_1' / d_1 - ... of n freedoms.
  void subtract_outer(Index n, const double* U, const double* inverse) const {
    dense::subtract_square(n, width, U, width, inverse, false, F, stride);
  }
  // The rows of a link about the origin at -d: n + d x f, on both sides.
  void shift(Index slot, const Vec3& d) const {
    const auto [x, y, z] = d;
    double *n0 = row(slot), *n1 = row(slot + 1), *n2 = row(slot + 2);
    const double *f0 = row(slot + 3), *f1 = row(slot + 4), *f2 = row(slot + 5);
    for (Index c = 0; c < width; ++c) {
      n0[c] += y * f2[c] - z * f1[c];
      n1[c] += z * f0[c] - x * f2[c];
      n2[c] += x * f1[c] - y * f0[c];
    }
    for (Index r = 0; r < width; ++r) {
      double* own = row(r) + slot;
      own[0] += y * own[5] - z * own[4];
      own[1] += z * own[3] - x * own[5];
      own[2] += x * own[4] - y * own[3];
    }
  }
  // Adds the rows of a link to those of its parent, on both sides.
  void merge(Index slot, Index parent_slot) const {
    for (Index e = 0; e < link_size; ++e) dense::add_scaled(row(parent_slot + e), 1.0, row(slot + e), width);
    for (Index r = 0; r < width; ++r)
      for (Index e = 0; e < link_size; ++e) row(r)[parent_slot + e] += row(r)[slot + e];
  }
};

// Pivots of the same link or loop: U_k less what those before it take, so that F is changed once for all of them.
void subtract_earlier(Index width, Index k, double* U, const double* inverse, const double* power) {
  for (Index j = 0; j < k; ++j) dense::add_scaled(U + k * width, -power[j] * inverse[j], U + j * width, width);
}

}  // namespace

void factorize_fronts(const Links& links, const FrontPlan& plan, const TreeMotion& motion, View<const LoopRow> rows,
                      View<const double> mu, View<const bool> is_prescribed, const Fronts& fronts) {
  for (Index at = 0; at + 1 < plan.steps.size(); ++at) {
    const FrontStep &step = plan.steps[at], &next = plan.steps[at + 1];
    const Front front{fronts.F.data() + step.base, step.stride, step.width};
    const Index width = step.width, slot = step.slot, n_pivots = next.first_pivot - step.first_pivot;
    if (step.is_new) std::fill_n(front.F, step.stride * step.stride, 0.0);
    for (Index j = step.first_join; j < next.first_join; ++j) {  // fronts that meet are added up
      const FrontJoin& join = plan.joins[j];
      const View<const RowPair> pairs = plan.pairs.slice(join.first_pair, plan.joins[j + 1].first_pair);
      for (const auto& [from, to] : pairs) {
        const double* source = fronts.F.data() + join.base + from * join.stride;
        for (const auto& [column_from, column_to] : pairs) front.row(to)[column_to] += source[column_from];
      }
    }
    double* const U = fronts.U.data() + step.factor;
    double* const inverse = fronts.inverse.data() + step.first_pivot;
    if (step.is_link()) {
      const Index i = step.node, first = links.first_velocity(i);
      front.add(ArticulatedInertia(motion.I(links, i)), slot);
      for (Index e = step.first_entry; e < next.first_entry; ++e) front.add(plan.entries[e], rows, mu, slot);
      for (Index k = 0; k < n_pivots; ++k) {
        double* const U_k = U + k * width;
        if (!is_prescribed.empty() && is_prescribed[first + k]) {
          std::fill_n(U_k, width, 0.0);
          inverse[k] = 0.0;
          continue;
        }
        const Motion& S = motion.S[first + k];
        front.multiply(S, slot, U_k);  // U = F S
        double power[link_size];
        for (Index j = 0; j < k; ++j) power[j] = dot(S, Force::load(U + j * width + slot));
        subtract_earlier(width, k, U, inverse, power);
        inverse[k] = 1.0 / dot(S, Force::load(U_k + slot));  // 1 / D = 1 / (S' U)
      }
      front.subtract_outer(n_pivots, U, inverse);
      if (step.parent_slot != FrontStep::world) front.shift(slot, motion.X(i).d);
      if (step.parent_slot >= 0) front.merge(slot, step.parent_slot);
      if (step.parent_slot != FrontStep::owner) front.clear(slot, link_size);
    } else {
      for (Index k = 0; k < n_pivots; ++k) {
        double* const U_k = U + k * width;
        double power[link_size];
        std::copy_n(front.row(slot + k), width, U_k);
        for (Index j = 0; j < k; ++j) power[j] = U[j * width + slot + k];
        subtract_earlier(width, k, U, inverse, power);
        inverse[k] = 1.0 / U_k[slot + k];
        std::fill_n(U_k + slot, k + 1, 0.0);
      }
      front.subtract_outer(n_pivots, U, inverse);
      front.clear(slot, n_pivots);
    }
  }
}

double solve_fronts(const Links& links, const FrontPlan& plan, const TreeMotion& motion, View<const Index> first_row,
                    View<const bool> is_prescribed, const Fronts& fronts, View<const double> tau,
                    View<const double> b, View<double> qdd, View<double> lambda) {
  const Index n_steps = plan.steps.size() - 1;
  double* const sides = fronts.g.data();
  for (Index at = 0; at < n_steps; ++at) {  // leaves to root
    const FrontStep &step = plan.steps[at], &next = plan.steps[at + 1];
    double *const g = sides + step.side, *const own = g + step.slot;
    const double *U = fronts.U.data() + step.factor, *inverse = fronts.inverse.data() + step.first_pivot;
    double* u = fronts.u.data() + step.first_pivot;
    if (step.is_new) std::fill_n(g, step.stride, 0.0);
    for (Index j = step.first_join; j < next.first_join; ++j) {
      const double* source = sides + plan.joins[j].side;
      for (const auto& [from, to] : plan.pairs.slice(plan.joins[j].first_pair, plan.joins[j + 1].first_pair))
        g[to] += source[from];
    }
    if (step.is_link()) {
      for (Index e = step.first_entry; e < next.first_entry; ++e) {
        const FrontEntry& entry = plan.entries[e];
        if (!entry.is_new) continue;
        for (Index r = entry.first; r < entry.last; ++r) g[entry.slot + r - entry.first] = -b[r];
      }
      for (const Index k : links.velocities(step.node)) {
        *u = 0.0;
        if (is_prescribed.empty() || !is_prescribed[k]) {
          *u = tau[k] - dot(motion.S[k], Force::load(own));  // u = tau - S' g
          dense::add_scaled(g, *u * *inverse, U, step.width);  // g := g + U u / D
        }
        ++u, ++inverse, U += step.width;
      }
      if (step.parent_slot != FrontStep::world) motion.X(step.node).to_parent(Force::load(own)).store(own);
      if (step.parent_slot >= 0)
        for (Index e = 0; e < link_size; ++e) g[step.parent_slot + e] += own[e];
      if (step.parent_slot != FrontStep::owner) std::fill_n(own, link_size, 0.0);
    } else {
      for (Index r = 0; r < next.first_pivot - step.first_pivot; ++r) {
        *u = -own[r];
        dense::add_scaled(g, *u * *inverse, U, step.width);
        own[r] = 0.0;
        ++u, ++inverse, U += step.width;
      }
    }
  }
  double largest = 0.0;
  for (Index at = n_steps - 1; at >= 0; --at) {  // root to leaves
    const FrontStep &step = plan.steps[at], &next = plan.steps[at + 1];
    double *const y = sides + step.side, *const own = y + step.slot;
    const double *U = fronts.U.data() + next.factor, *inverse = fronts.inverse.data() + next.first_pivot;
    const double* u = fronts.u.data() + next.first_pivot;
    const auto next_pivot = [&] {  // x = (u - U' y) / D
      U -= step.width;
      return (*--u - dense::dot(U, y, step.width)) * *--inverse;
    };
    if (step.is_link()) {
      const Index i = step.node;
      Motion a;
      if (step.parent_slot != FrontStep::world)
        a = motion.X(i) * Motion::load(step.parent_slot >= 0 ? y + step.parent_slot : own);
      a.store(own);
      for (Index k = links.indices[i + 1].first_velocity - 1; k >= links.first_velocity(i); --k) {
        qdd[k] = next_pivot();
        a += motion.S[k] * qdd[k];
        a.store(own);
      }
      for (Index e = 0; e < link_size; ++e)  // a NaN stays
        if (const double size = std::abs(own[e]); size > largest || std::isnan(size)) largest = size;
    } else {
      const Index first = first_row[step.node];
      for (Index r = first_row[step.node + 1] - first - 1; r >= 0; --r) {
        own[r] = next_pivot();
        lambda[first + r] = -own[r];
      }
    }
    for (Index j = step.first_join; j < next.first_join; ++j) {
      double* const target = sides + plan.joins[j].side;
      for (const auto& [from, to] : plan.pairs.slice(plan.joins[j].first_pair, plan.joins[j + 1].first_pair))
        target[from] = y[to];
    }
  }
  return largest;
}

double weakest_pivot(const FrontPlan& plan, View<const Index> first_row, View<const double> compliance,
                     const Fronts& fronts) {
  double weakest = std::numeric_limits<double>::infinity();
  for (const FrontStep& step : plan.steps.slice(0, plan.steps.size() - 1)) {
    if (step.is_link()) continue;
    Index pivot = step.first_pivot;
    for (const Index r : range(first_row[step.node], first_row[step.node + 1]))
      weakest = std::min(weakest, -1.0 / (fronts.inverse[pivot++] * compliance[r]));
  }
  return weakest;
}

}  // namespace sparsebody::tree
