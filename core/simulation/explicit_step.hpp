// Steps of explicit Runge-Kutta-Nystrom methods whose ends close all joints and obey their rows, to rounding: projected
// ones. Hairer, Lubich, Wanner (2006), sec. IV.4.
//
// Stages stay open, off the constraints by errors of their order, except near singular poses, where accelerations of open
// states grow as the inverse distance, unlike those of closed ones: there the stages are closed as well. A state is closed
// pose first, by Newton steps with the factors of the open pose, or of the stage before at the same time, as long as these
// do, then velocity, both least in the metric of the inertias; then comes an evaluation of the closed state by the same
// factors, refined.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/vec.hpp"
#include "dynamics/loads_and_rows.hpp"
#include "dynamics/planar_evaluation.hpp"
#include "dynamics/spatial_evaluation.hpp"
#include "model/poses.hpp"
#include "simulation/constraint_errors.hpp"
#include "simulation/control.hpp"
#include "simulation/planar_projection.hpp"
#include "simulation/stage_curves.hpp"
#include "simulation/step_ends.hpp"

namespace sparsebody::simulation {

inline constexpr double largest_residual = 1e-6;     // relative, of a solution that is accepted
inline constexpr double slow_convergence = 0.1;      // contraction of an error beyond which factors are made anew
inline constexpr double velocity_tolerance = 10.0;   // tolerances of positions, times the velocity
inline constexpr double stage_velocity_tolerance = 1e3;  // the same at stages before the end of a step
inline constexpr double closed_ratio = 1e6;          // of a position error to its tolerance; a larger one means that rows are missing
inline constexpr double rounded_ratio = 100.0;       // the same, below which corrections stop helping
inline constexpr int most_corrections = 8;
inline constexpr double last_node = 1.0 - 1e-12;     // nodes beyond it are the end of a step
// A pivot is the sine of an angle that vanishes at a singular pose, a time T away if it changes by a share c = h / T in a
// step. There open stages, on the average half a step away from its closed ends, add relative errors of the order of (c / 2)^4,
// which depend on which body of a joint is its predecessor, to those of the method, E = (h w)^4 for a motion with rates w, by its
// fifth difference. They are left open where (c / 2)^4 <= E, a matter of the pose, not of the step; or where it is 1e-9, and its
// part in a step rounding.
inline constexpr double least_pivot_change = 1.1e-2;

// ---- Evaluations as steps use them, each an assembler with a solver

// Six freedoms a body, and QR of the constraint columns.
struct SpatialQR {
  SpatialEvaluation& system;
  BlockQR& qr;
  bool is_last_resort;  // no other factorization is left to try if this one is inaccurate

  Index n_bodies() const { return system.n_bodies(); }
  Index assemble(const EvaluationInput& in) { return system.assemble(in); }
  Index factorize() { return qr.factorize(system.rows()); }
  EvaluationResult accelerate(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier) {
    constexpr double rough = 0.1;  // residual before refinement that is worth a warning
    BlockQR::Residuals residuals;
    Index status = assemble(in);
    if (status == BlockQR::regular)
      status = qr.factorize_and_solve(system.rows(), system.system.right, false, system.solution.x(), residuals);
    if (status != BlockQR::regular) return {status, {}};
    to_user_order(acceleration, multiplier);
    return {status, {residuals.last, is_last_resort && residuals.first > rough ? residuals.first : 0.0}};
  }
  void to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
    system.to_user_order(acceleration, multiplier);
  }
};

inline const SpatialEvaluation& assembling(const SpatialQR& e) { return e.system; }

// Fills the primal part of the solution for no forces and errors of the independent rows, the end of `right`, by the newest
// factors as they are.
inline void correct(SpatialEvaluation& e, View<double> right, Index n_rows) {
  View<double> rows = right.slice(right.size() - n_rows, right.size());
  for (double& error : rows) error = -error;
  e.factors->solve(e.rows(), right, 0.0, false, e.solution.x());
}
inline void correct(ReducedEvaluation& e, View<double> right, Index n_rows) { correct(e.reduced, right, n_rows); }
inline BlockQR& qr_of(PlanarEvaluation& e) { return *e.qr; }
inline BlockQR& qr_of(SpatialQR& e) { return e.qr; }
inline View<double> newest_solution(PlanarEvaluation& e) { return e.x; }
inline View<const double> right_of(const PlanarEvaluation& e) { return e.system.right; }
inline View<const double> right_of(const SpatialQR& e) { return e.system.system.right; }
inline View<double> newest_solution(SpatialQR& e) { return e.system.solution.x(); }
// Evaluations that correct two systems in hardly more time than one.
template <class E>
concept CorrectsPairs = requires(E& e) { qr_of(e); };
template <CorrectsPairs E>
void correct(E& e, View<double> right, Index n_rows) {
  qr_of(e).correct(assembling(e).rows(), right.slice(right.size() - n_rows, right.size()), newest_solution(e));
}

