// Forward dynamics of a mechanism that moves in a plane, from a state to accelerations and multipliers: the system
// (8.64) with three freedoms a body and the rows within the plane, solved by QR of the constraint columns.
#pragma once

#include "dynamics/assembly.hpp"
#include "factorization/block_qr.hpp"
#include "spatial/double_double.hpp"

namespace sparsebody {

// ---- Bodies that move parallel to a plane, and the vectors of (8.64) with three freedoms a body.
//
// Twists are (w, u_x, u_y), wrenches (n, f_x, f_y), both about the center of mass and along two axes of the body in
// the plane, in units in which the body's inertia is the identity.

// The units of a body: row i of the table `unit`.
template <class T>
struct PlanarUnit {
  T turn_root, mass_root;        // square roots of rotational inertia and mass
  T turn_inverse, mass_inverse;  // their inverses

  PlanarForce<T> to_unit(const PlanarForce<T>& f) const { return {turn_inverse * f.angular, mass_inverse * f.linear}; }
  PlanarForce<T> from_unit(const PlanarForce<T>& f) const { return {turn_root * f.angular, mass_root * f.linear}; }
  T gyroscopic_moment(const T&) const { return {}; }
};

// The row of a point a of the successor on a line of the predecessor with normal n, in the axes of the body that each
// is fixed to. With V the velocity of the point and v that of the point of the predecessor where it is,
// n'(V - v) = 0, so that n' times the difference of accelerations is -(w_p x n)'(V - v) - n'((w_s - w_p) x V).
template <class T>
struct PlanarLineRow {
  PlanarForce<T> on_predecessor, on_successor;
  T gamma;

  PlanarLineRow(const BodyMotion<InPlane<T>>& p, const BodyMotion<InPlane<T>>& s, const Vec2<T>& n, const Vec2<T>& a) {
    const Rotation2<T> R = transpose_times(p.R, s.R);
    const Vec2<T> m = transpose_times(R, n);                    // n in the successor's axes
    const Vec2<T> r = transpose_times(p.R, s.x - p.x) + R * a;  // the point, in the predecessor's axes
    on_predecessor = {-cross(r, n), -n};
    on_successor = {cross(a, m), m};
    const Vec2<T> V = R * (s.v.linear + cross(s.v.angular, a));
    const Vec2<T> slip = V - p.v.linear - cross(p.v.angular, r);  // V - v
    gamma = -(p.v.angular * cross(n, slip) + (s.v.angular - p.v.angular) * cross(V, n));
  }
};

template <class T>
struct PlanarWorkspaceOf {
  using Scalar = T;
  using Space = InPlane<T>;
  using LineRow = PlanarLineRow<T>;
  static constexpr double plane_tolerance = 1e-9;  // of a state off the plane: angles [rad], and velocities, relative
  static constexpr double rounded_velocity = 1e-12;  // of bodies at rest [rad/s, m/s]
  static constexpr double row_tolerance = 1e-9;    // relative part of a row within the plane that is rounding
  struct Check : SpatialWorkspace::Check {
    bool is_upright = true;
    double turning = 0.0, moving = 0.0, tilting = 0.0, slipping = 0.0;

    void take(const Check& other) {
      SpatialWorkspace::Check::take(other);
      is_upright &= other.is_upright;
      turning = std::max(turning, other.turning), tilting = std::max(tilting, other.tilting);
      moving = std::max(moving, other.moving), slipping = std::max(slipping, other.slipping);
    }
    bool is_in_plane() const {
      return is_upright && tilting <= plane_tolerance * turning + rounded_velocity &&
             slipping <= plane_tolerance * moving + rounded_velocity;
    }
  };

  RowTableOf<T> constraints;
  View<const std::uint32_t> body;     // (n,) the user's numbers
  View<const double> gravity_;        // (2,) along the two axes of the world in the plane [m/s^2]
  View<const T, 2> unit;              // (n + 1, 4) PlanarUnits; row n is the world
  View<const T, 3> basis;             // (n + 1, 3, 3) rows: the normal and two axes in the plane, in body axes
  View<T> right;                      // (3 n + k,) forces, then gamma
  Array<BodyMotion<Space>> bodies = before_world<Space>(body.size());

  Index n_bodies() const { return body.size(); }
  const PlanarUnit<T>& unit_of(Index i) const { return *reinterpret_cast<const PlanarUnit<T>*>(unit[i].data()); }
  Mat3<T> basis_of(Index i) const { return Mat3<T>::load(&basis(i, 0, 0)); }
  Vec2<T> gravity() const { return Vec2<T>::load(gravity_.data()); }

