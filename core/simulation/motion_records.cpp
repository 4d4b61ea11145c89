#include "simulation/motion_records.hpp"

#include <algorithm>

#include "base/dense.hpp"
#include "spatial/lanes.hpp"

namespace sparsebody::simulation {

namespace {

// Masses and inertias of four bodies, zeros of missing ones.
struct Masses {
  Lanes mass;
  Mat3<Lanes> inertia;
};
std::vector<Masses> masses(View<const double> mass, View<const double, 3> inertia) {
  std::vector<Masses> blocks(n_blocks(mass.size()));
  for (Index b = 0; b < Index(blocks.size()); ++b) {
    const auto lanes = [&](const double* numbers, Index stride) {
      double of[n_lanes]{};
      for (Index i = n_lanes * b; i < std::min(n_lanes * (b + 1), mass.size()); ++i) of[i % n_lanes] = numbers[stride * i];
      return Lanes(Vec<n_lanes>::load(of));
    };
    blocks[b].mass = lanes(mass.data(), 1);
    for (int a = 0; a < 9; ++a) blocks[b].inertia.m[a] = lanes(inertia.data() + a, 9);
  }
  return blocks;
}

double sum(const Lanes& numbers) {
  double total = 0.0;
  for (int lane = 0; lane < n_lanes; ++lane) total += numbers.v[lane];
  return total;
}

}  // namespace

Momenta momenta(View<const double> mass, View<const double, 3> inertia, View<const double> gravity, const Motion& motion) {
  const std::vector<Masses> blocks = masses(mass, inertia);
  const auto g = Vec3<Lanes>::load(gravity.data());
  Momenta out{Array<double>(motion.size()), Array<double>(motion.size()), Array<double, 2>({motion.size(), 6})};
  for (Index k = 0; k < motion.size(); ++k) {
    const model::BodyMotions bodies = motion[k];
    Lanes kinetic, fallen;  // sums of v' I v and m g' x
    Vec3<Lanes> angular, linear;
    for (Index b = 0; b < Index(blocks.size()); ++b) {
      const auto& [m, I] = blocks[b];
      Lanes numbers[3], q[4], v[6];
      load_lanes<3>(bodies.position, b, numbers), load_lanes<4>(bodies.orientation, b, q), load_lanes<6>(bodies.velocity, b, v);
      const auto x = Vec3<Lanes>::load(numbers), w = Vec3<Lanes>::load(v), u = Vec3<Lanes>::load(v + 3);
      const Vec3<Lanes> spin = I * w, push = m * u;
      kinetic = kinetic + (dot(w, spin) + dot(u, push)), fallen = fallen + m * dot(g, x);
      const auto R = Mat3<Lanes>::from_quaternion(q[0], q[1], q[2], q[3]);
      const Vec3<Lanes> along = R * push;
      angular += R * spin + cross(x, along), linear += along;
    }
    out.kinetic_energy[k] = 0.5 * sum(kinetic), out.gravity_energy[k] = -sum(fallen);
    int a = 0;
    for (const Lanes& part : {angular.x, angular.y, angular.z, linear.x, linear.y, linear.z}) out.total(k, a++) = sum(part);
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

LargestErrors largest_errors(const JointErrors& joints, const LoadsAndRows* terms, View<const Index> prescribed_rows,
                             View<const double, 3> functions, const Motion& motion, View<const double, 2> multiplier) {
  Array<double> position(joints.n_rows()), velocity(joints.n_rows());
  LargestErrors out{Array<double>(motion.size()), Array<double>(motion.size()), Array<double>(motion.size())};
  model::MotionList motions(motion.position.shape(1));
  for (Index k = 0; k < motion.size(); ++k) {
    motions = motion[k];
    joints.fill(motions, position, velocity);
    if (terms != nullptr) {
      const View<const double, 2> at = functions[k];
      std::copy(at.begin(), at.end(), terms->functions.begin());
      terms->fill_errors(motion[k], prescribed_rows, position, velocity);
    }
    out.position[k] = largest(position), out.velocity[k] = largest(velocity);
    if (multiplier.empty()) continue;
    out.elastic_energy[k] = 0.5 * dense::dot(multiplier[k].data(), position.data(), position.size());
  }
  return out;
}

}  // namespace sparsebody::simulation