// Whether there are regular factors at a state; such evaluations have its multipliers then, too, without loads.
template <class E>
bool factorize(E& e, const EvaluationInput& in) {
  return e.assemble(in) == block_ldl::regular && e.factorize() == block_ldl::regular;
}
template <CorrectsPairs E>
bool factorize(E& e, const EvaluationInput& in) {
  return e.assemble(in) == BlockQR::regular &&
         qr_of(e).factorize_with_duals(assembling(e).rows(), right_of(e), newest_solution(e)) == BlockQR::regular;
}

// An evaluation by the newest factors, of a near pose, refined; from the newest multipliers.
template <class E>
EvaluationResult accelerate_by_factors(E& e, const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier) {
  return e.accelerate_by_factors(in, acceleration, multiplier);
}
template <CorrectsPairs E>
EvaluationResult accelerate_by_factors(E& e, const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier) {
  const Index status = e.assemble(in);
  if (status != BlockQR::regular) return {status, {}};
  const BlockQR::Residuals residuals = qr_of(e).solve_by_factors(assembling(e).rows(), right_of(e), newest_solution(e));
  e.to_user_order(acceleration, multiplier);
  return {status, {.residual = residuals.last}};
}

// The smallest pivot of the newest factors, and its row.
using RowPivot = std::pair<double, Index>;
// That, and the inverse squares of all, which may be kept in the memory that is given.
struct Pivots {
  RowPivot smallest;
  View<const double> inverse_squares;
};
inline Pivots pivots_of(const SpatialEvaluation& e, View<double> memory) {
  return {e.factors->smallest_pivot(e.rows(), memory), memory};
}
inline Pivots pivots_of(const ReducedEvaluation& e, View<double> memory) { return pivots_of(e.reduced, memory); }
template <CorrectsPairs E>
Pivots pivots_of(E& e, View<double>) {
  return {qr_of(e).smallest_pivot(), qr_of(e).inverse_squares()};
}

// Whether accelerations are accurate.
inline bool is_accurate(const EvaluationResult& result, double residual) {
  const auto& [status, refinement] = result;
  return status == block_ldl::regular && refinement.residual <= residual && !(refinement.correction > rough_correction);
}

// ---- Steps

// A method for y'' = f(y, y') of poses y: stages are at y + c h y' + (c h)^2 / 2 sum(pose y''), y' + c h sum(rate y''), and the
// last row is the end of the step. Hairer, Norsett, Wanner (1993), sec. II.14.
struct Tableau {
  View<const double> node;           // (s,) c
  View<const double, 2> pose, rate;  // (s, s) weights of y'' of the stages before
  View<const double> error;          // (s + 1,) of all y'', that of the end included
};

// Points that keep bodies within their subgroups, and the projection of twists on these; (0, ...) for none.
struct Retraction {
  View<const double, 2> fixed;
  View<const double, 3> projection;  // (n, 6, 6)
};

// The smallest pivot of the factors, the sine of the angle between a row and those before it.
struct Pivot {
  double sine = std::numeric_limits<double>::infinity();
  Index row = -1;
};

// The start of a step.
struct StepStart {
  model::BodyMotions bodies;
  View<const double> coordinate;
  View<const double, 2> acceleration;
  View<const double> time;      // (s,) of the stages after the first, or of the ends of parts; the last is that of the end;
                                // (0,) where several steps are taken
  View<const double, 3> functions;  // (s, n_functions, 3) of LoadsAndRows at these times, of one step after the other
};

// The end of a step. It owns its arrays.
struct StepEnd {
  // Whether the rows in use close the joints at all stages, and all solutions are accurate; or the control has failed.
  // Sensitive steps are closed ones, too, in which open stages would add to the error.
  enum Status { open, closed, stopped, sensitive };
  int status = open;
  Array<double, 2> position, orientation, velocity;
  Array<double> coordinate;
  Array<double, 2> acceleration;
  double correction = 0.0;  // largest of a velocity, relative
  Pivot worst, last;        // of all stages, and at the end
  Array<double, 2> error;   // (n, 7) of y'', as the tableau weights it, if it was asked for
};

// A body state, its acceleration, and what closing it needed.
struct StageState {
  Array<double, 2> position, orientation, velocity, acceleration;
  double correction = 0.0, speed = 0.0;  // largest change of a velocity, and the largest of all
  Pivot pivot;

  explicit StageState(Index n)
      : position(Array<double, 2>::uninitialized({n, 3})), orientation(Array<double, 2>::uninitialized({n, 4})),
        velocity(Array<double, 2>::uninitialized({n, 6})), acceleration(Array<double, 2>::uninitialized({n, 6})) {}
  model::BodyMotions bodies() const { return {position.view(), orientation.view(), velocity.view()}; }
};

