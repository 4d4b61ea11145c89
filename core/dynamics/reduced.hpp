// Mechanisms whose bodies move within displacement subgroups about the world: (8.64) on the freedoms that these leave.
//
// Rows and forces are assembled as for all freedoms, in units in which inertias are one, and then multiplied by an
// orthonormal basis Q of what each body can do. Q is constant in its axes, so that its acceleration is Q times that
// of its freedoms. Vectors and rows have six places for every body, of which the first ones are used; what is saved
// are the rows outside the subgroups.
#pragma once

#include "dynamics/spatial_evaluation.hpp"

namespace sparsebody {

// What a body keeps in place while it moves within its subgroup.
struct FixedDirections {
  Vec3<double> first, first_in_world, second, second_in_world;
  Vec3<double> point, point_in_world;
  Vec3<double> across[3];  // directions in which the point must not move
  double size;             // of the body [m]

  // Where a point that belongs on the world stands, across its directions.
  Vec3<double> deviation(const Vec3<double>& position, const Mat3<double>& rotation) const {
    const Vec3<double> gap = position + rotation * point - point_in_world;
    return {dot(across[0], gap), dot(across[1], gap), dot(across[2], gap)};
  }
};
inline constexpr Index fixed_columns = sizeof(FixedDirections) / sizeof(double);

inline constexpr Index outside_subgroup = bad_state - 1;  // status of an evaluation: a state that violates a reduction

struct ReducedEvaluation {
  SpatialEvaluation& unreduced;  // with all freedoms, where rows are assembled
  SpatialEvaluation& reduced;    // what is factorized and solved
  View<const Index> freedoms;    // (n + 1,) of the world 0
  View<const double, 2> basis;   // (n + 1, 36) Q row by row; columns beyond the freedoms are zero
  View<const double, 2> fixed;   // (n, fixed_columns)

  Index n_bodies() const { return unreduced.n_bodies(); }

  // Fills rows and right-hand side; returns regular, bad_state or outside_subgroup.
  Index assemble(const EvaluationInput& in);
  // Assembles, factorizes and solves at once.
  EvaluationResult accelerate(const EvaluationInput& in, Index max_corrections, double goal,
                              View<double, 2> acceleration, View<double> multiplier);
  // Fills accelerations (n, 6) and multipliers (k_all,), if any, in the user's numbering and units.
  void to_user_order(View<double, 2> acceleration, View<double> multiplier) const;
  // Fills the rows on the freedoms; those on successors only where they vary, or for `both` sides.
  void reduce_rows(bool both);

 private:
  Index reduce_bodies();
};

// Fills positions (n, 3) with fixed points where they belong; returns how far away they were, relative to the sizes
// of the bodies. All in the user's numbering.
double retract(View<const double, 2> fixed, View<const double, 2> position, View<const double, 2> orientation,
               View<double, 2> retracted);

// Adds the multipliers of the joints that hold bodies within their subgroups, the outermost bodies first: where all
// other wrenches on a body are known, its equation of motion gives that of the joint, in the least-squares sense.
// bodies, joints (m,) from the world outwards; joint_rows (m, k): rows that take part, up to the first -1;
// A (n_rows, 2, 6); required (n, 6): the sum of the wrenches of all constraints on each body, overwritten.
void fill_complementary_reactions(View<const Index> bodies, View<const Index> joints, View<const Index, 2> joint_rows,
                                  View<const Index> predecessor, View<const Index> successor,
                                  View<const Index> row_joint, View<const double, 3> A, View<double, 2> required,
                                  View<double> multiplier);

// ---- The choice of rows

// Fills `reduced` with rows A (n_rows, 2, 6) on the freedoms of their bodies, ends (n_joints, 2), -1 for the world:
// to_freedoms (n, 6, 6) is W^-1 Q and `inverse` W^-1, W taking twists to units in which inertias are one. What is
// nothing but rounding becomes zero. Returns (n_rows,) the norms of the rows with all freedoms.
Array<double> rows_on_freedoms(View<const Index> row_joint, View<const Index, 2> ends, View<const double, 3> A,
                               View<const double, 3> to_freedoms, View<const double, 3> inverse,
                               View<double, 3> reduced);

// Chooses independent rows of each joint that `is_within` a subgroup, by a pivoted orthogonalization of its rows on
// the freedoms of both its bodies; prescribed rows stay. Returns (n_rows,) which ones, and (n_joints,) how many
// others there are.
std::tuple<Array<bool>, Array<Index>> locally_independent_rows(View<const Index> first_row,
                                                               View<const bool> is_within,
                                                               View<const double, 3> reduced,
                                                               View<const double> size,
                                                               View<const bool> is_prescribed);

// Goes from the world to bodies with fewer freedoms by joints, ends (2, n_joints) with n for the world, that drop
// enough rows for them; (begin, incident): joints of each body. Returns bodies in that sequence, and their joints.
std::tuple<Array<Index>, Array<Index>> reaction_tree(View<const Index> begin, View<const Index> incident,
                                                     View<const Index, 2> ends, View<const Index> freedoms,
                                                     View<const Index> n_dropped);

}  // namespace sparsebody
