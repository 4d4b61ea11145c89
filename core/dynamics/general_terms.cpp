#include "dynamics/general_terms.hpp"

#include <cmath>
#include <numbers>

#include "joints/joint_arrays.hpp"
#include "joints/joint_types.hpp"
#include "model/constraint_rows.hpp"
#include "model/poses.hpp"

namespace sparsebody {

namespace {

constexpr double turn = 2.0 * std::numbers::pi;

model::JointMotion motion_at(const model::JointFrames& frames, const model::BodyMotions& bodies, Index j) {
  return model::joint_motion(frames.X_P(j), frames.X_S(j), bodies[frames.predecessor[j]], bodies[frames.successor[j]]);
}

// Adds a wrench in S coordinates to the successor, and its opposite to the predecessor.
void add_wrench(const model::JointFrames& frames, Index j, const Transform<double>& X_p, const Force<double>& w,
                View<double, 2> load) {
  const Index p = frames.predecessor[j], s = frames.successor[j];
  if (s >= 0) frames.X_S(j).transpose(w).add_to(&load(s, 0));
  if (p >= 0) (-X_p.transpose(w)).add_to(&load(p, 0));
}

}  // namespace

struct GeneralTerms::Coordinate {
  Index joint;
  model::JointMotion motion;
  CoordinateMotion of;

  double rate() const { return dot(motion.v_J, of.dual); }
};

GeneralTerms::GeneralTerms(const GeneralJoints& joints, const TrackedCoordinates& coordinates,
                           const CoordinateSprings& springs, const PointSprings& points,
                           const model::ElasticElements& elements, const ExternalForces& forces, View<double, 2> known_,
                           View<double, 3> rows_, View<double> gamma_)
    : known(known_), rows(rows_), gamma(gamma_), joints_(joints), coordinates_(coordinates), springs_(springs),
      points_(points), elements_(elements), forces_(forces) {
  for (Index i = 0; i < coordinates_.row.size(); ++i)
    if (coordinates_.row[i] >= 0) prescribed_.push_back(i);
}

GeneralTerms::Coordinate GeneralTerms::coordinate(const model::BodyMotions& bodies, Index item) const {
  const Index j = coordinates_.joint[item];
  const model::JointMotion motion = motion_at(joints_.frames, bodies, j);
  return {j, motion,
          coordinate_motion(coordinates_.kind[j], coordinates_.parameter[j], coordinates_.index[item], motion.X,
                            motion.v_J)};
}

double GeneralTerms::continued(Index item, double value, View<const double> near) const {
  return coordinates_.is_angle[item] ? value + turn * std::round((near[item] - value) / turn) : value;
}

void GeneralTerms::fill_rows(const model::BodyMotions& bodies) const {
  const auto store = [&](Index k, const Force<double>& t, double drift, Index j, const model::JointMotion& motion) {
    const model::ConstraintRow row = model::constraint_row(t, drift, joints_.frames.X_S(j), motion);
    if (joints_.frames.predecessor[j] >= 0) row.on_predecessor.store(&rows(k, 0, 0));
    if (joints_.frames.successor[j] >= 0) row.on_successor.store(&rows(k, 1, 0));
    gamma[k] = row.acceleration;
  };
  for (Index j = 0; j < n_joints(); ++j) {
    const model::JointMotion motion = motion_at(joints_.frames, bodies, j);
    const Index first = joints_.first_row[j], n_rows = joints_.first_row[j + 1] - first;
    double T[42] = {}, drift[7] = {};  // with one prescribed coordinate more
    std::copy_n(joints_.subspace.data() + 6 * first, 6 * n_rows, T);
    joint_varying_rows(int(joints_.kind[j]), motion.X, motion.v_J, T, drift);
    for (Index i = 0; i < n_rows; ++i) store(first + i, Force<double>::load(T + 6 * i), drift[i], j, motion);
  }
  for (Index i = 0; i < Index(prescribed_.size()); ++i) {  // W' a = d sigma / dt - (dW/dt)' v_J
    const Coordinate c = coordinate(bodies, prescribed_[i]);
    store(coordinates_.row[prescribed_[i]], c.of.dual, c.of.drift - known(i, 2), c.joint, c.motion);
  }
}

Index GeneralTerms::add_loads(const model::BodyMotions& bodies, View<const double> near, View<double, 2> load) const {
  for (Index k = 0; k < forces_.body.size(); ++k) {
    const Index i = forces_.body[k];
    auto w = Force<double>::load(&forces_.wrench(k, 0));
    if (forces_.in_world[k]) {
      const Mat3<double> R = model::rotation_of(bodies.orientation, i);
      w = {transpose_times(R, w.angular), transpose_times(R, w.linear)};
    }
    w.about(-Vec3<double>::load(&forces_.point(k, 0))).add_to(&load(i, 0));
  }
  const Index n_prescribed = Index(prescribed_.size()), n_springs = springs_.item.size();
  for (Index k = 0; k < n_springs; ++k) {  // tau = effort - k (q - q_0) - d dq/dt
    const Index item = springs_.item[k];
    const Coordinate c = coordinate(bodies, item);
    const double q = continued(item, c.of.value, near), effort = known(n_prescribed + k, 0);
    const double tau = effort - springs_.stiffness[k] * (q - springs_.rest[k]) - springs_.damping[k] * c.rate();
    add_wrench(joints_.frames, c.joint, c.motion.X_p, c.of.dual * tau, load);
  }
  for (Index k = 0; k < elements_.size(); ++k) {
    const model::JointMotion motion = motion_at(elements_.frames, bodies, k);
    const model::ElasticRows z(elements_, k, motion.X);
    Force<double> w;
    for (int i = 0; i < z.n_rows; ++i) {
      double mu = z.value[i];
      for (int l = 0; l < z.n_rows; ++l) mu += elements_.damping(k, i, l) * z.rate(l, motion.v_J);
      w += Force<double>::load(z.rows[i]) * -mu;
    }
    add_wrench(elements_.frames, k, motion.X_p, w, load);
  }
  std::vector<double> effort(points_.first.size());
  for (std::size_t k = 0; k < effort.size(); ++k) effort[k] = known(n_prescribed + n_springs + k, 0);
  return model::add_point_forces({points_.first, points_.second, points_.first_point, points_.second_point,
                                  points_.stiffness, points_.rest_length, points_.damping, effort},
                                 bodies, load);
}

void GeneralTerms::fill_errors(const model::BodyMotions& bodies, View<const Index> system_row, View<double> delta,
                               View<double> velocity) const {
  for (Index i = 0; i < Index(prescribed_.size()); ++i) {
    const Index item = prescribed_[i], row = system_row[i];
    const Coordinate c = coordinate(bodies, item);
    const double gap = c.of.value - known(i, 0);
    if (delta.size() > 0) delta[row] = coordinates_.is_angle[item] ? std::remainder(gap, turn) : gap;
    if (velocity.size() > 0) velocity[row] = c.rate() - known(i, 1);
  }
}

void GeneralTerms::fill_coordinates(const model::BodyMotions& bodies, View<const double> near,
                                    View<double> value) const {
  for (Index i = 0; i < value.size(); ++i) value[i] = continued(i, coordinate(bodies, i).of.value, near);
}

}  // namespace sparsebody
