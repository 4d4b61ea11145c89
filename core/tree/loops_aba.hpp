// The elimination of a tree with loops from its leaves inwards, in fronts: the loop-constrained articulated-body
// algorithm. Sathya and Carpentier (2024), after Featherstone (2008), sec. 7.2.
//
// A front is the symmetric matrix F of all that couples with a link, f = F y + g: accelerations of links, and
// multipliers of open loops. The freedoms of link i are eliminated by the pivots S' F S, with rows S' F; then the rows
// of i move to its parent's origin, so that along a mechanism one front is carried inwards. The rows of a loop are
// eliminated likewise, by pivots that are negative: [H, K'; K, -mu] is quasi-definite.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "base/dense.hpp"
#include "factorization/front_ldl.hpp"
#include "tree/loop_constraints.hpp"
#include "tree/rnea.hpp"

namespace sparsebody::tree {

// A step of the plan: a row of Python's FrontPlan.steps.
struct FrontStep {
  using Element = Index;
  enum : Index { link = 0, loop = 1 };
  enum : Index { world = -1, renamed = -2 };  // parent_slot: none; the link's own, as its rows become the parent's
  Index kind, node;                         // a link or a loop, and its number
  Index base, stride, width;  // F begins at base, its rows are `stride` numbers apart, of which `width` are in use
  Index slot, parent_slot;    // first rows of the node, and of its parent
  Index is_new, side;         // a front to begin with zeros; g begins at `side`
  Index first_join, first_entry, first_pivot, factor;  // U begins at `factor`

  bool is_link() const { return kind == link; }
  Index n_pivots() const { return (this + 1)->first_pivot - first_pivot; }
};

// A front whose rows `pairs` are added here (extend-add).
struct FrontJoin {
  using Element = Index;
  Index base, stride, side, first_pair;
};
struct RowPair {
  using Element = Index;
  Index from, to;
};

// Rows [first, last) of a loop, in a front from `slot` on, on the link at one of its ends.
struct FrontEntry {
  using Element = Index;
  Index slot, first, last, end, is_new;
};

// Python's FrontPlan; the last steps and joins end the offsets.
struct FrontPlan {
  View<const FrontStep> steps;
  View<const FrontJoin> joins;
  View<const RowPair> pairs;
  View<const FrontEntry> entries;
  View<const Index> sizes;

  // Calls f(join, its pairs of rows) for the fronts that are added at a step.
  template <class F>
  void for_joins(Index step, F f) const {
    for (Index j = steps[step].first_join; j < steps[step + 1].first_join; ++j)
      f(joins[j], pairs.slice(joins[j].first_pair, joins[j + 1].first_pair));
  }
};

// Fronts and the factors that their elimination leaves: Python's Fronts.
struct Fronts {
  View<double> F, g;  // all fronts, and their right-hand sides; then their solutions y
  View<double> U;     // rows of the factors
  View<double> u;     // right-hand sides of the pivots

