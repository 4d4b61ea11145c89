// Mechanisms whose bodies move within displacement subgroups about the world: the choice of rows on the freedoms that
// these leave, and the reactions outside them.
#pragma once

#include <tuple>

#include "graph/adjacency.hpp"

namespace sparsebody {

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

// Goes from the world to bodies with fewer freedoms (n,) by joints, ends (n_joints, 2), that drop enough rows for them.
// Returns bodies in that sequence, and their joints.
std::pair<std::vector<Index>, std::vector<Index>> reaction_tree(View<const Index, 2> ends, Indices freedoms,
                                                                Indices n_dropped);

}  // namespace sparsebody
