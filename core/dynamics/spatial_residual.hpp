// Residual of the system [1 A'; A 0] x = right, and its scale.
#pragma once

#include <algorithm>
#include <cmath>

#include "dynamics/workspaces.hpp"
#include "base/vec.hpp"

namespace sparsebody {

inline constexpr Index margin = 8;  // zeros before and after a solution
// Part of the largest term of the rows from which on the accelerations of the free bodies are counted, too.
inline constexpr double free_motion_tolerance = 1e-7;

// part / whole; part where the whole is zero.
inline double relative(double part, double whole) { return whole > 0.0 ? part / whole : part; }

// Sizes in the equations of bodies (primal) or of rows (dual), lane by lane.
struct ResidualSizes {
  Vec<8> terms, residual;
  Vec<8> sum;  // of residuals: NaN if one of them is

  double largest_term() const { return largest(terms); }
  // NaN if any residual is NaN.
  double largest_residual() const {
    double total = 0.0;
    unrolled<0, 8>([&](auto k) { total += sum[k]; });
    return largest(residual) + (total - total);
  }
  static double largest(const Vec<8>& sizes) {
    double m = 0.0;
    unrolled<0, 8>([&](auto k) { m = std::max(m, sizes[k]); });
    return m;
  }
};

// A solution and its residual, with memory for both.
struct SolutionWorkspace {
  View<double> padded_x;  // (6 n + k + 2 margin,) zeros, x: accelerations, then multipliers of opposite sign, zeros
  View<double> residual;  // (6 n + k,)
  View<double> wrench;    // (8 n,) of all rows on each body; zero between calls
  ResidualSizes primal, dual;
  Vec<8> wrenches;  // the largest: rounding of the primal residual is relative to them

