// Estimate of the errors of a motion by pairs of its steps; the equations are in sparsebody/simulation/step_errors.py.
#pragma once

#include <vector>

#include "model/poses.hpp"
#include "simulation/motion_records.hpp"

namespace sparsebody::simulation {

// Poses (n, 7) at a time, and their first and second derivatives.
struct StepSample {
  double time;
  View<const double, 2> pose, rate, curvature;
};

// Errors (n,) of poses and of their rates.
struct PairErrors {
  Array<double> pose, rate;
};
// Those of two steps, as lengths, by weights (n, 7) of squares, and by the rule with the smaller defect: the
// trapezoidal one at least by a jump of mean curvatures (n, 7) from those before, if there are any.
PairErrors defects(const StepSample& start, const StepSample& middle, const StepSample& end, View<const double, 2> weight,
                   View<const double, 2> mean_before);
// Those in two steps (n, 7), without what alternates from step to step.
Array<double, 2> mean_curvature(const StepSample& start, const StepSample& middle, const StepSample& end);

struct Turning {
  Array<double> omega;      // (n,) [1/s]
  double kappa = 0.0;       // [1/s^2]
  double mean_omega = 0.0;  // [1/s] of the whole mechanism, by mass, without what alternates; 0 where kappa is not
};
// Those of the motion in two steps, which end `age` [s] after it began, and stand for a `duration` [s].
Turning turning(const StepSample& start, const StepSample& middle, const StepSample& end, View<const double, 2> weight,
                View<const double> mass, double age, double duration);

class StepErrors {
 public:
  // weight (n, 7) of squares of poses as lengths; mass (n,)
  StepErrors(View<const double, 2> weight, View<const double> mass, const model::BodyMotions& first, double time);

  // Adds a state in a step, or at its end, as a sample of a pair, with multipliers (m,) of joints of compliances (m,) that are meant
  // to be rigid; m = 0 where they are.
  void add(Index step, double time, const model::BodyMotions& bodies, View<const double, 2> acceleration, View<const double> multiplier,
           View<const double> compliance);
  // Adds the ends of several steps, with multipliers (k, m), up to one that completes a pair to be compared with rigid joints.
  // Returns how many.
  Index add_ends(Index first_step, View<const double> time, const Motion& motion, View<const double, 3> acceleration,
                 View<const double, 2> multiplier, View<const double> compliance);
  // Whether a sample of such multipliers completes a pair to be compared with rigid joints.
  bool is_due(Index step, View<const double> multiplier, View<const double> compliance) const;
  // The next comparison follows `wait` steps later, or where the elastic energy has grown.
  void compared(Index step, Index wait) { next_comparison_ = step + wait; }
  // Sets by what y'' (n, 7) differs from that of the motion that is meant, in the pair that the next sample completes.
  void set_difference(View<const double, 2> difference) {
    std::copy_n(difference.data(), difference.size(), difference_.data());
    is_new_ = true;
  }
  // Begins a pair at a state at the end of a step at once; the newest pair stands for the steps before. False if one is under way
  // there, or ends there. All of the next step is in pairs, and where their mean accelerations jump, they are no vibrations.
  bool begin_pair(Index step, double time);
  // Discards the unfinished pair.
  void restart() { samples_.clear(); }
  // The largest error of a pose, and the largest displacement up to a state [m].
  std::pair<double, double> largest(const model::BodyMotions& end) const;
  // What `resume` needs, without an unfinished pair: (23 n + 6,) errors, the difference, and
  // scalars, time last.
  Array<double> memory() const;
  void resume(View<const double> memory);

  Index next_step = 0;  // the first one that is in a pair again
  Index n_samples() const { return Index(samples_.size()); }  // of the pair under way

 private:
  struct Sample {
    double time;
    Array<double, 2> pose, rate, curvature;
    double energy;  // elastic [J]

    StepSample view() const { return {time, pose.view(), rate.view(), curvature.view()}; }
  };
  // Adds the errors of a duration [s] by those of the newest pair.
  void grow(double duration);
  double displacement(View<const double, 2> poses) const;
  std::vector<double> lengths(View<const double, 2> changes) const;

  View<const double, 2> weight_;
  View<const double> mass_;
  bool is_ill_scaled_;
  Array<double, 2> first_;
  std::vector<Sample> samples_;  // of the pair under way
  PairErrors newest_;            // of the newest pair, for each second
  Array<double, 2> mean_;        // curvature in it
  Turning turning_;              // by it
  Index close_step_ = -1;        // the newest one of which all is in pairs
  double begin_, seen_;          // when the motion began; up to where errors are added
  double turned_ = 0.0;          // sum of the mechanism's omega up to there
  std::vector<double> error_, rate_error_;  // of steps
  double size_ = 0.0;                       // the largest displacement at the ends of pairs
  Index next_comparison_;                   // with rigid joints: step
  double compared_energy_ = 0.0;            // in the newest pair that was compared
  bool is_new_ = false;                     // whether that is the pair under way
  Array<double, 2> difference_;             // of y'' in it, from rigid joints
  double difference_scale_ = 0.0;           // energy in the newest pair over the compared one
  Array<double, 2> compliance_error_, compliance_rate_error_;  // of y and y'
};

}  // namespace sparsebody::simulation
