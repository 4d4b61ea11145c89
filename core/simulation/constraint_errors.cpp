#include "simulation/constraint_errors.hpp"

#include "base/threads.hpp"
#include "joints/joint_types.hpp"

namespace sparsebody::simulation {

namespace {

void fill_errors(const model::JointTable& joints, const model::MotionList& motions, Index begin, Index end, View<double> delta,
                 View<double> velocity) {
  const bool fills_position = delta.size() > 0, fills_velocity = velocity.size() > 0;
  visit_joints(joints.kind.slice(begin, end), joints.parameter.slice(begin, end), [&]<class J>(Index i, const J& joint) {
    const Index j = begin + i, first = joints.first_row[j];
    const model::JointMotion motion = model::joint_motion(joints.frames, motions, j);
    if (fills_position) joint.error(motion.X, delta.data() + first);
    if (!fills_velocity) return;
    if constexpr (J::info.has_varying_T) {
      const auto T = joint.constraint_force_subspace(motion.X);
      for (std::size_t k = 0; k < T.size(); ++k) velocity[first + k] = dot(motion.v_J, T[k]);
    } else if constexpr (requires { joint.constraint_velocities(motion.v_J, velocity.data()); }) {
      joint.constraint_velocities(motion.v_J, velocity.data() + first);
    } else {
      for (Index k = first; k < joints.first_row[j + 1]; ++k)
        velocity[k] = dot(motion.v_J, Force<double>::load(joints.subspaces[k]));
    }
  });
}

}  // namespace

RowErrors JointErrors::operator()(const model::BodyMotions& bodies, Index threads) const {
  model::MotionList motions(bodies.position.rows());
  motions = bodies;
  RowErrors out{Array<double>::uninitialized({n_rows()}), Array<double>::uninitialized({n_rows()})};
  run_ranges(joints.size(), threads, [&](Index first, Index last) {
    fill_errors(joints, motions, first, last, out.position, out.velocity);
  });
  return out;
}

void JointErrors::fill(const model::MotionList& motions, View<double> delta, View<double> velocity) const {
  fill_errors(joints, motions, 0, joints.size(), delta, velocity);
}

}  // namespace sparsebody::simulation
