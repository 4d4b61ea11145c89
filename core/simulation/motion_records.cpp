#include "simulation/motion_records.hpp"

#include <algorithm>

namespace sparsebody::simulation {

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
    if (multiplier.rows() == 0) continue;
    const View<const double> of_rows = multiplier[k];
    for (Index r = 0; r < of_rows.size(); ++r) out.elastic_energy[k] += 0.5 * of_rows[r] * position[r];
  }
  return out;
}

}  // namespace sparsebody::simulation
