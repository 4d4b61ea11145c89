// Position and velocity errors of all constraint rows, in one pass over the joints. Featherstone (2008), 8.27, (8.10).
#pragma once

#include "joints/joint_types.hpp"
#include "model/joint_motion.hpp"

namespace sparsebody::simulation {

struct RowErrors {
  Array<double> position, velocity;
};

// All joints of a system, none of which has a prescribed coordinate.
struct JointErrors {
  model::JointFrames frames;
  View<const Index> kind, first_row;
  View<const double> parameter;
  View<const double, 2> subspace;  // T' where it is constant

  Index n_rows() const { return subspace.rows(); }

  // delta and T' v_J of all rows.
  RowErrors operator()(const model::BodyMotions& bodies) const {
    RowErrors out{Array<double>::uninitialized({n_rows()}), Array<double>::uninitialized({n_rows()})};
    fill<true, true>([&](Index body) { return bodies[body]; }, out.position.view(), out.velocity.view());
    return out;
  }

  // Fills one of them, or both; bodies(i) is a body's motion, or the world's for -1.
  template <bool fills_position, bool fills_velocity, class Bodies>
  void fill(const Bodies& bodies, View<double> delta, View<double> velocity) const {
    visit_joints(kind, parameter, [&]<class J>(Index j, const J& joint) {
      const model::JointMotion motion =
          model::joint_motion(frames.X_P(j), frames.X_S(j), bodies(frames.predecessor[j]), bodies(frames.successor[j]));
      const Index first = first_row[j];
      if constexpr (fills_position) joint.error(motion.X, delta.data() + first);
      if constexpr (fills_velocity && J::info.has_varying_T) {
        const auto T = joint.constraint_force_subspace(motion.X);
        for (std::size_t k = 0; k < T.size(); ++k) velocity[first + k] = dot(motion.v_J, T[k]);
      } else if constexpr (fills_velocity) {
        for (Index k = first; k < first_row[j + 1]; ++k)
          velocity[k] = dot(motion.v_J, Force<double>::load(&subspace(k, 0)));
      }
    });
  }
};

}  // namespace sparsebody::simulation
