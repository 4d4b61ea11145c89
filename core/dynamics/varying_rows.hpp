// Constraint rows of joints whose T varies in S coordinates, on both bodies. Featherstone (2008), (8.10).
#pragma once

#include "joints/joint_types.hpp"
#include "model/constraint_rows.hpp"

namespace sparsebody {

// m joints without tracked coordinates, k rows.
struct VaryingRows {
  model::JointFrames frames;    // bodies have the user's numbers
  View<const Index> kind;       // (m,) see JointTypes
  View<const Index> first_row;  // (m + 1,)
  View<double, 3> rows;         // (k, 2, 6) of A; zero on the world
  View<double> gamma;           // (k,) their right-hand side

  void fill(const model::BodyMotions& bodies) const {
    for (Index j = 0; j < kind.size(); ++j) {
      const Index p = frames.predecessor[j], s = frames.successor[j];
      const Transform<double> X_S = frames.X_S(j);
      const model::JointMotion motion = model::joint_motion(frames.X_P(j), X_S, bodies[p], bodies[s]);
      double T[36], drift[6];
      joint_varying_rows(int(kind[j]), motion.X, motion.v_J, T, drift);
      for (Index k = first_row[j]; k < first_row[j + 1]; ++k) {
        const Index i = k - first_row[j];
        const model::ConstraintRow row = model::constraint_row(Force<double>::load(T + 6 * i), drift[i], X_S, motion);
        if (p >= 0) row.on_predecessor.store(&rows(k, 0, 0));
        if (s >= 0) row.on_successor.store(&rows(k, 1, 0));
        gamma[k] = row.acceleration;
      }
    }
  }
};

}  // namespace sparsebody
