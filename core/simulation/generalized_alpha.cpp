#include "simulation/generalized_alpha.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sparsebody::implicit {

namespace {

constexpr double rounding_correction = 1e-13;  // relative to the length
constexpr double noise_correction = 1e-10;     // lengths of a correction that may be rounding at singular poses
constexpr double slow_round = 0.7;             // ratio of successive corrections in `close` at which it ends
// Iterations that close velocities, and their contractions: up to which factors are reused, and above which rounding limits
// them.
constexpr int most_velocity_iterations = 20;
constexpr double fast_contraction = 0.2, slow_contraction = 0.8;

constexpr double infinity = std::numeric_limits<double>::infinity();

// y += factor x
void add(double factor, View<const double, 2> x, View<double, 2> y) {
  for (Index k = 0; k < y.size(); ++k) y.data()[k] += factor * x.data()[k];
}
void add(View<const double> x, View<double> y) {
  for (Index k = 0; k < y.size(); ++k) y[k] += x[k];
}

}  // namespace

GeneralizedAlpha::GeneralizedAlpha(const AlphaCoefficients& method, bool closes_velocities, Equations& equations,
                                   Newton& newton, const Start& start, const End& end, const Residual& residual,
                                   const AlphaJoints& joints, const Openings& openings, double length,
                                   double predictor_tolerance, double newton_tolerance)
    : method_(method), closes_velocities_(closes_velocities), equations_(equations), newton_(newton), start_(start),
      end_(end), residual_(residual), joints_(joints), openings_(openings), length_(length),
      predictor_tolerance_(predictor_tolerance), newton_tolerance_(newton_tolerance),
      velocity_(end.velocity.shape()), acceleration_(end.velocity.shape()), algorithmic_(end.velocity.shape()),
      multiplier_(end.multiplier.size()), multiplier_before_(end.multiplier.size()) {
  if (!closes_velocities) return;
  const auto twists = [&] { return Array<double, 2>(end.velocity.shape()); };
  previous_ = {twists(), twists(), twists(), Array<double>(end.multiplier.size())};
  mu_ = Array<double>(end.multiplier.size()), slip_ = Array<double>(end.multiplier.size());
}

AlphaSteps GeneralizedAlpha::take_steps(const AlphaStart& from, double time, const StepSize& size, View<const double> times,
                                        const simulation::Ends& ends, const OpeningLimits& limits,
                                        const SetInputs& set_inputs, const SolveFull& solve_full) {
  const auto start = std::chrono::steady_clock::now();
  AlphaSteps taken;
  begin(from);
  while (taken.n_steps < times.size()) {
    const double end = equations_.time = times[taken.n_steps];
    taken.status = !set_inputs || set_inputs(end) ? step(size, solve_full) : Newton::undefined;
    if (taken.status != Newton::converged) break;
    double error = 0.0;
    for (Index k = 0; k < joints_.compliance.size(); ++k)
      error = std::max(error, std::abs(joints_.compliance[k] * end_.multiplier[k]));
    if (taken.n_steps > 0 && error >= limits.error) break;
    accept(size.h);
    ends.keep(taken.n_steps++, {start_.position, start_.orientation, velocity_.view()}, start_.coordinate, acceleration_,
              multiplier_);
    taken.time = time, time = end;
    taken.largest_error = std::max(taken.largest_error, error);
    if (error >= limits.error || (limits.share < infinity && opening() > limits.share) ||
        std::chrono::steady_clock::now() - start > simulation::patience)
      break;
  }
  taken.algorithmic = Array<double, 2>(algorithmic_.view()), taken.multiplier = Array<double>(multiplier_before_.view());
  return taken;
}

void GeneralizedAlpha::begin(const AlphaStart& from) {
  std::ranges::copy(from.position, start_.position.begin());
  std::ranges::copy(from.orientation, start_.orientation.begin());
  std::ranges::copy(from.coordinate, start_.coordinate.begin());
  std::ranges::copy(from.velocity, velocity_.begin());
  std::ranges::copy(from.acceleration, acceleration_.begin());
  std::ranges::copy(from.algorithmic, algorithmic_.begin());
  std::ranges::copy(from.multiplier, multiplier_.begin());
}

// Makes the end of a step of h the start of the next one, with a_1 = ((v_1 - v_0) / h - (1 - gamma) a_0) / gamma.
void GeneralizedAlpha::accept(double h) {
  for (Index k = 0; k < velocity_.size(); ++k) {
    double &v = velocity_.data()[k], &a = algorithmic_.data()[k], next = end_.velocity.data()[k];
    a = (next - (v + h * (1.0 - method_.gamma) * a)) / (h * method_.gamma);
    v = next;
  }
  std::ranges::copy(end_.position, start_.position.begin());
  std::ranges::copy(end_.orientation, start_.orientation.begin());
  std::ranges::copy(end_.coordinate, start_.coordinate.begin());
  std::ranges::copy(end_.acceleration, acceleration_.begin());
  std::swap(multiplier_, multiplier_before_);
  std::ranges::copy(end_.multiplier, multiplier_.begin());
  if (openings_.newest_share == 0.0 || (openings_.is_driven_only_by_control && !equations_.is_controlled())) return;
  for (Index k = 0; k < openings_.mean_load.size(); ++k)
    openings_.mean_load[k] += openings_.newest_share * (multiplier_[k] - openings_.mean_load[k]);
}

double GeneralizedAlpha::opening() const {
  double distance = 0.0, work = 0.0;
  for (Index k = 0; k < openings_.mean_load.size(); ++k) {
    const double error = joints_.compliance[k] * openings_.mean_load[k];
    distance = std::max(distance, std::abs(openings_.length[k] * error));
    work += error * openings_.mean_load[k];
  }
  return std::max(distance / openings_.extent, work / openings_.work);
}

