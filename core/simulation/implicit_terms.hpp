// Terms of joints and elements at the end of an implicit step: errors delta, rows T', and w = T lambda + T_a mu, which is
// exerted on the predecessor and -w on the successor, with its rate dw/dx, x a twist of S.
#pragma once

#include <algorithm>
#include <cmath>

#include "joints/joint_types.hpp"
#include "simulation/implicit_equations.hpp"

namespace sparsebody::implicit {

using Directions = Dual<6>;
// With derivatives in the twists of predecessor and successor, then in the changes of their velocities.
using OfBoth = Dual<24>;

// Sum of columns times numbers.
template <class S, std::size_t n, class Number>
Force<S> combination(const std::array<Force<S>, n>& columns, const Number* factor) {
  Force<S> w;
  for (std::size_t k = 0; k < n; ++k) w += columns[k] * S(factor[k]);
  return w;
}

// Adds dw/dx.
inline void add_rates(const Force<Directions>& w, Matrix6& rate) {
  Directions part[6];
  w.store(part);
  for (int i = 0; i < 6; ++i)
    for (int a = 0; a < 6; ++a) rate(i, a) += part[i].rate[a];
}

// A motion whose derivatives in six directions from the `first` on are the identity.
inline Motion<OfBoth> with_unit_rates(const Motion<double>& v, int first) {
  double value[6];
  v.store(value);
  OfBoth part[6];
  for (int a = 0; a < 6; ++a) part[a].value = value[a], part[a].rate[first + a] = 1.0;
  return Motion<OfBoth>::load(part);
}

template <class T>
decltype(auto) Equations::motion(Index body, [[maybe_unused]] int side) const {
  if constexpr (std::is_same_v<T, double>) {
    return motions_[body];
  } else {
    const auto& [R, x, v] = motions_[body];
    const Transform<T> pose = model::with_rates<24>(Transform<double>{transpose(R), x}, 6 * side);
    return BodyMotion<InSpace<T>>{transpose(pose.E), pose.r, with_unit_rates(v, 12 + 6 * side)};
  }
}

// Adds T_a mu, mu = k (q - q_0) + d dq/dt - tau of springs, dampers and efforts on the coordinates q of a joint, and the
// rows and multipliers of prescribed motions.
template <class T>
[[gnu::noinline]] void Equations::add_coordinates(Index j, const Transform<T>& pose, bool with_rate,
                                                  ConnectionTerms<T>& terms) {
  const model::TrackedCoordinates& tracked = tables_.coordinates;
  const model::CoordinateSprings& springs = tables_.springs;
  visit_joint(int(tracked.kind[j]), tracked.parameter[j], [&]<class J>(const J& joint) {
    constexpr joints::JointInfo info = J::info;
    if constexpr (info.n_velocities > 0) {
      T q[info.n_positions], mu[info.n_velocities] = {};
      joint.coordinates(pose, q);
      const auto T_a = joints::active_force_subspace(joint, pose);
      for (Index a = first_item_[j]; a < first_item_[j + 1]; ++a) {
        const Index item = items_[a], k = tracked.index[item], row = tracked.row[item];
        T value(0.0);
        if constexpr (info.n_scalars > 0)
          if (k >= info.n_velocities - info.n_scalars) value = q[k + info.n_positions - info.n_velocities];
        value = tracked.unwrapped(item, value, start_.coordinate[item]);
        if constexpr (std::is_same_v<T, double>) end_.coordinate[item] = value;
        if (row >= 0) {
          const Index local = row - tables_.joints.first_row[j];
          terms.delta[local] = tracked.prescribed_error(item, value, inputs_.prescribed[prescribed_of_item_[item]]);
          T_a[k].store(terms.rows[local]);
          mu[k] = mu[k] + T(end_.multiplier[row]);
        }
        for (Index b = first_spring_[item]; b < first_spring_[item + 1]; ++b) {
          const Index spring = springs_of_item_[b];
          const double stiffness = springs.stiffness[spring], damping = springs.damping[spring];
          mu[k] = mu[k] + stiffness * (value - T(springs.rest[spring])) + damping * dot(terms.v_J, T_a[k]) -
                  T(inputs_.joint_effort[spring]);
          if constexpr (std::is_same_v<T, double>) {
            if (!with_rate) continue;
            terms.springs.push_back({spring, stiffness, damping, {}});
            T_a[k].store(terms.springs.back().w);
          }
        }
      }
      terms.wrench += combination(T_a, mu);
      if constexpr (std::is_same_v<T, double>) {
        if (!with_rate) return;
        if (!terms.has_rate) terms.wrench_rate = {};
        terms.has_rate = true;
        add_rates(combination(joints::active_force_subspace(joint, model::with_rates(pose)), mu), terms.wrench_rate);
      }
    }
  });
}

// z + D dz/dt, dz/dx, and the wrench (dz/dx)' mu with its derivative.
template <class T>
void Equations::set_element(Index k, bool with_rate, ConnectionTerms<T>& terms) const {
  const model::ElasticElements& elements = tables_.elements;
  const Transform<double> X = model::joint_motion(elements.frames, motions_, k).X;
  const auto rows = [&] {
    if constexpr (std::is_same_v<T, double>) {
      return model::ElasticRows(elements, k, X);
    } else {
      T x[6];
      (terms.X_s * with_unit_rates({}, 6) - terms.X_p * with_unit_rates({}, 0)).store(x);
      return model::ElasticRows(elements, k, model::with_rates(X)).along(x);
    }
  };
  const model::ElasticRows<T> z = rows();
  const double* const mu = end_.multiplier.data() + connections_[tables_.joints.size() + k].first_row;
  terms.n_rows = z.n_rows, terms.is_element = true, terms.has_rate = with_rate, terms.wrench = {};
  for (int i = 0; i < z.n_rows; ++i) {
    std::copy_n(z.rows[i], 6, terms.rows[i]);
    terms.wrench += Force<T>::load(terms.rows[i]) * T(mu[i]);
    terms.delta[i] = z.force(elements, k, i, terms.v_J);
  }
  if constexpr (std::is_same_v<T, double>)
    if (with_rate) terms.wrench_rate = model::elastic_wrench_rate(elements, k, X, mu);
}

template <class T, class F>
void Equations::for_connections(bool with_rate, F f) {
  ConnectionTerms<T> terms;
  const auto set_frames = [&](const model::JointFrames& frames, Index j) {
    terms.X_s = Transform<T>(frames.X_S(j));
    const auto at = model::joint_motion(Transform<T>(frames.X_P(j)), terms.X_s, motion<T>(frames.predecessor[j], 0),
                                        motion<T>(frames.successor[j], 1));
    terms.X_p = at.X_p, terms.v_J = at.v_J;
    return at.X;
  };
  visit_joints(tables_.joints.kind, tables_.joints.parameter, [&]<class J>(Index j, const J& joint) {
    const Transform<T> X = set_frames(tables_.joints.frames, j);
    terms.n_rows = int(connections_[j].n_rows);
    terms.springs.clear();
    std::fill(terms.delta, terms.delta + 7, T(0.0));
    joint.error(X, terms.delta);
    const double* const lambda = end_.multiplier.data() + tables_.joints.first_row[j];
    const auto columns = joint.constraint_force_subspace(X);
    for (std::size_t k = 0; k < columns.size(); ++k) columns[k].store(terms.rows[k]);
    terms.wrench = combination(columns, lambda);
    terms.has_rate = with_rate && J::info.has_varying_T;
    if constexpr (J::info.has_varying_T && std::is_same_v<T, double>) {
      if (with_rate) {
        terms.wrench_rate = {};
        add_rates(combination(joint.constraint_force_subspace(model::with_rates(X)), lambda), terms.wrench_rate);
      }
    }
    if (first_item_[j + 1] > first_item_[j]) add_coordinates(j, X, with_rate, terms);
    f(j, terms);
  });
  terms.springs.clear();
  for (Index k = 0; k < tables_.elements.size(); ++k) {
    set_frames(tables_.elements.frames, k);
    set_element(k, with_rate, terms);
    f(tables_.joints.size() + k, terms);
  }
}

}  // namespace sparsebody::implicit
