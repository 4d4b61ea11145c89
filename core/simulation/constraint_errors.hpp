// Position and velocity errors of all constraint rows, in one pass over the joints. Featherstone (2008), 8.27, (8.10).
#pragma once

#include "joints/joint_types.hpp"
#include "model/joint_motion.hpp"

namespace sparsebody::simulation {

struct ConstraintErrors {
  explicit ConstraintErrors(Index n)
      : position(Array<double>::uninitialized({n})), velocity(Array<double>::uninitialized({n})) {}
  Array<double> position, velocity;
};

// delta and T' v_J; no coordinate of a joint is prescribed.
inline ConstraintErrors constraint_errors(const model::JointFrames& frames, View<const Index> kind,
                                          View<const Index> first_row, View<const double> parameter,
                                          View<const double, 2> subspace, const model::BodyMotions& bodies) {
  ConstraintErrors out(subspace.rows());
  visit_joints(kind, parameter, [&]<class J>(Index j, const J& joint) {
    const model::JointMotion motion =
        model::joint_motion(frames.X_P(j), frames.X_S(j), bodies[frames.predecessor[j]], bodies[frames.successor[j]]);
    const Index first = first_row[j];
    joint.error(motion.X, out.position.data() + first);
    if constexpr (J::info.has_varying_T) {
      const auto T = joint.constraint_force_subspace(motion.X);
      for (std::size_t k = 0; k < T.size(); ++k) out.velocity[first + k] = dot(motion.v_J, T[k]);
    } else {
      for (Index k = first; k < first_row[j + 1]; ++k)
        out.velocity[k] = dot(motion.v_J, Force<double>::load(&subspace(k, 0)));
    }
  });
  return out;
}

}  // namespace sparsebody::simulation
