// Position and velocity errors of all constraint rows, in one pass over the joints. Featherstone (2008), 8.27, (8.10).
#pragma once

#include "model/body_forces.hpp"

namespace sparsebody::simulation {

struct RowErrors {
  Array<double> position, velocity;
};

// All joints of a system, none of which has a prescribed coordinate.
struct JointErrors {
  model::JointTable joints;

  Index n_rows() const { return joints.subspaces.size(); }

  // delta and T' v_J of all rows.
  RowErrors operator()(const model::BodyMotions& bodies, Index threads) const;
  // Fills one of them, or both; (0,) is not filled.
  void fill(const model::MotionList& motions, View<double> delta, View<double> velocity) const;
};

}  // namespace sparsebody::simulation