// A step fails beyond the first two of these limits; the others end a sequence of steps, as something is to be decided.
struct StepLimits {
  double least_pivot;               // of all stages
  double most_correction;           // of velocities, relative
  double passed_ratio, small_pivot;  // a singular pose was passed if the pivot is below both: this share of the one before the step, and that value
  double exchange_ratio;             // of the largest pivot at ends of steps so far; below it other rows may do better,
  double exchange_gain;              // and do if they are better by more than this
  double most_violation;             // of rows that are left out
};

// A row in use, one that was left out, and by how much the volume of the rows in use grows if that takes its place.
struct RowExchange {
  Index row = -1, other = -1;
  double gain = 0.0;
};

// The first of the largest values, which are equal up to errors of the factors: others would depend on these.
inline Index first_largest(View<const double> values) {
  constexpr double equal = 1.0 - 1e-6;
  double most = 0.0;
  for (const double value : values) most = std::max(most, value);
  for (Index k = 0; k < values.size(); ++k)
    if (values[k] >= equal * most) return k;
  return 0;
}

// Several steps.
struct StepSequence {
  Index n_steps = 0;
  bool starts_closed;      // whether the next step closes its stages
  double largest_pivot;    // at ends of steps so far
  double pivot_before;     // the smallest at the start of the last one
  Pivot last;              // at its end
  double violation = 0.0;  // of rows that are left out, at its end
  bool is_newest = false;  // whether the newest factors are of its end or a near pose, not of a further step that failed
  RowExchange exchange;    // that is due there; row -1 for none
};

template <class E>
class ExplicitSteps {
 public:
  // left_out: rows that the others are to keep. terms: the general rows of the evaluation, and loads; null where there are
  // none. prescribed_rows: those of prescribed coordinates. tolerance (n_rows,): position errors of closed joints; length:
  // typical of the mechanism; negligible_speed: speed below which velocity corrections are not judged; independent_rows: the
  // rows of the evaluation, its last unknowns; loop_rows: indices into these of those that may become dependent, of joints that are on
  // closed loops; spare_rows: indices into left_out of those that may be exchanged for independent ones
  ExplicitSteps(E& evaluation, const RowTable& left_out, const LoadsAndRows* terms, const JointErrors& joints, View<const Index> prescribed_rows,
                const Retraction& retraction, View<const double> tolerance, double length, double negligible_speed,
                View<const Index> independent_rows, View<const Index> loop_rows, View<const Index> spare_rows, Index n_unknowns)
      : e_(evaluation), left_out_(left_out), terms_(terms), joints_(joints), prescribed_rows_(prescribed_rows), retraction_(retraction),
        inverse_tolerance_(tolerance.size()), correctable_(tolerance.size()), length_(length), negligible_speed_(negligible_speed), independent_rows_(independent_rows), loop_rows_(loop_rows), spare_rows_(spare_rows),
        right_(n_unknowns), left_out_gamma_(left_out.rows.shape(0)), delta_(joints.n_rows()), trial_delta_(joints.n_rows()), velocity_error_(joints.n_rows()),
        trial_velocity_error_(joints.n_rows()), inverse_square_(independent_rows.size()), least_inverse_square_(independent_rows.size()),
        largest_inverse_square_(independent_rows.size()), twists_({evaluation.n_bodies(), 6}), trial_velocity_({evaluation.n_bodies(), 6}), motions_(evaluation.n_bodies()),
        curves_(evaluation.n_bodies()), trial_(model::Poses::uninitialized(evaluation.n_bodies())) {
    if constexpr (CorrectsPairs<E>)
      pair_errors_ = Array<Pair>(independent_rows.size()), pairs_ = Array<Pair>(n_unknowns - independent_rows.size());
    if constexpr (std::is_same_v<E, PlanarEvaluation>)
      if (prescribed_rows.size() == 0 && PlanarProjection::applies(evaluation, joints.joints()))
        plane_.emplace(evaluation, joints.joints());
    for (Index k = 0; k < tolerance.size(); ++k) inverse_tolerance_[k] = 1.0 / tolerance[k];
    for (const Index k : independent_rows) correctable_[k] = inverse_tolerance_[k];
    if (terms_ != nullptr && terms_->has_loads()) model_load_ = Array<double, 2>({evaluation.n_bodies(), 6});
    load_ = model_load_;
  }

  void set_control(const Control& control) {
    control_ = control;
    load_ = control.wrench;
  }

  // Whether steps store their stages, the end included: x, q, v and a (s, n, 19), and multipliers (s, n_rows). `stages`
  // moves them out, once a step.
  void keep_stages(bool keeps) { keeps_stages_ = keeps; }
  std::pair<Array<double, 3>, Array<double, 2>> stages() { return {std::move(stages_), std::move(multipliers_)}; }

  Index n_evaluations = 0, n_factorizations = 0;  // so far

