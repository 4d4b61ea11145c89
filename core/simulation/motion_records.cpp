#include "simulation/motion_records.hpp"

#include <algorithm>

#include "base/dense.hpp"
#include "spatial/lanes.hpp"

namespace sparsebody::simulation {

namespace {

// As many bodies have records one by one, whose motions at four times would not fit the cache.
constexpr Index many_bodies = 4096;

using BodyAtTimes = BodyMotion<InSpace<Lanes>>;

// NaN if either is.
double larger_number(double a, double b) { return a > b || a != a ? a : b; }

// Four times in a row, the last one in place of missing ones.
struct Times {
  Index of[n_lanes];

  Times(Index first, Index n) {
    for (int lane = 0; lane < n_lanes; ++lane) of[lane] = std::min(first + lane, n - 1);
  }
  BodyAtTimes body(const Motion& motion, Index i) const {
    Lanes x[3], q[4], v[6];
    load(motion.position, i, x), load(motion.orientation, i, q), load(motion.velocity, i, v);
    return {Mat3<Lanes>::from_quaternion(q[0], q[1], q[2], q[3]), Vec3<Lanes>::load(x), sparsebody::Motion<Lanes>::load(v)};
  }
  template <int m>
  SB_INLINE void load(View<const double, 3> numbers, Index i, Lanes (&to)[m]) const {
    const double* const from[] = {&numbers(of[0], i, 0), &numbers(of[1], i, 0), &numbers(of[2], i, 0), &numbers(of[3], i, 0)};
    for (const double* at : from) prefetch(at + numbers_ahead);
    load_lanes<m>(from, to);
  }
};

// Sums over bodies at four times.
struct MomentumSums {
  Lanes kinetic, gravity_work;  // v' I v and m g' x
  Vec3<Lanes> angular, linear;