  // Keeps the motion within the plane; checks that the body's normal is that of the world, and that velocities lie in it.
  BodyMotion<Space> store_motion(Index i, const BodyMotion<InSpace<T>>& motion, [[maybe_unused]] Check& check) {
    const Mat3<T> B = basis_of(i), axes = basis_of(n_bodies());
    const Vec3<T> first = axes.row(1), second = axes.row(2), along = motion.R * B.row(1);
    const Vec3<T> w = B * motion.v.angular, u = B * motion.v.linear;
    if constexpr (std::is_same_v<T, double>) {
      const Vec3<double> up = motion.R * B.row(0);
      const double tilt_1 = dot(first, up), tilt_2 = dot(second, up);
      check.is_upright &= tilt_1 * tilt_1 + tilt_2 * tilt_2 < plane_tolerance * plane_tolerance && dot(axes.row(0), up) > 0.0;
      check.turning = std::max(check.turning, std::abs(w.x));
      check.tilting = std::max(check.tilting, std::max(std::abs(w.y), std::abs(w.z)));
      check.moving = std::max(check.moving, std::max(std::abs(u.y), std::abs(u.z)));
      check.slipping = std::max(check.slipping, std::abs(u.x));
    }
    return bodies[i] = {
               {dot(first, along), dot(second, along)}, {dot(first, motion.x), dot(second, motion.x)}, {w.x, {u.y, u.z}}};
  }
  // A force on a body, and a row, in units; a row that is rounding is zero.
  PlanarForce<T> force_to_unit(Index i, const Force<T>& f) const {
    const Mat3<T> B = basis_of(i);
    return unit_of(i).to_unit({dot(B.row(0), f.angular), {dot(B.row(1), f.linear), dot(B.row(2), f.linear)}});
  }
  PlanarForce<T> row_to_unit(Index i, const Force<T>& t) const {
    const Mat3<T> B = basis_of(i);
    const PlanarUnit<T>& unit = unit_of(i);
    const Vec3<T> m = unit.turn_inverse * (B * t.angular), f = unit.mass_inverse * (B * t.linear);
    const T within = m.x * m.x + f.y * f.y + f.z * f.z, across = m.y * m.y + m.z * m.z + f.x * f.x;
    if (double(within) <= row_tolerance * row_tolerance * double(across)) return {};
    return {m.x, {f.y, f.z}};
  }
  // A motion of a body from its part of a solution.
  Motion<double> motion_of(Index i, const double* x) const {
    const Mat3<double> B = basis_of(i);
    const PlanarUnit<double>& unit = unit_of(i);
    return {unit.turn_inverse * x[0] * B.row(0),
            unit.mass_inverse * x[1] * B.row(1) + unit.mass_inverse * x[2] * B.row(2)};
  }
};
using PlanarWorkspace = PlanarWorkspaceOf<double>;

// ---- Evaluation

struct PlanarEvaluation {
  PlanarWorkspace system;
  BlockQR* qr;             // none where other factorizations solve
  View<double> x;          // (3 n + k,) accelerations, and multipliers with opposite signs
  Index n_tracked = 0;     // joint coordinates of a state
  Index threads = 1;       // that an evaluation may use

  Index n_bodies() const { return system.n_bodies(); }
  Index n_coordinates() const { return n_tracked; }
  ConstraintRows rows() const { return system.constraints.rows; }

  // Fills rows and right-hand side; returns regular, bad_state or outside_subgroups.
  Index assemble(const EvaluationInput& in) {
    if (in.has_motions) {
      assemble_at_motions(system, in, threads);
      return BlockQR::regular;
    }
    const PlanarWorkspace::Check check = assemble_all(system, in, threads);
    return !check.is_sound() ? bad_state : check.is_in_plane() ? BlockQR::regular : outside_subgroups;
  }
  Index factorize() { return qr->factorize(rows()); }
  // Assembles, factorizes and solves at once. With multipliers (k_all,) the residual is that of the solution, without,
  // (0,), it may be an estimate.
  EvaluationResult accelerate(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier) {
    Index status = assemble(in);
    BlockQR::Residuals residuals;
    if (status == BlockQR::regular)
      status = qr->factorize_and_solve(rows(), system.right, !multiplier.empty(), x, residuals);
    if (status != BlockQR::regular) return {status, {}};
    to_user_order(acceleration, multiplier);
    return {status, {.residual = residuals.last}};
  }
  void to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
    sparsebody::to_user_order(system, x, acceleration, multiplier, threads);
  }
};

// The evaluation that assembles rows, and its newest solution.
inline const PlanarEvaluation& assembling(const PlanarEvaluation& e) { return e; }
inline View<const double> solution_of(const PlanarEvaluation& e) { return e.x; }

// A planar mechanism on numbers of 31 digits, for residuals.
class ExtendedPlanarSystem {
 public:
  using Extended = DoubleDouble;

  ExtendedPlanarSystem(const PlanarEvaluation& evaluation, const SuccessorFrames& frames);

  // Corrects the solution of `evaluation` at the newest state with residuals made from the state, taken as exact;
  // returns the last correction, relative to the largest acceleration, both in units.
  double solve(PlanarEvaluation& evaluation, const EvaluationInput& in);

 private:
  template <class F>
  void for_rows(F f);  // f(k, row on one body, its freedoms in x)

  Array<Extended, 3> basis_, rows_;
  Array<Extended, 2> unit_, anchor_;
  Array<Extended> right_, x_;  // (3 n + k,), (3 n,)
  PlanarWorkspaceOf<Extended> system_;
};

}  // namespace sparsebody
