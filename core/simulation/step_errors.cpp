#include "simulation/step_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simulation/constraint_errors.hpp"

namespace sparsebody::simulation {

namespace {

constexpr double tiny = std::numeric_limits<double>::min();
// Steps from one pair to the next: a sixth of the steps so far, so that short motions are sampled densely, and at most 1024.
constexpr Index interval_ratio = 6, longest_interval = 1024;
constexpr double most_mass_ratio = 100.0;  // above which light bodies may move much faster than the mechanism: all steps are in pairs
constexpr Index first_comparison = 16;     // with rigid joints: step
constexpr double energy_growth = 4.0;      // of that of joints, after which another comparison follows
constexpr double most_unequal = 1e-6;     // largest relative difference between the two steps of a pair
constexpr double jerk_growth = 2.0;       // kappa t^2 of a motion that begins with a constant jerk, which lets nothing grow
constexpr double resolved_growth = 0.4;   // largest kappa t^2 in a time t from pair to pair that pairs resolve
constexpr double least_decay = 1e-6;      // of errors of rates between two pairs

// NaN if either is.
double smaller(double a, double b) { return a < b || a != a ? a : b; }
double larger_number(double a, double b) { return a > b || a != a ? a : b; }

// lambda' C lambda / 2.
double elastic_energy(View<const double> multiplier, View<const double> compliance) {
  double energy = 0.0;
  for (Index row = 0; row < multiplier.size(); ++row) energy += 0.5 * compliance[row] * multiplier[row] * multiplier[row];
  return energy;
}

// e and u after a duration, for errors of poses and rates that are added evenly in it.
class Growth {
 public:
  Growth(double duration, double omega, double kappa)
      : duration_(duration), kappa_(kappa), decay_(larger_number(duration * omega, least_decay)), mean_(-std::expm1(-decay_) / decay_) {}

  void add(double error, double rate_error, double& e, double& u) const {
    const double before = u, growth = duration_ * kappa_ * e;
    u = (1.0 - decay_ * mean_) * before + mean_ * rate_error + growth;
    e += error + duration_ * (mean_ * before + (1.0 - mean_) / decay_ * rate_error);
  }

