// Terms of the joints and elements at the end of an implicit step.
#pragma once

#include <algorithm>
#include <cmath>

#include "joints/joint_types.hpp"
#include "simulation/implicit_equations.hpp"

namespace sparsebody::implicit {

using Directions = Dual<6>;

// Sum of columns times numbers.
template <class S, std::size_t n>
Force<S> combination(const std::array<Force<S>, n>& columns, const double* factor) {
  Force<S> w;
  for (std::size_t k = 0; k < n; ++k) w += columns[k] * S(factor[k]);
  return w;
}

inline void add_rates(const Force<Directions>& w, Matrix6& rate) {
  const Directions* const part[6] = {&w.angular.x, &w.angular.y, &w.angular.z, &w.linear.x, &w.linear.y, &w.linear.z};
  for (int i = 0; i < 6; ++i)
    for (int a = 0; a < 6; ++a) rate(i, a) += part[i]->rate[a];
}

template <class F>
void Equations::for_connections(bool with_rate, F f) {
  JointTerms terms;
  const model::JointFrames frames = this->frames();
  visit_joints(joints_.kind, joints_.parameter, [&]<class J>(Index j, const J& joint) {
    const model::JointMotion motion = model::joint_motion(frames.X_P(j), frames.X_S(j), this->motion(frames.predecessor[j]),
                                                          this->motion(frames.successor[j]));
    terms.X_s = frames.X_S(j), terms.X_p = motion.X_p, terms.v_J = motion.v_J, terms.v_p = motion.v_p;
    terms.n_rows = int(connections_[j].n_rows);
    terms.springs.clear();
    std::fill(terms.delta, terms.delta + 7, 0.0);
    joint.error(motion.X, terms.delta);
    const double* const lambda = end_.multiplier.data() + joints_.first_row[j];
    const auto T = joint.constraint_force_subspace(motion.X);
    for (std::size_t k = 0; k < T.size(); ++k) T[k].store(terms.rows[k]);
    terms.wrench = combination(T, lambda);
    terms.has_rate = with_rate && J::info.has_varying_T;
    if constexpr (J::info.has_varying_T) {
      if (with_rate) {
        terms.wrench_rate = {};
        add_rates(combination(joint.constraint_force_subspace(model::with_rates(motion.X)), lambda), terms.wrench_rate);
      }
    }
    if (first_item_[j + 1] > first_item_[j]) add_coordinates(j, motion.X, with_rate, terms);
    f(j, terms);
  });
  terms.springs.clear();
  for (Index k = 0; k < elements_.size(); ++k) {
    set_element(k, with_rate, terms);
    f(joints_.kind.size() + k, terms);
  }
}

}  // namespace sparsebody::implicit
