// The nearest state that closes all joints and obeys their rows, to rounding, and its acceleration.
//
// Pose first, by Newton steps with the factors of the open pose as long as these do, then velocity, both least in the
// metric of the inertias; then an evaluation of the closed state.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/planar_evaluation.hpp"
#include "dynamics/reduced_evaluation.hpp"
#include "simulation/constraint_errors.hpp"
#include "simulation/pose_curves.hpp"

namespace sparsebody::simulation {

inline constexpr double largest_residual = 1e-6;     // relative, of a solution that is one
inline constexpr double slow_convergence = 0.1;      // of an error left by a correction: then come new factors
inline constexpr double velocity_tolerance = 0.5;    // tolerances of positions, times the velocity
inline constexpr double closed_opening = 1e6;        // tolerances; a larger one tells of rows that are missing
inline constexpr int most_corrections = 8;

// What evaluations have in common: whether the newest factors are regular, solutions with them, pivots.
inline bool factorize(SpatialEvaluation& e, const EvaluationInput& in) {
  return e.assemble(in) == block_ldl::regular && e.factorize() == block_ldl::regular;
}
inline bool factorize(ReducedEvaluation& e, const EvaluationInput& in) {
  return e.assemble(in) == block_ldl::regular && e.factorize() == block_ldl::regular;
}
inline bool factorize(PlanarEvaluation& e, const EvaluationInput& in) {
  return e.assemble(in) == PlanarEvaluation::good && e.qr->factorize(e.rows()) == BlockQR::regular;
}
inline void solve(SpatialEvaluation& e, View<const double> right) {
  e.factors->solve(e.rows(), right, 0.0, false, e.solution.x());
}
inline void solve(ReducedEvaluation& e, View<const double> right) { solve(e.reduced, right); }
inline void solve(PlanarEvaluation& e, View<const double> right) { e.solve(right, false); }
inline std::pair<double, Index> smallest_pivot(const SpatialEvaluation& e, Index n_primal_rows) {
  return e.factors->smallest_pivot(e.rows(), n_primal_rows);
}
inline std::pair<double, Index> smallest_pivot(const ReducedEvaluation& e, Index n_primal_rows) {
  return smallest_pivot(e.reduced, n_primal_rows);
}
inline std::pair<double, Index> smallest_pivot(const PlanarEvaluation& e, Index) {
  return e.qr->smallest_pivot(e.rows());
}
template <class E>
bool accelerate(E& e, const EvaluationInput& in, View<double, 2> acceleration) {
  const auto [status, refinement] = e.accelerate(in, acceleration, {});
  return status == block_ldl::regular && refinement.residual <= largest_residual &&
         !(refinement.correction > rough_correction);
}
inline bool accelerate(PlanarEvaluation& e, const EvaluationInput& in, View<double, 2> acceleration) {
  return e.accelerate(in, acceleration, {}) == PlanarEvaluation::good;
}

template <class T, int N>
double largest(View<T, N> values) {
  double most = 0.0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

struct ClosedState {
  bool is_closed = false;  // whether the rows in use close the joints, and the solution is accurate
  Array<double, 2> position, orientation, velocity, acceleration;
  double correction = 0.0, speed = 0.0;  // largest change of a velocity, and the largest of all
  double sine = 0.0;                     // smallest pivot
  Index row = -1;                        // of that pivot

  model::BodyMotions bodies() const { return {position.view(), orientation.view(), velocity.view()}; }
};

template <class E>
class Closing {
 public:
  // tolerance (n_rows,): position errors of closed joints; kept: the rows of the evaluation, its last unknowns
  Closing(E& evaluation, const JointErrors& joints, View<const double> tolerance, View<const Index> kept,
          Index n_unknowns)
      : e_(evaluation), joints_(joints), tolerance_(tolerance), kept_(kept), right_(n_unknowns),
        delta_(joints.n_rows()), trial_delta_(joints.n_rows()), velocity_error_(joints.n_rows()),
        twists_({evaluation.n_bodies(), 6}) {}

  ClosedState close(const model::BodyMotions& open) {
    const auto copy = [](View<const double, 2> from) {
      auto to = Array<double, 2>::uninitialized(from.shape());
      std::copy(from.begin(), from.end(), to.view().begin());
      return to;
    };
    const Index n = open.position.rows();
    ClosedState s{false, copy(open.position), copy(open.orientation), copy(open.velocity),
                  Array<double, 2>::uninitialized({n, 6})};
    if (!factorize(e_, input(s)) || !close_pose(s)) return s;
    close_velocity(s);
    s.is_closed = accelerate(e_, input(s), s.acceleration.view());
    if (kept_.size() == 0) {
      s.sine = std::numeric_limits<double>::infinity();
    } else {
      std::tie(s.sine, s.row) = smallest_pivot(e_, right_.size() - kept_.size());
      if (s.row >= 0) s.row = kept_[s.row];
    }
    return s;
  }

 private:
  static EvaluationInput input(const ClosedState& s) {
    return {s.position.view(), s.orientation.view(), s.velocity.view(), {}, {}, {}, {}};
  }
  double relative(View<const double> error) const {
    double most = 0.0;
    for (Index k = 0; k < error.size(); ++k) most = std::max(most, std::abs(error[k]) / tolerance_[k]);
    return most;
  }
  // The twists, or changes of velocity, that change the rows by -error.
  void fill_twists(View<const double> error) {
    const Index first = right_.size() - kept_.size();
    for (Index k = 0; k < kept_.size(); ++k) right_[first + k] = -error[kept_[k]];
    solve(e_, right_.view());
    e_.to_user_order(twists_.view(), {});
  }
  bool close_pose(ClosedState& s) {
    joints_.fill<true, false>(s.bodies(), delta_.view(), {});
    double opening = relative(delta_.view());
    for (int step = 0; step < most_corrections && opening > 1.0; ++step) {
      fill_twists(delta_.view());
      model::Poses trial = model::displaced(s.position.view(), s.orientation.view(), twists_.view());
      joints_.fill<true, false>({trial.position.view(), trial.orientation.view(), s.velocity.view()},
                                trial_delta_.view(), {});
      const double trial_opening = relative(trial_delta_.view());
      if (!(trial_opening < opening)) break;
      const bool is_slow = trial_opening > 1.0 && trial_opening > slow_convergence * opening;
      s.position = std::move(trial.position), s.orientation = std::move(trial.orientation);
      std::swap(delta_, trial_delta_);
      opening = trial_opening;
      if (is_slow && !factorize(e_, input(s))) return false;
    }
    return opening <= closed_opening;
  }
  void close_velocity(ClosedState& s) {
    const View<double, 2> v = s.velocity.view();
    joints_.fill<false, true>(s.bodies(), {}, velocity_error_.view());
    double before = std::numeric_limits<double>::infinity();
    for (int step = 0; step < most_corrections; ++step) {
      fill_twists(velocity_error_.view());
      const double change = largest(twists_.view());
      if (!(change < before)) break;
      for (Index i = 0; i < v.rows(); ++i)
        for (Index a = 0; a < 6; ++a) v(i, a) += twists_(i, a);
      s.correction += change, before = 0.5 * change;
      s.speed = largest(v);
      joints_.fill<false, true>(s.bodies(), {}, velocity_error_.view());
      if (relative(velocity_error_.view()) <= velocity_tolerance * s.speed) break;
    }
  }

  E& e_;
  const JointErrors& joints_;
  View<const double> tolerance_;
  View<const Index> kept_;
  Array<double> right_, delta_, trial_delta_, velocity_error_;
  Array<double, 2> twists_;
};

}  // namespace sparsebody::simulation
