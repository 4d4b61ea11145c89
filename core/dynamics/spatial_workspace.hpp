// Bodies with six freedoms, and the vectors of (8.64).
//
// The inertia of a body is C C' + m, about its center of mass and in its axes. Vectors are in units in which it is
// one: of a motion (C' w, sqrt(m) u), of a force (C^-1 n, f / sqrt(m)).
#pragma once

#include <cmath>
#include <vector>

#include "dynamics/row_table.hpp"

namespace sparsebody {

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

    bool is_sound() const { return is_unit && total - total == 0.0; }
  };

  RowTable kept;
  View<const std::uint32_t> body;    // (n,) the user's numbers
  View<const double> gravity_;       // (3,) [m/s^2]
  View<const double, 2> unit;        // (n + 1, 14) BodyUnits; row n is the world
  View<double> right;                // (6 n + k,) forces, then gamma
  std::vector<BodyMotion<Space>> bodies = std::vector<BodyMotion<Space>>(body.size() + 1);

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

}  // namespace sparsebody
