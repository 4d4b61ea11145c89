// Constraint rows of a mechanism, bodies in a state, and the vectors of (8.64), in space and in a plane. Bodies and
// joints are numbered by their positions in the elimination order, so that an evaluation walks through memory from one
// end to the other.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/array.hpp"
#include "dynamics/constraint_rows.hpp"
#include "spatial/double_double.hpp"

namespace sparsebody {

inline constexpr Index large_mechanism = 1 << 12;  // bodies from which on memory is requested ahead
inline constexpr Index cache_line = 8;             // doubles
// Roots of inertia and mass of the world: what rows hold at its end must not count in their norms.
inline constexpr double world_root = 0x1p200;

// Motions of n bodies, which an assembly fills, and of the world.
template <class Space>
Array<BodyMotion<Space>> before_world(Index n) {
  auto bodies = Array<BodyMotion<Space>>::uninitialized({n + 1});
  bodies[n] = {};
  return bodies;
}

// Rows of A, those of a joint together: m joints, k rows, n bodies of 6 or 3 freedoms.
template <class T>
struct RowTableOf {
  enum Kind : std::uint32_t {
    carried,  // T constant in the axes of the successor
    general,  // computed by other functions
    line,     // in a plane, a point of the successor on a line of the predecessor
  };
  View<const std::uint32_t> predecessor, successor, kind;  // (m,) bodies, n for the world
  // (m, 3) or, in a plane, (m, 4): reference point of the rows where the world is the successor [m]; normal of a line on
  // the predecessor, and point on the successor
  View<const T, 2> anchor;
  View<const std::uint32_t> first_row;    // (m + 1,)
  View<const std::uint32_t> user_row;     // (k,) the user's numbers
  View<const std::uint32_t> general_row;  // (k,) index of general rows among those
  View<T, 3> rows;                        // (k, 2, freedoms) on predecessor and successor, where inertias are one

  Index n_joints() const { return predecessor.size(); }
  // One after the last row of a joint.
  Index end(Index j) const { return first_row[j + 1]; }
};
using RowTable = RowTableOf<double>;

// Where rows that are constant in the axes of successors come from, in the user's numbering.
struct SuccessorFrames {
  View<const Index> row_joint;     // (n_rows,)
  View<const double, 3> rotation;  // (n_joints, 3, 3) from S to the successor
  View<const double, 2> point;     // (n_joints, 3) origin of S from the center of mass [m]
  View<const double, 2> distinct;  // rows of T'
  View<const std::int32_t> subspace;  // (n_rows,) which of these

  const double* T(Index row) const { return &distinct(subspace[row], 0); }
};

// State, applied loads and what general functions compute; the user's numbering.
struct EvaluationInput {
  View<const double, 2> position, orientation, velocity;  // (n, 3), (n, 4), (n, 6) as in State
  View<const double, 2> load;                             // (n, 6) additional forces, or (0, 6)
  View<const double, 3> general_rows;                     // (k_general, 2, 6)
  View<const double> general_gamma;                       // (k_general,)
  View<const double> stabilization;                       // (k_all,) added to gamma, or (0,)
};

// ---- Bodies with six freedoms, and the vectors of (8.64).
//
// The inertia of a body is C C' + m, about its center of mass and in its axes. Vectors are in units in which it is
// one: of a motion (C' w, sqrt(m) u), of a force (C^-1 n, f / sqrt(m)).

// Units of a body: row i of the table `unit`.
struct BodyUnit {
  double root[6];       // C, a lower triangle row by row
  double inverse[6];    // C^-1
  double mass_root;     // sqrt(m)
  double mass_inverse;  // 1 / sqrt(m)

