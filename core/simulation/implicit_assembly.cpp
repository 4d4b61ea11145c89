// The whole matrix of an implicit step, and the parts of it that are exact.
#include "simulation/implicit_matrix.hpp"
#include "simulation/implicit_terms.hpp"

namespace sparsebody::implicit {

namespace {

using Twist = Motion<double>;
using Wrench = Force<double>;

}  // namespace

Matrix6 Equations::mass_matrix(Index i) const {
  Matrix6 M;
  M.add_block(0, 0, Mat3<double>::load(&bodies_.inertia(i, 0, 0)));
  for (int a = 3; a < 6; ++a) M(a, a) = bodies_.mass[i];
  return M;
}

// d(v x* M v)/dv = v x* M + (. x* M v)
Matrix6 Equations::gyroscopic_block(Index i) const {
  const Twist& v = motions_[i].v;
  const Mat3<double> tensor = Mat3<double>::load(&bodies_.inertia(i, 0, 0));
  const Wrench momentum{tensor * v.angular, bodies_.mass[i] * v.linear};
  return Matrix6::cross_with(momentum) - transpose_times(Matrix6::cross(v), mass_matrix(i));
}

void Equations::add_load_stiffness(std::vector<Matrix6>& H) const {
  for (Index k = 0; k < loads_.body.size(); ++k) {
    if (!loads_.in_world[k]) continue;
    const Index i = loads_.body[k];
    const Wrench load = Wrench::load(&loads_.wrench(k, 0));
    const Mat3<double>& R = motions_[i].R;
    H[i] += -1.0 * turning(Vec3<double>::load(&loads_.point(k, 0)),
                           {transpose_times(R, load.angular), transpose_times(R, load.linear)});
  }
}

Equations::PointTerms Equations::point_terms(Index k) const {
  PointTerms terms{};
  const PointSprings& s = point_springs_;
  Vec3<double> velocity[2], line;
  for (int side = 0; side < 2; ++side) {
    const double sign = side == 0 ? -1.0 : 1.0;
    const Index body = terms.body[side] = side == 0 ? s.first[k] : s.second[k];
    const auto& [R, x, v] = motion(body);
    const Vec3<double> arm = terms.arm[side] = Vec3<double>::load(side == 0 ? &s.first_point(k, 0) : &s.second_point(k, 0));
    velocity[side] = v.about(arm).linear;
    line += sign * (x + R * arm);
    terms.line_rate += sign * (R * velocity[side]);
    terms.E[side][0] = R * Mat3<double>::skew(-sign * arm);
    for (int a = 0; a < 9; ++a) terms.E[side][1].m[a] = sign * R.m[a];
  }
  terms.length = norm(line);
  terms.n = 1.0 / terms.length * line;
  terms.rate = dot(terms.n, terms.line_rate);
  for (int side = 0; side < 2; ++side) {
    terms.n_body[side] = transpose_times(motion(terms.body[side]).R, terms.n);
    const Wrench row{transpose_times(terms.E[side][0], terms.n), transpose_times(terms.E[side][1], terms.n)};
    row.store(terms.row[side]);
    const double sign = side == 0 ? -1.0 : 1.0;
    const Vec3<double> across = 1.0 / terms.length * (terms.line_rate - terms.rate * terms.n);  // dn . line_rate
    const Wrench turn{sign * cross(velocity[side], terms.n_body[side]) + transpose_times(terms.E[side][0], across),
                      transpose_times(terms.E[side][1], across)};
    turn.store(terms.turn[side]);
  }
  return terms;
}

void Equations::assemble(Triplets& out) {
  const Index n = n_bodies();
  const auto add_block = [&](Index row_body, Index column_body, const Matrix6& K, const Matrix6& D,
                             const Matrix6& M = {}) {
    if (row_body < 0 || column_body < 0) return;
    for (int i = 0; i < 6; ++i)
      for (int k = 0; k < 6; ++k)
        out.add(6 * row_body + i, 6 * column_body + k, K(i, k), D(i, k), M(i, k));
  };
  const auto tangent = [&](Index body) {
    return body < 0 ? Matrix6() : inverse_tangent(Twist::load(&end_.displacement(body, 0)));
  };
  std::vector<Matrix6> stiffness(n);
  const Vec3<double> g = Vec3<double>::load(bodies_.gravity.data());
  for (Index i = 0; i < n; ++i) stiffness[i] = -1.0 * turning({}, {{}, bodies_.mass[i] * transpose_times(motions_[i].R, g)});
  add_load_stiffness(stiffness);
  for (Index i = 0; i < n; ++i)
    add_block(i, i, stiffness[i], gyroscopic_block(i) * tangent(i), mass_matrix(i) * tangent(i));
  for_connections(true, [&](Index j, const JointTerms& terms) {
    const auto& [body, first, n_rows, first_entry] = connections_[j];
    const Matrix6 X[2] = {Matrix6::of(terms.X_p), Matrix6::of(terms.X_s)};
    Matrix6 rate = terms.has_rate ? terms.wrench_rate : Matrix6(), damping;
    for (const Spring& spring : terms.springs) {
      rate.add_outer(spring.stiffness, spring.w, spring.w);
      rate.add_outer(spring.damping, spring.w, spring.rate);
      damping.add_outer(spring.damping, spring.w, spring.w);
    }
    const Matrix6 of_side[2] = {rate + Matrix6::cross_with(terms.wrench), rate};
    for (int row = 0; row < 2; ++row)
      for (int column = 0; column < 2; ++column) {
        const double sign = row == column ? 1.0 : -1.0;
        add_block(body[row], body[column], sign * transpose_times(X[row], of_side[row] * X[column]),
                  sign * transpose_times(X[row], damping * (X[column] * tangent(body[column]))));
      }
    for (int side = 0; side < 2; ++side)
      for (int e = 0; e < 6 && body[side] >= 0; ++e) {
        double entry[6] = {};
        for (int k = 0; k < terms.n_rows; ++k)
          for (int a = 0; a < 6; ++a) entry[k] += (side == 0 ? -1.0 : 1.0) * X[side](a, e) * terms.rows[k][a];
        for (int k = 0; k < terms.n_rows; ++k) {
          double damped = 0.0;
          for (int l = 0; terms.is_element && l < terms.n_rows; ++l)
            damped += elements_.damping(j - joints_.kind.size(), k, l) * entry[l];
          out.add(6 * n + first + k, 6 * body[side] + e, entry[k], damped);
          out.add(6 * body[side] + e, 6 * n + first + k, entry[k]);
        }
      }
    for (int k = 0; k < terms.n_rows; ++k)
      for (int l = 0; l < terms.n_rows; ++l)
        if (terms.is_element ? k == l : true)
          out.add(6 * n + first + k, 6 * n + first + l,
                  terms.is_element ? -1.0 : -compliance_.entries[first_entry + k * terms.n_rows + l]);
  });
  for (Index k = 0; k < point_springs_.first.size(); ++k) {
    const PointTerms terms = point_terms(k);
    const double stiffness = point_springs_.stiffness[k], damping = point_springs_.damping[k];
    const double pull = stiffness * (terms.length - point_springs_.rest_length[k]) + damping * terms.rate -
                        given_.point_effort[k];
    Mat3<double> across = Mat3<double>::identity();
    for (int i = 0; i < 3; ++i)
      for (int e = 0; e < 3; ++e)
        across(i, e) = pull / terms.length * (across(i, e) - (&terms.n.x)[i] * (&terms.n.x)[e]);
    for (int row = 0; row < 2; ++row)
      for (int column = 0; column < 2; ++column) {
        Matrix6 block, damped;
        block.add_outer(stiffness, terms.row[row], terms.row[column]);
        block.add_outer(damping, terms.row[row], terms.turn[column]);
        damped.add_outer(damping, terms.row[row], terms.row[column]);
        for (int i = 0; i < 2; ++i)
          for (int e = 0; e < 2; ++e)
            block.add_block(3 * i, 3 * e, transpose_times(terms.E[row][i], across * terms.E[column][e]));
        if (row == column)
          block += (row == 0 ? -pull : pull) * turning(terms.arm[row], {{}, terms.n_body[row]});
        add_block(terms.body[row], terms.body[column], block, damped * tangent(terms.body[column]));
      }
  }
}

void Equations::velocity_errors(View<const double> prescribed_rate, View<double> error) {
  std::fill(error.begin(), error.end(), 0.0);
  for_connections(false, [&](Index j, const JointTerms& terms) {
    if (terms.is_element) return;
    double* const of_joint = &error[connections_[j].first_row];
    for (int k = 0; k < terms.n_rows; ++k) of_joint[k] = dot(terms.v_J, Wrench::load(terms.rows[k]));
  });
  for (Index item = 0; item < coordinates_.row.size(); ++item)
    if (coordinates_.row[item] >= 0) error[coordinates_.row[item]] -= prescribed_rate[prescribed_of_item_[item]];
}

}  // namespace sparsebody::implicit
