#include "simulation/implicit_equations.hpp"

#include <numeric>

#include "model/poses.hpp"
#include "simulation/implicit_terms.hpp"

namespace sparsebody::implicit {

namespace {

using Twist = Motion<double>;
using Wrench = Force<double>;

// Groups indices by their keys: those of key k are items[first[k]] to items[first[k + 1] - 1], in increasing order.
void by_key(Index n_keys, View<const Index> keys, std::vector<Index>& first, std::vector<Index>& items) {
  first.assign(n_keys + 1, 0);
  for (const Index key : keys) ++first[key + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  items.resize(keys.size());
  std::vector<Index> next(first.begin(), first.end() - 1);
  for (Index i = 0; i < keys.size(); ++i) items[next[keys[i]]++] = i;
}

}  // namespace

Equations::Equations(const Bodies& bodies, const model::SystemTables& tables, const Compliance& compliance,
                     const Start& start, const End& end, const Inputs& inputs, const Residual& residual)
    : bodies_(bodies), tables_(tables), compliance_(compliance), start_(start), end_(end), inputs_(inputs),
      residual_(residual), n_rows_(residual.row.size()), motions_(n_bodies()), root_(n_bodies()), remainder_(n_bodies()),
      shear_(tables.joints.size() + tables.elements.size()) {
  const auto& [joints, coordinates, springs, points, elements, loads] = tables_;
  for (Index j = 0; j < joints.size(); ++j)
    connections_.push_back({{joints.frames.predecessor[j], joints.frames.successor[j]}, joints.first_row[j],
                            joints.first_row[j + 1] - joints.first_row[j], compliance_.first_entry[j]});
  Index row = n_rows_, entry = compliance_.entries.size();
  for (const Index m : elements.n_rows) row -= m;
  for (Index k = 0; k < elements.size(); ++k) {
    const Index m = elements.n_rows[k];
    connections_.push_back({{elements.frames.predecessor[k], elements.frames.successor[k]}, row, m, entry});
    row += m, entry += m * m;
  }
  row_root_.resize(entry);
  shear_entries_.resize(24 * n_rows_);
  for (std::size_t j = 0; j < connections_.size(); ++j) {
    double* const one_sided = shear_entries_.data() + 12 * connections_[j].first_row;
    double* const other = one_sided + 12 * n_rows_;
    const Index size = 6 * connections_[j].n_rows;
    shear_[j] = {{{other, one_sided}, {one_sided + size, other + size}}, false};
  }
  by_key(joints.size(), coordinates.joint, first_item_, items_);
  by_key(coordinates.joint.size(), springs.item, first_spring_, springs_of_item_);
  prescribed_of_item_.resize(coordinates.joint.size());
  for (Index i = 0, count = 0; i < coordinates.joint.size(); ++i)
    if (coordinates.row[i] >= 0) prescribed_of_item_[i] = count++;
}

void Equations::move() {
  for (Index i = 0; i < n_bodies(); ++i) {
    const Displacement step(Twist::load(&end_.displacement(i, 0)));
    const Vec3<double> x = Vec3<double>::load(&start_.position(i, 0));
    (x + model::rotation_of(start_.orientation, i) * step.x).store(&end_.position(i, 0));
    model::multiply_quaternion(&start_.orientation(i, 0), step.scalar, step.vector, &end_.orientation(i, 0));
    model::normalize_quaternion(&end_.orientation(i, 0));
  }
  motions_ = {end_.position, end_.orientation, end_.velocity};
}

Index Equations::evaluate() {
  move();
  std::fill(residual_.force.begin(), residual_.force.end(), 0.0);
  const Index bad = model::add_point_forces(tables_.points, inputs_.point_effort,
                                            {end_.position, end_.orientation, end_.velocity}, residual_.force);
  if (bad >= 0) return bad;
  add_body_forces();
  for_connections(false, [&](Index j, const ConnectionTerms<double>& terms) {
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
          open -= compliance_.entries[of.first_entry + k * terms.n_rows + l] *
                  (lambda[l] - compliance_.reference[of.first_row + l]);
      residual_.row[of.first_row + k] = open;
    }
  });
  return defined;
}

Index Equations::evaluate_with_control() {
  if (control_.function == 0) return status = evaluate();
  std::fill(inputs_.body_force.begin(), inputs_.body_force.end(), 0.0);
  status = evaluate();
  if (status != defined) return status;
  std::copy(end_.coordinate.begin(), end_.coordinate.end(), control_.coordinate.begin());
  const model::BodyMotions bodies{end_.position, end_.orientation, end_.velocity};
  if (control_.fill_wrenches(time, bodies) != 0) return status = stopped;
  for (Index k = 0; k < residual_.force.size(); ++k) residual_.force.data()[k] -= inputs_.body_force.data()[k];
  return status;
}

// Turns forces f in the residual into M dv/dt + v x* M v - f, with gravity and the wrenches of a control among the forces.
void Equations::add_body_forces() {
  const Vec3<double> g = Vec3<double>::load(bodies_.gravity.data());
  for (Index i = 0; i < n_bodies(); ++i) {
    const auto& [R, x, v] = motions_[i];
    const double mass = bodies_.mass[i];
    const Mat3<double> tensor = Mat3<double>::load(&bodies_.inertia(i, 0, 0));
    const auto momentum = [&](const Twist& m) { return Wrench{tensor * m.angular, mass * m.linear}; };
    const Wrench inertial = momentum(Twist::load(&end_.acceleration(i, 0))) + cross(v, momentum(v));
    const Wrench applied = Wrench::load(&residual_.force(i, 0)) + Wrench::load(&inputs_.body_force(i, 0)) +
                           Wrench{{}, mass * transpose_times(R, g)};
    (inertial - applied).store(&residual_.force(i, 0));
  }
  for (Index k = 0; k < tables_.loads.body.size(); ++k) {
    const Index i = tables_.loads.body[k];
    (-tables_.loads.in_body(k, motions_[i].R).about(-tables_.loads.at(k))).add_to(&residual_.force(i, 0));
  }
}

void Equations::correct(double b, double c, View<const double, 2> twist, View<const double> multiplier) {
  for (Index i = 0; i < n_bodies(); ++i) {
    double change[6];
    inverse_tangent(Twist::load(&end_.displacement(i, 0)), Twist::load(&twist(i, 0))).store(change);
    for (int a = 0; a < 6; ++a) {
      end_.displacement(i, a) += change[a];
      end_.velocity(i, a) += c * change[a];
      end_.acceleration(i, a) += b * change[a];
    }
  }
  for (Index k = 0; k < n_rows_; ++k) end_.multiplier[k] += multiplier[k];
}

void Equations::velocity_errors(View<const double> prescribed_rate, View<double> error) {
  std::fill(error.begin(), error.end(), 0.0);
  for_connections(false, [&](Index j, const ConnectionTerms<double>& terms) {
    if (terms.is_element) return;
    double* const of_joint = &error[connections_[j].first_row];
    for (int k = 0; k < terms.n_rows; ++k) of_joint[k] = dot(terms.v_J, Wrench::load(terms.rows[k]));
  });
  const View<const Index> row = tables_.coordinates.row;
  for (Index item = 0; item < row.size(); ++item)
    if (row[item] >= 0) error[row[item]] -= prescribed_rate[prescribed_of_item_[item]];
}

}  // namespace sparsebody::implicit
