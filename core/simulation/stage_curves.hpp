// Poses of bodies as curves y(t) in R^7 during a step: y and y' at its start, and y'' at its stages.
#pragma once

#include <vector>

#include "model/joint_motion.hpp"
#include "model/poses.hpp"

namespace sparsebody::simulation {

class StageCurves {
 public:
  explicit StageCurves(Index n_bodies)
      : n_bodies_(n_bodies), n_blocks_(n_blocks(n_bodies)), blocks_(usual_curves * n_blocks_) {}

  // Begins at the start of a step, with y'' there.
  void begin(const model::BodyMotions& start, View<const double, 2> acceleration);
  // Adds y'' of a stage.
  void add(const model::BodyMotions& stage, View<const double, 2> acceleration);
  // Fills the states at y + h y' + h^2 / 2 sum(pose y'') and y' + h sum(rate y'').
  void move(View<const double> pose, View<const double> rate, double h, View<double, 2> position,
            View<double, 2> orientation, View<double, 2> velocity) const;
  // The weighted sum (n, 7) of y''.
  Array<double, 2> weighted_sum(View<const double> weight) const;
  // (n, 7) h^3 y^(5) / 720, of the y, y' and y'' at the start and at the end of a step h.
  Array<double, 2> fifth_difference(const model::BodyMotions& end, View<const double, 2> acceleration, double h) const;

 private:
  struct Block {  // of four bodies; the last body stands for missing ones
    double of[7][n_lanes];
  };
  Block* curve(Index k) { return blocks_.data() + k * n_blocks_; }
  const Block* curve(Index k) const { return blocks_.data() + k * n_blocks_; }
  SB_INLINE void sum(View<const double> weight, Index block, Lanes* total) const;

  static constexpr Index usual_curves = 7;  // of rk4 with an error
  Index n_bodies_, n_blocks_, n_curves_ = 0;
  std::vector<Block> blocks_;  // y, y', and y'' of all stages so far
};

}  // namespace sparsebody::simulation