  Lower3<double> C() const { return Lower3<double>::load(root); }
  Lower3<double> C_inverse() const { return Lower3<double>::load(inverse); }
  Force<double> to_unit(const Force<double>& f) const { return {C_inverse() * f.angular, mass_inverse * f.linear}; }
  Force<double> from_unit(const Force<double>& f) const { return {C() * f.angular, mass_root * f.linear}; }
  Motion<double> to_unit(const Motion<double>& v) const {
    return {transpose_times(C(), v.angular), mass_root * v.linear};
  }
  Motion<double> from_unit(const Motion<double>& v) const {
    return {transpose_times(C_inverse(), v.angular), mass_inverse * v.linear};
  }
  // C^-1 (I w x w)
  Vec3<double> gyroscopic_moment(const Vec3<double>& w) const {
    return C_inverse() * cross(C() * transpose_times(C(), w), w);
  }
};
inline constexpr Index unit_columns = sizeof(BodyUnit) / sizeof(double);

// Fills BodyUnits (n + 1, 14): the Cholesky factor C of each rotational inertia, its inverse, and those of the mass.
// bodies: the user's numbers in elimination order.
inline void fill_units(View<const double> mass, View<const double, 3> inertia, View<const Index> bodies,
                       View<double, 2> unit) {
  const auto units = reinterpret_cast<BodyUnit*>(unit.data());
  const Index n = bodies.size();
  for (Index i = 0; i < n; ++i) {
    const double* const I = inertia[bodies[i]].data();
    const double c0 = std::sqrt(I[0]), c1 = I[3] / c0, c3 = I[6] / c0;
    const double c2 = std::sqrt(I[4] - c1 * c1), c4 = (I[7] - c1 * c3) / c2;
    const double c5 = std::sqrt(I[8] - c3 * c3 - c4 * c4), m = std::sqrt(mass[bodies[i]]);
    units[i] = {{c0, c1, c2, c3, c4, c5},
                {1.0 / c0, -c1 / (c0 * c2), 1.0 / c2, (c1 * c4 / c2 - c3) / (c0 * c5), -c4 / (c2 * c5), 1.0 / c5},
                m, 1.0 / m};
  }
  constexpr double c = world_root, one = 1.0 / world_root;
  units[n] = {{c, 0.0, c, 0.0, 0.0, c}, {one, 0.0, one, 0.0, 0.0, one}, c, one};
}

// Bodies in a state, and the system [1 A'; A 0] x = right of (8.64).
struct SpatialWorkspace {
  using Scalar = double;
  using Space = InSpace<double>;
  // Of the states of some bodies.
  struct Check {
    bool is_unit = true;  // quaternions
    double total = 0.0;   // of all numbers

    void take(const Check& other) { is_unit &= other.is_unit, total += other.total; }
    bool is_sound() const { return is_unit && total - total == 0.0; }
  };

  RowTable kept;
  View<const std::uint32_t> body;    // (n,) the user's numbers
  View<const double> gravity_;       // (3,) [m/s^2]
  View<const double, 2> unit;        // (n + 1, 14) BodyUnits; row n is the world
  View<double> right;                // (6 n + k,) forces, then gamma
  Array<BodyMotion<Space>> bodies = before_world<Space>(body.size());

  Index n_bodies() const { return body.size(); }
  const BodyUnit& unit_of(Index i) const { return *reinterpret_cast<const BodyUnit*>(unit[i].data()); }
  Vec3<double> gravity() const { return Vec3<double>::load(gravity_.data()); }
  // Keeps the motion of a body, number by number: a copy of the whole goes through memory.
  const BodyMotion<Space>& place(Index i, const BodyMotion<Space>& motion, Check&) {
    motion.R.store(bodies[i].R.m);
    bodies[i].x = motion.x, bodies[i].v = motion.v;
    return motion;
  }
  // A force on a body, and a row, in units.
  Force<double> on_freedoms(Index i, const Force<double>& f) const { return unit_of(i).to_unit(f); }
  Force<double> row_on_freedoms(Index i, const Force<double>& t) const { return unit_of(i).to_unit(t); }
  // A motion of a body from its part of a solution.
  Motion<double> motion_of(Index i, const double* x) const { return unit_of(i).from_unit(Motion<double>::load(x)); }
};

// ---- Bodies that move parallel to a plane, and the vectors of (8.64) with three freedoms a body.
//
// Twists are (w, u_x, u_y), wrenches (n, f_x, f_y), both about the center of mass and along two axes of the body in
// the plane, in units in which the body's inertia is one.

// The units of a body: row i of the table `unit`.
template <class T>
struct PlanarUnit {
  T turn_root, mass_root;        // square roots of rotational inertia and mass
  T turn_inverse, mass_inverse;  // their inverses

  PlanarForce<T> to_unit(const PlanarForce<T>& f) const { return {turn_inverse * f.angular, mass_inverse * f.linear}; }
  PlanarForce<T> from_unit(const PlanarForce<T>& f) const { return {turn_root * f.angular, mass_root * f.linear}; }
  T gyroscopic_moment(const T&) const { return {}; }
};

template <class T>
struct PlanarWorkspaceOf {
  using Scalar = T;
  using Space = InPlane<T>;
  static constexpr double plane_tolerance = 1e-9;  // how far a state may leave it: angles, and parts of velocities
  static constexpr double rest_tolerance = 1e-12;  // velocities that are none [rad/s, m/s]
  static constexpr double row_tolerance = 1e-9;    // part of a row within the plane that is nothing but rounding
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
      return is_upright && tilting <= plane_tolerance * turning + rest_tolerance &&
             slipping <= plane_tolerance * moving + rest_tolerance;
    }
  };

  RowTableOf<T> kept;
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
  BodyMotion<Space> place(Index i, const BodyMotion<InSpace<T>>& motion, [[maybe_unused]] Check& check) {
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
  PlanarForce<T> on_freedoms(Index i, const Force<T>& f) const {
    const Mat3<T> B = basis_of(i);
    return unit_of(i).to_unit({dot(B.row(0), f.angular), {dot(B.row(1), f.linear), dot(B.row(2), f.linear)}});
  }
  PlanarForce<T> row_on_freedoms(Index i, const Force<T>& t) const {
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

}  // namespace sparsebody
