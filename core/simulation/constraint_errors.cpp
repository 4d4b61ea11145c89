#include "simulation/constraint_errors.hpp"

#include "joints/joint_types.hpp"

namespace sparsebody::simulation {

RowErrors JointErrors::operator()(const model::BodyMotions& bodies) const {
  RowErrors out{Array<double>::uninitialized({n_rows()}), Array<double>::uninitialized({n_rows()})};
  model::MotionList motions(bodies.position.rows());
  motions = bodies;
  fill(motions, out.position, out.velocity);
  return out;
}

void JointErrors::fill(const model::MotionList& motions, View<double> delta, View<double> velocity) const {
  const bool fills_position = delta.size() > 0, fills_velocity = velocity.size() > 0;
  visit_joints(joints.kind, joints.parameter, [&]<class J>(Index j, const J& joint) {
    const model::JointMotion motion = model::joint_motion(joints.frames, motions, j);
    const Index first = joints.first_row[j];
    if (fills_position) joint.error(motion.X, delta.data() + first);
    if (!fills_velocity) return;
    if constexpr (J::info.has_varying_T) {
      const auto T = joint.constraint_force_subspace(motion.X);
      for (std::size_t k = 0; k < T.size(); ++k) velocity[first + k] = dot(motion.v_J, T[k]);
    } else if constexpr (requires { joint.constraint_velocities(motion.v_J, velocity.data()); }) {
      joint.constraint_velocities(motion.v_J, velocity.data() + first);
    } else {
      for (Index k = first; k < joints.first_row[j + 1]; ++k)
        velocity[k] = dot(motion.v_J, Force<double>::load(&joints.subspace(k, 0)));
    }
  });
}

}  // namespace sparsebody::simulation