  front_ldl::PivotRows factor(const FrontStep& step) const { return {step.n_pivots(), step.width, U.data() + step.factor}; }
};

inline constexpr Index link_size = 6;

// The matrix of a front in use.
struct FrontMatrix {
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
  // Rows K of a loop on a link, and -mu on their own diagonal once.
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
  // Fills U' = S' F of a freedom.
  void multiply(const Motion& S, Index slot, double* U) const {
    double s[link_size];
    S.store(s);
    const double* const f[] = {row(slot),     row(slot + 1), row(slot + 2),
                               row(slot + 3), row(slot + 4), row(slot + 5)};
    const double P[link_size][1] = {{s[0]}, {s[1]}, {s[2]}, {s[3]}, {s[4]}, {s[5]}};
    std::fill(U, U + width, 0.0);
    dense::add_products<link_size, 1>(width, P, f, {U});
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

// The rows of pivots, F being the others: of the freedoms of a link, prescribed ones being zero, and of a loop.
inline void fill_pivots(const FrontMatrix& front, const front_ldl::PivotRows& rows, View<const Motion> S,
                        View<const bool> is_prescribed, Index slot) {
  for (Index k = 0; k < rows.n_pivots; ++k) {
    double *const A = rows.values + k * rows.stride(), *const U = A + rows.first_below();
    const auto is_fixed = [&](Index j) { return !is_prescribed.empty() && is_prescribed[j]; };
    std::fill_n(A, rows.stride(), 0.0);
    if (is_fixed(k)) {
      A[k] = 1.0;
      continue;
    }
    front.multiply(S[k], slot, U);
    for (Index j = k; j < rows.n_pivots; ++j)
      if (!is_fixed(j)) A[j] = dot(S[j], Force::load(U + slot));
  }
}
inline void fill_pivots(const FrontMatrix& front, const front_ldl::PivotRows& rows, Index slot) {
  for (Index k = 0; k < rows.n_pivots; ++k) {
    double *const A = rows.values + k * rows.stride(), *const U = A + rows.first_below();
    std::fill_n(A, rows.first_below(), 0.0);
    std::copy_n(front.row(slot + k) + slot, rows.n_pivots, A);
    std::copy_n(front.row(slot + k), front.width, U);
    std::fill_n(U + slot, rows.n_pivots, 0.0);
  }
}

// The factors of [H, K'; K, -diag(mu)], K by the loops' rows on their links.
inline void factorize_fronts(const Links& links, const FrontPlan& plan, const TreeMotion& motion,
                             View<const LoopRow> rows, View<const double> mu, View<const bool> is_prescribed,
                             const Fronts& fronts) {
  constexpr std::uint8_t are_primal[link_size] = {1, 1, 1, 1, 1, 1}, are_dual[link_size] = {};
  constexpr double no_shift = -0x1p-500;  // pivots are as large as mu at least; an elimination never ends early
  for (Index at = 0; at + 1 < plan.steps.size(); ++at) {
    const FrontStep &step = plan.steps[at], &next = plan.steps[at + 1];
    const FrontMatrix front{fronts.F.data() + step.base, step.stride, step.width};
    const front_ldl::PivotRows pivots = fronts.factor(step);
    const Index slot = step.slot;
    if (step.is_new) std::fill_n(front.F, step.stride * step.stride, 0.0);
    plan.for_joins(at, [&](const FrontJoin& join, View<const RowPair> pairs) {  // extend-add
      for (const auto& [from, to] : pairs) {
        const double* source = fronts.F.data() + join.base + from * join.stride;
        for (const auto& [column_from, column_to] : pairs) front.row(to)[column_to] += source[column_from];
      }
    });
    if (step.is_link()) {
      const Index i = step.node, first = links.first_velocity(i), last = links.first_velocity(i + 1);
      front.add(ArticulatedInertia(motion.I(links, i)), slot);
      for (Index e = step.first_entry; e < next.first_entry; ++e) front.add(plan.entries[e], rows, mu, slot);
      fill_pivots(front, pivots, motion.S.slice(first, last),
                  is_prescribed.empty() ? is_prescribed : is_prescribed.slice(first, last), slot);
    } else {
      fill_pivots(front, pivots, slot);
    }
    front_ldl::eliminate({pivots, front.F, step.stride, step.is_link() ? are_primal : are_dual, nullptr, nullptr, true},
                         no_shift, nullptr, 1);
    if (!step.is_link()) {
      front.clear(slot, step.n_pivots());
      continue;
    }
    if (step.parent_slot != FrontStep::world) front.shift(slot, motion.X(step.node).d);
    if (step.parent_slot >= 0) front.merge(slot, step.parent_slot);
    if (step.parent_slot != FrontStep::renamed) front.clear(slot, link_size);
  }
}

// H qdd - K' lambda = tau, K qdd + mu lambda = b; returns the largest component of the links' accelerations J qdd.
inline double solve_fronts(const Links& links, const FrontPlan& plan, const TreeMotion& motion,
                           View<const Index> first_row, View<const bool> is_prescribed, const Fronts& fronts,
                           View<const double> tau, View<const double> b, View<double> qdd, View<double> lambda) {
  const Index n_steps = plan.steps.size() - 1;
  double* const sides = fronts.g.data();
  for (Index at = 0; at < n_steps; ++at) {  // leaves to root
    const FrontStep &step = plan.steps[at], &next = plan.steps[at + 1];
    double *const g = sides + step.side, *const own = g + step.slot, *u = fronts.u.data() + step.first_pivot;
    if (step.is_new) std::fill_n(g, step.stride, 0.0);
    plan.for_joins(at, [&](const FrontJoin& join, View<const RowPair> pairs) {
      for (const auto& [from, to] : pairs) g[to] += sides[join.side + from];
    });
    if (step.is_link()) {
      for (Index e = step.first_entry; e < next.first_entry; ++e) {
        const FrontEntry& entry = plan.entries[e];
        if (!entry.is_new) continue;
        for (Index r = entry.first; r < entry.last; ++r) g[entry.slot + r - entry.first] = -b[r];
      }
      for (const Index k : links.velocities(step.node))  // u = tau - S' g
        *u++ = is_prescribed.empty() || !is_prescribed[k] ? tau[k] - dot(motion.S[k], Force::load(own)) : 0.0;
    } else {
      for (Index r = 0; r < step.n_pivots(); ++r) *u++ = -std::exchange(own[r], 0.0);
    }
    fronts.factor(step).substitute(u - step.n_pivots(), g);
    if (!step.is_link()) continue;
    if (step.parent_slot != FrontStep::world) motion.X(step.node).to_parent(Force::load(own)).store(own);
    if (step.parent_slot >= 0)
      for (Index e = 0; e < link_size; ++e) g[step.parent_slot + e] += own[e];
    if (step.parent_slot != FrontStep::renamed) std::fill_n(own, link_size, 0.0);
  }
  double largest = 0.0;
  for (Index at = n_steps - 1; at >= 0; --at) {  // root to leaves
    const FrontStep& step = plan.steps[at];
    double *const y = sides + step.side, *const own = y + step.slot, *const x = fronts.u.data() + step.first_pivot;
    Motion a;
    if (step.is_link() && step.parent_slot != FrontStep::world)
      a = motion.X(step.node) * Motion::load(step.parent_slot >= 0 ? y + step.parent_slot : own);
    if (step.is_link()) a.store(own);
    fronts.factor(step).substitute_back(x, y);
    if (step.is_link()) {
      const Index first = links.first_velocity(step.node);
      for (Index k = 0; k < step.n_pivots(); ++k) {
        qdd[first + k] = x[k];
        a += motion.S[first + k] * x[k];
      }
      a.store(own);
      for (Index e = 0; e < link_size; ++e)  // a NaN stays
        if (const double size = std::abs(own[e]); size > largest || std::isnan(size)) largest = size;
    } else {
      for (Index r = 0; r < step.n_pivots(); ++r) {
        own[r] = x[r];
        lambda[first_row[step.node] + r] = -x[r];
      }
    }
    plan.for_joins(at, [&](const FrontJoin& join, View<const RowPair> pairs) {
      for (const auto& [from, to] : pairs) sides[join.side + from] = y[to];
    });
  }
  return largest;
}

// The least pivot of a loop's row over its own compliance.
inline double weakest_pivot(const FrontPlan& plan, View<const Index> first_row, View<const double> compliance,
                            const Fronts& fronts) {
  double weakest = std::numeric_limits<double>::infinity();
  for (const FrontStep& step : plan.steps.slice(0, plan.steps.size() - 1)) {
    if (step.is_link()) continue;
    const front_ldl::PivotRows rows = fronts.factor(step);
    for (Index r = 0; r < rows.n_pivots; ++r)
      weakest = std::min(weakest, -1.0 / (rows.values[r * (rows.stride() + 1)] * compliance[first_row[step.node] + r]));
  }
  return weakest;
}

// ---- Accelerations and multipliers of a tree with loops by proximal iterations on the factors of its fronts: O(n)
// where fronts stay bounded. Carpentier, Budhiraja and Mansard (2021), sec. III; Rockafellar (1976).

// The rows of the loops on their links, A a = gamma.
struct LoopSystem {
  View<const LoopEnds> ends;  // of each row
  View<const Index> first_row;  // of each loop
  View<const LoopRow> rows;
  View<const double> gamma;
};

// Python's ProximalWork.
struct ProximalWork {
  Fronts fronts;
  View<Force> force;  // on the links, with those of the loops
  View<Motion> acceleration;
  View<Force> transmitted;
  View<double> tau, b;  // residuals of the equations of motion and of the loops
  View<double> qdd_step, lambda_step;
};

constexpr int most_iterations = 30;
constexpr double step_tolerance = 1e-12;     // of accelerations, relative to the largest
constexpr double best_rate = 1e-3;           // least rate assumed: the components of A's least singular values converge last
constexpr double stall_rate = 0.5;           // iterations that converge more slowly than this count as stalls,
constexpr int most_stalls = 2;               // more of which need a larger mu
constexpr double rounding_tolerance = 1e-9;  // steps below this that do not shrink are rounding errors

// tau = -(H qdd + C - K' lambda) and b = k - K qdd.
inline void fill_residuals(const Links& links, const TreeMotion& motion, View<const double> qdd,
                           View<const Force> external, const LoopSystem& loops, View<const double> lambda,
                           const ProximalWork& work) {
  if (external.empty())
    std::fill(work.force.begin(), work.force.end(), Force{});
  else
    std::copy(external.begin(), external.end(), work.force.begin());
  for (const Index r : range(0, lambda.size()))
    for (int e = 0; e < 2; ++e)
      if (const Index i = loops.ends[r].link[e]; i >= 0) work.force[i] += loops.rows[r].on[e] * lambda[r];
  recursive_newton_euler(links, motion, qdd, work.force, work.acceleration, work.transmitted, work.tau);
  for (double& tau_k : work.tau) tau_k = -tau_k;
  for (const Index r : range(0, lambda.size())) {
    work.b[r] = loops.gamma[r];
    for (int e = 0; e < 2; ++e)
      if (const Index i = loops.ends[r].link[e]; i >= 0) work.b[r] -= dot(work.acceleration[i], loops.rows[r].on[e]);
  }
}

// Solves H qdd + C - K' lambda = tau, K qdd = k for qdd, lambda, and the accelerations of the links in `work`.
//
// Each iteration solves [H, K'; K, -mu] for the residuals of both, recomputed from the accelerations of all links, so
// that the limit depends neither on mu nor on the rounding of the factors. Where it does not converge, mu is multiplied
// by `mu_factor`, at most `levels` - 1 times. Returns the number of solutions and of factorizations, `levels` + 1 for
// the latter if none of them converged, and the last relative step of the accelerations.
inline std::tuple<Index, Index, double> proximal_iterations(
    const Links& links, const FrontPlan& plan, const TreeMotion& motion, View<const Force> external,
    const LoopSystem& loops, View<const double> first_mu, View<const bool> is_prescribed,
    View<const double> prescribed_qdd, Index levels, double mu_factor, const ProximalWork& work, View<double> qdd,
    View<double> lambda) {
  std::vector<double> mu(first_mu.begin(), first_mu.end());
  const double gravity = dense::largest(links.gravity_.data(), 3);
  Index n_solutions = 0;
  double step = 0.0;
  for (Index level = 0; level < levels; ++level) {
    factorize_fronts(links, plan, motion, loops.rows, mu, is_prescribed, work.fronts);
    std::copy(prescribed_qdd.begin(), prescribed_qdd.end(), qdd.begin());
    std::fill(lambda.begin(), lambda.end(), 0.0);
    double last = std::numeric_limits<double>::infinity();
    int stalls = 0;
    for (int iteration = 0; iteration < most_iterations; ++iteration) {
      fill_residuals(links, motion, qdd, external, loops, lambda, work);
      const double change = solve_fronts(links, plan, motion, loops.first_row, is_prescribed, work.fronts, work.tau,
                                         work.b, work.qdd_step, work.lambda_step);
      ++n_solutions;
      for (Index k = 0; k < qdd.size(); ++k) qdd[k] += work.qdd_step[k];
      for (Index r = 0; r < lambda.size(); ++r) lambda[r] += work.lambda_step[r];
      const double largest =
          dense::largest(reinterpret_cast<const double*>(work.acceleration.data()), 6 * links.size());
      const double size = std::max({n_solutions == 1 ? change : 0.0, gravity, largest});
      step = size > 0.0 ? change / size : change;
      const bool is_last = step * std::min(1.0, std::max(best_rate, step / last)) <= step_tolerance;
      if (is_last || lambda.empty()) return {n_solutions, level + 1, step};
      if (!(step < stall_rate * last)) {
        ++stalls;
        if (step < rounding_tolerance) return {n_solutions, level + 1, step};
        if (stalls > most_stalls) break;
      }
      last = step;
    }
    for (double& mu_r : mu) mu_r *= mu_factor;
  }
  return {n_solutions, levels + 1, step};
}

}  // namespace sparsebody::tree
