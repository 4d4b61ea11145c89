#include "linearization/motion_residuals.hpp"

#include <numeric>

#include "model/poses.hpp"

namespace sparsebody::linearization {

namespace {

using Twist = Motion<double>;
using Wrench = Force<double>;
using Vector = Vec3<double>;

// x on another scalar; its derivatives in six directions from the `first` on are the identity.
template <class T>
Motion<T> with_unit_rates(const Twist& m, int first) {
  double value[6];
  m.store(value);
  T part[6];
  for (int a = 0; a < 6; ++a) part[a].value = value[a], part[a].rate[first + a] = 1.0;
  return Motion<T>::load(part);
}

// The derivatives of a wrench with respect to x and dv_J, one after the other.
void store_rates(const Force<OfJoint>& w, Matrix6 (&rate)[2]) {
  OfJoint part[6];
  w.store(part);
  for (int i = 0; i < 6; ++i)
    for (int a = 0; a < 12; ++a) rate[a / 6](i, a % 6) += part[i].rate[a];
}

void store_rates(const OfJoint& number, int row, Matrix6 (&rate)[2]) {
  for (int a = 0; a < 12; ++a) rate[a / 6](row, a % 6) = number.rate[a];
}

Wrench value_of(const Force<OfJoint>& w) {
  return {{w.angular.x.value, w.angular.y.value, w.angular.z.value},
          {w.linear.x.value, w.linear.y.value, w.linear.z.value}};
}

// The numbers of a motion, for products with matrices.
Wrench numbers(const Twist& m) { return {m.angular, m.linear}; }

// The change d x f of -f, a wrench f fixed in the world at a point r of a body, that rotates by d.
Wrench turned(const Wrench& load, const Vector& r, const Vector& d) {
  return Wrench{cross(d, load.angular), cross(d, load.linear)}.about(-r);
}

// The product of a symmetric matrix of entries xx yy zz xy xz yz.
Vector symmetric_times(const double* e, const Vector& w) {
  return {e[0] * w.x + e[3] * w.y + e[4] * w.z, e[3] * w.x + e[1] * w.y + e[5] * w.z,
          e[4] * w.x + e[5] * w.y + e[2] * w.z};
}

// Adds the gradient of y' E w in these entries.
void add_symmetric_gradient(const Vector& y, const Vector& w, double* e) {
  e[0] += y.x * w.x, e[1] += y.y * w.y, e[2] += y.z * w.z;
  e[3] += y.x * w.y + y.y * w.x, e[4] += y.x * w.z + y.z * w.x, e[5] += y.y * w.z + y.z * w.y;
}

// Rows of arrays that may be empty.
Twist row_of(View<const double, 2> rows, Index i) { return i < 0 ? Twist{} : Twist::load(&rows(i, 0)); }

void clear(View<double, 2> rows) { std::fill(rows.begin(), rows.end(), 0.0); }

}  // namespace

// Members by their keys: those of key k, in order.
class MotionResiduals::Grouped {
 public:
  Grouped(Index n_keys, View<const Index> keys) : first_(n_keys + 1), members_(keys.size()) {
    for (const Index key : keys) ++first_[key + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<Index> next(first_.begin(), first_.end() - 1);
    for (Index i = 0; i < keys.size(); ++i) members_[next[keys[i]]++] = i;
  }
  View<const Index> operator[](Index key) const {
    return View<const Index>(members_).slice(first_[key], first_[key + 1]);
  }

 private:
  std::vector<Index> first_, members_;
};

// A joint in S coordinates, on scalars with derivatives with respect to x and dv_J.
struct MotionResiduals::Rated {
  Index first_row;
  Transform<double> X_S;
  Transform<OfJoint> X;
  Motion<OfJoint> v_J, a_J;
  const double* lambda;
  Force<OfJoint> wrench;
  Rates rates;

