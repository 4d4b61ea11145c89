// Position and velocity errors of all constraint rows, in one pass over the joints. Featherstone (2008), 8.27, (8.10).
#pragma once

#include "model/body_forces.hpp"

namespace sparsebody::simulation {

struct RowErrors {
  Array<double> position, velocity;
};

// All joints of a system, none of which has a prescribed coordinate.
class JointErrors {
 public:
  explicit JointErrors(const model::JointTable& joints);

  Index n_rows() const { return joints_.subspaces.size(); }

  // delta and T' v_J of all rows.
  RowErrors operator()(const model::BodyMotions& bodies, Index threads) const;
  // Fills one of them, or both; (0,) is not filled.
  void fill(const model::MotionList& motions, View<double> delta, View<double> velocity) const {
    fill(motions, 0, n_batches(), delta, velocity);
  }

 private:
  // Up to four joints of one type in a row, whose motions are computed at once; the last one stands for missing ones.
  struct Batch {
    Index first, end;
    Index predecessor[4], successor[4];
    double X_P[12][4], X_S[12][4];
  };

  Index n_batches() const { return Index(batches_.size()); }
  void fill(const model::MotionList& motions, Index begin, Index end, View<double> delta, View<double> velocity) const;

  model::JointTable joints_;
  std::vector<Batch> batches_;
};

}  // namespace sparsebody::simulation
