#include "simulation/implicit_equations.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "joints/joint_types.hpp"
#include "model/poses.hpp"
#include "spatial/dual.hpp"

namespace sparsebody::implicit {

namespace {

using Twist = Motion<double>;
using Wrench = Force<double>;
using Directions = Dual<6>;

// X_SP and its rates under a twist x of S in S coordinates: dE = -w x E, dr = E' u.
Transform<Directions> displaced(const Transform<double>& X) {
  Transform<Directions> moving;
  for (int j = 0; j < 3; ++j) {
    const Vec3<double> column = X.E.column(j);
    for (int i = 0; i < 3; ++i) moving.E(i, j) = X.E(i, j);
    for (int a = 0; a < 3; ++a) {
      const Vec3<double> rate = cross(column, Mat3<double>::identity().row(a));
      moving.E(0, j).rate[a] = rate.x, moving.E(1, j).rate[a] = rate.y, moving.E(2, j).rate[a] = rate.z;
    }
  }
  moving.r = {X.r.x, X.r.y, X.r.z};
  for (int a = 0; a < 3; ++a)
    moving.r.x.rate[3 + a] = X.E(a, 0), moving.r.y.rate[3 + a] = X.E(a, 1), moving.r.z.rate[3 + a] = X.E(a, 2);
  return moving;
}

// T lambda + W mu, mu being forces along the velocity coordinates.
template <class J, class S>
Force<S> wrench_of(const J& joint, const Transform<S>& X, const double* lambda, const double* mu) {
  Force<S> w;
  const auto T = joint.constraint_force_subspace(X);
  for (std::size_t k = 0; k < T.size(); ++k) w += T[k] * S(lambda[k]);
  if (mu == nullptr) return w;
  const auto W = joints::active_force_subspace(joint, X);
  for (std::size_t k = 0; k < W.size(); ++k) w += W[k] * S(mu[k]);
  return w;
}

void take_rates(const Force<Directions>& w, Matrix6& rate) {
  const Directions* const part[6] = {&w.angular.x, &w.angular.y, &w.angular.z, &w.linear.x, &w.linear.y, &w.linear.z};
  for (int i = 0; i < 6; ++i)
    for (int a = 0; a < 6; ++a) rate(i, a) = part[i]->rate[a];
}

// --- Cholesky factors L of blocks of n rows, with 1 / diagonal ---

bool cholesky(int n, double* A) {
  for (int j = 0; j < n; ++j) {
    double pivot = A[j * n + j];
    for (int k = 0; k < j; ++k) pivot -= A[j * n + k] * A[j * n + k];
    if (!(pivot > 0.0)) return false;
    const double inverse = A[j * n + j] = 1.0 / std::sqrt(pivot);
    for (int i = j + 1; i < n; ++i) {
      double sum = A[i * n + j];
      for (int k = 0; k < j; ++k) sum -= A[i * n + k] * A[j * n + k];
      A[i * n + j] = sum * inverse;
    }
  }
  return true;
}
// x = L^-1 x, of numbers that lie `stride` apart
void forward(int n, const double* L, double* x, Index stride = 1) {
  for (int i = 0; i < n; ++i) {
    double sum = x[i * stride];
    for (int j = 0; j < i; ++j) sum -= L[i * n + j] * x[j * stride];
    x[i * stride] = sum * L[i * n + i];
  }
}
// The same for m vectors of six numbers that lie `stride` apart, side by side in the pipeline.
void forward_rows(const double* L, double* x, Index m, Index stride) {
  for (int i = 0; i < 6; ++i)
    for (Index k = 0; k < m; ++k) {
      double* const row = x + k * stride;
      double sum = row[i];
      for (int j = 0; j < i; ++j) sum -= L[i * 6 + j] * row[j];
      row[i] = sum * L[i * 6 + i];
    }
}
// x = L'^-1 x
void backward(int n, const double* L, double* x) {
  for (int i = n - 1; i >= 0; --i) {
    double sum = x[i];
    for (int j = i + 1; j < n; ++j) sum -= L[j * n + i] * x[j];
    x[i] = sum * L[i * n + i];
  }
}

// Members by their keys, in order: those of key k are items[first[k]], ...
void by_key(Index n_keys, View<Index> keys, std::vector<Index>& first, std::vector<Index>& items) {
  first.assign(n_keys + 1, 0);
  for (const Index key : keys) ++first[key + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  items.resize(keys.size());
  std::vector<Index> next(first.begin(), first.end() - 1);
  for (Index i = 0; i < keys.size(); ++i) items[next[keys[i]]++] = i;
}

double dot6(const double* a, const double* b) {
  double sum = 0.0;
  for (int i = 0; i < 6; ++i) sum += a[i] * b[i];
  return sum;
}

// The change of a wrench [n + r x f; f] of world axes at a point r, seen from a turning body.
Matrix6 turning(const Vec3<double>& r, const Wrench& load) {
  const Mat3<double> f = Mat3<double>::skew(load.linear);
  Matrix6 K;
  K.add_block(0, 0, Mat3<double>::skew(load.angular) + Mat3<double>::skew(r) * f);
  K.add_block(3, 0, f);
  return K;
}

// NaN if either is.
double largest(double a, double b) { return b > a || b != b ? b : a; }

double wrapped(double angle) { return std::remainder(angle, 2.0 * std::numbers::pi); }

}  // namespace

// The line between the points of a spring; sides are those of the first and of the second body.
struct Equations::PointTerms {
  Index body[2];
  double row[2][6];       // dl = sum row d
  double turn[2][6];      // d(dl/dt) by turning the bodies
  Mat3<double> E[2][2];   // dl vector = E[.][0] w + E[.][1] u, signs included
  Vec3<double> arm[2], n_body[2];
  Vec3<double> n, line_rate;
  double length, rate;
};

Equations::Equations(const Bodies& bodies, const Joints& joints, const Coordinates& coordinates,
                     const CoordinateSprings& springs, const PointSprings& point_springs, const Loads& loads,
                     const Compliance& compliance, const Start& start, const End& end, const Given& given,
                     const Residual& residual)
    : bodies_(bodies), joints_(joints), coordinates_(coordinates), springs_(springs), point_springs_(point_springs),
      loads_(loads), compliance_(compliance), start_(start), end_(end), given_(given), residual_(residual),
      n_rows_(residual.row.size()), motions_(bodies.mass.size()), root_(bodies.mass.size()), rest_(bodies.mass.size()),
      row_root_(compliance.entries.size()), shear_(joints.kind.size()) {
  by_key(joints_.kind.size(), coordinates_.joint, first_item_, items_);
  by_key(coordinates_.joint.size(), springs_.item, first_spring_, springs_of_item_);
  prescribed_of_item_.resize(coordinates_.joint.size());
  for (Index i = 0, count = 0; i < coordinates_.joint.size(); ++i)
    if (coordinates_.row[i] >= 0) prescribed_of_item_[i] = count++;
}

// --- residuals ---

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

// Calls f(j, terms, delta) for all joints; with_rate: dw/dq is wanted.
template <class F>
void Equations::for_joints_with_terms(bool with_rate, F f) {
  JointTerms terms;
  const model::JointFrames frames = this->frames();
  visit_joints(joints_.kind, joints_.parameter, [&]<class J>(Index j, const J& joint) {
    constexpr joints::JointInfo info = J::info;
    const model::JointMotion motion = model::joint_motion(frames.X_P(j), frames.X_S(j), this->motion(frames.predecessor[j]),
                                                          this->motion(frames.successor[j]));
    const double* const lambda = end_.multiplier.data() + joints_.first_row[j];
    double delta[7] = {}, mu[7] = {};
    terms.X_s = frames.X_S(j), terms.X_p = motion.X_p, terms.v_J = motion.v_J, terms.v_p = motion.v_p;
    terms.n_rows = int(joints_.first_row[j + 1] - joints_.first_row[j]);
    terms.springs.clear();
    joint.error(motion.X, delta);
    const auto T = joint.constraint_force_subspace(motion.X);
    for (std::size_t k = 0; k < T.size(); ++k) T[k].store(terms.rows[k]);
    const bool has_coordinates = first_item_[j + 1] > first_item_[j];
    if constexpr (info.n_velocities > 0 && info.n_scalars > 0) {
      if (has_coordinates) {
        double q[info.n_positions];
        joint.coordinates(motion.X, q);
        const auto W = joints::active_force_subspace(joint, motion.X);
        for (Index a = first_item_[j]; a < first_item_[j + 1]; ++a) {
          const Index item = items_[a], k = coordinates_.index[item], row = coordinates_.row[item];
          constexpr double turn = 2.0 * std::numbers::pi;
          double value = q[k + info.n_positions - info.n_velocities];
          if (coordinates_.is_angle[item]) value += turn * std::round((start_.coordinate[item] - value) / turn);
          end_.coordinate[item] = value;
          if (row >= 0) {
            const Index local = row - joints_.first_row[j];
            const double gap = value - given_.prescribed[prescribed_of_item_[item]];
            delta[local] = coordinates_.is_angle[item] ? wrapped(gap) : gap;
            W[k].store(terms.rows[local]);
            mu[k] += lambda[local];
          }
          for (Index b = first_spring_[item]; b < first_spring_[item + 1]; ++b) {
            const Index spring = springs_of_item_[b];
            const double stiffness = springs_.stiffness[spring], damping = springs_.damping[spring];
            mu[k] += stiffness * (value - springs_.rest[spring]) + damping * dot(motion.v_J, W[k]) -
                     given_.joint_effort[spring];
            terms.springs.push_back({spring, stiffness, damping, {}, {}});
            W[k].store(terms.springs.back().w);
          }
        }
      }
    }
    const double* const forces = has_coordinates ? mu : nullptr;
    terms.wrench = wrench_of(joint, motion.X, lambda, forces);
    terms.has_rate = with_rate && (info.has_varying_T || has_coordinates);
    if (terms.has_rate) {
      const Transform<Directions> X = displaced(motion.X);
      take_rates(wrench_of(joint, X, lambda, forces), terms.wrench_rate);
      if constexpr (info.n_velocities > 0) {
        const auto W = joints::active_force_subspace(joint, X);
        for (Spring& spring : terms.springs) {  // dq/dt = W' v_J, and v_J changes by x x v_p
          const Force<Directions>& w = W[coordinates_.index[springs_.item[spring.index]]];
          const Motion<Directions> v{{motion.v_J.angular.x, motion.v_J.angular.y, motion.v_J.angular.z},
                                     {motion.v_J.linear.x, motion.v_J.linear.y, motion.v_J.linear.z}};
          const Wrench turned = cross(motion.v_p, Wrench::load(spring.w));  // w'(x x v_p) = x'(v_p x* w)
          turned.store(spring.rate);
          for (int a = 0; a < 6; ++a) spring.rate[a] += dot(v, w).rate[a];
        }
      }
    }
    f(j, terms, delta);
  });
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
  for_joints_with_terms(false, [&](Index j, const JointTerms& terms, const double* delta) {
    const Index p = joints_.predecessor[j], s = joints_.successor[j], first = joints_.first_row[j];
    if (s >= 0) terms.X_s.transpose(terms.wrench).add_to(&residual_.force(s, 0));
    if (p >= 0) (-terms.X_p.transpose(terms.wrench)).add_to(&residual_.force(p, 0));
    const double* C = compliance_.entries.data() + compliance_.first_entry[j];
    for (int k = 0; k < terms.n_rows; ++k) {
      double open = delta[k];
      for (int l = 0; l < terms.n_rows; ++l) open -= C[k * terms.n_rows + l] * end_.multiplier[first + l];
      residual_.row[first + k] = open;
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

// --- linearization ---

Matrix6 Equations::mass_matrix(Index i) const {
  Matrix6 M;
  M.add_block(0, 0, Mat3<double>::load(&bodies_.inertia(i, 0, 0)));
  for (int a = 3; a < 6; ++a) M(a, a) = bodies_.mass[i];
  return M;
}

// (b M + c D) T^-1 + K of inertia, gravity and loads; D = d(v x* M v)/dv = v x* M + (. x* M v)
Matrix6 Equations::body_block(Index i, double b, double c) const {
  const Matrix6 M = mass_matrix(i);
  const Twist& v = motions_[i].v;
  const Mat3<double> tensor = Mat3<double>::load(&bodies_.inertia(i, 0, 0));
  const Wrench momentum{tensor * v.angular, bodies_.mass[i] * v.linear};
  const Matrix6 D = Matrix6::cross_with(momentum) - transpose_times(Matrix6::cross(v), M);
  const Vec3<double> g = transpose_times(motions_[i].R, Vec3<double>::load(bodies_.gravity.data()));
  return (b * M + c * D) * inverse_tangent(Twist::load(&end_.displacement(i, 0))) -
         turning({}, {{}, bodies_.mass[i] * g});
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

// body_block to first order in y: b M (1 + y x / 2) + c D + K.
Matrix6 Equations::first_order_block(Index i, double b, double c) const {
  const auto& [R, x, v] = motions_[i];
  const Twist y = Twist::load(&end_.displacement(i, 0));
  const double mass = bodies_.mass[i];
  const Mat3<double> tensor = Mat3<double>::load(&bodies_.inertia(i, 0, 0));
  const Vec3<double> g = transpose_times(R, Vec3<double>::load(bodies_.gravity.data()));
  Matrix6 H;
  H.add_block(0, 0, tensor * Mat3<double>::skew(0.5 * b * y.angular) + Mat3<double>::skew(c * v.angular) * tensor);
  H.add_block(0, 0, Mat3<double>::skew(-c * (tensor * v.angular)));
  H.add_block(3, 0, Mat3<double>::skew(mass * (0.5 * b * y.linear - c * v.linear - g)));
  H.add_block(3, 3, Mat3<double>::skew(mass * (0.5 * b * y.angular + c * v.angular)));
  return H + b * mass_matrix(i);
}

// What a joint adds to the blocks of its bodies, with its multipliers and rows sheared:
//   [p] G = T^+ R X_p, Y = X_p' (1 - P) Q T^+';  [s] G = -T^+ Q X_s, Y = -X_s' (1 - P) R T^+',
// R = dw/dq, Q = R + (. x* w), P = T T^+. Blocks are in S coordinates.
void Equations::shear(const JointTerms& terms, const Transform<double> (&X)[2], const Index (&body)[2], Shear& out,
                      Matrix6 (&block)[2]) {
  const Matrix6 B = Matrix6::cross_with(terms.wrench);
  block[0] = B;
  int axis[6];
  bool is_free[6] = {true, true, true, true, true, true};
  bool is_simple = !terms.has_rate;  // T of unit vectors, and constant
  for (int k = 0; k < terms.n_rows && is_simple; ++k) {
    axis[k] = int(std::find_if(terms.rows[k], terms.rows[k] + 5, [](double t) { return t != 0.0; }) - terms.rows[k]);
    is_free[axis[k]] = false;
    is_simple = terms.rows[k][axis[k]] == 1.0 && std::count(terms.rows[k], terms.rows[k] + 6, 0.0) == 5;
  }
  const auto store = [&](double (&of)[2][6][6], int side, int k, const Wrench& f, double sign) {
    if (body[side] >= 0) (sign * X[side].transpose(f)).store(of[side][k]);
  };
  if (is_simple) {
    for (int k = 0; k < terms.n_rows; ++k) {
      const int a = axis[k];
      double column[6];
      for (int i = 0; i < 6; ++i) {
        block[1](a, i) = -B(a, i);
        column[i] = is_free[i] ? B(i, a) : 0.0;
        if (is_free[i]) block[0](i, a) = 0.0;
      }
      store(out.G, 1, k, Wrench::load(&B.m[6 * a]), -1.0);
      store(out.Y, 0, k, Wrench::load(column), 1.0);
    }
    return;
  }
  const Matrix6 Q = terms.has_rate ? B + terms.wrench_rate : B;
  if (terms.has_rate) block[0] += terms.wrench_rate, block[1] += terms.wrench_rate;
  Wrench dual[6];
  for (int k = 0; k < terms.n_rows; ++k)
    dual[k] = 1.0 / dot6(terms.rows[k], terms.rows[k]) * Wrench::load(terms.rows[k]);
  const auto free = [&](Wrench f) {  // (1 - P) f
    double part[6], scale[6];
    f.store(part);
    for (int k = 0; k < terms.n_rows; ++k) scale[k] = dot6(terms.rows[k], part);
    for (int k = 0; k < terms.n_rows; ++k) f -= scale[k] * dual[k];
    return f;
  };
  for (int k = 0; k < terms.n_rows; ++k) {
    double t[6], part[6];
    dual[k].store(t);
    Q.multiply(t, part);
    const Wrench u = free(Wrench::load(part));
    store(out.Y, 0, k, u, 1.0);
    u.store(part);
    block[0].add_outer(-1.0, part, terms.rows[k]);
    Q.multiply_transposed(t, part);
    store(out.G, 1, k, Wrench::load(part), -1.0);
    block[1].add_outer(-1.0, terms.rows[k], part);
    if (terms.has_rate) {
      terms.wrench_rate.multiply_transposed(t, part);
      store(out.G, 0, k, Wrench::load(part), 1.0);
      block[0].add_outer(-1.0, terms.rows[k], part);
      terms.wrench_rate.multiply(t, part);
      const Wrench r = free(Wrench::load(part));
      store(out.Y, 1, k, r, -1.0);
      r.store(part);
      block[1].add_outer(-1.0, part, terms.rows[k]);
    }
  }
}

Index Equations::linearize(double b, double c, View<double, 3> rows) {
  const Index n = n_bodies();
  std::vector<Matrix6>& H = rest_;
  for (Index i = 0; i < n; ++i) H[i] = first_order_block(i, b, c);
  add_load_stiffness(H);
  std::fill(rows.begin(), rows.end(), 0.0);
  for_joints_with_terms(true, [&](Index j, const JointTerms& terms, const double*) {
    const Index first = joints_.first_row[j];
    const Index body[2] = {joints_.predecessor[j], joints_.successor[j]};
    const Transform<double> X[2] = {terms.X_p, terms.X_s};
    Matrix6 block[2];
    shear(terms, X, body, shear_[j], block);
    const auto fill_row = [&](Index row, const double* column, double scale) {
      for (int side = 0; side < 2; ++side)
        if (body[side] >= 0)
          ((side == 0 ? -scale : scale) * X[side].transpose(Wrench::load(column))).store(&rows(row, side, 0));
    };
    for (int k = 0; k < terms.n_rows; ++k) fill_row(first + k, terms.rows[k], 1.0);
    for (const Spring& spring : terms.springs)
      fill_row(n_rows_ + spring.index, spring.w, std::sqrt(std::max(0.0, spring.stiffness + c * spring.damping)));
    for (int side = 0; side < 2; ++side)
      if (body[side] >= 0) H[body[side]] += congruence(X[side], block[side]);
    const int m = terms.n_rows;
    if (m == 0) return;
    double* const C = row_root_.data() + compliance_.first_entry[j];
    std::copy_n(compliance_.entries.data() + compliance_.first_entry[j], m * m, C);
    cholesky(m, C);
    for (int side = 0; side < 2; ++side)
      for (int e = 0; e < 6 && body[side] >= 0; ++e) forward(m, C, &rows(first, side, e), 12);
  });
  for (Index k = 0; k < point_springs_.first.size(); ++k) {
    const PointTerms terms = point_terms(k);
    const double stiffness = point_springs_.stiffness[k] + c * point_springs_.damping[k];
    for (int side = 0; side < 2 && stiffness > 0.0; ++side)
      for (int e = 0; e < 6 && terms.body[side] >= 0; ++e)
        rows(n_rows_ + springs_.item.size() + k, side, e) = std::sqrt(stiffness) * terms.row[side][e];
  }
  Index n_indefinite = 0;
  for (Index i = 0; i < n; ++i) {
    Matrix6 symmetric;
    symmetric.add_symmetric_part(H[i]);
    Matrix6 used = symmetric;
    double share = 1.0;
    while (!cholesky(6, (root_[i] = used).m) && share > 0.0) {  // NaN never is
      share -= 0.25;
      used = share * symmetric + (1.0 - share) * (b * mass_matrix(i));
    }
    H[i] = H[i] - used;
    n_indefinite += share < 1.0;
  }
  const auto in_units = [&](Index row, Index m, Index first, Index second) {
    if (m > 0 && first >= 0) forward_rows(root_[first].m, &rows(row, 0, 0), m, 12);
    if (m > 0 && second >= 0) forward_rows(root_[second].m, &rows(row, 1, 0), m, 12);
  };
  for (Index j = 0; j < joints_.kind.size(); ++j) {
    const Index first = joints_.first_row[j];
    in_units(first, joints_.first_row[j + 1] - first, joints_.predecessor[j], joints_.successor[j]);
  }
  for (Index k = 0; k < springs_.item.size(); ++k) {
    const Index j = coordinates_.joint[springs_.item[k]];
    in_units(n_rows_ + k, 1, joints_.predecessor[j], joints_.successor[j]);
  }
  for (Index k = 0; k < point_springs_.first.size(); ++k)
    in_units(n_rows_ + springs_.item.size() + k, 1, point_springs_.first[k], point_springs_.second[k]);
  return n_indefinite;
}

void Equations::right_side(View<double> rhs) const {
  const Index n = n_bodies();
  std::fill(rhs.begin(), rhs.end(), 0.0);
  for (Index k = 0; k < 6 * n; ++k) rhs[k] = -residual_.force.data()[k];
  for (Index j = 0; j < joints_.kind.size(); ++j) {
    const Index first = joints_.first_row[j], m = joints_.first_row[j + 1] - first;
    if (m == 0) continue;
    for (int side = 0; side < 2; ++side) {
      const Index body = end_of(j, side);
      if (body < 0) continue;
      for (Index k = 0; k < m; ++k)
        for (int e = 0; e < 6; ++e) rhs[6 * body + e] -= shear_[j].Y[side][k][e] * residual_.row[first + k];
    }
    double* const dual = &rhs[6 * n + first];
    for (Index k = 0; k < m; ++k) dual[k] = -residual_.row[first + k];
    forward(int(m), row_root_.data() + compliance_.first_entry[j], dual);
  }
  for (Index i = 0; i < n; ++i) forward(6, root_[i].m, &rhs[6 * i]);
}

void Equations::subtract_rest(View<const double> x, View<const double> rhs, View<double> changed) const {
  std::copy(rhs.begin(), rhs.end(), changed.begin());
  for (Index i = 0; i < n_bodies(); ++i) {
    double twist[6], force[6];
    std::copy_n(&x[6 * i], 6, twist);
    backward(6, root_[i].m, twist);
    rest_[i].multiply(twist, force);
    forward(6, root_[i].m, force);
    for (int a = 0; a < 6; ++a) changed[6 * i + a] -= force[a];
  }
}

void Equations::to_correction(View<const double> x, View<double, 2> twist, View<double> multiplier) const {
  const Index n = n_bodies();
  for (Index i = 0; i < n; ++i) {
    std::copy_n(&x[6 * i], 6, &twist(i, 0));
    backward(6, root_[i].m, &twist(i, 0));
  }
  for (Index j = 0; j < joints_.kind.size(); ++j) {
    const Index first = joints_.first_row[j], m = joints_.first_row[j + 1] - first;
    if (m == 0) continue;
    double* const lambda = &multiplier[first];
    std::copy_n(&x[6 * n + first], m, lambda);
    backward(int(m), row_root_.data() + compliance_.first_entry[j], lambda);
    for (int side = 0; side < 2; ++side) {
      const Index body = end_of(j, side);
      if (body < 0) continue;
      for (Index k = 0; k < m; ++k) lambda[k] += dot6(shear_[j].G[side][k], &twist(body, 0));
    }
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

void Equations::assemble(double b, double c, Triplets& out) {
  const Index n = n_bodies();
  const auto add_block = [&](Index row_body, Index column_body, const Matrix6& block) {
    if (row_body < 0 || column_body < 0) return;
    for (int i = 0; i < 6; ++i)
      for (int k = 0; k < 6; ++k) out.add(6 * row_body + i, 6 * column_body + k, block(i, k));
  };
  const auto tangent = [&](Index body) {
    return body < 0 ? Matrix6() : inverse_tangent(Twist::load(&end_.displacement(body, 0)));
  };
  std::vector<Matrix6> diagonal(n);
  for (Index i = 0; i < n; ++i) diagonal[i] = body_block(i, b, c);
  add_load_stiffness(diagonal);
  for (Index i = 0; i < n; ++i) add_block(i, i, diagonal[i]);
  for_joints_with_terms(true, [&](Index j, const JointTerms& terms, const double*) {
    const Index body[2] = {joints_.predecessor[j], joints_.successor[j]};
    const Matrix6 X[2] = {Matrix6::of(terms.X_p), Matrix6::of(terms.X_s)};
    Matrix6 rate = terms.has_rate ? terms.wrench_rate : Matrix6(), damping;
    for (const Spring& spring : terms.springs) {
      rate.add_outer(spring.stiffness, spring.w, spring.w);
      rate.add_outer(spring.damping, spring.w, spring.rate);
      damping.add_outer(c * spring.damping, spring.w, spring.w);
    }
    const Matrix6 of_side[2] = {rate + Matrix6::cross_with(terms.wrench), rate};
    for (int row = 0; row < 2; ++row)
      for (int column = 0; column < 2; ++column) {
        const Matrix6 change = of_side[row] * X[column] + damping * (X[column] * tangent(body[column]));
        add_block(body[row], body[column], (row == column ? 1.0 : -1.0) * transpose_times(X[row], change));
      }
    const Index first = joints_.first_row[j];
    const double* const C = compliance_.entries.data() + compliance_.first_entry[j];
    for (int k = 0; k < terms.n_rows; ++k) {
      for (int side = 0; side < 2; ++side)
        for (int e = 0; e < 6 && body[side] >= 0; ++e) {
          double entry = 0.0;
          for (int a = 0; a < 6; ++a) entry += X[side](a, e) * terms.rows[k][a];
          out.add(6 * n + first + k, 6 * body[side] + e, side == 0 ? -entry : entry);
          out.add(6 * body[side] + e, 6 * n + first + k, side == 0 ? -entry : entry);
        }
      for (int l = 0; l < terms.n_rows; ++l) out.add(6 * n + first + k, 6 * n + first + l, -C[k * terms.n_rows + l]);
    }
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
        damped.add_outer(c * damping, terms.row[row], terms.row[column]);
        for (int i = 0; i < 2; ++i)
          for (int e = 0; e < 2; ++e)
            block.add_block(3 * i, 3 * e, transpose_times(terms.E[row][i], across * terms.E[column][e]));
        if (row == column)
          block += (row == 0 ? -pull : pull) * turning(terms.arm[row], {{}, terms.n_body[row]});
        add_block(terms.body[row], terms.body[column], block + damped * tangent(terms.body[column]));
      }
  }
}

}  // namespace sparsebody::implicit
