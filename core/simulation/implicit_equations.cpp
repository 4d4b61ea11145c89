#include "simulation/implicit_equations.hpp"

#include <numbers>
#include <numeric>

#include "model/poses.hpp"
#include "simulation/implicit_terms.hpp"

namespace sparsebody::implicit {

namespace {

using Twist = Motion<double>;
using Wrench = Force<double>;

// Members by their keys, in order: those of key k are items[first[k]], ...
void by_key(Index n_keys, View<Index> keys, std::vector<Index>& first, std::vector<Index>& items) {
  first.assign(n_keys + 1, 0);
  for (const Index key : keys) ++first[key + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  items.resize(keys.size());
  std::vector<Index> next(first.begin(), first.end() - 1);
  for (Index i = 0; i < keys.size(); ++i) items[next[keys[i]]++] = i;
}

// NaN if either is.
double largest(double a, double b) { return b > a || b != b ? b : a; }

double wrapped(double angle) { return std::remainder(angle, 2.0 * std::numbers::pi); }

}  // namespace

Equations::Equations(const Bodies& bodies, const Joints& joints, const Coordinates& coordinates,
                     const CoordinateSprings& springs, const PointSprings& point_springs,
                     const model::ElasticElements& elements, const Loads& loads, const Compliance& compliance, const Start& start, const End& end, const Given& given,
                     const Residual& residual)
    : bodies_(bodies), joints_(joints), coordinates_(coordinates), springs_(springs), point_springs_(point_springs),
      elements_(elements), loads_(loads), compliance_(compliance), start_(start), end_(end), given_(given), residual_(residual),
      n_rows_(residual.row.size()), motions_(bodies.mass.size()), root_(bodies.mass.size()), rest_(bodies.mass.size()),
      shear_(joints.kind.size() + elements.size()) {
  for (Index j = 0; j < joints_.kind.size(); ++j)
    connections_.push_back({{joints_.predecessor[j], joints_.successor[j]}, joints_.first_row[j],
                            joints_.first_row[j + 1] - joints_.first_row[j], compliance_.first_entry[j]});
  Index row = n_rows_, entry = compliance_.entries.size();
  for (const Index m : elements_.n_rows) row -= m;
  for (Index k = 0; k < elements_.size(); ++k) {
    const Index m = elements_.n_rows[k];
    connections_.push_back({{elements_.frames.predecessor[k], elements_.frames.successor[k]}, row, m, entry});
    row += m, entry += m * m;
  }
  row_root_.resize(entry);
  by_key(joints_.kind.size(), coordinates_.joint, first_item_, items_);
  by_key(coordinates_.joint.size(), springs_.item, first_spring_, springs_of_item_);
  prescribed_of_item_.resize(coordinates_.joint.size());
  for (Index i = 0, count = 0; i < coordinates_.joint.size(); ++i)
    if (coordinates_.row[i] >= 0) prescribed_of_item_[i] = count++;
}

void Equations::move() {
  for (Index i = 0; i < n_bodies(); ++i) {
    const Displacement step(Twist::load(&end_.displacement(i, 0)));
    const Vec3<double> x = Vec3<double>::load(&start_.position(i, 0));
    (x + model::rotation_of(start_.orientation, i) * step.x).store(&end_.position(i, 0));
    model::multiply_quaternion(&start_.orientation(i, 0), step.scalar, step.vector, &end_.orientation(i, 0));
    model::normalize_quaternion(&end_.orientation(i, 0));
  }
  const model::BodyMotions bodies{end_.position, end_.orientation, end_.velocity};
  for (Index i = 0; i < n_bodies(); ++i) motions_[i] = bodies[i];
}

// Adds what springs, dampers, efforts and prescribed motions do to the coordinates of a joint.
[[gnu::noinline]] void Equations::add_coordinates(Index j, const Transform<double>& pose, bool with_rate, JointTerms& terms) {
  visit_joint(int(coordinates_.kind[j]), coordinates_.parameter[j], [&]<class J>(const J& joint) {
    constexpr joints::JointInfo info = J::info;
    if constexpr (info.n_velocities > 0) {
      constexpr int first_scalar = info.n_velocities - info.n_scalars;
      double q[info.n_positions], mu[info.n_velocities] = {};
      joint.coordinates(pose, q);
      const auto W = joints::active_force_subspace(joint, pose);
      for (Index a = first_item_[j]; a < first_item_[j + 1]; ++a) {
        const Index item = items_[a], k = coordinates_.index[item], row = coordinates_.row[item];
        constexpr double turn = 2.0 * std::numbers::pi;
        double value = 0.0;
        if constexpr (info.n_scalars > 0)
          if (k >= first_scalar) value = q[k + info.n_positions - info.n_velocities];
        if (coordinates_.is_angle[item]) value += turn * std::round((start_.coordinate[item] - value) / turn);
        end_.coordinate[item] = value;
        if (row >= 0) {
          const Index local = row - joints_.first_row[j];
          const double gap = value - given_.prescribed[prescribed_of_item_[item]];
          terms.delta[local] = coordinates_.is_angle[item] ? wrapped(gap) : gap;
          W[k].store(terms.rows[local]);
          mu[k] += end_.multiplier[row];
        }
        for (Index b = first_spring_[item]; b < first_spring_[item + 1]; ++b) {
          const Index spring = springs_of_item_[b];
          const double stiffness = springs_.stiffness[spring], damping = springs_.damping[spring];
          mu[k] += stiffness * (value - springs_.rest[spring]) + damping * dot(terms.v_J, W[k]) -
                   given_.joint_effort[spring];
          terms.springs.push_back({spring, stiffness, damping, {}, {}});
          W[k].store(terms.springs.back().w);
        }
      }
      terms.wrench += combination(W, mu);
      if (!with_rate) return;
      if (!terms.has_rate) terms.wrench_rate = {};
      terms.has_rate = true;
      const auto moving = joints::active_force_subspace(joint, model::with_rates(pose));
      add_rates(combination(moving, mu), terms.wrench_rate);
      for (Spring& spring : terms.springs) {  // dq/dt = W' v_J, and v_J changes by x x v_p
        const Force<Directions>& w = moving[coordinates_.index[springs_.item[spring.index]]];
        const Motion<double>& u = terms.v_J;
        const Motion<Directions> v{{u.angular.x, u.angular.y, u.angular.z}, {u.linear.x, u.linear.y, u.linear.z}};
        const Wrench turned = cross(terms.v_p, Wrench::load(spring.w));  // w'(x x v_p) = x'(v_p x* w)
        turned.store(spring.rate);
        for (int a = 0; a < 6; ++a) spring.rate[a] += dot(v, w).rate[a];
      }
    }
  });
}

// z + D dz/dt, dz/dx, and the wrench (dz/dx)' mu with its rate.
void Equations::set_element(Index k, bool with_rate, JointTerms& terms) const {
  const model::JointFrames& frames = elements_.frames;
  terms.X_s = frames.X_S(k);
  const model::JointMotion motion = model::joint_motion(frames.X_P(k), terms.X_s, this->motion(frames.predecessor[k]),
                                                        this->motion(frames.successor[k]));
  terms.X_p = motion.X_p, terms.v_J = motion.v_J, terms.v_p = motion.v_p;
  const model::ElasticRows z(elements_, k, motion.X);
  const double* const mu = end_.multiplier.data() + connections_[joints_.kind.size() + k].first_row;
  terms.n_rows = z.n_rows, terms.is_element = true, terms.has_rate = with_rate, terms.wrench = {};
  for (int i = 0; i < z.n_rows; ++i) {
    std::copy_n(z.rows[i], 6, terms.rows[i]);
    terms.wrench += mu[i] * Wrench::load(z.rows[i]);
    terms.delta[i] = z.value[i];
    for (int l = 0; l < z.n_rows; ++l) terms.delta[i] += elements_.damping(k, i, l) * z.rate(l, motion.v_J);
  }
  if (with_rate) terms.wrench_rate = model::elastic_wrench_rate(elements_, k, motion.X, mu);
}

Index Equations::evaluate() {
  move();
  std::fill(residual_.force.begin(), residual_.force.end(), 0.0);
  const PointSprings& s = point_springs_;
  const Index bad = model::add_point_forces(
      {s.first, s.second, s.first_point, s.second_point, s.stiffness, s.rest_length, s.damping, given_.point_effort},
      {end_.position, end_.orientation, end_.velocity}, residual_.force);
  if (bad >= 0) return bad;
  add_body_forces();
  for_connections(false, [&](Index j, const JointTerms& terms) {
    const Connection& of = connections_[j];
    const auto [p, s] = of.body;
    if (s >= 0) terms.X_s.transpose(terms.wrench).add_to(&residual_.force(s, 0));
    if (p >= 0) (-terms.X_p.transpose(terms.wrench)).add_to(&residual_.force(p, 0));
    const double* const lambda = &end_.multiplier[of.first_row];
    for (int k = 0; k < terms.n_rows; ++k) {
      double open = terms.delta[k];
      if (terms.is_element)
        open -= lambda[k];
      else
        for (int l = 0; l < terms.n_rows; ++l)
          open -= compliance_.entries[of.first_entry + k * terms.n_rows + l] * lambda[l];
      residual_.row[of.first_row + k] = open;
    }
  });
  return -1;
}

// M dv/dt + v x* M v - f, f being in the residual at the beginning
void Equations::add_body_forces() {
  const Vec3<double> g = Vec3<double>::load(bodies_.gravity.data());
  for (Index i = 0; i < n_bodies(); ++i) {
    const auto& [R, x, v] = motions_[i];
    const double mass = bodies_.mass[i];
    const Mat3<double> tensor = Mat3<double>::load(&bodies_.inertia(i, 0, 0));
    const auto momentum = [&](const Twist& m) { return Wrench{tensor * m.angular, mass * m.linear}; };
    const Wrench inertial = momentum(Twist::load(&end_.acceleration(i, 0))) + cross(v, momentum(v));
    const Wrench applied = Wrench::load(&residual_.force(i, 0)) + Wrench::load(&given_.body_force(i, 0)) +
                           Wrench{{}, mass * transpose_times(R, g)};
    (inertial - applied).store(&residual_.force(i, 0));
  }
  for (Index k = 0; k < loads_.body.size(); ++k) {
    const Index i = loads_.body[k];
    Wrench load = Wrench::load(&loads_.wrench(k, 0));
    if (loads_.in_world[k])
      load = {transpose_times(motions_[i].R, load.angular), transpose_times(motions_[i].R, load.linear)};
    (-load.about(-Vec3<double>::load(&loads_.point(k, 0)))).add_to(&residual_.force(i, 0));
  }
}

std::pair<double, double> Equations::correct(double b, double c, View<const double, 2> twist,
                                             View<const double> multiplier) {
  double angle = 0.0, distance = 0.0;
  for (Index i = 0; i < n_bodies(); ++i) {
    const Twist d = Twist::load(&twist(i, 0));
    angle = largest(angle, dot(d.angular, d.angular));
    distance = largest(distance, dot(d.linear, d.linear));
    double change[6];
    inverse_tangent(Twist::load(&end_.displacement(i, 0)), d).store(change);
    for (int a = 0; a < 6; ++a) {
      end_.displacement(i, a) += change[a];
      end_.velocity(i, a) += c * change[a];
      end_.acceleration(i, a) += b * change[a];
    }
  }
  for (Index k = 0; k < n_rows_; ++k) end_.multiplier[k] += multiplier[k];
  return {std::sqrt(angle), std::sqrt(distance)};
}

}  // namespace sparsebody::implicit
