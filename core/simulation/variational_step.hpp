// Steps of RATTLE on SE(3): symplectic, reversible, with the momenta of the symmetries kept. Order 2; compositions of
// it have higher ones. Hairer, Lubich, Wanner (2006), sec. VII.1.4; Lee, Leok, McClamroch (2007), CMAME 196:2907.
#pragma once

#include "simulation/explicit_step.hpp"

namespace sparsebody::simulation {

inline constexpr int most_pose_corrections = 20;
inline constexpr double slow_pose_convergence = 0.3;  // of position errors by a correction; slower near a singular pose

// x with A x = b, by Cramer's rule.
inline Vec3<double> solve(const Mat3<double>& A, const Vec3<double>& b) {
  const Vec3<double> c[3] = {A.column(0), A.column(1), A.column(2)};
  const Vec3<double> n = cross(c[1], c[2]);
  return (1.0 / dot(n, c[0])) * Vec3<double>{dot(n, b), dot(cross(c[2], c[0]), b), dot(cross(c[0], c[1]), b)};
}

// A discrete free rotation by t, with the momentum p = sin|t| / |t| I t + (1 - cos|t|) / |t|^2 t x I t, which is
// vee(F J - J F') with F = exp(t) and J = (tr(I) / 2) 1 - I, 1 the identity.
struct DiscreteRotation {
  Mat3<double> inertia;
  Vec3<double> t, It;
  double square, angle, s, c;
  Vec3<double> momentum;

  DiscreteRotation(const Mat3<double>& I, const Vec3<double>& vector)
      : inertia(I), t(vector), It(I * vector), square(dot(t, t)), angle(std::sqrt(square)) {
    s = is_small() ? 1.0 - square / 6.0 * (1.0 - square / 20.0) : std::sin(angle) / angle;
    c = is_small() ? 0.5 - square / 24.0 * (1.0 - square / 30.0) : (1.0 - std::cos(angle)) / square;
    momentum = s * It + c * cross(t, It);
  }
  bool is_small() const { return square < 1e-6; }
  // The Jacobian dp/dt = s I + c (t x I - (I t) x) + (ds It + dc t x It) t'.
  Mat3<double> slope() const {
    const double ds = is_small() ? -1.0 / 3.0 + square / 30.0 : (std::cos(angle) - s) / square;  // over |t|
    const double dc = is_small() ? -1.0 / 12.0 + square / 180.0 : (s - 2.0 * c) / square;
    const Vec3<double> change = ds * It + dc * cross(t, It);
    Mat3<double> slope = Mat3<double>::skew(t) * inertia - Mat3<double>::skew(It);
    const double column[3] = {change.x, change.y, change.z}, row[3] = {t.x, t.y, t.z};
    for (int i = 0; i < 9; ++i) slope.m[i] = s * inertia.m[i] + c * slope.m[i] + column[i / 3] * row[i % 3];
    return slope;
  }
};

// The rotation vector of a discrete free rotation with a momentum p, by Newton's method; NaN if there is none: p = sin|t| I
// t / |t| of a sphere is no larger than I.
inline Vec3<double> discrete_rotation(const Mat3<double>& inertia, const Vec3<double>& p) {
  constexpr int most_iterations = 10;
  constexpr double converged = 1e-15, accurate = 1e-12;  // of corrections
  Vec3<double> t = solve(inertia, p);
  double size = 0.0;
  for (int k = 0; k < most_iterations; ++k) {
    const DiscreteRotation of(inertia, t);
    const Vec3<double> change = solve(of.slope(), of.momentum - p);
    t -= change;
    size = norm(change);
    if (!(size > converged * (1.0 + of.angle))) break;
  }
  return size < accurate ? t : std::numeric_limits<double>::quiet_NaN() * t;
}

// Rotation vectors (n, 3) of all bodies, by h times their angular momenta (n, 3) in body axes.
inline Array<double, 2> discrete_rotations(View<const double, 3> inertia, View<const double, 2> momentum) {
  auto angle = Array<double, 2>::uninitialized(momentum.shape());
  for (Index i = 0; i < momentum.rows(); ++i)
    discrete_rotation(Mat3<double>::load(&inertia(i, 0, 0)), Vec3<double>::load(&momentum(i, 0))).store(&angle(i, 0));
  return angle;
}

// The bodies' inertias: rotational about the center of mass, and mass.
struct BodyInertias {
  View<const double, 3> inertia;
  View<const double> mass;

  Force<double> momentum(Index i, const Motion<double>& v) const {
    return {Mat3<double>::load(&inertia(i, 0, 0)) * v.angular, mass[i] * v.linear};
  }
  Motion<double> velocity(Index i, const Force<double>& p) const {
    return {solve(Mat3<double>::load(&inertia(i, 0, 0)), p.angular), (1.0 / mass[i]) * p.linear};
  }
};

template <class E>
class VariationalSteps : public ExplicitSteps<E> {
  using Base = ExplicitSteps<E>;
  using Base::e_, Base::delta_, Base::trial_delta_, Base::velocity_error_, Base::trial_velocity_error_, Base::twists_, Base::trial_;

 public:
  using Base::Base;

