#include "simulation/constraint_errors.hpp"

#include "base/threads.hpp"
#include "joints/joint_types.hpp"

namespace sparsebody::simulation {

namespace {

// motions[i]: that of body i, or of the world, -1.
template <bool fills_position, bool fills_velocity, class Motions>
void fill_errors(const JointErrors& e, const Motions& motions, Index begin, Index end, View<double> delta,
                 View<double> velocity) {
  visit_joints(e.kind.slice(begin, end), e.parameter.slice(begin, end), [&]<class J>(Index i, const J& joint) {
    const Index j = begin + i, first = e.first_row[j];
    const model::JointMotion motion = model::joint_motion(
        e.frames.X_P(j), e.frames.X_S(j), motions[e.frames.predecessor[j]], motions[e.frames.successor[j]]);
    if constexpr (fills_position) joint.error(motion.X, delta.data() + first);
    if constexpr (fills_velocity && J::info.has_varying_T) {
      const auto T = joint.constraint_force_subspace(motion.X);
      for (std::size_t k = 0; k < T.size(); ++k) velocity[first + k] = dot(motion.v_J, T[k]);
    } else if constexpr (fills_velocity && requires { joint.constraint_velocities(motion.v_J, velocity.data()); }) {
      joint.constraint_velocities(motion.v_J, velocity.data() + first);
    } else if constexpr (fills_velocity) {
      for (Index k = first; k < e.first_row[j + 1]; ++k)
        velocity[k] = dot(motion.v_J, Force<double>::load(e.subspaces[k]));
    }
  });
}

}  // namespace

void fill_motions(const model::BodyMotions& bodies, std::vector<model::BodyMotion>& motions) {
  motions.resize(bodies.position.rows() + 1);
  for (Index i = 0; i < bodies.position.rows(); ++i) motions[i + 1] = bodies[i];
}

RowErrors JointErrors::operator()(const model::BodyMotions& bodies, Index threads) const {
  RowErrors out{Array<double>::uninitialized({n_rows()}), Array<double>::uninitialized({n_rows()})};
  run_ranges(kind.size(), threads, [&](Index first, Index last) {
    fill_errors<true, true>(*this, bodies, first, last, out.position, out.velocity);
  });
  return out;
}

void JointErrors::fill(const std::vector<model::BodyMotion>& motions, View<double> delta, View<double> velocity) const {
  const model::BodyMotion* const bodies = motions.data() + 1;
  const Index n = kind.size();
  if (delta.size() == 0) fill_errors<false, true>(*this, bodies, 0, n, delta, velocity);
  else if (velocity.size() == 0) fill_errors<true, false>(*this, bodies, 0, n, delta, velocity);
  else fill_errors<true, true>(*this, bodies, 0, n, delta, velocity);
}

}  // namespace sparsebody::simulation
