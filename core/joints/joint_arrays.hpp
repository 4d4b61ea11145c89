// The joints of one type in a system, at the poses X = (E, r) of all its joints.
#pragma once

#include "base/array.hpp"

namespace sparsebody {

struct JointPoses {
  View<const double, 3> E;
  View<const double, 2> r;
  View<const double> parameter;
};

// The rows of the position errors delta.
void fill_errors(int kind, View<const Index> members, View<const Index> first_row, const JointPoses& poses,
                 View<double> error);

// The rows of T' and (dT/dt)' v_J.
void fill_subspaces(int kind, View<const Index> members, View<const Index> first_row, const JointPoses& poses,
                    View<const double, 2> velocity, View<double, 2> subspace, View<double> drift);

// Tracked coordinates `items` of joints of this type, each the index-th velocity of its joint: value q, dual vector W
// with W' S = 1 on it, and (dW/dt)' v_J = -W' c. Coordinates that are not rates of scalar positions have no value.
void fill_coordinates(int kind, View<const Index> items, View<const Index> joint, View<const Index> index,
                      const JointPoses& poses, View<const double, 2> velocity, View<double> value,
                      View<double, 2> dual, View<double> drift);

}  // namespace sparsebody