  // One step h of the semi-implicit method of Euler: first velocities, by which then poses move.
  StepEnd semi_implicit_step(const StepStart& from, double h) {
    const auto& [position, orientation, velocity] = from.bodies;
    StepEnd end = begin(from, 1);
    StageState s(position.rows());
    for (Index k = 0; k < velocity.size(); ++k)
      s.velocity.data()[k] = velocity.data()[k] + h * from.acceleration.data()[k];
    curves_.begin({position, orientation, s.velocity.view()}, from.acceleration);
    const double none[] = {0.0};
    curves_.move({none, 1}, {none, 1}, h, s.position, s.orientation, twists_);
    to_time(from, 0, 1.0);
    put_back(s);
    if (!close(s, false, true, end) || !complete(s, 0, true, end)) return failed();
    finish(s, end);
    return end;
  }

  // One step h of a tableau. Its end is closed in any case, its stages if closes_stages. It fails where open stages would
  // add too much to its error; with_error: the end has the error of y''.
  StepEnd step(const StepStart& from, const Tableau& tableau, bool closes_stages, bool with_error, double h) {
    const model::BodyMotions& start = from.bodies;
    const Index n = start.position.rows(), n_stages = tableau.node.size();
    StepEnd end = begin(from, n_stages);
    curves_.begin(start, from.acceleration);
    StageState s(n);
    std::fill(least_inverse_square_.begin(), least_inverse_square_.end(), std::numeric_limits<double>::infinity());
    std::fill(largest_inverse_square_.begin(), largest_inverse_square_.end(), 0.0);
    for (Index k = 0; k < n_stages; ++k) {
      const bool is_end = k + 1 == n_stages, is_closed = closes_stages || is_end;
      const bool is_near = k > 0 && tableau.node[k] == tableau.node[k - 1];  // to the stage before, by O(h^3)
      curves_.move(tableau.pose[k], tableau.rate[k], tableau.node[k] * h, s.position, s.orientation, s.velocity);
      to_time(from, k, tableau.node[k]);
      put_back(s);
      if (is_closed && !close(s, is_near, is_end, end)) return failed();
      if (!complete(s, k, is_closed, end)) return failed();
      follow_pivots();
      if (!is_end) curves_.add(s.bodies(), s.acceleration);
    }
    const bool is_sensitive = open_stages_add_errors(from, s, pivot_change() / (1.0 - tableau.node[0]), h);
    if (is_sensitive && !closes_stages) return failed();
    if (with_error) {
      curves_.add(s.bodies(), s.acceleration);
      end.error = curves_.weighted_sum(tableau.error);
    }
    finish(s, end);
    if (is_sensitive) end.status = StepEnd::sensitive;
    return end;
  }

  // Takes steps from `time` to `times` up to the first that breaks a limit, as long as patience lasts, and keeps their `ends`.
  // Stages are open; where open stages fail they are closed, in the next step as well. Functions of time are those of the
  // first step's kind of stages, which all steps have then. pivot: the smallest at the start; largest_pivot: the largest such
  // one so far.
  StepSequence take_steps(StepStart from, const Tableau& open, const Tableau& closed, bool starts_closed, double time,
                    View<const double> times, const Ends& ends, const StepLimits& limits, double pivot, double largest_pivot) {
    constexpr double most_value = 1e30;
    const auto begin = std::chrono::steady_clock::now();
    StepSequence taken{0, starts_closed, largest_pivot, pivot, {}, 0.0, false, {}};
    StepEnd end;
    bool is_regular = true;
    const View<const double, 3> functions = from.functions;
    const Index n_stages = (starts_closed ? closed : open).node.size();
    while (is_regular && taken.n_steps < times.size() && !(pivot < limits.exchange_ratio * taken.largest_pivot) &&
           (functions.empty() || taken.starts_closed == starts_closed)) {
      start_time_ = time, end_time_ = times[taken.n_steps];
      if (!functions.empty())
        from.functions = {&functions(taken.n_steps * n_stages, 0, 0), {n_stages, functions.shape(1), functions.shape(2)}};
      taken.is_newest = false;
      const double h = end_time_ - start_time_;
      StepEnd next;
      if (!taken.starts_closed) next = step(from, open, false, false, h);
      if (next.status == StepEnd::open && (functions.empty() || starts_closed)) next = step(from, closed, true, false, h);
      const bool is_closed = next.status == StepEnd::closed || next.status == StepEnd::sensitive;
      if (!is_closed || next.worst.sine < limits.least_pivot || !(largest(next.velocity) < most_value) ||
          !(largest(next.position) < most_value) ||
          (next.correction > limits.most_correction && largest(from.bodies.velocity) > negligible_speed_))
        break;
      const bool has_passed = pivot < most_value && next.last.sine < std::min(limits.passed_ratio * pivot, limits.small_pivot);
      taken.violation = left_out_violation();
      is_regular = !has_passed && taken.violation <= limits.most_violation;
      taken.is_newest = true;
      taken.starts_closed = next.status != StepEnd::closed;
      taken.pivot_before = pivot, taken.last = next.last, pivot = next.last.sine;
      taken.largest_pivot = std::max(pivot, taken.largest_pivot);
      if constexpr (CorrectsPairs<E>)  // elsewhere the sequence ends
        if (pivot < limits.exchange_ratio * taken.largest_pivot) {
          taken.largest_pivot = pivot;
          const RowExchange best = best_exchange();
          if (best.gain > limits.exchange_gain) taken.exchange = best, is_regular = false;
        }
      end = std::move(next);
      from.bodies = {end.position.view(), end.orientation.view(), end.velocity.view()};
      from.coordinate = end.coordinate.view(), from.acceleration = end.acceleration.view();
      ends.keep(taken.n_steps, from.bodies, from.coordinate, from.acceleration, {});
      time = times[taken.n_steps++];
      if (std::chrono::steady_clock::now() - begin > patience) break;
    }
    return taken;
  }