Newton::Status GeneralizedAlpha::step(const StepSize& size, const SolveFull& solve_full) {
  const double accuracy = newton_tolerance_ * size.h * size.h * predict(size.h) + rounding_correction * length_;
  if (!closes_velocities_) return solve(size, accuracy, solve_full);
  const Newton::Status status = close(size, solve_full ? std::max(accuracy, noise_correction * length_) : accuracy, solve_full);
  if (status == Newton::converged) subtract_self_stress();
  return status;
}

// Fills the unknowns with dv/dt and multipliers of the start, a_1 = (dv/dt - alpha_m a_0) / (1 - alpha_m). Returns the
// largest dv/dt.
double GeneralizedAlpha::predict(double h) {
  double angular = 0.0, linear = 0.0;
  for (Index i = 0; i < velocity_.shape(0); ++i)
    for (Index k = 0; k < 6; ++k) {
      const double v = velocity_(i, k), rate = acceleration_(i, k), a = algorithmic_(i, k);
      const double next = (rate - method_.alpha_m * a) / (1.0 - method_.alpha_m);
      end_.displacement(i, k) = h * v + h * h * ((0.5 - method_.beta) * a + method_.beta * next);
      end_.velocity(i, k) = v + h * ((1.0 - method_.gamma) * a + method_.gamma * next);
      end_.acceleration(i, k) = rate;
      double& largest = k < 3 ? angular : linear;
      largest = std::max(largest, std::abs(rate));
    }
  std::ranges::copy(multiplier_, end_.multiplier.begin());
  return length_ * angular + linear;
}

// Iterates until errors are far smaller than the predictor's, or, where corrections decrease slowly, than `accuracy` [m].
Newton::Status GeneralizedAlpha::solve(const StepSize& size, double accuracy, const SolveFull& solve_full) {
  newton_.begin(size.b, size.c, predictor_tolerance_, accuracy);
  const Newton::Status status = newton_.run(solve_full);
  if (status == Newton::diverged || status == Newton::wants_full_matrix) newton_.drop_factors();
  return status;
}

// Closes positions and velocities in turn, as long as that makes corrections smaller.
Newton::Status GeneralizedAlpha::close(const StepSize& size, double accuracy, const SolveFull& solve_full) {
  const auto for_unknowns = [&](auto f) {
    f(end_.displacement, previous_.displacement.view()), f(end_.velocity, previous_.velocity.view());
    f(end_.acceleration, previous_.acceleration.view()), f(end_.multiplier, previous_.multiplier.view());
  };
  double correction = infinity;
  for (bool is_first = true;; is_first = false) {
    std::copy_n(end_.multiplier.begin(), joints_.reference.size(), joints_.reference.begin());
    std::fill(mu_.begin(), mu_.end(), 0.0);
    const Newton::Status status = solve(size, accuracy, solve_full);
    if (status != Newton::converged) {
      if (is_first || status == Newton::undefined) return status;
      for_unknowns([](auto unknown, auto previous) { std::ranges::copy(previous, unknown.begin()); });
      equations_.evaluate();
      return Newton::converged;
    }
    const double last = correction;
    correction = close_velocities(size);
    if (is_first) {
      correction = infinity;
    } else {
      add(-1.0, end_.displacement, previous_.displacement);
      correction += newton_.size_of(previous_.displacement);
    }
    if (correction < accuracy || correction > (solve_full ? 0.0 : slow_round) * last) return Newton::converged;
    for_unknowns([](auto unknown, auto previous) { std::ranges::copy(unknown, previous.begin()); });
  }
}

// Corrects velocities by -c x. Returns the size of the first correction [m].
double GeneralizedAlpha::close_velocities(const StepSize& size) {
  double first = 0.0, correction = 0.0;
  for (int iteration = 0; iteration < most_velocity_iterations; ++iteration) {
    equations_.move();
    equations_.velocity_errors(joints_.prescribed_rate, slip_);
    std::fill(residual_.force.begin(), residual_.force.end(), 0.0);
    for (Index k = 0; k < slip_.size(); ++k) residual_.row[k] = slip_[k] / size.c;
    for (Index k = 0; k < joints_.compliance.size(); ++k) residual_.row[k] -= joints_.compliance[k] * mu_[k];
    const auto& [twist, multiplier] = newton_.solve();
    add(size.c, twist, end_.velocity), add(size.b, twist, end_.acceleration);
    add(multiplier, end_.multiplier), add(multiplier, mu_);
    const double last = correction;
    correction = newton_.size_of(twist);
    if (first == 0.0) first = correction;
    const double contraction = last > 0.0 ? correction / last : 0.0;
    if (correction <= predictor_tolerance_ * first + rounding_correction * length_ || contraction > slow_contraction) break;
    if (contraction > fast_contraction) {
      equations_.evaluate();  // at these velocities, as when the factors are made again at their point
      newton_.factorize(size.b, size.c);
    }
  }
  return first;
}

// Makes self-equilibrated multipliers of dependent rows smaller, by (C + A J^-1 A')^-1 C lambda.
void GeneralizedAlpha::subtract_self_stress() {
  std::fill(residual_.force.begin(), residual_.force.end(), 0.0);
  std::fill(residual_.row.begin(), residual_.row.end(), 0.0);
  for (Index k = 0; k < joints_.compliance.size(); ++k) residual_.row[k] = joints_.compliance[k] * end_.multiplier[k];
  const Correction& change = newton_.solve();
  for (Index k = 0; k < joints_.compliance.size(); ++k) end_.multiplier[k] -= change.multiplier[k];
}

}  // namespace sparsebody::implicit
