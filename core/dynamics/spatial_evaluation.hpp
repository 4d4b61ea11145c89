// Forward dynamics by block LDL' of the KKT matrix (8.64), from a state to accelerations and multipliers.
//
// An evaluation goes through the mechanism in chunks, so that what follows on each other finds its data in the caches:
// the bodies and joints that the panels of a chunk of pivots are made of are assembled right before its elimination;
// the residuals of those joints and bodies all of whose unknowns are known follow right after its backward
// substitution. Parts of the elimination tree do so at the same time; what joins them to their common ancestors is
// assembled before, and has its residuals after them. A tree that is a path has no parts: there one thread assembles
// ahead of another that eliminates, and computes residuals behind the one that substitutes.
#pragma once

#include <atomic>
#include <vector>

#include "dynamics/assembly.hpp"
#include "dynamics/spatial_residual.hpp"
#include "factorization/block_ldl.hpp"

namespace sparsebody {

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
  double residual;    // relative
  double correction;  // relative size of the last one, or what it lets expect of the next one
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
  // Threads that share the chunks of one part.
  Index threads_of_part() const;
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