  // One step h, composed of RATTLE steps of sizes parts[k] h (Hairer, Lubich, Wanner, sec. II.4).
  StepEnd variational_step(const StepStart& from, const BodyInertias& bodies, View<const double> parts, double h) {
    StepEnd end = this->begin(from, 2 * parts.size());
    const model::BodyMotions& start = from.bodies;
    StageState s(start.position.rows());
    copy(start.position, s.position), copy(start.orientation, s.orientation);
    copy(start.velocity, s.velocity), copy(from.acceleration, s.acceleration);
    kick_.resize(s.position.shape(0)), momentum_.resize(kick_.size()), turned_.resize(kick_.size());
    fill_kick(s, bodies);
    for (Index k = 0; k < parts.size(); ++k) {
      this->to_time(from, k, 1.0);
      if (!substep(s, k, bodies, parts[k] * h)) return this->failed();
      if (s.pivot.sine < end.worst.sine) end.worst = s.pivot;
    }
    if (!this->fill_acceleration(s, 2 * parts.size() - 1, true)) return this->failed();
    this->finish(s, end);
    return end;
  }

 private:
  static void copy(View<const double, 2> from, View<double, 2> to) { std::copy(from.begin(), from.end(), to.begin()); }
  // The kick: all wrenches I a + v x* I v, those of the joints included; where nothing is damped only joints' depend on
  // the velocity, and corrections of pose and velocity replace these.
  void fill_kick(const StageState& s, const BodyInertias& bodies) {
    for (Index i = 0; i < Index(kick_.size()); ++i) {
      const auto v = Motion<double>::load(&s.velocity(i, 0)), a = Motion<double>::load(&s.acceleration(i, 0));
      kick_[i] = bodies.momentum(i, a) + Force<double>{cross(v.angular, bodies.momentum(i, v).angular),
                                                       bodies.mass[i] * cross(v.angular, v.linear)};
    }
  }
  // Keeps two stages: 2 k, its end with the velocity to second order, and accelerations there; 2 k + 1, the same with
  // the last, closed velocity.
  bool substep(StageState& s, Index k, const BodyInertias& bodies, double h) {
    if (k == 0 && !this->refactorize(s)) return false;  // later ones start where the one before ended
    for (Index i = 0; i < Index(kick_.size()); ++i)
      momentum_[i] = bodies.momentum(i, Motion<double>::load(&s.velocity(i, 0))) + 0.5 * h * kick_[i];
    if (!drift(s, bodies, h)) return false;
    // In the axes of the end; the velocity there to second order, for wrenches that depend on it.
    for (Index i = 0; i < Index(kick_.size()); ++i) {
      const auto turned = [&](const Force<double>& f) {
        return Force<double>{transpose_times(turned_[i], f.angular), transpose_times(turned_[i], f.linear)};
      };
      momentum_[i] = turned(momentum_[i]);
      bodies.velocity(i, momentum_[i] + 0.5 * h * turned(kick_[i])).store(&s.velocity(i, 0));
    }
    this->put_back(s);
    if (!this->fill_acceleration(s, 2 * k, false)) return false;
    s.pivot = this->smallest();  // of the end: the start is the end of the step before
    fill_kick(s, bodies);
    for (Index i = 0; i < Index(kick_.size()); ++i)
      bodies.velocity(i, momentum_[i] + 0.5 * h * kick_[i]).store(&s.velocity(i, 0));
    this->fill_errors(s.bodies(), {}, velocity_error_);
    this->contraction_ = 1.0;
    s.correction = 0.0;
    typename Base::Projection state{*this, s};
    this->close_velocity(state, s, velocity_tolerance);
    if (this->keeps_stages_) this->keep(s, 2 * k + 1);
    return true;
  }
  // Moves the bodies for a time h, with impulses of the joints at the start that close them at the end.
  bool drift(StageState& s, const BodyInertias& bodies, double h) {
    double before = std::numeric_limits<double>::infinity();
    for (int step = 0; step < most_pose_corrections; ++step) {
      for (Index i = 0; i < Index(kick_.size()); ++i) {
        const auto inertia = Mat3<double>::load(&bodies.inertia(i, 0, 0));
        Motion<double>{discrete_rotation(inertia, h * momentum_[i].angular), (h / bodies.mass[i]) * momentum_[i].linear}
            .store(&twists_(i, 0));
      }
      model::displace(s.position, s.orientation, twists_, trial_);
      this->fill_errors({trial_.position.view(), trial_.orientation.view(), s.velocity.view()}, trial_delta_, {});
      const double ratio = this->in_tolerances(trial_delta_);
      const bool is_slow = !(ratio < slow_pose_convergence * before);
      if (ratio <= 1.0 || (is_slow && ratio <= rounded_ratio)) {
        for (Index i = 0; i < Index(kick_.size()); ++i)
          turned_[i] = transpose_times(model::rotation_of(s.orientation, i), model::rotation_of(trial_.orientation, i));
        std::swap(s.position, trial_.position), std::swap(s.orientation, trial_.orientation);
        return true;
      }
      if (is_slow) return false;
      before = ratio;
      this->fill_twists(trial_delta_);
      for (Index i = 0; i < Index(kick_.size()); ++i)
        momentum_[i] += (1.0 / h) * bodies.momentum(i, Motion<double>::load(&twists_(i, 0)));
    }
    return false;
  }

  std::vector<Force<double>> kick_, momentum_;
  std::vector<Mat3<double>> turned_;  // from the axes of the body at the end to those at the start
};

}  // namespace sparsebody::simulation
