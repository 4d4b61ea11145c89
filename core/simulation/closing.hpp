// The nearest state that closes all joints and obeys their rows, to rounding, and its acceleration.
//
// Pose first, by Newton steps with the factors of the open pose as long as these do, then velocity, both least in the
// metric of the inertias; then an evaluation of the closed state.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynamics/planar_evaluation.hpp"
#include "dynamics/reduced_evaluation.hpp"
#include "simulation/constraint_errors.hpp"
#include "simulation/pose_curves.hpp"

namespace sparsebody::simulation {

inline constexpr double bearable_residual = 1e-6;    // relative, of a solution
inline constexpr double slow_convergence = 0.1;      // of an error left by a correction: then come new factors
inline constexpr double velocity_tolerance = 0.05;   // tolerances, times the velocity
inline constexpr double closed_opening = 1e5;        // tolerances; a larger one tells of rows that are missing
inline constexpr int most_corrections = 8;

// What evaluations have in common.
inline bool assemble_and_factorize(SpatialEvaluation& e, const EvaluationInput& in) {
  return e.assemble(in) == block_ldl::regular && e.factorize() == block_ldl::regular;
}
inline bool assemble_and_factorize(ReducedEvaluation& e, const EvaluationInput& in) {
  return e.assemble(in) == block_ldl::regular && e.factorize() == block_ldl::regular;
}
inline bool assemble_and_factorize(PlanarEvaluation& e, const EvaluationInput& in) {
  return e.assemble(in) == PlanarEvaluation::good && e.qr->factorize(e.kept.A) == BlockQR::regular;
}
inline void solve(SpatialEvaluation& e, View<const double> right) {
  e.factors->solve(e.rows(), right, 0.0, false, e.solution.x());
}
inline void solve(ReducedEvaluation& e, View<const double> right) { solve(e.reduced, right); }
inline void solve(PlanarEvaluation& e, View<const double> right) { e.solve(right, false); }

template <class E>
bool accelerate(E& e, const EvaluationInput& in, View<double, 2> acceleration) {
  const auto [status, refinement] = e.accelerate(in, acceleration, {});
  return status == block_ldl::regular && refinement.residual <= bearable_residual &&
         !(refinement.correction > rough_correction);
}
inline bool accelerate(PlanarEvaluation& e, const EvaluationInput& in, View<double, 2> acceleration) {
  return e.accelerate(in, acceleration, {}) == PlanarEvaluation::good;
}

inline double largest(View<const double, 2> values) {
  double most = 0.0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

template <class E>
class Closing {
 public:
  // tolerance (n_rows,): position errors of closed joints, and velocity errors at unit velocity; kept: the rows of the evaluation, at the end of its unknowns
  Closing(E& evaluation, const JointErrors& joints, View<const double> tolerance, View<const Index> kept,
          Index n_unknowns)
      : e_(evaluation), joints_(joints), tolerance_(tolerance), kept_(kept), right_(n_unknowns),
        delta_(joints.n_rows()), velocity_error_(joints.n_rows()), trial_delta_(joints.n_rows()),
        twists_({evaluation.n_bodies(), 6}) {}

  MovedBodies state{0};
  Array<double, 2> acceleration{{0, 6}};
  double correction = 0.0;  // of the velocity, relative to it

  // Fills the state and its acceleration; returns whether the rows in use do so well. Velocities below `creep` are
  // hardly ones.
  bool close(View<const double, 2> position, View<const double, 2> orientation, View<const double, 2> velocity,
             double creep) {
    const Index n = position.rows();
    state = MovedBodies(n);
    std::copy(position.begin(), position.end(), state.position.view().begin());
    std::copy(orientation.begin(), orientation.end(), state.orientation.view().begin());
    std::copy(velocity.begin(), velocity.end(), state.velocity.view().begin());
    if (!assemble_and_factorize(e_, input()) || !close_pose()) return false;
    close_velocity(creep);
    acceleration = Array<double, 2>::uninitialized({n, 6});
    return accelerate(e_, input(), acceleration.view());
  }

 private:
  EvaluationInput input() {
    return {state.position.view(), state.orientation.view(), state.velocity.view(), {}, {}, {}, {}};
  }
  double fill_errors(std::vector<double>& delta) {
    joints_.fill({state.position.view(), state.orientation.view(), state.velocity.view()}, delta.data(),
                 velocity_error_.data());
    double opening = 0.0;
    for (std::size_t k = 0; k < delta.size(); ++k) opening = std::max(opening, std::abs(delta[k]) / tolerance_[k]);
    return opening;
  }
  // The twists, or changes of velocity, that change the rows by -error.
  void fill_twists(const std::vector<double>& error) {
    const Index first = Index(right_.size()) - kept_.size();
    for (Index k = 0; k < kept_.size(); ++k) right_[first + k] = -error[kept_[k]];
    solve(e_, View<const double>(right_.data(), {Index(right_.size())}));
    e_.to_user_order(twists_.view(), {});
  }
  bool close_pose() {
    double opening = fill_errors(delta_);
    for (int step = 0; step < most_corrections && opening > 1.0; ++step) {
      fill_twists(delta_);
      auto [x, q] = model::displaced(state.position.view(), state.orientation.view(), twists_.view());
      std::swap(x, state.position), std::swap(q, state.orientation);
      const double trial = fill_errors(trial_delta_);
      if (!(trial < opening)) {
        std::swap(x, state.position), std::swap(q, state.orientation);
        fill_errors(delta_);
        break;
      }
      const bool is_slow = trial > 1.0 && trial > slow_convergence * opening;
      std::swap(delta_, trial_delta_);
      opening = trial;
      if (is_slow && !assemble_and_factorize(e_, input())) return false;
    }
    return opening <= closed_opening;
  }
  void close_velocity(double creep) {
    double total = 0.0, before = std::numeric_limits<double>::infinity();
    for (int step = 0; step < most_corrections; ++step) {
      fill_twists(velocity_error_);
      const double size = largest(twists_.view());
      if (!(size < before)) break;
      const View<double, 2> v = state.velocity.view();
      for (Index i = 0; i < v.rows(); ++i)
        for (Index a = 0; a < 6; ++a) v(i, a) += twists_(i, a);
      total += size, before = 0.5 * size;
      fill_errors(trial_delta_);
      double error = 0.0;
      for (std::size_t k = 0; k < velocity_error_.size(); ++k)
        error = std::max(error, std::abs(velocity_error_[k]) / tolerance_[k]);
      if (error <= velocity_tolerance * largest(v)) break;
    }
    correction = total / std::max(largest(state.velocity.view()), creep);
  }

  E& e_;
  JointErrors joints_;
  View<const double> tolerance_;
  View<const Index> kept_;
  std::vector<double> right_, delta_, velocity_error_, trial_delta_;
  Array<double, 2> twists_;
};

}  // namespace sparsebody::simulation
