// Bodies and constraint rows of a mechanism, numbered in elimination order, and the vectors of (8.64).
//
// The inertia of a body is C C' + m, about its center of mass and in its axes. Vectors are in units in which it is
// one: of a motion (C' w, sqrt(m) u), of a force (C^-1 n, f / sqrt(m)). Bodies and joints are numbered by their
// positions in the elimination order, so that an evaluation walks through memory from one end to the other.
#pragma once

#include "base/array.hpp"
#include "spatial/motion.hpp"

namespace sparsebody {

inline constexpr Index large_mechanism = 1 << 14;  // bodies from which on memory is requested ahead
inline constexpr Index cache_line = 8;             // doubles

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
};
inline constexpr Index unit_columns = sizeof(BodyUnit) / sizeof(double);
// C and sqrt(m) of the world: what rows hold at its end must not count in their norms.
inline constexpr double world_root = 0x1p200;

// Rows of A, those of a joint together: m joints, k rows, n bodies.
struct RowTable {
  View<const std::uint32_t> predecessor, successor;  // (m,) bodies, n for the world
  View<const double, 2> anchor;           // (m, 3) where the world is the successor: reference point of its rows [m]
  View<const bool> is_general;            // (m,) whether rows come from outside, not from T constant on the successor
  View<const std::uint32_t> first_row;    // (m + 1,)
  View<const std::uint32_t> user_row;     // (k,) the user's numbers
  View<const std::uint32_t> general_row;  // (k,) index of general rows among those
  View<double, 3> rows;                   // (k, 2, 6) on predecessor and successor

  Index n_joints() const { return predecessor.size(); }
};

// State, applied loads and what general functions compute; the user's numbering.
struct EvaluationInput {
  View<const double, 2> position, orientation, velocity;  // (n, 3), (n, 4), (n, 6) as in State
  View<const double, 2> load;                             // (n, 6) additional forces, or (0, 6)
  View<const double, 3> general_rows;                     // (k_general, 2, 6)
  View<const double> general_gamma;                       // (k_general,)
  View<const double> stabilization;                       // (k_all,) added to gamma, or (0,)
};

// Bodies in a state, and the system [1 A'; A 0] x = right of (8.64).
struct SpatialWorkspace {
  RowTable kept;
  View<const std::uint32_t> body;  // (n,) the user's numbers
  View<const double> gravity;      // (3,) [m/s^2]
  View<const double, 2> unit;      // (n + 1, 14) BodyUnits; row n is the world
  View<double, 2> position;        // (n + 1, 3) centers of mass in the world [m]
  View<double, 2> rotation;        // (n + 1, 9) from body to world axes
  View<double, 2> velocity;        // (n + 1, 6) in body coordinates [rad/s, m/s]
  View<double> right;              // (6 n + k,) forces, then gamma

  Index n_bodies() const { return body.size(); }
  const BodyUnit& unit_of(Index i) const { return *reinterpret_cast<const BodyUnit*>(unit[i].data()); }
};

}  // namespace sparsebody
