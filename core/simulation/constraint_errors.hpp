// Position and velocity errors of all constraint rows, in one pass over the joints. Featherstone (2008), 8.27, (8.10).
#pragma once

#include <vector>

#include "model/joint_motion.hpp"

namespace sparsebody::simulation {

struct RowErrors {
  Array<double> position, velocity;
};

// All joints of a system, none of which has a prescribed coordinate.
struct JointErrors {
  model::JointFrames frames;
  View<const Index> kind, first_row;
  View<const double> parameter;
  model::Subspaces subspaces;

  Index n_rows() const { return subspaces.size(); }

  // delta and T' v_J of all rows.
  RowErrors operator()(const model::BodyMotions& bodies, Index threads) const;
  // Fills one of them, or both; (0,) is not filled. motions: of the world, and of the bodies.
  void fill(const std::vector<model::BodyMotion>& motions, View<double> delta, View<double> velocity) const;
};

// The motions of the world and of the bodies.
void fill_motions(const model::BodyMotions& bodies, std::vector<model::BodyMotion>& motions);

}  // namespace sparsebody::simulation