 protected:
  // Begins a step of n_stages stages.
  StepEnd begin(const StepStart& from, Index n_stages) {
    near_ = from.coordinate, is_stopped_ = is_in_plane_ = false, pivots_of_ = -1;
    start_speed_ = std::max(negligible_speed_, largest(from.bodies.velocity));
    if (keeps_stages_) {
      stages_ = Array<double, 3>::uninitialized({n_stages, from.bodies.position.rows(), 19});
      multipliers_ = Array<double, 2>({n_stages, joints_.n_rows()});
    }
    StepEnd end;
    end.coordinate = Array<double>(from.coordinate.size());
    return end;
  }
  // Sets the time of the k-th stage, at a node, and the functions of time then.
  void to_time(const StepStart& from, Index k, double node) {
    if (from.time.size() > 0) {
      time_ = from.time[k];
    } else {
      const volatile double elapsed = node * (end_time_ - start_time_);  // rounded, no fused multiply-add: the times of ExplicitSteps._functions, bit for bit
      time_ = node > last_node ? end_time_ : start_time_ + elapsed;
    }
    if (from.functions.size() == 0) return;
    const View<const double, 2> functions = from.functions[k];
    std::copy(functions.begin(), functions.end(), terms_->functions.begin());
  }
  StepEnd failed() const {
    StepEnd end;
    if (is_stopped_) end.status = StepEnd::stopped;
    return end;
  }
  void finish(StageState& s, StepEnd& end) {
    if (end.coordinate.size() > 0) terms_->fill_coordinates(s.bodies(), near_, end.coordinate);
    end.position = std::move(s.position), end.orientation = std::move(s.orientation);
    end.velocity = std::move(s.velocity), end.acceleration = std::move(s.acceleration);
    end.last = s.pivot;
    end.status = StepEnd::closed;
  }
  // The largest error of a velocity in the step, relative to the largest velocity at its start or end (at a turning point
  // that of the end alone would be zero), rotations and translations compared by `length`; error (n, 7) of y''.
  double local_error(const StepStart& from, const StageState& end, View<const double, 2> error, double h) const {
    const View<const double, 2> start = from.bodies.velocity;
    double most = 0.0, speed = negligible_speed_ / length_;
    for (Index i = 0; i < error.rows(); ++i) {
      for (Index a = 0; a < 7; ++a) most = std::max(most, std::abs(error(i, a)) * (a < 3 ? 1.0 / length_ : 2.0));
      for (Index a = 0; a < 6; ++a)
        speed = std::max(speed, std::max(std::abs(start(i, a)), std::abs(end.velocity(i, a))) / (a < 3 ? 1.0 : length_));
    }
    return h * most / speed;
  }
  void follow_pivots() {
    const Index n = newest_inverse_squares_.size();
    double *least = least_inverse_square_.data(), *largest = largest_inverse_square_.data();
    const double* newest = newest_inverse_squares_.data();
    for (Index k = 0; k < n; ++k) {
      least[k] = std::min(least[k], newest[k]);
      largest[k] = std::max(largest[k], newest[k]);
    }
  }
  // The largest relative change of a row's pivot from one stage to another.
  double pivot_change() const {
    double least = 1.0;
    for (const Index k : loop_rows_) least = std::min(least, least_inverse_square_[k] / largest_inverse_square_[k]);
    return 1.0 - std::sqrt(std::max(least, 0.0));
  }
  // Whether open stages add too much to the error of a step in which pivots change by a share. The motion is judged by its
  // closed ends alone, whether stages in between were open or not.
  bool open_stages_add_errors(const StepStart& from, const StageState& end, double change, double h) const {
    if (!(change > least_pivot_change)) return false;
    const double error = local_error(from, end, curves_.fifth_difference(end.bodies(), end.acceleration, h), h);
    return !(std::pow(0.5 * change, 4) <= error);
  }
  // Projects a state onto the constraints; false if that fails. Factors are made anew unless the newest ones are of a near
  // pose.
  bool close(StageState& s, bool is_near, bool is_end, StepEnd& end) {
    if (plane_) plane_->begin(s.position, s.orientation, s.velocity), is_in_plane_ = true;
    if (!is_near && !refactorize(s)) return false;
    const double n_tolerances = is_end ? velocity_tolerance : stage_velocity_tolerance;
    if (!with_projection(s, [&](auto& state) { return project(state, s, !is_near, n_tolerances); })) return false;
    if (s.correction > 0.0) end.correction = std::max(end.correction, s.correction / std::max(s.speed, start_speed_));
    return true;
  }
  template <class P>
  bool project(P& state, StageState& s, bool has_own_factors, double n_tolerances) {
    if (!close_pose(state, s, has_own_factors, n_tolerances)) return false;
    if (!is_velocity_closed_) close_velocity(state, s, n_tolerances);
    return true;
  }
  template <class F>
  bool with_projection(StageState& s, const F& f) {
    if (plane_) {
      const bool is_done = f(*plane_);
      plane_->store();
      return is_done;
    }
    Projection state{*this, s};
    return f(state);
  }
  bool refactorize(const StageState& s) {
    ++n_factorizations;
    return factorize(e_, input(s));
  }
  // Fills the accelerations and the smallest pivot of the k-th stage, and keeps it if stages are kept; whether they are accurate.
  // By the newest factors, those of a near pose, of stages that were closed.
  bool complete(StageState& s, Index k, bool is_closed, StepEnd& end) {
    const bool is_done = fill_acceleration(s, k, is_closed);
    is_in_plane_ = false;
    if (!is_done) return false;
    s.pivot = smallest();
    if (s.pivot.sine < end.worst.sine) end.worst = s.pivot;
    return true;
  }
  bool fill_acceleration(StageState& s, Index k, bool has_factors) {
    ++n_evaluations;
    EvaluationInput in = input(s);
    if (!fill_loads(s)) return false;
    in.load = load_;
    const View<double> multiplier = keeps_stages_ ? multipliers_.view()[k] : View<double>();
    const bool is_done = has_factors && is_accurate(accelerate_by_factors(e_, in, s.acceleration.view(), multiplier),
                                                    BlockQR::residual_by_factors);
    if (!is_done) {
      ++n_factorizations;
      if (!is_accurate(e_.accelerate(in, s.acceleration.view(), multiplier), largest_residual)) return false;
    }
    if (keeps_stages_) keep(s, k);
    return true;
  }
  // Fills load_ with the wrenches of the control and the loads of the model; false if the control fails or points of a
  // spring coincide.
  bool fill_loads(const StageState& s) {
    if (control_.function == 0) {
      std::fill(load_.begin(), load_.end(), 0.0);
    } else {
      if (terms_ != nullptr) terms_->fill_coordinates(s.bodies(), near_, control_.coordinate);
      is_stopped_ = control_.fill_wrenches(time_, s.bodies()) != 0;
      if (is_stopped_) return false;
    }
    return terms_ == nullptr || !terms_->has_loads() || terms_->add_loads(s.bodies(), near_, load_) < 0;
  }
  void keep(const StageState& s, Index k) {
    for (Index i = 0; i < s.position.shape(0); ++i) {
      std::copy_n(&s.position(i, 0), 3, &stages_(k, i, 0));
      std::copy_n(&s.orientation(i, 0), 4, &stages_(k, i, 3));
      std::copy_n(&s.velocity(i, 0), 6, &stages_(k, i, 7));
      std::copy_n(&s.acceleration(i, 0), 6, &stages_(k, i, 13));
    }
  }
  // Of the newest factors, in the step.
  Pivot smallest() {
    if (independent_rows_.size() > 0 && std::exchange(pivots_of_, n_factorizations) != n_factorizations) {
      const auto [smallest, inverse_squares] = pivots_of(e_, inverse_square_);
      const auto [sine, row] = smallest;
      smallest_ = {sine, row >= 0 ? independent_rows_[row] : row}, newest_inverse_squares_ = inverse_squares;
    }
    return smallest_;
  }
  // At the newest state.
  double left_out_violation() {
    if (left_out_.rows.shape(0) == 0) return 0.0;
    EvaluationInput in{};
    if (terms_ != nullptr) in.general_rows = terms_->rows, in.general_gamma = terms_->gamma;
    return violation(e_, left_out_, in, left_out_gamma_);
  }
  // The best exchange of rows at the newest state: see Evaluation.best_exchange.
  RowExchange best_exchange() requires CorrectsPairs<E> {
    if (spare_rows_.size() == 0) return {};
    const Array<double> length = row_lengths(assembling(e_).system.constraints);
    const auto dependent = std::find(independent_rows_.begin(), independent_rows_.end(), smallest_.row);
    const View<const double> x = newest_solution(e_), part = x.slice(x.size() - independent_rows_.size(), x.size());
    if (!solve_for_row(dependent - independent_rows_.begin())) return {};
    Array<double> share(part.size()), sine(spare_rows_.size());
    for (Index k = 0; k < part.size(); ++k) share[k] = std::abs(part[k]) * length[k];
    const Index row = first_largest(share.view());
    if (!solve_for_row(row)) return {};
    const Array<double> of_left_out = sines(e_, left_out_);
    for (Index k = 0; k < sine.size(); ++k) sine[k] = of_left_out[spare_rows_[k]];
    const Index other = first_largest(sine.view());
    return {independent_rows_[row], left_out_.user_row[spare_rows_[other]], sine[other] * length[row]};
  }
  // Makes the newest solution the least motion that changes one of the independent rows alone, refined, as factors may be those
  // of a near pose; whether that is accurate.
  bool solve_for_row(Index row) requires CorrectsPairs<E> {
    const View<double> change = right_.view().slice(right_.size() - independent_rows_.size(), right_.size());
    std::fill(change.begin(), change.end(), 0.0);
    change[row] = 1.0;
    return qr_of(e_).solve(assembling(e_).rows(), right_, false, newest_solution(e_)).last <= largest_residual;
  }
  // Puts bodies back within their subgroups.
  void put_back(StageState& s) {
    if (retraction_.fixed.rows() == 0) return;
    retract(retraction_.fixed, s.position, s.orientation, s.position);
    for (Index i = 0; i < twists_.shape(0); ++i) {
      for (Index a = 0; a < 6; ++a) {
        twists_(i, a) = 0.0;
        for (Index b = 0; b < 6; ++b) twists_(i, a) += retraction_.projection(i, a, b) * s.velocity(i, b);
      }
      std::copy_n(&twists_(i, 0), 6, &s.velocity(i, 0));
    }
  }
  EvaluationInput input(const StageState& s) {
    EvaluationInput in{s.position.view(), s.orientation.view(), s.velocity.view(), {}, {}, {}, {}};
    if (terms_ != nullptr && terms_->n_joints() > 0) {
      terms_->fill_rows(s.bodies());
      in.general_rows = terms_->rows, in.general_gamma = terms_->gamma;
    }
    if constexpr (std::is_same_v<E, PlanarEvaluation>)
      if (is_in_plane_) plane_->fill_motions(e_.system.bodies), in.has_motions = true;
    return in;
  }
  void fill_errors(const model::BodyMotions& bodies, View<double> delta, View<double> velocity) {
    motions_ = bodies;
    joints_.fill(motions_, delta, velocity);
    if (prescribed_rows_.size() > 0) terms_->fill_errors(bodies, prescribed_rows_, delta, velocity);
  }
  double in_tolerances(View<const double> error) const { return largest(error, correctable_.view()); }
  // Makes the newest solution that which changes the rows by -error.
  void correct_rows(View<const double> error) {
    const Index first = right_.size() - independent_rows_.size();
    for (Index k = 0; k < independent_rows_.size(); ++k) right_[first + k] = error[independent_rows_[k]];
    correct(e_, right_, independent_rows_.size());
  }
  // Fills the twists of that.
  void fill_twists(View<const double> error) {
    correct_rows(error);
    e_.to_user_order(twists_.view(), {});
  }
  // Fills the pairs of solutions that change the rows by -delta_ and -velocity_error_.
  void correct_both() requires CorrectsPairs<E> {
    for (Index k = 0; k < independent_rows_.size(); ++k)
      pair_errors_[k] = gathered<2>({delta_[independent_rows_[k]], velocity_error_[independent_rows_[k]]});
    qr_of(e_).correct(assembling(e_).rows(), pair_errors_.view(), pairs_.view());
  }
  // Makes one of them the newest solution.
  void take(int which) requires CorrectsPairs<E> {
    const View<double> x = newest_solution(e_);
    for (Index a = 0; a < pairs_.size(); ++a) x[a] = pairs_[a][which];
  }
  // A state under projection, with six freedoms a body, and the trial state that Newton's method proposes.
  struct Projection {
    ExplicitSteps& of;
    StageState& s;

