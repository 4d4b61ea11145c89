// Forward dynamics by block LDL' of the KKT matrix (8.64), from a state to accelerations and multipliers.
//
// An evaluation goes through the mechanism in chunks, so that what follows on each other finds its data in the caches:
// the bodies and joints that the panels of a chunk of pivots are made of are assembled right before its elimination;
// the residuals of those joints and bodies all of whose unknowns are known follow right after its backward
// substitution. Parts of the elimination tree do so at the same time; what joins them to their common ancestors is
// assembled before, and has its residuals after them. A tree that is a path has no parts: there one thread assembles
// ahead of another that eliminates, and follows the one that substitutes with what no pivot waits for and with residuals.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "base/vec.hpp"
#include "dynamics/assembly.hpp"
#include "dynamics/workspaces.hpp"
#include "factorization/block_ldl.hpp"

namespace sparsebody {

// ---- Residual of the system [1 A'; A 0] x = right, and its scale

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
  const Vec8 a_p = Vec8::load<6>(x_p), a_s = Vec8::load<6>(x_s);
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

// ---- Evaluation

inline constexpr Index bad_state = -(Index(1) << 62);  // status of an evaluation: a state that is none

// Limits of iterative refinement. Higham (2002), ch. 12.
inline constexpr double sufficient_residual = 1e-9;      // relative; needs no second look once it is corrected
inline constexpr double wrench_rounding = 8 * 0x1p-52;   // relative to wrenches: what is left however often corrected
inline constexpr double accurate_correction = 1e-6;      // relative size of one that no other has to follow
inline constexpr double rough_correction = 1e-3;         // relative size of one that tells of unusable factors

// Where a chunk begins; it ends where the next one begins.
struct Chunk {
  Index pivot, body, joint;             // forwards: that it eliminates and assembles
  Index residual_joint, residual_body;  // backwards: whose residuals it computes
};
// The chunks of each part of a layout, the common ancestors last, and what belongs to several parts.
struct Schedule {
  std::vector<std::vector<Chunk>> parts;
  std::vector<Index> shared_bodies;                // of the parts, with joints among the ancestors
  std::vector<Index> border_joints, border_bodies;  // joints of ancestors or to them, and the bodies of these joints
};
// Without a layout, all bodies and joints in one chunk.
Schedule make_schedule(const block_ldl::Layout* layout, const RowTable& kept, Index n, Index chunk_length);

struct Refinement {
  double residual = std::numeric_limits<double>::quiet_NaN();    // relative
  double correction = std::numeric_limits<double>::quiet_NaN();  // relative size of the last one, or of the next one
};
struct EvaluationResult {
  Index status;  // of the factorization, or bad_state
  Refinement refinement;
};

struct SpatialEvaluation {
  SpatialWorkspace system;
  SolutionWorkspace solution;
  block_ldl::Factors* factors;  // none where other factorizations solve
  Schedule schedule;
  Index n_tracked;  // joint coordinates of a state
  Index max_corrections;
  double goal;  // relative residual that is not corrected
  Index threads = 1;

  Index n_bodies() const { return system.n_bodies(); }
  Index n_coordinates() const { return n_tracked; }
  block_ldl::Rows rows() const { return system.kept.rows; }

  // Fills rows and right-hand side at a state; returns regular or bad_state.
  Index assemble(const EvaluationInput& in);
  // Factorizes what was assembled last; returns the status.
  Index factorize() { return factors->factorize(rows(), system.right); }

  // Assembles, factorizes, solves and refines at once. With multipliers (k_all,) the residual is exact, without, (0,),
  // it may be a bound.
  EvaluationResult accelerate(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier);

  // Fills x with the solution for a right-hand side, from the newest factors, with a residual at the larger goal.
  Refinement solve(View<const double> right, double larger_goal, bool is_shifted);

  // Fills the residual of x, and returns its relative size.
  double compute_residual(View<const double> right);

  void to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
    sparsebody::to_user_order(system, solution.x(), acceleration, multiplier, threads);
  }

 private:
  Index assemble_and_eliminate(const EvaluationInput& in, Index part, const block_ldl::Storage& storage,
                               std::atomic<bool>& is_sound);
  Index assemble_and_factorize(const EvaluationInput& in);
  // Backward substitution with what the elimination has made of the right-hand side; returns the relative residual.
  double substitute();
  // Calls fill(part, workspace) for all parts, and then computes the residuals that belong to several of them.
  template <class Fill>
  double residual_in_parts(View<const double> right, const Fill& fill);
  // Corrects x until its relative `residual`, the newest one computed, is at the goal.
  //
  // The first correction, relative to the solution, is about the error of the factors, and each one multiplies the
  // error by it, but for light bodies beside heavy ones, of which only the residual tells; where it is large, the
  // factors are too rough to correct with. Shifted factors are those of a matrix without the motions that rounding
  // hides, so there one correction is all that helps. Unless it is to be exact, the residual may be a bound.
  Refinement refine(View<const double> right, double goal, bool is_exact, bool is_shifted, double residual);
};

}  // namespace sparsebody
