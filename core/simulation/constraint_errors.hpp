// Position and velocity errors of all constraint rows, in one pass over the joints. Featherstone (2008), 8.27, (8.10).
#pragma once

#include "joints/joint_types.hpp"
#include "model/joint_motion.hpp"

namespace sparsebody::simulation {

// All joints of a system, none of which has a prescribed coordinate.
struct JointErrors {
  model::JointFrames frames;
  View<const Index> kind, first_row;
  View<const double> parameter;
  View<const double, 2> subspace;  // T' where it is constant

  Index n_rows() const { return subspace.rows(); }

  // Fills delta and T' v_J of all rows.
  void fill(const model::BodyMotions& bodies, double* delta, double* velocity) const {
    visit_joints(kind, parameter, [&]<class J>(Index j, const J& joint) {
      const model::JointMotion motion =
          model::joint_motion(frames.X_P(j), frames.X_S(j), bodies[frames.predecessor[j]], bodies[frames.successor[j]]);
      const Index first = first_row[j];
      joint.error(motion.X, delta + first);
      if constexpr (J::info.has_varying_T) {
        const auto T = joint.constraint_force_subspace(motion.X);
        for (std::size_t k = 0; k < T.size(); ++k) velocity[first + k] = dot(motion.v_J, T[k]);
      } else {
        for (Index k = first; k < first_row[j + 1]; ++k)
          velocity[k] = dot(motion.v_J, Force<double>::load(&subspace(k, 0)));
      }
    });
  }
};

}  // namespace sparsebody::simulation
