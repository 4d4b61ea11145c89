// Position and velocity errors of all constraint rows, in one pass over the joints: delta of X_SP, as each
// joint type defines it, and T' v_J. Featherstone (2008), (8.27), (8.10).
#pragma once

#include "model/body_forces.hpp"

namespace sparsebody::simulation {

struct RowErrors {
  Array<double> position, velocity;
};

// delta and T' v_J of all rows.
RowErrors row_errors(const model::JointTable& joints, const model::BodyMotions& bodies, Index threads);

// Up to four joints of one type in a row, whose motions are computed at once; the last one stands for missing ones.
struct JointBatch {
  JointBatch(const model::JointTable& joints, Index first, Index last);

  Index first, end;
  Index predecessor[4], successor[4];
  double X_P[12][4], X_S[12][4];  // entries of E, then r, by lane
};

// The joints of a system, none of which has a prescribed coordinate, laid out for many evaluations.
class JointErrors {
 public:
  explicit JointErrors(const model::JointTable& joints);

  Index n_rows() const { return joints_.subspaces.size(); }

  // Fills delta, T' v_J or both; (0,) is not filled.
  void fill(const model::MotionList& motions, View<double> delta, View<double> velocity) const;
  RowErrors at(const model::BodyMotions& bodies) const;

 private:
  model::JointTable joints_;
  std::vector<JointBatch> batches_;
};

}  // namespace sparsebody::simulation