  View<double> x() const { return padded_x.slice(margin, padded_x.size() - margin); }
};

namespace detail {

// Enlarges the first lanes of sizes.
template <int lanes>
SB_INLINE void enlarge(Vec<8>& sizes, const Vec<lanes>& v) {
  if constexpr (lanes == 8) sizes = larger(sizes, v);
  else sizes.low = larger(sizes.low, v);
}
template <int lanes>
SB_INLINE void accumulate(Vec<8>& sum, const Vec<lanes>& v) {
  if constexpr (lanes == 8) sum += v;
  else sum.low += v;
}

// The n rows of a joint: residual = right - A x, and the wrenches A' y on its two bodies.
template <int n>
SB_INLINE void row_residual(const double* rows, const double* x_p, const double* x_s, const double* multiplier,
                            const double* right, double* residual, double* wrench_p, double* wrench_s,
                            SolutionWorkspace& w) {
  constexpr int lanes = n < 4 ? 4 : 8;
  using Vec8 = Vec<8>;
  const Vec8 a_p = Vec8::load(x_p), a_s = Vec8::load(x_s);
  Vec8 t_p[n], t_s[n], terms = w.dual.terms;
  Vec<4> products[n];
  unrolled<0, n>([&](auto k) SB_UNROLL {
    t_p[k] = Vec8::load<6>(rows + 12 * k);
    t_s[k] = Vec8::load<6>(rows + 12 * k + 6);
    const Vec8 on_p = t_p[k] * a_p, on_s = t_s[k] * a_s;
    terms = larger(larger(terms, on_p), on_s);
    products[k] = folded(on_p + on_s);
  });
  const auto gamma = Vec<lanes>::template load<n>(right);
  const auto r = gamma - sums<lanes>(products);
  r.template store<n>(residual);
  w.dual.terms = terms;
  enlarge<lanes>(w.dual.terms, gamma);
  enlarge<lanes>(w.dual.residual, r);
  accumulate<lanes>(w.dual.sum, r);
  for (const auto& [wrench, t] : {std::pair{wrench_p, &t_p}, std::pair{wrench_s, &t_s}}) {
    Vec8 f = Vec8::load(wrench);
    unrolled<0, n>([&](auto k) SB_UNROLL { f += (*t)[k] * multiplier[k]; });
    f.store(wrench);
    w.wrenches = larger(w.wrenches, f);
  }
}

}  // namespace detail

inline void begin_residual(SolutionWorkspace& w) {
  w.primal = w.dual = {};
  w.wrenches = {};
}

// Takes the sizes of a part to those of all.
inline void enlarge(SolutionWorkspace& all, const SolutionWorkspace& part) {
  for (const auto& [to, from] : {std::pair{&all.primal, &part.primal}, std::pair{&all.dual, &part.dual}}) {
    to->terms = larger(to->terms, from->terms);
    to->residual = larger(to->residual, from->residual);
    to->sum += from->sum;
  }
  all.wrenches = larger(all.wrenches, part.wrenches);
}

// Fills the residual for ranges of joints and bodies, backwards; the joints of the bodies have come before.
inline void fill_residual(SolutionWorkspace& w, const RowTable& table, Index n, const double* right, Index first_joint,
                          Index last_joint, Index first_body, Index last_body) {
  using Vec8 = Vec<8>;
  const bool is_large = n > large_mechanism;
  const double* const rows = table.rows.data();
  const double* const padded_x = w.padded_x.data();
  double *const wrench = w.wrench.data(), *const residual = w.residual.data();
  double on_world[8] = {};
  for (Index j = last_joint - 1; j >= first_joint; --j) {
    const Index begin = table.first_row[j], end = table.first_row[j + 1];
    if (is_large) {
      for (Index at = 12 * begin; at < 12 * end; at += cache_line) prefetch(rows + at - 12 * 50);
      for (const double* v : {(const double*)residual, right}) prefetch(v + 6 * n + begin - 50);
      for (const auto& column : {table.predecessor, table.successor, table.first_row}) prefetch(column.data() + j - 32);
    }
    const Index p = table.predecessor[j], s = table.successor[j], row = 6 * n + begin;
    const double* const x_p = padded_x + (p < n ? margin + 6 * p : 0);
    const double* const x_s = padded_x + (s < n ? margin + 6 * s : 0);
    with_constant<5, 3, 2, 1, 4, 6>(end - begin, [&](auto n_rows) SB_UNROLL {
      detail::row_residual<n_rows>(rows + 12 * begin, x_p, x_s, padded_x + margin + row, right + row, residual + row,
                                   p < n ? wrench + 8 * p : on_world, s < n ? wrench + 8 * s : on_world, w);
    });
  }
  for (Index i = last_body - 1; i >= first_body; --i) {
    if (is_large) {
      prefetch(wrench + 8 * (i - 16));
      prefetch(residual + 6 * (i - 16));
    }
    const Vec8 a = Vec8::load<6>(padded_x + margin + 6 * i), f = Vec8::load<6>(right + 6 * i);
    const Vec8 r = f - a - Vec8::load(wrench + 8 * i);  // f - a - A' y
    r.store<6>(residual + 6 * i);
    Vec8{}.store(wrench + 8 * i);
    w.primal.terms = larger(larger(w.primal.terms, a), f);
    w.primal.residual = larger(w.primal.residual, r);
    w.primal.sum += r;
  }
}

// The largest product of an entry of the rows and one of x (6 n,).
inline double largest_term(const RowTable& table, Index n, const double* x) {
  double largest = 0.0;
  for (Index j = 0; j < table.n_joints(); ++j)
    for (const int side : {0, 1}) {
      const Index b = side == 0 ? table.predecessor[j] : table.successor[j];
      if (b == n) continue;
      for (Index k = table.first_row[j]; k < Index(table.first_row[j + 1]); ++k)
        for (int a = 0; a < 6; ++a) largest = std::max(largest, std::abs(table.rows(k, side, a) * x[6 * b + a]));
    }
  return largest;
}

// The relative size of a residual that is filled for all joints and bodies.
//
// Forces and accelerations have different units, so each half has its own scale: the largest force; the largest
// product of an entry of a row and one of the solution, or where these vanish, as in equilibrium, of the
// accelerations of the bodies without constraints.
inline double relative_residual(const SolutionWorkspace& w, const RowTable& table, Index n, const double* right) {
  double terms = w.dual.largest_term();
  const double dual_residual = w.dual.largest_residual();
  if (!(dual_residual <= free_motion_tolerance * terms)) terms = std::max(terms, largest_term(table, n, right));
  const double primal = relative(w.primal.largest_residual(), w.primal.largest_term());
  const double dual = relative(dual_residual, terms);
  return std::max(primal, dual) + 0.0 * (primal + dual);  // NaN if either is
}

}  // namespace sparsebody