    void fill_errors(View<double> delta, View<double> velocity) { of.fill_errors(s.bodies(), delta, velocity); }
    void fill_trial_errors(bool has_changed, View<double> delta, View<double> velocity) {
      of.fill_errors({of.trial_.position, of.trial_.orientation, has_changed ? of.trial_velocity_ : s.velocity}, delta, velocity);
    }
    void displace() {
      of.e_.to_user_order(of.twists_.view(), {});
      model::displace(s.position, s.orientation, of.twists_, of.trial_);
      retract(of.retraction_.fixed, of.trial_.position, of.trial_.orientation, of.trial_.position);
    }
    // Returns the largest change.
    double change_velocity() {
      of.e_.to_user_order(of.twists_.view(), {});
      for (Index k = 0; k < s.velocity.size(); ++k)
        of.trial_velocity_.data()[k] = s.velocity.data()[k] + of.twists_.data()[k];
      return largest(of.twists_.view());
    }
    void accept_pose() { std::swap(s.position, of.trial_.position), std::swap(s.orientation, of.trial_.orientation); }
    void accept_velocity() { std::swap(s.velocity, of.trial_velocity_); }
    double speed() const { return largest(s.velocity.view()); }
    void store() {}
  };
  // Newton's method on delta = 0 with the factors at hand, least in the metric of the inertias. Sets velocity_error_ at the
  // state found. The ratio is the largest |delta_k| / tolerance_k of independent rows; then the others must be closed as well.
  // Where that costs little more, small corrections come with those of the velocity, which may be closed then, too.
  template <class P>
  bool close_pose(P& state, StageState& s, bool has_own_factors, double n_tolerances) {
    state.fill_errors(delta_, velocity_error_);
    double ratio = in_tolerances(delta_);
    bool has_moved = false;
    contraction_ = 1.0;
    s.correction = 0.0, s.speed = state.speed();
    for (int step = 0; step < most_corrections && ratio > 1.0; ++step) {
      const bool is_paired = CorrectsPairs<E> && ratio <= n_tolerances;  // it will be small enough for both
      double change = 0.0;
      if constexpr (CorrectsPairs<E>)
        if (is_paired) {
          correct_both();
          take(1), change = state.change_velocity();
          take(0);
        }
      if (!is_paired) correct_rows(delta_);
      state.displace();
      state.fill_trial_errors(is_paired, trial_delta_, trial_velocity_error_);
      const double trial_ratio = in_tolerances(trial_delta_);
      if (!(trial_ratio < ratio)) {
        if (has_own_factors || ratio <= rounded_ratio) break;
        state.store();
        if (!refactorize(s)) return false;
        has_own_factors = true;
        continue;
      }
      contraction_ = has_moved ? std::max(contraction_, trial_ratio / ratio) : trial_ratio / ratio;
      has_moved = true;
      const bool is_slow = trial_ratio > rounded_ratio && trial_ratio > slow_convergence * ratio;
      state.accept_pose();
      if (is_paired) state.accept_velocity(), s.correction += change;
      std::swap(delta_, trial_delta_), std::swap(velocity_error_, trial_velocity_error_);
      ratio = trial_ratio;
      if (is_slow) state.store();
      if (is_slow && !refactorize(s)) return false;
      has_own_factors = is_slow;
    }
    is_velocity_closed_ = s.correction > 0.0 && in_tolerances(velocity_error_) <= n_tolerances * s.speed;
    return largest(delta_, inverse_tolerance_.view()) <= closed_ratio;
  }
  // Corrects the velocity until |T' v_J| is below n_tolerances, times the speed. The factors are expected to reduce it by
  // the ratio contraction_ by which they reduced the position errors.
  template <class P>
  void close_velocity(P& state, StageState& s, double n_tolerances) {
    double before = std::numeric_limits<double>::infinity(), expected = contraction_ * in_tolerances(velocity_error_);
    for (int step = 0; step < most_corrections; ++step) {
      correct_rows(velocity_error_);
      const double change = state.change_velocity();
      if (!(change < before)) break;
      state.accept_velocity();
      s.correction += change, before = 0.5 * change;
      s.speed = state.speed();
      if (expected <= n_tolerances * s.speed) break;
      state.fill_errors({}, velocity_error_);
      if (in_tolerances(velocity_error_) <= n_tolerances * s.speed) break;
    }
  }

