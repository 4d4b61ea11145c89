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
  View<const double, 2> subspace;  // T' where it is constant

  Index n_rows() const { return subspace.rows(); }

  // delta and T' v_J of all rows.
  RowErrors operator()(const model::BodyMotions& bodies) const;
  // Fills one of them, or both; (0,) is not filled. motions: of the world, and of the bodies.
  void fill(const std::vector<model::BodyMotion>& motions, View<double> delta, View<double> velocity) const;
};

// The motions of the world and of the bodies.
void fill_motions(const model::BodyMotions& bodies, std::vector<model::BodyMotion>& motions);

}  // namespace sparsebody::simulation
