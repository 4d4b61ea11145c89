// Projection of states onto the constraints of revolute joints about normals of a plane, on three freedoms a body: with the
// joint at the point a of the predecessor and b of the successor, and the rows of S x and y axes of the joint frame there,
//   delta = S R_s' (x_s + R_s b - x_p - R_p a),   T' v_J = S (u_s + w_s x b - R_s' R_p (u_p + w_p x r)),
// r = R_p' (x_s + R_s b - x_p). Featherstone (2008), (8.27), (8.10).
#pragma once

#include <cmath>
#include <type_traits>
#include <vector>

#include "dynamics/planar_evaluation.hpp"
#include "joints/joint_types.hpp"
#include "model/poses.hpp"
#include "spatial/lanes.hpp"

namespace sparsebody::simulation {

// A state under projection, in the evaluation's order of bodies and axes in the plane, and the trial state that Newton's method
// proposes.
class PlanarProjection {
 public:
  PlanarProjection(const PlanarEvaluation& evaluation, const model::JointTable& joints) : e_(evaluation) {
    const Index n = e_.n_bodies();
    const std::vector<Index> slot = slots(e_);
    for (Index first = 0; first < joints.size(); first += n_lanes) {
      RevoluteBatch batch;
      for (int lane = 0; lane < n_lanes; ++lane) {
        const Index j = std::min(first + lane, joints.size() - 1);  // the last one again in place of missing ones
        const Index p = slot[joints.frames.predecessor[j] + 1], s = slot[joints.frames.successor[j] + 1];
        const Transform<double> X_P = joints.frames.X_P(j), X_S = joints.frames.X_S(j);
        batch.predecessor[lane] = p, batch.successor[lane] = s, batch.first_row[lane] = joints.first_row[j];
        const Vec2<double> of[] = {in_plane(e_, p, X_P.r), in_plane(e_, s, X_S.r), in_plane(e_, s, X_S.E.row(0)),
                                   in_plane(e_, s, X_S.E.row(1))};
        for (int k = 0; k < 4; ++k) batch.of[2 * k][lane] = of[k].x, batch.of[2 * k + 1][lane] = of[k].y;
      }
      batches_.push_back(batch);
    }
    for (auto* bodies : {&bodies_, &trial_}) bodies->resize(n + 1);
    for (auto* velocities : {&velocity_, &trial_velocity_}) velocities->resize(n + 1);
  }
  // Whether there are joints, and all are revolute about normals of the plane.
  static bool applies(const PlanarEvaluation& e, const model::JointTable& joints) {
    if (joints.size() == 0) return false;
    const std::vector<Index> slot = slots(e);
    const auto is_normal = [&](Index body, const Vec3<double>& axis) {
      const Vec2<double> across = in_plane(e, slot[body + 1], axis);
      return dot(across, across) < parallel * parallel;
    };
    for (Index j = 0; j < joints.size(); ++j) {
      bool is_revolute = false;
      visit_joint(int(joints.kind[j]), 0.0, [&]<class J>(const J&) { is_revolute = std::is_same_v<J, joints::Revolute>; });
      if (!is_revolute || !is_normal(joints.frames.predecessor[j], joints.frames.X_P(j).E.row(2)) ||
          !is_normal(joints.frames.successor[j], joints.frames.X_S(j).E.row(2)))
        return false;
    }
    return true;
  }