  E& e_;
  const RowTable& left_out_;
  const LoadsAndRows* terms_;
  const JointErrors& joints_;
  View<const Index> prescribed_rows_;
  Retraction retraction_;
  Array<double> inverse_tolerance_;  // of all rows
  Array<double> correctable_;        // the same of independent rows, zero of the others, which corrections do not reach
  double length_, negligible_speed_;
  View<const Index> independent_rows_, loop_rows_, spare_rows_;
  Array<double> right_, left_out_gamma_, delta_, trial_delta_, velocity_error_, trial_velocity_error_;
  Array<double> inverse_square_, least_inverse_square_, largest_inverse_square_;  // of the pivots of all rows: at the newest stage, extremes in the step
  Array<double, 2> twists_, trial_velocity_;
  Array<Pair> pair_errors_, pairs_;
  bool is_velocity_closed_ = false;  // by corrections of the pose
  std::optional<PlanarProjection> plane_;  // where it applies
  bool is_in_plane_ = false;               // whether it has the state that is evaluated next
  model::MotionList motions_;
  StageCurves curves_;
  model::Poses trial_;
  Control control_;
  Array<double, 2> model_load_;    // memory of load_ without a control
  View<double, 2> load_;           // (n, 6), or empty where there are none
  View<const double> near_;        // coordinates at the start of the step
  double time_ = 0.0;              // of the stage
  double start_time_ = 0.0, end_time_ = 0.0;  // of the newest of several steps
  double start_speed_ = 0.0;       // of the step, or negligible_speed; what remains at a turning point is no measure
  double contraction_ = 1.0;       // of the position errors by the factors in use
  Pivot smallest_;
  View<const double> newest_inverse_squares_;
  Index pivots_of_ = -1;           // how many factorizations there were when that was found
  bool is_stopped_ = false;        // by the control
  bool keeps_stages_ = false;
  Array<double, 3> stages_;
  Array<double, 2> multipliers_;
};

}  // namespace sparsebody::simulation
