// Steps of the generalized-alpha method on SE(3). Bruels, Cardona and Arnold (2012), Mech. Mach. Theory 48:121.
//
//   q_1 = q_0 exp(y),  y   = h v_0 + h^2 ((1/2 - beta) a_0 + beta a_1),
//                      v_1 = v_0 + h ((1 - gamma) a_0 + gamma a_1),
//   (1 - alpha_m) a_1 + alpha_m a_0 = (1 - alpha_f) dv_1/dt + alpha_f dv_0/dt.
//
// Joints have a compliance C (implicit_equations.hpp), or close in positions and velocities, by steps of index 2,
// stabilized: Arnold, Bruels and Cardona (2015), Numer. Math. 129:149,
//
//   y = h v_0 + h^2 ((1/2 - beta) a_0 + beta a_1) - x,  J x + A' mu = 0,  delta = 0,  A v = k,
//
// with x of the order of the error. Both multipliers have the same small compliance then, so that rows may depend on each
// other; Newton's method closes positions by y with its rates, whose rows A are exact where these lose rank.
#pragma once

#include <functional>

#include "simulation/newton.hpp"
#include "simulation/step_ends.hpp"

namespace sparsebody::implicit {

struct AlphaCoefficients {
  double alpha_m, alpha_f, beta, gamma;
};
// The length of steps, and the coefficients of Newton's matrix, d(dv/dt) = b dy and dv = c dy.
struct StepSize {
  double h, b, c;
};
// All that the method carries from one step to the next; `algorithmic` are the accelerations a (n, 6).
struct AlphaStart {
  View<const double, 2> position, orientation, velocity;
  View<const double> coordinate;
  View<const double, 2> acceleration;
  View<const double> multiplier;
  View<const double, 2> algorithmic;
};
// The rows of joints: the diagonal of C, lambda_0, and prescribed rates at the end of a step.
struct AlphaJoints {
  View<const double> compliance;
  View<double> reference;
  View<const double> prescribed_rate;
};
// How far the loads of joints open them. mean_load (n_rows,): exponential mean of the multipliers of steps that something
// drives, the newest ones of weight `newest_share`, zero if nothing does; length: of errors of 1 [m]; extent of the mechanism
// [m], and work of all loads along it [J]. Where only a control drives, steps in which it exerts nothing do not count.
struct Openings {
  View<double> mean_load;
  View<const double> length;
  double newest_share, extent, work;
  bool is_driven_only_by_control;
};
// What ends a call after a step: an error of a joint [m, rad], and a share of `Openings`.
struct OpeningLimits {
  double error, share;
};

// Several steps.
struct AlphaSteps {
  Index n_steps = 0;
  int status = Newton::converged;  // of the step after these, if it has failed
  Array<double, 2> algorithmic;    // at the last end
  double time;                     // where the last step began, and the multipliers there
  Array<double> multiplier;
  double largest_error = 0.0;      // C lambda of all steps
};

class GeneralizedAlpha {
 public:
  // Sets the inputs at a time; false if that fails.
  using SetInputs = std::function<bool(double time)>;

  // closes_velocities: of index 2. length: makes an angle a distance [m]. Newton's method ends at errors relative to the
  // predictor's of predictor_tolerance, or, where corrections decrease slowly, to h^2 dv/dt of newton_tolerance.
  GeneralizedAlpha(const AlphaCoefficients& method, bool closes_velocities, Equations& equations, Newton& newton,
                   const Start& start, const End& end, const Residual& residual, const AlphaJoints& joints,
                   const Openings& openings, double length, double predictor_tolerance, double newton_tolerance);

  // Takes steps of one length from a time to `times`, and keeps their `ends`, as long as they succeed, nothing is to be decided
  // on the openings of joints, and patience lasts. A step after which a joint is open beyond the limit is the first one of a
  // call.
  AlphaSteps take_steps(const AlphaStart& from, double time, const StepSize& size, View<const double> times,
                        const simulation::Ends& ends, const OpeningLimits& limits, const SetInputs& set_inputs,
                        const SolveFull& solve_full);

  // Of joints, by the mean load, relative to the extent; or lambda' C lambda, relative to the work, if larger.
  double opening() const;

 private:
  struct Unknowns {
    Array<double, 2> displacement, velocity, acceleration;
    Array<double> multiplier;
  };

  void begin(const AlphaStart& from);
  Newton::Status step(const StepSize& size, const SolveFull& solve_full);
  double predict(double h);
  Newton::Status solve(const StepSize& size, double accuracy, const SolveFull& solve_full);
  Newton::Status close(const StepSize& size, double accuracy, const SolveFull& solve_full);
  double close_velocities(const StepSize& size);
  void subtract_self_stress();
  void accept(double h);

  AlphaCoefficients method_;
  bool closes_velocities_;
  Equations& equations_;
  Newton& newton_;
  Start start_;
  End end_;
  Residual residual_;
  AlphaJoints joints_;
  Openings openings_;
  double length_, predictor_tolerance_, newton_tolerance_;
  Array<double, 2> velocity_, acceleration_, algorithmic_;  // at the start of a step, as start_
  Array<double> multiplier_, multiplier_before_;            // there, and at the start of the step before
  Unknowns previous_;                                       // of `close`
  Array<double> mu_, slip_;
};

}  // namespace sparsebody::implicit
