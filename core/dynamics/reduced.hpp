// Mechanisms whose bodies move within displacement subgroups about the world, in a plane or otherwise: rows on fewer
// freedoms, and the reactions outside the subgroups.
#pragma once

#include "base/array.hpp"

namespace sparsebody {

// Adds the multipliers of the joints that hold bodies within their subgroups, the outermost bodies first: where all
// other wrenches on a body are known, its equation of motion gives that of the joint, in the least-squares sense.
// bodies, joints (m,) from the world outwards; joint_rows (m, k): rows that take part, up to the first -1;
// A (n_rows, 2, 6); required (n, 6): the sum of the wrenches of all constraints on each body, overwritten.
void fill_complementary_reactions(View<const Index> bodies, View<const Index> joints, View<const Index, 2> joint_rows,
                                  View<const Index> predecessor, View<const Index> successor,
                                  View<const Index> row_joint, View<const double, 3> A, View<double, 2> required,
                                  View<double> multiplier);

}  // namespace sparsebody
