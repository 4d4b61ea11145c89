// The whole matrix of an implicit step, from derivatives of the forces and rows along all directions; and that of the
// acceleration errors of joints, from such derivatives of rates in time.
#include "simulation/implicit_terms.hpp"

namespace sparsebody::implicit {

namespace {

using InTime = Dual<1, OfBoth>;

Vec3<InTime> in_time(const Vec3<OfBoth>& v, const Vec3<OfBoth>& rate) {
  Vec3<InTime> moving{v.x, v.y, v.z};
  moving.x.rate[0] = rate.x, moving.y.rate[0] = rate.y, moving.z.rate[0] = rate.z;
  return moving;
}

// The motion of a body along its velocity and acceleration: dR/dt = R w x, dx/dt = R u.
BodyMotion<InSpace<InTime>> in_time(const BodyMotion<InSpace<OfBoth>>& body, const double* acceleration) {
  const auto& [R, x, v] = body;
  BodyMotion<InSpace<InTime>> moving;
  const Mat3<OfBoth> rate = R * Mat3<OfBoth>::skew(v.angular);
  for (int i = 0; i < 9; ++i) moving.R.m[i] = R.m[i], moving.R.m[i].rate[0] = rate.m[i];
  moving.x = in_time(x, R * v.linear);
  const auto a = Motion<OfBoth>::load(acceleration);
  moving.v = {in_time(v.angular, a.angular), in_time(v.linear, a.linear)};
  return moving;
}

}  // namespace

void Equations::assemble(Triplets& out, bool exact_rows) {
  const Index n = n_bodies();
  std::vector<Matrix6> tangent(n);  // T^-1: dy = T^-1 d
  for (Index i = 0; i < n; ++i) tangent[i] = inverse_tangent(Motion<double>::load(&end_.displacement(i, 0)));
  const auto add_block = [&](Index i, const Matrix6& K, const Matrix6& D, const Matrix6& M) {
    for (int a = 0; a < 6; ++a)
      for (int e = 0; e < 6; ++e) out.add(6 * i + a, 6 * i + e, K(a, e), D(a, e), M(a, e));
  };
  for (Index i = 0; i < n; ++i) {
    const auto [M, D, K] = body_matrices(i);
    add_block(i, K, D * tangent[i], M * tangent[i]);
  }
  for (Index k = 0; k < tables_.loads.body.size(); ++k) add_block(tables_.loads.body[k], load_stiffness(k), {}, {});
  // The change of a number by the motions of two bodies.
  const auto add_rates = [&](Index row, const OfBoth& number, const Index (&body)[2]) {
    for (int side = 0; side < 2; ++side)
      for (int e = 0; e < 6 && body[side] >= 0; ++e) {
        double damping = 0.0;
        for (int a = 0; a < 6; ++a) damping += number.rate[12 + 6 * side + a] * tangent[body[side]](a, e);
        out.add(row, 6 * body[side] + e, number.rate[6 * side + e], damping);
      }
  };
  const auto add_force = [&](int side, const Force<OfBoth>& f, const Index (&body)[2]) {
    OfBoth part[6];
    f.store(part);
    for (int a = 0; a < 6 && body[side] >= 0; ++a) add_rates(6 * body[side] + a, part[a], body);
  };
  for_connections<OfBoth>(true, [&](Index j, const ConnectionTerms<OfBoth>& terms) {
    const auto& [body, first, n_rows, first_entry] = connections_[j];
    add_force(0, -terms.X_p.transpose(terms.wrench), body);
    add_force(1, terms.X_s.transpose(terms.wrench), body);
    const bool is_exact = exact_rows || terms.is_element;
    for (int k = 0; k < terms.n_rows; ++k) {
      const Index row = 6 * n + first + k;
      const auto t = Force<OfBoth>::load(terms.rows[k]);
      const Force<OfBoth> on[2] = {-terms.X_p.transpose(t), terms.X_s.transpose(t)};
      for (int side = 0; side < 2; ++side) {
        OfBoth entry[6];
        on[side].store(entry);
        for (int e = 0; e < 6 && body[side] >= 0; ++e) {
          out.add(6 * body[side] + e, row, entry[e].value);
          if (!is_exact) out.add(row, 6 * body[side] + e, entry[e].value);  // A, though delta is not quite zero
        }
      }
      if (is_exact) add_rates(row, terms.delta[k], body);
      if (terms.is_element) out.add(row, row, -1.0);
      for (int l = 0; l < terms.n_rows && !terms.is_element; ++l)
        out.add(row, 6 * n + first + l, -compliance_.entries[first_entry + k * terms.n_rows + l]);
    }
  });
  const model::PointSprings& springs = tables_.points;
  for (Index k = 0; k < springs.size(); ++k) {
    const Index body[2] = {springs.first[k], springs.second[k]};
    const model::PointLine<OfBoth> line(springs, k, motion<OfBoth>(body[0], 0), motion<OfBoth>(body[1], 1));
    for (int side = 0; side < 2; ++side)
      add_force(side, line.tension(springs, k, inputs_.point_effort[k]) * line.row[side], body);
  }
}

void Equations::set_joint_rows() {
  joint_rows_.resize(tables_.joints.size());
  ConnectionTerms<Directions> terms;
  visit_joints(tables_.joints.kind, tables_.joints.parameter, [&]<class J>(Index j, const J& joint) {
    const Index p = connections_[j].body[0], s = connections_[j].body[1];
    JointRows& of = joint_rows_[j];
    of.X_s = tables_.joints.frames.X_S(j);
    const auto at = model::joint_motion(tables_.joints.frames.X_P(j), of.X_s, motions_[p], motions_[s]);
    of.X_p = at.X_p;
    const Transform<Directions> X = model::with_rates(at.X);
    joint.error(X, terms.delta);
    const auto columns = joint.constraint_force_subspace(at.X);
    std::copy(columns.begin(), columns.end(), of.rows);
    if (first_item_[j + 1] > first_item_[j]) {
      add_coordinates(j, X, false, terms);
      for (Index k = Index(columns.size()); k < connections_[j].n_rows; ++k) {  // of prescribed coordinates
        double row[6];
        for (int e = 0; e < 6; ++e) row[e] = terms.rows[k][e].value;
        of.rows[k] = Force<double>::load(row);
      }
    }
    for (Index k = 0; k < connections_[j].n_rows; ++k)
      of.error_rates[k] = Force<double>::load(terms.delta[k].rate.data());
  });
}

void Equations::row_products(View<const double, 2> motion, View<double> row) const {
  for (Index j = 0; j < Index(joint_rows_.size()); ++j) {
    const auto& [body, first, n_rows, first_entry] = connections_[j];
    const JointRows& of = joint_rows_[j];
    Motion<double> x;
    if (body[1] >= 0) x += of.X_s * Motion<double>::load(&motion(body[1], 0));
    if (body[0] >= 0) x -= of.X_p * Motion<double>::load(&motion(body[0], 0));
    for (Index k = 0; k < n_rows; ++k) row[first + k] = dot(x, of.rows[k]);
  }
}

void Equations::add_error_forces(View<const double> u, View<double, 2> force, View<double, 2> predecessor_frame,
                                 View<double, 2> successor_frame) const {
  for (Index j = 0; j < Index(joint_rows_.size()); ++j) {
    const auto& [body, first, n_rows, first_entry] = connections_[j];
    const JointRows& of = joint_rows_[j];
    Force<double> f;
    for (Index k = 0; k < n_rows; ++k) f += u[first + k] * of.error_rates[k];
    if (body[1] >= 0) of.X_s.transpose(f).add_to(&force(body[1], 0));
    const Force<double> on_p = -of.X_p.transpose(f);
    if (body[0] >= 0) on_p.add_to(&force(body[0], 0));
    if (predecessor_frame.empty()) continue;
    (tables_.joints.frames.X_P(j) * on_p).add_to(&predecessor_frame(j, 0));
    f.add_to(&successor_frame(j, 0));
  }
}

void Equations::assemble_acceleration_errors(Triplets& out, View<double> error) {
  std::fill(error.begin(), error.end(), 0.0);
  visit_joints(tables_.joints.kind, tables_.joints.parameter, [&]<class J>(Index j, const J& joint) {
    const auto& [body, first, n_rows, first_entry] = connections_[j];
    if (n_rows == 0) return;
    static constexpr double at_rest[6] = {};
    const auto moving = [&](int side) {
      return in_time(motion<OfBoth>(body[side], side), body[side] < 0 ? at_rest : &end_.acceleration(body[side], 0));
    };
    const Transform<InTime> X_S(tables_.joints.frames.X_S(j));
    const auto at = model::joint_motion(Transform<InTime>(tables_.joints.frames.X_P(j)), X_S, moving(0), moving(1));
    const auto add = [&](Index row, const Force<InTime>& t) {
      const OfBoth rate = dot(at.v_J, t).rate[0];  // d/dt of t' v_J
      error[row] = rate.value;
      const Force<InTime> on[2] = {-at.X_p.transpose(t), X_S.transpose(t)};
      for (int side = 0; side < 2; ++side) {
        if (body[side] < 0) continue;
        InTime entry[6];
        on[side].store(entry);
        for (int e = 0; e < 6; ++e)
          out.add(row, 6 * body[side] + e, rate.rate[6 * side + e], rate.rate[12 + 6 * side + e], entry[e].value.value);
      }
    };
    const auto columns = joint.constraint_force_subspace(at.X);
    for (std::size_t k = 0; k < columns.size(); ++k) add(first + Index(k), columns[k]);
    for (Index a = first_item_[j]; a < first_item_[j + 1]; ++a) {
      const Index item = items_[a], row = tables_.coordinates.row[item];
      if constexpr (J::info.n_velocities > 0)
        if (row >= 0) add(row, joints::active_force_subspace(joint, at.X)[tables_.coordinates.index[item]]);
    }
  });
}

}  // namespace sparsebody::implicit