 private:
  double duration_, kappa_, decay_, mean_;  // mean of exp(-omega t)
};

Array<double, 2> poses_of(const model::BodyMotions& bodies) {
  const Index n = bodies.position.rows();
  auto poses = Array<double, 2>::uninitialized({n, 7});
  for (Index i = 0; i < n; ++i) {
    std::copy_n(&bodies.position(i, 0), 3, &poses(i, 0));
    std::copy_n(&bodies.orientation(i, 0), 4, &poses(i, 3));
  }
  return poses;
}

}  // namespace

PairErrors defects(const StepSample& start, const StepSample& middle, const StepSample& end, View<const double, 2> weight,
                   View<const double, 2> mean_before) {
  const Index n = weight.rows();
  const double h = 0.5 * (end.time - start.time);
  const bool has_mean = mean_before.size() > 0;
  if (!has_mean) mean_before = start.curvature;  // some numbers: vectors that load none, of no address, are slow
  PairErrors errors{Array<double>(n), Array<double>(n)};
  for (Index i = 0; i < n; ++i) {
    double hermite = 0.0, simpson = 0.0, hermite_rate = 0.0, trapezoidal_rate = 0.0, jump = 0.0;  // squares
    for (Index a = 0; a < 7; ++a) {
      const double y0 = start.pose(i, a), y1 = middle.pose(i, a), y2 = end.pose(i, a);
      const double rate0 = start.rate(i, a), rate1 = middle.rate(i, a), rate2 = end.rate(i, a);
      const double curvature0 = start.curvature(i, a), curvature1 = middle.curvature(i, a), curvature2 = end.curvature(i, a);
      const double change = y2 - y0, rates = rate0 + rate2;
      const double rate_change = rate2 - rate0, bend = (y0 - 2.0 * y1 + y2) / h, curvatures = curvature0 + curvature2;
      const auto square = [w = weight(i, a)](double defect) { return defect * defect * w; };
      hermite += square(change - h / 15.0 * (7.0 * rates + 16.0 * rate1 + h * (curvature0 - curvature2)));
      simpson += square(change - h / 3.0 * (rates + 4.0 * rate1));
      hermite_rate += square(1.5 * (rate_change - 8.0 / 3.0 * bend - h / 9.0 * (curvatures - 8.0 * curvature1)));
      trapezoidal_rate += square(2.0 * (rate_change - bend - h / 4.0 * (curvatures + 2.0 * curvature1)));
      if (has_mean) jump += square(2.0 * h * (0.25 * (curvatures + 2.0 * curvature1) - mean_before(i, a)));
    }
    errors.pose[i] = std::sqrt(smaller(hermite, simpson));
    errors.rate[i] = std::sqrt(smaller(hermite_rate, larger_number(trapezoidal_rate, jump)));
  }
  return errors;
}

Array<double, 2> mean_curvature(const StepSample& start, const StepSample& middle, const StepSample& end) {
  auto mean = Array<double, 2>::uninitialized(start.curvature.shape());
  for (Index k = 0; k < mean.size(); ++k)
    mean.data()[k] = 0.25 * (start.curvature.data()[k] + 2.0 * middle.curvature.data()[k] + end.curvature.data()[k]);
  return mean;
}

Turning turning(const StepSample& start, const StepSample& middle, const StepSample& end, View<const double, 2> weight,
                View<const double> mass, double age, double duration) {
  const Index n = weight.rows();
  Turning of{Array<double>(n)};
  double squares = 0.0, all_turns = 0.0, away = 0.0, power = 0.0;  // of the whole mechanism
  for (Index i = 0; i < n; ++i) {
    double square = 0.0, lead = 0.0, turns = 0.0, turn_of_both = 0.0, push = 0.0;
    for (Index a = 0; a < 7; ++a) {
      const double path[2] = {middle.pose(i, a) - start.pose(i, a), end.pose(i, a) - middle.pose(i, a)};
      const double turn[2] = {middle.curvature(i, a) - start.curvature(i, a), end.curvature(i, a) - middle.curvature(i, a)};
      const double w = weight(i, a);
      square += (path[0] * path[0] + path[1] * path[1]) * w;
      lead += (path[0] * turn[0] + path[1] * turn[1]) * w;
      turns += (turn[0] * turn[0] + turn[1] * turn[1]) * w;
      turn_of_both += (turn[0] + turn[1]) * (turn[0] + turn[1]) * w;
      push += middle.rate(i, a) * middle.curvature(i, a) * w;
    }
    squares += mass[i] * square, all_turns += mass[i] * turn_of_both, away += mass[i] * lead, power += mass[i] * push;
    of.omega[i] = std::sqrt(std::sqrt(turns / larger_number(square, tiny)));
  }
  const double kappa = away / larger_number(squares, tiny);
  if (power > 0.0 && jerk_growth / (age * age) < kappa && kappa < resolved_growth / (duration * duration)) {
    std::fill(of.omega.begin(), of.omega.end(), 0.0);
    of.kappa = kappa;
  } else {
    of.mean_omega = std::sqrt(std::sqrt(0.5 * all_turns / larger_number(squares, tiny)));
  }
  return of;
}

StepErrors::StepErrors(View<const double, 2> weight, View<const double> mass, const model::BodyMotions& first, double time)
    : weight_(weight),
      mass_(mass),
      is_ill_scaled_(mass.size() > 0 && *std::max_element(mass.begin(), mass.end()) > most_mass_ratio * *std::min_element(mass.begin(), mass.end())),
      first_(poses_of(first)),
      begin_(time),
      seen_(time),
      error_(mass.size()),
      rate_error_(mass.size()),
      next_comparison_(first_comparison),
      difference_(weight.shape()),
      compliance_error_(weight.shape()),
      compliance_rate_error_(weight.shape()) {}

void StepErrors::add(Index step, double time, const model::BodyMotions& bodies, View<const double, 2> acceleration,
                     View<const double> multiplier, View<const double> compliance) {
  if (step < next_step) return;
  auto [rate, curvature] = model::pose_derivatives(bodies.orientation, bodies.velocity, acceleration);
  samples_.push_back({time, poses_of(bodies), std::move(rate), std::move(curvature), elastic_energy(multiplier, compliance)});
  if (samples_.size() < 3) return;
  const double start = samples_[0].time, middle = samples_[1].time;
  if (std::abs(start + time - 2.0 * middle) > most_unequal * (time - start)) {
    samples_.erase(samples_.begin());
    return;
  }
  const StepSample first = samples_[0].view(), second = samples_[1].view(), last = samples_[2].view();
  const bool is_close = step <= close_step_;
  newest_ = defects(first, second, last, weight_, is_close ? mean_.view() : View<const double, 2>{});
  mean_ = mean_curvature(first, second, last);
  for (auto* errors : {&newest_.pose, &newest_.rate})
    for (double& error : *errors) error /= time - start;
  turning_ = turning(first, second, last, weight_, mass_, time - begin_, time - seen_);
  const double energy = (samples_[0].energy + samples_[1].energy + samples_[2].energy) / 3.0;
  if (is_new_) compared_energy_ = energy, is_new_ = false;
  if (compared_energy_ > 0.0) difference_scale_ = std::min(energy / compared_energy_, energy_growth);
  grow(time - seen_);
  size_ = std::max(size_, displacement(samples_[2].pose));
  const Index interval = is_close || is_ill_scaled_ ? 0 : std::min(step / interval_ratio, longest_interval);
  next_step = step + std::max(Index(0), interval - 2), seen_ = time;
  samples_.erase(samples_.begin(), interval <= 2 ? samples_.end() - 1 : samples_.end());  // the last one starts the next pair
}

Index StepErrors::add_ends(Index first_step, View<const double> time, const Motion& motion, View<const double, 3> acceleration,
                           View<const double, 2> multiplier, View<const double> compliance) {
  for (Index k = 0; k < time.size(); ++k) {
    const Index step = first_step + k;
    if (step < next_step) continue;
    if (is_due(step, multiplier[k], compliance)) return k;
    add(step, time[k], motion[k], acceleration[k], multiplier[k], compliance);
  }
  return time.size();
}

bool StepErrors::is_due(Index step, View<const double> multiplier, View<const double> compliance) const {
  if (step < next_step || samples_.size() < 2) return false;
  const double energies[3] = {samples_[0].energy, samples_[1].energy, elastic_energy(multiplier, compliance)};
  const double mean = (energies[0] + energies[1] + energies[2]) / 3.0;
  return *std::min_element(energies, energies + 3) > 0.0 &&
         (step >= next_comparison_ || (compared_energy_ > 0.0 && mean > energy_growth * compared_energy_));
}

bool StepErrors::begin_pair(Index step, double time) {
  close_step_ = step + 1;
  if (!samples_.empty() && samples_.back().time == time) return false;
  samples_.clear();
  next_step = step;
  if (newest_.pose.size() > 0) {
    grow(time - seen_);
    seen_ = time;
  }
  return true;
}

void StepErrors::grow(double duration) {
  const auto& [omega, kappa, omega_now] = turning_;
  for (std::size_t i = 0; i < error_.size(); ++i)
    Growth(duration, omega[i], kappa).add(duration * newest_.pose[i], duration * newest_.rate[i], error_[i], rate_error_[i]);
  turned_ += duration * omega_now;
  if (compared_energy_ == 0.0) return;
  const Growth growth(duration, kappa > 0.0 ? 0.0 : turned_ / (seen_ + duration - begin_), kappa);
  for (Index k = 0; k < difference_.size(); ++k)
    growth.add(0.0, duration * difference_scale_ * difference_.data()[k], compliance_error_.data()[k], compliance_rate_error_.data()[k]);
}

std::pair<double, double> StepErrors::largest(const model::BodyMotions& end) const {
  std::vector<double> error = lengths(compliance_error_.view());
  for (std::size_t i = 0; i < error.size(); ++i) error[i] += error_[i];
  return {simulation::largest(error), std::max(size_, displacement(poses_of(end)))};
}

double StepErrors::displacement(View<const double, 2> poses) const {
  Array<double, 2> change(poses.shape());
  for (Index k = 0; k < change.size(); ++k) change.data()[k] = poses.data()[k] - first_.data()[k];
  return simulation::largest(lengths(change.view()));
}

std::vector<double> StepErrors::lengths(View<const double, 2> changes) const {
  std::vector<double> length(changes.rows());
  for (Index i = 0; i < changes.rows(); ++i) {
    for (Index a = 0; a < 7; ++a) length[i] += std::pow(changes(i, a), 2) * weight_(i, a);
    length[i] = std::sqrt(length[i]);
  }
  return length;
}

Array<double> StepErrors::memory() const {
  Array<double> memory(23 * mass_.size() + 6);
  double* to = memory.data();
  for (const auto* part : {&error_, &rate_error_}) to = std::copy(part->begin(), part->end(), to);
  for (const auto* part : {&difference_, &compliance_error_, &compliance_rate_error_}) to = std::copy_n(part->data(), part->size(), to);
  to[0] = size_, to[1] = double(next_step), to[2] = turned_, to[3] = double(next_comparison_), to[4] = compared_energy_, to[5] = seen_;
  return memory;
}

void StepErrors::resume(View<const double> memory) {
  const double* from = memory.data();
  for (auto* part : {&error_, &rate_error_}) part->assign(from, from + mass_.size()), from += mass_.size();
  for (auto* part : {&difference_, &compliance_error_, &compliance_rate_error_}) std::copy_n(from, part->size(), part->data()), from += part->size();
  size_ = from[0], next_step = Index(from[1]), turned_ = from[2], compared_energy_ = from[4], seen_ = from[5];
  next_comparison_ = std::max(first_comparison, Index(from[3]));
  restart();
}

}  // namespace sparsebody::simulation