  void begin(View<double, 2> position, View<double, 2> orientation, View<double, 2> velocity) {
    const Index n = e_.n_bodies();
    position_ = position, orientation_ = orientation, stored_velocity_ = velocity;
    const model::BodyMotions bodies{position, orientation, velocity};
    const Mat3<double> axes = e_.system.basis_of(n);
    const Vec3<double> first = axes.row(1), second = axes.row(2);
    // Positions are relative to a body, as little is lost far from the world's origin.
    const Vec3<double> origin = Vec3<double>::load(&bodies.position(0, 0));
    const auto in_world = [&](const Vec3<double>& x) { return Vec2<double>{dot(first, x), dot(second, x)}; };
    for (Index i = 0; i < n; ++i) {
      const model::BodyMotion motion = bodies[e_.system.body[i]];
      const Mat3<double> B = e_.system.basis_of(i);
      const Vec2<double> along = in_world(motion.R * B.row(1));
      bodies_[i] = {{along.x, along.y}, in_world(motion.x - origin), 0.0, {}};
      velocity_[i] = {{dot(B.row(0), motion.v.angular), in_plane(e_, i, motion.v.linear)}};
    }
    origin_ = in_world(origin);
    bodies_[n] = trial_[n] = {Rotation2<double>::identity(), -origin_, 0.0, {}};
  }
  // Fills the motions of the evaluation's bodies.
  void fill_motions(View<BodyMotion<InPlane<double>>> motions) const {
    for (Index i = 0; i < e_.n_bodies(); ++i) motions[i] = {bodies_[i].R, bodies_[i].x + origin_, velocity_[i].v};
  }
  void fill_errors(View<double> delta, View<double> velocity) const { fill(bodies_, velocity_, delta, velocity); }
  void fill_trial_errors(bool has_changed, View<double> delta, View<double> velocity) const {
    fill(trial_, has_changed ? trial_velocity_ : velocity_, delta, velocity);
  }
  // Moves the trial by the newest solution: x + R u, R exp(w).
  void displace() {
    for (Index i = 0; i < e_.n_bodies(); ++i) {
      const Body& body = bodies_[i];
      const auto [w, u] = change_of(i);
      const Vec2<double> move = body.R * u;
      trial_[i] = {turned(body.R, w), body.x + move, body.turn + w, body.move + move};
    }
  }
  // Adds the newest solution to the velocities of the trial; returns the largest change.
  double change_velocity() {
    double most = 0.0;
    for (Index i = 0; i < e_.n_bodies(); ++i) {
      const PlanarMotion<double> change = change_of(i), &v = velocity_[i].v;
      trial_velocity_[i] = {{v.angular + change.angular, v.linear + change.linear}};
      most = larger(most, change);
    }
    return most;
  }
  void accept_pose() { std::swap(bodies_, trial_), has_moved_ = true; }
  void accept_velocity() { std::swap(velocity_, trial_velocity_); }
  double speed() const {
    double most = 0.0;
    for (Index i = 0; i < e_.n_bodies(); ++i) most = larger(most, velocity_[i].v);
    return most;
  }
  // Moves bodies, and gives them velocities, as the state has.
  void store() {
    const Mat3<double> axes = e_.system.basis_of(e_.n_bodies());
    for (Index i = 0; i < e_.n_bodies(); ++i) {
      const Index b = e_.system.body[i];
      const Mat3<double> B = e_.system.basis_of(i);
      const auto& [w, u] = velocity_[i].v;
      Motion<double>{w * B.row(0), u.x * B.row(1) + u.y * B.row(2)}.store(&stored_velocity_(b, 0));
      if (!has_moved_) continue;
      Body& body = bodies_[i];
      (Vec3<double>::load(&position_(b, 0)) + body.move.x * axes.row(1) + body.move.y * axes.row(2)).store(&position_(b, 0));
      const Rotation2<double> half = turned(Rotation2<double>::identity(), 0.5 * body.turn);
      double* const q = &orientation_(b, 0);
      const double from[4] = {q[0], q[1], q[2], q[3]};
      model::multiply_quaternion(from, half.cosine, half.sine * B.row(0), q);
      body.turn = 0.0, body.move = {};
    }
    has_moved_ = false;
  }

 private:
  // A pose, and what it has turned and moved since it was stored.
  struct Body {
    Rotation2<double> R;
    Vec2<double> x;
    double turn;
    Vec2<double> move;
  };
  struct Velocity {
    PlanarMotion<double> v;
    double unused = 0.0;  // behind three numbers that are loaded as four
  };
  // Four joints: a point of both bodies, on each of them, and the axes of S, on which the errors are.
  struct RevoluteBatch {
    Index predecessor[n_lanes], successor[n_lanes], first_row[n_lanes];
    double of[8][n_lanes];

    Vec2<Lanes> load(int k) const { return {Vec<n_lanes>::load(of[2 * k]), Vec<n_lanes>::load(of[2 * k + 1])}; }
  };
  static constexpr double parallel = 1e-9;  // [rad]
  static constexpr Index first_error = 2;   // of the two in the plane, among five

