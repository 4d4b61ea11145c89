#include "simulation/constraint_errors.hpp"

#include "joints/joint_types.hpp"

namespace sparsebody::simulation {

namespace {

template <bool fills_position, bool fills_velocity>
void fill_errors(const JointErrors& e, const std::vector<model::BodyMotion>& motions, View<double> delta,
                 View<double> velocity) {
  visit_joints(e.kind, e.parameter, [&]<class J>(Index j, const J& joint) {
    const model::JointMotion motion =
        model::joint_motion(e.frames.X_P(j), e.frames.X_S(j), motions[e.frames.predecessor[j] + 1],
                            motions[e.frames.successor[j] + 1]);
    const Index first = e.first_row[j];
    if constexpr (fills_position) joint.error(motion.X, delta.data() + first);
    if constexpr (fills_velocity && J::info.has_varying_T) {
      const auto T = joint.constraint_force_subspace(motion.X);
      for (std::size_t k = 0; k < T.size(); ++k) velocity[first + k] = dot(motion.v_J, T[k]);
    } else if constexpr (fills_velocity && requires { joint.constraint_velocities(motion.v_J, velocity.data()); }) {
      joint.constraint_velocities(motion.v_J, velocity.data() + first);
    } else if constexpr (fills_velocity) {
      for (Index k = first; k < e.first_row[j + 1]; ++k)
        velocity[k] = dot(motion.v_J, Force<double>::load(&e.subspace(k, 0)));
    }
  });
}

}  // namespace

void fill_motions(const model::BodyMotions& bodies, std::vector<model::BodyMotion>& motions) {
  motions.resize(bodies.position.rows() + 1);
  for (Index i = 0; i < bodies.position.rows(); ++i) motions[i + 1] = bodies[i];
}

RowErrors JointErrors::operator()(const model::BodyMotions& bodies) const {
  RowErrors out{Array<double>::uninitialized({n_rows()}), Array<double>::uninitialized({n_rows()})};
  std::vector<model::BodyMotion> motions;
  fill_motions(bodies, motions);
  fill(motions, out.position, out.velocity);
  return out;
}

void JointErrors::fill(const std::vector<model::BodyMotion>& motions, View<double> delta, View<double> velocity) const {
  if (delta.size() == 0) fill_errors<false, true>(*this, motions, delta, velocity);
  else if (velocity.size() == 0) fill_errors<true, false>(*this, motions, delta, velocity);
  else fill_errors<true, true>(*this, motions, delta, velocity);
}

}  // namespace sparsebody::simulation
