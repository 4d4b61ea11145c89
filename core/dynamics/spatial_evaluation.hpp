// Forward dynamics by block LDL' of the KKT matrix (8.64), from a state to accelerations and multipliers.
//
// An evaluation goes through the mechanism in chunks, so that each step finds the data of the one before in the caches:
// the bodies and joints that the panels of a chunk of pivots are made of are assembled right before its elimination;
// the residuals of those joints and bodies all of whose unknowns are known follow right after its backward
// substitution. Parts of the elimination tree do so at the same time; what joins them to their common ancestors is
// assembled before, and has its residuals after them. A tree that is a path has no parts: there one thread assembles
// ahead of another that eliminates, and follows the one that substitutes with what no pivot waits for and with residuals.
#pragma once

#include <atomic>

#include "dynamics/schedule.hpp"
#include "factorization/block_ldl.hpp"

namespace sparsebody {

inline constexpr Index margin = 8;  // zeros before and after a solution

// Limits of iterative refinement. Higham (2002), ch. 12.
inline constexpr double sufficient_residual = 1e-9;      // relative; not computed again after one correction
inline constexpr double wrench_rounding = 8 * 0x1p-52;   // of residuals, relative to wrenches: corrections cannot reduce it
inline constexpr double accurate_correction = 1e-6;      // relative size of a correction that is the last one
inline constexpr double rough_correction = 1e-3;         // relative size of a correction by unusable factors

// Sizes in the equations of bodies, or of rows, lane by lane.
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
  ResidualSizes of_bodies, of_rows;
  Vec<8> wrenches;  // the largest: rounding of the bodies' residual is relative to them

  View<double> x() const { return padded_x.slice(margin, padded_x.size() - margin); }
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
  block_ldl::Rows rows() const { return system.constraints.rows; }

  // Fills rows and right-hand side at a state; returns regular or bad_state.
  Index assemble(const EvaluationInput& in);
  // Factorizes what was assembled last; returns the status.
  Index factorize() { return factors->factorize(rows(), system.right); }

  // Assembles, factorizes, solves and refines at once. With multipliers (k_all,) the residual is exact, without, (0,),
  // it may be a bound.
  EvaluationResult accelerate(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier);
  // The same by the newest factors, of a near pose, refined to rounding.
  EvaluationResult accelerate_by_factors(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier);

  // Fills x with the solution for a right-hand side by the newest factors, refined to max(goal, larger_goal).
  Refinement solve(View<const double> right, double larger_goal, bool is_shifted);

  // Fills the residual of x, and returns its relative size.
  double compute_residual(View<const double> right);

  void to_user_order(View<double, 2> acceleration, View<double> multiplier) const;

 private:
  Index assemble_and_eliminate(const EvaluationInput& in, Index part, const block_ldl::Storage& storage,
                               std::atomic<bool>& is_sound);
  Index assemble_and_factorize(const EvaluationInput& in);
  // Backward substitution for the right-hand side that was eliminated with the matrix; returns the relative residual.
  double substitute();
  // Calls fill(part, workspace) for all parts, and then computes the residuals that belong to several of them.
  template <class Fill>
  double residual_in_parts(View<const double> right, const Fill& fill);
  // Corrects x until its relative `residual`, the newest one computed, is at the goal.
  //
  // The first correction, relative to the solution, is about the relative error of the factors, by which each correction
  // multiplies the error; a large one means that refinement would fail. Errors of light bodies beside heavy ones are
  // too small in that norm: they show in the residual alone. Shifted factors belong to another matrix, without singular
  // values of the size of rounding, and only their first correction helps. Unless is_exact, the residual may be a bound.
  Refinement refine(View<const double> right, double goal, bool is_exact, bool is_shifted, double residual);
};

// ---- Bodies within displacement subgroups about the world
//
// Rows and forces are assembled as for all freedoms, in units in which inertias are identities, and then multiplied by an
// orthonormal basis Q of the motions of each body there. Q is constant in its axes, so that the acceleration is Q times
// that of the freedoms. Vectors and rows have six numbers for every body, of which the first ones are used; what is
// saved are the rows outside the subgroups.

struct ReducedEvaluation {
  SpatialEvaluation& unreduced;        // with all freedoms, where rows are assembled
  SpatialEvaluation& reduced;          // what is factorized and solved
  View<const std::uint32_t> freedoms;  // (n + 1,) of the world 0
  View<const double, 2> basis;         // (n + 1, 36) Q, row by row; columns beyond the freedoms are zero
  View<const double, 2> fixed;         // (n, 28) what bodies keep in place: see retract
  bool has_successor_rows = false;     // whether rows on successors are filled, which hardly ever vary

  Index n_bodies() const { return unreduced.n_bodies(); }
  Index n_coordinates() const { return unreduced.n_coordinates(); }

  // Fills rows and right-hand side at a state; returns regular, bad_state or outside_subgroups.
  Index assemble(const EvaluationInput& in);
  Index factorize() { return reduced.factorize(); }
  EvaluationResult accelerate(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier);
  EvaluationResult accelerate_by_factors(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier);
  Refinement solve(View<const double> right, double goal, bool is_shifted) {
    return reduced.solve(right, goal, is_shifted);
  }
  void to_user_order(View<double, 2> acceleration, View<double> multiplier);

 private:
  // The end of an evaluation whose assembly and factors have a status.
  EvaluationResult solved(Index status, View<double, 2> acceleration, View<double> multiplier);
  bool fill_bodies();  // returns whether all are within their subgroups
  void fill_rows();
};

// The evaluation that assembles rows, and its newest solution.
inline const SpatialEvaluation& assembling(const SpatialEvaluation& e) { return e; }
inline const SpatialEvaluation& assembling(const ReducedEvaluation& e) { return e.unreduced; }
inline View<const double> solution_of(const SpatialEvaluation& e) { return e.solution.x(); }

// Fills the nearest positions (n, 3) within the subgroups; returns the largest change relative to `reach`. Bodies are
// numbered as the user does. Their invariants, fixed (n, 28): two directions and a point, in body and in world
// coordinates, three directions across which the point must not move, and by how much it may [m].
double retract(View<const double, 2> fixed, View<const double, 2> position, View<const double, 2> orientation,
               View<double, 2> retracted);

}  // namespace sparsebody
