// The joints of a system at their poses X = (E, r).
#pragma once

#include "base/array.hpp"
#include "spatial/transform.hpp"

namespace sparsebody {

struct JointPoses {
  View<const Index> kind;
  View<const double, 3> E;
  View<const double, 2> r;
  View<const double> parameter;
};

// The position errors delta of all constraint rows, zero in those of prescribed coordinates.
Array<double> position_errors(View<const Index> first_row, const JointPoses& poses);

// The rows of T' and (dT/dt)' v_J of some joints.
void fill_subspaces(View<const Index> joints, View<const Index> first_row, const JointPoses& poses,
                    View<const double, 2> velocity, View<double, 2> subspace, View<double> drift);

// A velocity coordinate: value q, dual vector W with W' S = 1 on it, and (dW/dt)' v_J = -W' c. Those that are not rates
// of scalar positions have no value.
struct CoordinateMotion {
  double value = 0.0;
  Force<double> dual;
  double drift = 0.0;
};
// The index-th of a joint of a type, at a pose and velocity.
CoordinateMotion coordinate_motion(Index kind, double parameter, Index index, const Transform<double>& X,
                                   const Motion<double>& v_J);

// The same of several, each the index-th of a joint.
struct CoordinateMotions {
  Array<double> value;
  Array<double, 2> dual;
  Array<double> drift;
};
CoordinateMotions coordinate_motions(View<const Index> joint, View<const Index> index, const JointPoses& poses,
                                     View<const double, 2> velocity);

}  // namespace sparsebody