  SB_INLINE void add(const Masses& bodies, Index i, const BodyAtTimes& body) {
    const Lanes mass(bodies.mass[i]);
    const auto& [w, u] = body.v;
    const Vec3<Lanes> L = Mat3<Lanes>::load(&bodies.inertia(i, 0, 0)) * w, p = mass * u, in_world = body.R * p;  // I w, m u, R p
    kinetic = kinetic + (dot(w, L) + dot(u, p));
    gravity_work = gravity_work + mass * dot(Vec3<Lanes>::load(bodies.gravity.data()), body.x);
    angular += body.R * L + cross(body.x, in_world), linear += in_world;
  }
  void store(const Times& times, Momenta& out) const {
    const Lanes total[] = {angular.x, angular.y, angular.z, linear.x, linear.y, linear.z};
    for (int lane = 0; lane < n_lanes; ++lane) {
      const Index k = times.of[lane];
      out.kinetic_energy[k] = 0.5 * kinetic.v[lane], out.gravity_energy[k] = -gravity_work.v[lane];
      for (int a = 0; a < 6; ++a) out.total(k, a) = total[a].v[lane];
    }
  }
};

Momenta unfilled(Index k) { return {Array<double>(k), Array<double>(k), Array<double, 2>({k, 6})}; }

}  // namespace

Momenta momenta(const Masses& bodies, const Motion& motion) {
  Momenta out = unfilled(motion.size());
  for (Index first = 0; first < motion.size(); first += n_lanes) {
    const Times times(first, motion.size());
    MomentumSums sums;
    for (Index i = 0; i < bodies.mass.size(); ++i) sums.add(bodies, i, times.body(motion, i));
    sums.store(times, out);
  }
  return out;
}

Array<double> elastic_energies(const model::ElasticElements& elements, const Motion& motion) {
  Array<double> energy(motion.size());
  for (Index t = 0; t < motion.size(); ++t)
    for (Index k = 0; k < elements.size(); ++k)
      energy[t] += model::elastic_energy(elements, k, model::joint_motion(elements.frames, motion[t], k).X);
  return energy;
}

DampingPowers damping_powers(const LoadsAndRows& loads, const Motion& motion, View<const double, 2> coordinate) {
  const Index n = motion.position.shape(1);
  const Array<double, 2> still({n, 6});
  Array<double, 2> load({n, 6}), load_at_rest({n, 6});
  DampingPowers out{Array<double>(motion.size())};
  for (Index k = 0; k < motion.size() && out.coinciding < 0; ++k) {
    const auto& [position, orientation, velocity] = motion[k];
    std::fill(load.begin(), load.end(), 0.0), std::fill(load_at_rest.begin(), load_at_rest.end(), 0.0);
    out.coinciding = loads.add_loads({position, orientation, velocity}, coordinate[k], load);
    loads.add_loads({position, orientation, still}, coordinate[k], load_at_rest);
    for (Index i = 0; i < velocity.size(); ++i)
      out.power[k] -= (load.data()[i] - load_at_rest.data()[i]) * velocity.data()[i];
  }
  return out;
}

Records motion_records(const Masses& bodies, const JointErrors& joints, const LoadsAndRows* terms,
                       View<const Index> prescribed_rows, View<const double, 3> functions, const Motion& motion,
                       View<const double, 2> multiplier) {
  const Index n = motion.size();
  Records out{unfilled(n), Array<double>(n), Array<double>(n), Array<double>(n)};
  const Index n_bodies = bodies.mass.size(), at_once = n_bodies < many_bodies ? n_lanes : 1;
  MotionsAtTimes motions(at_once > 1 ? n_bodies + 1 : 0);
  model::MotionList one(at_once > 1 ? 0 : n_bodies);
  const Index n_rows = at_once > 1 ? 0 : joints.n_rows();
  RowErrors errors{Array<double>(n_rows), Array<double>(n_rows)};  // zero in rows of prescribed coordinates
  for (Index first = 0; first < n; first += at_once) {
    const Times times(first, std::min(first + at_once, n));
    MomentumSums sums;
    for (Index i = 0; i < n_bodies; ++i) {
      const BodyAtTimes body = times.body(motion, i);
      sums.add(bodies, i, body);
      if (at_once > 1) motions[i + 1] = body;
    }
    sums.store(times, out.momenta);
    if (at_once == 1) {
      joints.fill(one = motion[first], errors.position, errors.velocity);
      out.position_error[first] = largest(errors.position), out.velocity_error[first] = largest(errors.velocity);
      if (!multiplier.empty())
        out.elastic_energy[first] = 0.5 * dense::dot(multiplier[first].data(), errors.position.data(), joints.n_rows());
      continue;
    }
    const double* lambda[n_lanes]{};
    if (!multiplier.empty())
      for (int lane = 0; lane < n_lanes; ++lane) lambda[lane] = &multiplier(times.of[lane], 0);
    const ErrorsAtTimes at_times = joints.at_times(motions, lambda);
    for (int lane = 0; lane < n_lanes; ++lane) {
      const Index k = times.of[lane];
      out.position_error[k] = at_times.position[lane], out.velocity_error[k] = at_times.velocity[lane];
      out.elastic_energy[k] = 0.5 * at_times.work.v[lane];
    }
  }
  if (terms == nullptr) return out;
  Array<double> position(joints.n_rows()), velocity(joints.n_rows());  // zero in rows of joints
  for (Index k = 0; k < n; ++k) {
    const View<const double, 2> at = functions[k];
    std::copy(at.begin(), at.end(), terms->functions.begin());
    terms->fill_errors(motion[k], prescribed_rows, position, velocity);
    out.position_error[k] = larger_number(out.position_error[k], largest(position));
    out.velocity_error[k] = larger_number(out.velocity_error[k], largest(velocity));
    if (!multiplier.empty()) out.elastic_energy[k] += 0.5 * dense::dot(multiplier[k].data(), position.data(), position.size());
  }
  return out;
}

}  // namespace sparsebody::simulation
