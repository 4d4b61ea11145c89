#include "dynamics/loads_and_rows.hpp"

#include "model/constraint_rows.hpp"
#include "model/poses.hpp"

namespace sparsebody {

LoadsAndRows::LoadsAndRows(const model::SystemTables& tables, View<double, 2> functions_, View<double, 3> rows_,
                           View<double> gamma_)
    : functions(functions_), rows(rows_), gamma(gamma_), of_(tables) {
  for (Index i = 0; i < of_.coordinates.row.size(); ++i)
    if (of_.coordinates.row[i] >= 0) prescribed_.push_back(i);
}

LoadsAndRows::Coordinate LoadsAndRows::coordinate(const model::BodyMotions& bodies, Index item) const {
  const model::TrackedCoordinates& tracked = of_.coordinates;
  const Index j = tracked.joint[item];
  const model::JointMotion motion = model::joint_motion(of_.joints.frames, bodies, j);
  return {j, motion,
          coordinate_motion(tracked.kind[j], tracked.parameter[j], tracked.index[item], motion.X, motion.v_J)};
}

void LoadsAndRows::fill_rows(const model::BodyMotions& bodies) const {
  const model::JointTable& joints = of_.joints;
  const auto store = [&](Index k, const Force<double>& t, double drift, Index j, const model::JointMotion<>& motion) {
    const model::ConstraintRow row = model::constraint_row(t, drift, joints.frames.X_S(j), motion);
    if (joints.frames.predecessor[j] >= 0) row.on_predecessor.store(&rows(k, 0, 0));
    if (joints.frames.successor[j] >= 0) row.on_successor.store(&rows(k, 1, 0));
    gamma[k] = row.acceleration;
  };
  for (Index j = 0; j < n_joints(); ++j) {
    const model::JointMotion motion = model::joint_motion(joints.frames, bodies, j);
    const Index first = joints.first_row[j], n_rows = joints.first_row[j + 1] - first;
    double T[42] = {}, drift[7] = {};  // with one prescribed coordinate more
    for (Index i = 0; i < n_rows; ++i) std::copy_n(joints.subspaces[first + i], 6, T + 6 * i);
    joint_varying_rows(int(joints.kind[j]), motion.X, motion.v_J, T, drift);
    for (Index i = 0; i < n_rows; ++i) store(first + i, Force<double>::load(T + 6 * i), drift[i], j, motion);
  }
  for (Index i = 0; i < Index(prescribed_.size()); ++i) {  // T_a' a = d sigma / dt - (dT_a/dt)' v_J
    const Coordinate c = coordinate(bodies, prescribed_[i]);
    store(of_.coordinates.row[prescribed_[i]], c.of.active_force, c.of.drift - functions(i, 2), c.joint, c.motion);
  }
}

Index LoadsAndRows::add_loads(const model::BodyMotions& bodies, View<const double> previous, View<double, 2> load) const {
  const auto& [joints, coordinates, springs, points, elements, loads] = of_;
  for (Index k = 0; k < loads.body.size(); ++k) {
    const Index i = loads.body[k];
    loads.in_body(k, model::rotation_of(bodies.orientation, i)).about(-loads.at(k)).add_to(&load(i, 0));
  }
  const Index n_prescribed = Index(prescribed_.size()), n_springs = springs.item.size();
  for (Index k = 0; k < n_springs; ++k) {  // tau = effort - k (q - q_0) - d dq/dt
    const Index item = springs.item[k];
    const Coordinate c = coordinate(bodies, item);
    const double q = coordinates.unwrapped(item, c.of.value, previous[item]), effort = functions(n_prescribed + k, 0);
    const double tau = effort - springs.stiffness[k] * (q - springs.rest[k]) - springs.damping[k] * c.rate();
    model::add_joint_wrench(joints.frames, c.joint, c.motion.X_p, c.of.active_force * tau, load);
  }
  for (Index k = 0; k < elements.size(); ++k) {
    const model::JointMotion motion = model::joint_motion(elements.frames, bodies, k);
    const model::ElasticRows z(elements, k, motion.X);
    Force<double> w;
    for (int i = 0; i < z.n_rows; ++i) w += Force<double>::load(z.rows[i]) * -z.force(elements, k, i, motion.v_J);
    model::add_joint_wrench(elements.frames, k, motion.X_p, w, load);
  }
  std::vector<double> effort(points.size());
  for (std::size_t k = 0; k < effort.size(); ++k) effort[k] = functions(n_prescribed + n_springs + k, 0);
  return model::add_point_forces(points, effort, bodies, load);
}

void LoadsAndRows::fill_errors(const model::BodyMotions& bodies, View<const Index> system_row, View<double> delta,
                               View<double> velocity) const {
  for (Index i = 0; i < Index(prescribed_.size()); ++i) {
    const Index item = prescribed_[i], row = system_row[i];
    const Coordinate c = coordinate(bodies, item);
    if (delta.size() > 0) delta[row] = of_.coordinates.prescribed_error(item, c.of.value, functions(i, 0));
    if (velocity.size() > 0) velocity[row] = c.rate() - functions(i, 1);
  }
}

void LoadsAndRows::fill_coordinates(const model::BodyMotions& bodies, View<const double> previous,
                                    View<double> value) const {
  for (Index i = 0; i < value.size(); ++i)
    value[i] = of_.coordinates.unwrapped(i, coordinate(bodies, i).of.value, previous[i]);
}

}  // namespace sparsebody
