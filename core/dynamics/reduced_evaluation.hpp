// Forward dynamics where bodies move within displacement subgroups about the world.
//
// Rows and forces are assembled as for all freedoms, in units in which inertias are one, and then multiplied by an
// orthonormal basis Q of what each body can do there. Q is constant in its axes, so that the acceleration is Q times
// that of the freedoms. Vectors and rows have six numbers for every body, of which the first ones are used; what is
// saved are the rows outside the subgroups.
#pragma once

#include "dynamics/spatial_evaluation.hpp"

namespace sparsebody {

inline constexpr Index outside_subgroups = bad_state + 1;  // status of an evaluation: a body is not in its subgroup
inline constexpr double direction_tolerance = 1e-9;        // of directions, and of parts of velocities
inline constexpr double rest_velocity = 1e-12;             // velocities that are none [m/s]

// What a body keeps: two directions and a point of it, in body and in world coordinates. The point must not move
// along `across` by more than `reach` [m].
struct FixedDirections {
  double first[3], first_world[3], second[3], second_world[3];
  double point[3], point_world[3], across[3][3], reach;

  // Where the point is, from where it has to be.
  Vec3<double> point_error(const Vec3<double>& x, const Mat3<double>& R) const {
    return x + R * Vec3<double>::load(point) - Vec3<double>::load(point_world);
  }
  bool hold(const Vec3<double>& x, const Mat3<double>& R) const;
};
inline constexpr Index fixed_columns = sizeof(FixedDirections) / sizeof(double);

struct ReducedEvaluation {
  SpatialEvaluation& unreduced;  // with all freedoms, where rows are assembled
  SpatialEvaluation& reduced;    // what is factorized and solved
  View<const std::uint32_t> freedoms;  // (n + 1,) of the world 0
  View<const double, 2> basis;         // (n + 1, 36) Q, row by row; columns beyond the freedoms are zero
  View<const double, 2> fixed;         // (n, 28) FixedDirections
  bool has_successor_rows = false;     // whether rows on successors are filled, which hardly ever vary

  Index n_bodies() const { return unreduced.n_bodies(); }
  Index n_coordinates() const { return unreduced.n_coordinates(); }

  // Fills rows and right-hand side at a state; returns regular, bad_state or outside_subgroups.
  Index assemble(const EvaluationInput& in);
  EvaluationResult accelerate(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier);
  Index factorize() { return reduced.factorize(); }
  Refinement solve(View<const double> right, double goal, bool is_shifted) {
    return reduced.solve(right, goal, is_shifted);
  }
  void to_user_order(View<double, 2> acceleration, View<double> multiplier);

 private:
  bool fill_bodies();  // whether all are within their subgroups
  void fill_rows();
};

// Fills positions (n, 3) with points where they have to be; returns how far away they were, relative to their reach.
// Bodies are numbered as the user does.
double retract(View<const double, 2> fixed, View<const double, 2> position, View<const double, 2> orientation,
               View<double, 2> retracted);

}  // namespace sparsebody