  // Where bodies are in the evaluation's order, from the world, -1, on.
  static std::vector<Index> slots(const PlanarEvaluation& e) {
    std::vector<Index> slot(e.n_bodies() + 1, e.n_bodies());
    for (Index i = 0; i < e.n_bodies(); ++i) slot[e.system.body[i] + 1] = i;
    return slot;
  }
  static Vec2<double> in_plane(const PlanarEvaluation& e, Index i, const Vec3<double>& a) {
    const Mat3<double> B = e.system.basis_of(i);
    return {dot(B.row(1), a), dot(B.row(2), a)};
  }
  // The motion of a body in the newest solution.
  PlanarMotion<double> change_of(Index i) const {
    const double* const x = &e_.x[3 * i];
    const PlanarUnit<double>& unit = e_.system.unit_of(i);
    return {unit.turn_inverse * x[0], {unit.mass_inverse * x[1], unit.mass_inverse * x[2]}};
  }
  static double larger(double most, const PlanarMotion<double>& v) {
    const double size = std::max(std::abs(v.angular), std::max(std::abs(v.linear.x), std::abs(v.linear.y)));
    return size <= most ? most : size;  // NaN if it is
  }
  static Rotation2<double> turned(const Rotation2<double>& R, double angle) {
    const double square = angle * angle;
    double cosine, sine;
    if (square < 1e-4) {  // series, to rounding
      cosine = 1.0 - square / 2.0 * (1.0 - square / 12.0 * (1.0 - square / 30.0));
      sine = angle * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)));
    } else {
      cosine = std::cos(angle), sine = std::sin(angle);
    }
    return {R.cosine * cosine - R.sine * sine, R.sine * cosine + R.cosine * sine};
  }
  // Errors across the plane are zero, and stay as they are.
  void fill(const std::vector<Body>& bodies, const std::vector<Velocity>& velocities, View<double> delta,
            View<double> velocity) const {
    for (const RevoluteBatch& batch : batches_) {
      const auto numbers = [&](const auto& of, const Index (&bodies_of)[n_lanes], Lanes (&to)[4]) SB_UNROLL {
        const auto first = [&](int lane) SB_UNROLL { return reinterpret_cast<const double*>(&of[bodies_of[lane]]); };
        load_lanes<4>({first(0), first(1), first(2), first(3)}, to);
      };
      const auto store = [&](const Vec2<Lanes>& on_successor, View<double> errors) SB_UNROLL {
        const Lanes error[2] = {dot(batch.load(2), on_successor), dot(batch.load(3), on_successor)};
        const auto first = [&](int lane) SB_UNROLL { return &errors[batch.first_row[lane] + first_error]; };
        store_lanes<2>(error, {first(0), first(1), first(2), first(3)});
      };
      Lanes p[4], s[4], v_p[4], v_s[4];
      numbers(bodies, batch.predecessor, p), numbers(bodies, batch.successor, s);
      const Rotation2<Lanes> R_p{p[0], p[1]}, R_s{s[0], s[1]};
      const Vec2<Lanes> on_successor = batch.load(1);
      const Vec2<Lanes> point = Vec2<Lanes>{s[2], s[3]} - Vec2<Lanes>{p[2], p[3]} + R_s * on_successor;
      if (!delta.empty()) store(transpose_times(R_s, point - R_p * batch.load(0)), delta);
      numbers(velocities, batch.predecessor, v_p), numbers(velocities, batch.successor, v_s);
      const Vec2<Lanes> of_predecessor = Vec2<Lanes>{v_p[1], v_p[2]} + cross(v_p[0], transpose_times(R_p, point));
      store(Vec2<Lanes>{v_s[1], v_s[2]} + cross(v_s[0], on_successor) - transpose_times(R_s, R_p * of_predecessor), velocity);
    }
  }

  const PlanarEvaluation& e_;
  std::vector<RevoluteBatch> batches_;
  std::vector<Body> bodies_, trial_;                                  // (n + 1,) the last one is the world
  std::vector<Velocity> velocity_, trial_velocity_;
  View<double, 2> position_, orientation_, stored_velocity_;          // of the bodies, in the user's order
  Vec2<double> origin_{};  // that positions are relative to
  bool has_moved_ = false;
};

}  // namespace sparsebody::simulation