  Rated(const Connection& c, const Transform<double>& X_S_, const Transform<double>& X_, const Twist& a,
        const double* lambda_)
      : first_row(c.first_row), X_S(X_S_), X(model::with_rates<12>(X_)), v_J(with_unit_rates<OfJoint>(X_S * c.v_J, 6)),
        a_J{{a.angular.x, a.angular.y, a.angular.z}, {a.linear.x, a.linear.y, a.linear.z}}, lambda(lambda_) {}
};

MotionResiduals::MotionResiduals(const Inertias& inertias, const model::SystemTables& tables,
                                 View<const Index> element_joint, const MotionAt& at, const SpringMotion& springs,
                                 const ElementMotion& elements)
    : of_(inertias), loads_(tables.loads), frames_(tables.joints.frames), element_frames_(tables.elements.frames),
      motions_(inertias.mass.size()), zeros_(6 * inertias.mass.size()) {
  motions_ = at.bodies;
  const auto g = Vector::load(of_.gravity.data());
  bodies_.reserve(of_.mass.size());
  for (Index i = 0; i < of_.mass.size(); ++i) {
    const auto& [R, x, v] = motions_[i];
    bodies_.push_back({R, v, Twist::load(&at.acceleration(i, 0)), transpose_times(R, g)});
  }
  add_joints(tables, at, springs);
  add_elements(tables.elements, element_joint, elements);
  add_point_springs(tables.points, at.point_effort);
}

// ---- At a state

MotionResiduals::Connection MotionResiduals::connect(const model::JointFrames& frames, Index j) const {
  const Index p = frames.predecessor[j], s = frames.successor[j];
  const Transform<double> to_S = s < 0 ? frames.X_S(j) : Transform<double>();
  const auto motion = model::joint_motion(frames.X_P(j), to_S, motions_[p], motions_[s]);
  const Twist a_p = p < 0 ? Twist{} : motion.X_p * bodies_[p].a;
  Connection c;
  c.body[0] = p, c.body[1] = s;
  c.first_row = c.end_row = 0, c.first_spring = c.end_spring = Index(springs_.size());
  c.X_p = motion.X_p, c.v_J = motion.v_J, c.v_p = motion.v_p, c.a_p = a_p;
  return c;
}

// A row t of a joint: d/dt (t' v_J) = t' a_J - t' c.
void MotionResiduals::add_row(Rated& of, Index row, const Force<OfJoint>& t, const Motion<OfJoint>& drift) {
  rows_[of.first_row + row] = of.X_S.transpose(value_of(t));
  store_rates(dot(of.a_J - drift, t), int(row), of.rates.row);
  of.wrench += t * OfJoint(of.lambda[row]);
}

// The rows and the springs of a joint's coordinates: tau = effort - k (q - q_0) - d dq/dt.
void MotionResiduals::add_coordinates(Rated& of, const model::SystemTables& tables, Index j, View<const Index> items,
                                      const Grouped& springs_of, const MotionAt& at, const SpringMotion& springs) {
  const model::TrackedCoordinates& tracked = tables.coordinates;
  visit_joint(int(tracked.kind[j]), tracked.parameter[j], [&]<class C>(const C& type) {
    constexpr joints::JointInfo info = C::info;
    if constexpr (info.n_velocities > 0) {
      OfJoint q[info.n_positions];
      type.coordinates(of.X, q);
      const auto T_a = joints::active_force_subspace(type, of.X);
      const Motion<OfJoint> along = joints::drift(type, of.X, of.v_J);
      for (const Index item : items) {
        const Index k = tracked.index[item];
        OfJoint value(0.0);
        if constexpr (info.n_scalars > 0)
          if (k >= info.n_velocities - info.n_scalars) value = q[k + info.n_positions - info.n_velocities];
        value = tracked.unwrapped(item, value, at.coordinate[item]);
        if (tracked.row[item] >= 0) add_row(of, tracked.row[item] - of.first_row, T_a[k], along);
        const OfJoint rate = dot(of.v_J, T_a[k]);
        for (const Index spring : springs_of[item]) {
          const auto& [_, stiffness, rest, damping] = tables.springs;
          of.wrench += T_a[k] * (OfJoint(at.joint_effort[spring]) -
                               OfJoint(stiffness[spring]) * (value - OfJoint(rest[spring])) -
                               OfJoint(damping[spring]) * rate);
          springs.value[spring] = value.value, springs.rate[spring] = rate.value;
          springs_.push_back({spring, of.X_S.transpose(value_of(T_a[k]))});
        }
      }
    }
  });
}

// The wrench of a connection, with all derivatives carried to the successor's coordinates.
void MotionResiduals::add_rates(Connection& c, Rated& of) {
  c.wrench = of.X_S.transpose(value_of(of.wrench));
  store_rates(of.wrench, of.rates.wrench);
  for (int of_rate = 0; of_rate < 2; ++of_rate) {
    of.rates.wrench[of_rate] = congruence(of.X_S, of.rates.wrench[of_rate]);
    for (int k = 0; k < 6; ++k)
      of.X_S.transpose(Wrench::load(&of.rates.row[of_rate](k, 0))).store(&of.rates.row[of_rate](k, 0));
  }
  c.rates = Index(rates_.size());
  rates_.push_back(of.rates);
  connections_.push_back(c);
}

void MotionResiduals::add_joints(const model::SystemTables& tables, const MotionAt& at, const SpringMotion& springs) {
  const model::JointTable& joints = tables.joints;
  const model::TrackedCoordinates& tracked = tables.coordinates;
  const Grouped items(joints.size(), tracked.joint), springs_of(tracked.joint.size(), tables.springs.item);
  connections_.reserve(joints.size() + tables.elements.size());
  rows_.resize(at.multiplier.size());
  visit_joints(joints.kind, joints.parameter, [&]<class J>(Index j, const J& joint) {
    Connection c = connect(joints.frames, j);
    c.joint = j;
    c.first_row = joints.first_row[j], c.end_row = joints.first_row[j + 1];
    const double* const lambda = at.multiplier.data() + c.first_row;
    const Transform<double> X_S = c.body[1] < 0 ? Transform<double>() : joints.frames.X_S(j);
    if (!J::info.has_varying_T && items[j].empty()) {
      if (c.first_row == c.end_row) return;
      for (Index k = c.first_row; k < c.end_row; ++k) {
        rows_[k] = X_S.transpose(Wrench::load(joints.subspaces[k]));
        c.wrench += lambda[k - c.first_row] * rows_[k];
      }
      connections_.push_back(c);
      return;
    }
    Rated of(c, X_S, model::joint_motion(joints.frames, motions_, j).X, X_S * row_acceleration(c), lambda);
    const auto columns = joint.constraint_force_subspace(of.X);
    const Motion<OfJoint> drift = joints::drift(joint, of.X, of.v_J);
    for (std::size_t k = 0; k < columns.size(); ++k) add_row(of, Index(k), columns[k], drift);
    if (!items[j].empty()) add_coordinates(of, tables, j, items[j], springs_of, at, springs);
    c.end_spring = Index(springs_.size());
    add_rates(c, of);
  });
}

Motion<double> MotionResiduals::row_acceleration(const Connection& c) const {
  const Twist a_s = c.body[1] < 0 ? Twist{} : bodies_[c.body[1]].a;
  return a_s - c.a_p + cross(c.v_J, c.v_p);
}

void MotionResiduals::add_elements(const model::ElasticElements& elements, View<const Index> element_joint,
                                   const ElementMotion& out) {
  deformations_.resize(elements.size());
  for (Index k = 0; k < elements.size(); ++k) {
    Connection c = connect(elements.frames, k);
    c.joint = element_joint[k], c.element = k;
    const Transform<double> X_S = c.body[1] < 0 ? Transform<double>() : elements.frames.X_S(k);
    Rated of(c, X_S, model::joint_motion(elements.frames, motions_, k).X, {}, nullptr);
    const model::ElasticRows z(elements, k, of.X);
    for (int i = 0; i < z.n_rows; ++i)  // -(dz/dx)' (z + D dz/dt)
      of.wrench -= Force<OfJoint>::load(z.rows[i]) * z.force(elements, k, i, of.v_J);
    Wrench rows[6];
    model::elastic_deformation(elements, k, model::joint_motion(elements.frames, motions_, k).X,
                               &out.deformation(k, 0), rows);
    for (int i = 0; i < 6; ++i) {
      out.rate(k, i) = dot(X_S * c.v_J, rows[i]);
      deformations_[k].rows[i] = X_S.transpose(rows[i]);
    }
    add_rates(c, of);
  }
}

void MotionResiduals::add_point_springs(const model::PointSprings& springs, View<const double> effort) {
  const auto moving = [&](Index body, int side) {
    const auto& [R, x, v] = motions_[body];
    const Transform<OfBodies> pose = model::with_rates<24>(Transform<double>{transpose(R), x}, 6 * side);
    return BodyMotion<InSpace<OfBodies>>{transpose(pose.E), pose.r, with_unit_rates<OfBodies>(v, 12 + 6 * side)};
  };
  for (Index k = 0; k < springs.size(); ++k) {
    PointRates rates{{springs.first[k], springs.second[k]}, {}};
    const model::PointLine<OfBodies> line(springs, k, moving(rates.body[0], 0), moving(rates.body[1], 1));
    OfBodies pull[12];
    for (int side = 0; side < 2; ++side) (line.tension(springs, k, effort[k]) * line.row[side]).store(pull + 6 * side);
    for (int i = 0; i < 12; ++i) std::copy_n(pull[i].rate.data(), 24, rates.of[i]);
    for (int k = 24; k < 30; ++k) {  // a point that moves by e
      const int first = k < 27 ? 0 : 6;
      const Vector e = Mat3<double>::identity().row(k % 3);
      const Vector u = cross(motions_[rates.body[first / 6]].v.angular, e);
      for (double(&of)[30] : rates.of) of[k] = of[first + 3 + k % 3] + dot(u, Vector::load(&of[first + 15]));
      const Vector moment = cross(e, Vector{pull[first + 3].value, pull[first + 4].value, pull[first + 5].value});
      rates.of[first][k] += moment.x, rates.of[first + 1][k] += moment.y, rates.of[first + 2][k] += moment.z;
    }
    points_.push_back(rates);
  }
}

// ---- Bodies

void MotionResiduals::bodies_jvp(const Directions& along, View<double, 2> force) const {
  const auto g = along.gravity.empty() ? Vector{} : Vector::load(along.gravity.data());
  for (Index i = 0; i < Index(bodies_.size()); ++i) {
    const auto& [R, v, a, gravity] = bodies_[i];
    const double mass = of_.mass[i];
    const auto tensor = Mat3<double>::load(&of_.inertia(i, 0, 0));
    const Twist d = Twist::load(&along.position(i, 0)), dv = Twist::load(&along.velocity(i, 0));
    const Vector &w = v.angular, &dw = dv.angular;
    Wrench change{cross(dw, tensor * w) + cross(w, tensor * dw),  // d(v x* M v)
                  mass * (cross(dw, v.linear) + cross(w, dv.linear) + cross(d.angular, gravity))};
    if (!along.gravity.empty()) change.linear -= mass * transpose_times(R, g);
    if (!along.mass.empty()) change.linear += along.mass[i] * (a.linear + cross(w, v.linear) - gravity);
    if (!along.inertia.empty()) {
      const double* const e = &along.inertia(i, 0);
      change.angular += symmetric_times(e, a.angular) + cross(w, symmetric_times(e, w));
    }
    change.store(&force(i, 0));
  }
  for (Index k = 0; k < loads_.body.size(); ++k) {
    if (!loads_.in_world[k]) continue;
    const Index i = loads_.body[k];
    turned(loads_.in_body(k, bodies_[i].R), loads_.at(k), Vector::load(&along.position(i, 0))).add_to(&force(i, 0));
  }
}

void MotionResiduals::bodies_vjp(View<const double, 2> y, const Gradients& g) const {
  std::fill(g.gravity.begin(), g.gravity.end(), 0.0);
  std::fill(g.inertia.begin(), g.inertia.end(), 0.0);
  Vector gravity_bar;
  for (Index i = 0; i < Index(bodies_.size()); ++i) {
    const auto& [R, v, a, gravity] = bodies_[i];
    const double mass = of_.mass[i];
    const auto tensor = Mat3<double>::load(&of_.inertia(i, 0, 0));
    const auto [n, f] = Twist::load(&y(i, 0));
    const Vector &w = v.angular, turning = cross(n, w);
    Twist{mass * cross(gravity, f), {}}.store(&g.position(i, 0));
    Twist{tensor * turning - cross(n, tensor * w) + mass * cross(v.linear, f), mass * cross(f, w)}.store(
        &g.velocity(i, 0));
    gravity_bar -= mass * (R * f);
    g.mass[i] = dot(f, a.linear + cross(w, v.linear) - gravity);
    add_symmetric_gradient(n, a.angular, &g.inertia(i, 0));
    add_symmetric_gradient(turning, w, &g.inertia(i, 0));
  }
  gravity_bar.store(g.gravity.data());
  for (Index k = 0; k < loads_.body.size(); ++k) {
    if (!loads_.in_world[k]) continue;
    const Index i = loads_.body[k];
    const auto [moment, load] = loads_.in_body(k, bodies_[i].R);
    const auto [n, f] = Twist::load(&y(i, 0)).about(loads_.at(k));  // y . X' f = X y . f
    (cross(moment, n) + cross(load, f)).add_to(&g.position(i, 0));
  }
}

// ---- Joints, elements and springs

std::pair<Transform<double>, Transform<double>> MotionResiduals::frames_of(const Connection& c) const {
  const model::JointFrames& frames = c.joint >= 0 ? frames_ : element_frames_;
  const Index k = c.joint >= 0 ? c.joint : c.element;
  return {frames.X_P(k), c.body[1] < 0 ? Transform<double>() : frames.X_S(k)};
}

std::pair<Motion<double>, Motion<double>> MotionResiduals::frame_twists(const Connection& c,
                                                                        const Directions& along) const {
  const auto [X_P, X_S] = frames_of(c);
  const Index row = frame_row(c);
  return {c.X_p * X_P.inverse(Twist::load(&along.predecessor_frame(row, 0))),
          X_S.inverse(Twist::load(&along.successor_frame(row, 0)))};
}

void MotionResiduals::joint_jvp(const Connection& c, const Directions& along, View<double, 2> force,
                                View<double> row) const {
  const Index p = c.body[0], s = c.body[1];
  Twist x = row_of(along.position, s), y, dv_J = row_of(along.velocity, s);
  if (p >= 0) {
    x -= c.X_p * Twist::load(&along.position(p, 0));
    y = c.X_p * Twist::load(&along.velocity(p, 0));
  }
  y -= cross(x, c.v_p);
  dv_J -= y;
  Twist da_J = cross(x, c.a_p) + cross(dv_J, c.v_p) + cross(c.v_J, y);
  Wrench on_p = cross(x, c.wrench), on_s;
  if (!along.predecessor_frame.empty()) {
    const auto [d_P, d_S] = frame_twists(c, along);
    x += d_S - d_P;
    dv_J -= cross(d_S, c.v_J);
    da_J -= cross(d_S, row_acceleration(c));
    on_s = cross(d_S, c.wrench);
    on_p += on_s;
  }
  for (Index k = c.first_row; k < c.end_row; ++k) row[k] = dot(da_J, rows_[k]);
  if (c.rates >= 0) {
    const Rates& rates = rates_[c.rates];
    Wrench dw = rates.wrench[0] * numbers(x) + rates.wrench[1] * numbers(dv_J);
    for (Index k = c.first_row; k < c.end_row; ++k)
      for (int of_rate = 0; of_rate < 2; ++of_rate)
        row[k] += dot(of_rate == 0 ? x : dv_J, Wrench::load(&rates.row[of_rate].m[6 * (k - c.first_row)]));
    for (Index k = c.first_spring; k < c.end_spring && !along.effort.empty(); ++k)
      dw += along.effort[springs_[k].index] * springs_[k].column;
    for (int i = 0; i < 6 && c.element >= 0 && !along.resistance.empty(); ++i)
      dw -= along.resistance(c.element, i) * deformations_[c.element].rows[i];
    on_p += dw, on_s += dw;
  }
  if (s >= 0) (-on_s).add_to(&force(s, 0));
  if (p >= 0) c.X_p.transpose(on_p).add_to(&force(p, 0));
}

void MotionResiduals::add_frame_gradients(const Connection& c, const Force<double>& P_bar, const Force<double>& S_bar,
                                          View<double, 2> predecessor_frame,
                                          View<double, 2> successor_frame) const {
  const auto [X_P, X_S] = frames_of(c);
  (X_P * c.X_p.transpose(P_bar)).add_to(&predecessor_frame(frame_row(c), 0));
  (X_S * S_bar).add_to(&successor_frame(frame_row(c), 0));
}

void MotionResiduals::joint_vjp(const Connection& c, View<const double, 2> y, View<const double> u,
                                const Gradients& g) const {
  const Index p = c.body[0], s = c.body[1];
  const Twist y_p = p < 0 ? Twist{} : c.X_p * Twist::load(&y(p, 0)), z = y_p - row_of(y, s);
  Wrench x_bar, v_bar, t;
  for (Index k = c.first_row; k < c.end_row; ++k) t += u[k] * rows_[k];
  if (c.rates >= 0) {
    const Rates& rates = rates_[c.rates];
    x_bar += transpose_times(rates.wrench[0], numbers(z));
    v_bar += transpose_times(rates.wrench[1], numbers(z));
    for (Index k = c.first_row; k < c.end_row; ++k) {
      x_bar += u[k] * Wrench::load(&rates.row[0].m[6 * (k - c.first_row)]);
      v_bar += u[k] * Wrench::load(&rates.row[1].m[6 * (k - c.first_row)]);
    }
    for (Index k = c.first_spring; k < c.end_spring; ++k) g.effort[springs_[k].index] = dot(z, springs_[k].column);
    for (int i = 0; i < 6 && c.element >= 0 && !g.resistance.empty(); ++i)
      g.resistance(c.element, i) = -dot(z, deformations_[c.element].rows[i]);
  }
  if (!g.predecessor_frame.empty())
    add_frame_gradients(c, -x_bar,
                        x_bar - cross(c.v_J, v_bar) - cross(row_acceleration(c), t) - cross(z, c.wrench),
                        g.predecessor_frame, g.successor_frame);
  x_bar -= cross(y_p, c.wrench);
  v_bar += cross(c.v_p, t);
  const Wrench y_bar = -cross(c.v_J, t) - v_bar;
  x_bar += cross(c.a_p, t) - cross(c.v_p, y_bar);
  if (s >= 0) {
    x_bar.add_to(&g.position(s, 0));
    v_bar.add_to(&g.velocity(s, 0));
  }
  if (p >= 0) {
    (-c.X_p.transpose(x_bar)).add_to(&g.position(p, 0));
    c.X_p.transpose(y_bar).add_to(&g.velocity(p, 0));
  }
}

void MotionResiduals::jvp(const Directions& some, View<double, 2> force, View<double> row) const {
  Directions along = some;
  const View<const double, 2> zeros(zeros_.data(), {Index(bodies_.size()), 6});
  if (along.position.empty()) along.position = zeros;
  if (along.velocity.empty()) along.velocity = zeros;
  bodies_jvp(along, force);
  std::fill(row.begin(), row.end(), 0.0);
  for (const Connection& c : connections_) joint_jvp(c, along, force, row);
  const View<const double, 2> points[2] = {along.first_point, along.second_point};
  for (Index k = 0; k < Index(points_.size()); ++k)
    for (int i = 0; i < 12; ++i) {
      const PointRates& rates = points_[k];
      if (rates.body[i / 6] < 0) continue;
      double sum = 0.0;
      for (int side = 0; side < 2; ++side)
        for (int a = 0; a < 6 && rates.body[side] >= 0; ++a)
          sum += rates.of[i][6 * side + a] * along.position(rates.body[side], a) +
                 rates.of[i][12 + 6 * side + a] * along.velocity(rates.body[side], a);
      for (int e = 0; e < 6; ++e)
        if (!points[e / 3].empty()) sum += rates.of[i][24 + e] * points[e / 3](k, e % 3);
      force(rates.body[i / 6], i % 6) += sum;
    }
}

void MotionResiduals::vjp(View<const double, 2> y, View<const double> u, const Gradients& g) const {
  bodies_vjp(y, g);
  for (const View<double, 2> rows : {g.predecessor_frame, g.successor_frame, g.first_point, g.second_point})
    clear(rows);
  for (const Connection& c : connections_) joint_vjp(c, y, u, g);
  const View<double, 2> points[2] = {g.first_point, g.second_point};
  for (Index k = 0; k < Index(points_.size()); ++k)
    for (int i = 0; i < 12; ++i) {
      const PointRates& rates = points_[k];
      if (rates.body[i / 6] < 0) continue;
      const double weight = y(rates.body[i / 6], i % 6);
      for (int side = 0; side < 2; ++side)
        for (int a = 0; a < 6 && rates.body[side] >= 0; ++a) {
          g.position(rates.body[side], a) += weight * rates.of[i][6 * side + a];
          g.velocity(rates.body[side], a) += weight * rates.of[i][12 + 6 * side + a];
        }
      for (int e = 0; e < 6; ++e)
        if (!points[e / 3].empty()) points[e / 3](k, e % 3) += weight * rates.of[i][24 + e];
    }
}

void MotionResiduals::row_products(View<const double, 2> motion, View<double> row) const {
  std::fill(row.begin(), row.end(), 0.0);
  for (const Connection& c : connections_) {
    Twist x = row_of(motion, c.body[1]);
    if (c.body[0] >= 0) x -= c.X_p * Twist::load(&motion(c.body[0], 0));
    for (Index k = c.first_row; k < c.end_row; ++k) row[k] = dot(x, rows_[k]);
  }
}

void MotionResiduals::add_row_forces(View<const double> u, View<double, 2> force) const {
  for (const Connection& c : connections_) {
    Wrench t;
    for (Index k = c.first_row; k < c.end_row; ++k) t += u[k] * rows_[k];
    if (c.body[1] >= 0) t.add_to(&force(c.body[1], 0));
    if (c.body[0] >= 0) (-c.X_p.transpose(t)).add_to(&force(c.body[0], 0));
  }
}

void MotionResiduals::error_vjp(View<const double> u, View<double, 2> predecessor_frame,
                                View<double, 2> successor_frame) const {
  clear(predecessor_frame), clear(successor_frame);
  for (const Connection& c : connections_) {
    if (c.first_row == c.end_row) continue;
    Wrench x_bar;
    for (Index k = c.first_row; k < c.end_row; ++k) x_bar += u[k] * rows_[k];
    add_frame_gradients(c, -x_bar, x_bar, predecessor_frame, successor_frame);
  }
}

}  // namespace sparsebody::linearization
