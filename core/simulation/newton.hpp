// Newton's method on the equations of an implicit step, by factors that are reused as long as it converges.
//
// The factors are those of [H A'; A -C], the matrix less R (implicit_equations.hpp): the couplings of bodies by
// wrenches outside the span of T, and the skew parts of their blocks. So convergence is linear: Deuflhard (2011), Newton Methods for Nonlinear Problems,
// sec. 2.1, on simplified and inexact Newton methods.
#pragma once

#include <functional>

#include "factorization/saddle.hpp"
#include "simulation/implicit_equations.hpp"

namespace sparsebody::implicit {

// Factors of [1 A'; A -1] for rows A (n_dual_rows, 2, 6), and solutions x by the newest ones.
struct Factorization {
  std::function<void(ARows rows)> factorize;
  std::function<void(ARows rows, View<const double> rhs, View<double> x)> solve;
};

struct Correction {
  Array<double, 2> twist;    // (n, 6)
  Array<double> multiplier;  // (n_rows,)
};

// Solves for a correction with nothing left out, by d(dv/dt) = b dy and dv = c dy.
using SolveFull = std::function<void(double b, double c, Correction& correction)>;

class Newton {
 public:
  enum Status { going_on, converged, diverged, undefined, wants_full_matrix };

  // All that factors depend on is `start`, `end` and `inputs`, the arrays of the equations. length: makes an angle a
  // distance [m].
  Newton(Equations& equations, Factorization factorization, const Start& start, const End& end, View<double> inputs,
         Index n_unknowns, double length);

  // Begins a step with d(dv/dt) = b dy and dv = c dy. It converges at an error of relative_tolerance times the first
  // correction, which measures the predictor's error, or, where that takes many iterations, below `accuracy` [m].
  void begin(double b, double c, double relative_tolerance, double accuracy);
  // Iterates to convergence or failure: undefined where the residuals are not defined. Where factors of the matrix without
  // the couplings R converge too slowly, by those of the full matrix, or wants_full_matrix if there are none.
  Status run(const SolveFull& solve_full);

  // Factorizes at the present unknowns.
  void factorize(double b, double c);
  // The correction for the present residuals by the newest factors.
  const Correction& solve();

  // The point of the factors at hand: b, c and all that they depend on; zeros if they are not to be reused.
  View<const double> point() const { return point_.view(); }
  // Makes the factors again that were made at such a point.
  void factorize_at(View<const double> point);
  void drop_factors() { point_[0] = 0.0; }
  // The largest angle and distance of twists (n, 6) as one [m].
  double size_of(View<const double, 2> twist) const;

  Index n_iterations = 0, n_factorizations = 0;  // of the step
  double contraction = 0.0, size = 0.0;          // of the last iteration; of its correction [m]

 private:
  // Corrects the unknowns once, for the newest residuals.
  Status iterate();
  // Adds the correction, and estimates from its size the error that remains.
  Status correct();
  template <class F>
  void for_point(F f);  // f(array) of all that factors depend on

  Equations& equations_;
  Factorization factorization_;
  Start start_;
  End end_;
  View<double> inputs_;
  double length_;
  Array<double, 3> rows_;
  Array<double> rhs_, refined_rhs_, x_, before_, point_;
  Correction correction_;
  bool has_indefinite_block_ = false;  // a block of a body is not positive definite
  double b_ = 0.0, c_ = 0.0, relative_tolerance_ = 0.0, accuracy_ = 0.0, rounding_error_ = 0.0, goal_ = 0.0;
  Index n_slow_ = 0, n_by_factors_ = 0;
};

}  // namespace sparsebody::implicit
