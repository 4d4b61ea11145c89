// Wrenches that can circulate in single loops. Davies (1981), Mech. Mach. Theory 16:171.
#pragma once

#include <tuple>

#include "base/array.hpp"

namespace sparsebody {

// Frames and sizes of the joints: axes (n_joints, 3, 3) turns S coordinates into those of the world, origin and size [m].
struct JointFrames {
  View<const double, 3> axes;
  View<const double, 2> origin;
  View<const double> size;
};

// Cycles of joints, cycle c at start[c] .. start[c + 1] - 1.
struct CycleJoints {
  View<const Index> start, joint;
  Index size() const { return start.size() - 1; }
};

// (free, n_free): the freedoms (size * angular, linear) of every joint in S coordinates, orthonormal, (n_joints, 6, 6),
// as the complement of the rows of T' up to `tolerance`.
std::tuple<Array<double, 3>, Array<Index>> joint_freedoms(View<const Index> first_row, View<const double, 2> subspace,
                                                          View<const double> sizes, double tolerance, double noise);

// (dimension, wrench, center, length, gap): the wrenches (moment / length, force) about the center of each cycle that
// do no work on any freedom of its joints, orthonormal, (n_cycles, 6, 6).
std::tuple<Array<Index>, Array<double, 3>, Array<double, 2>, Array<double>, Array<double>> cycle_wrenches(
    const CycleJoints& cycles, const JointFrames& frames, View<const double, 3> free, View<const Index> n_free,
    double tolerance, double noise);

// (share, sample): the largest part of a unit circulation at every joint by component in S coordinates, (n_joints, 6),
// and what the circulations weight[c] (6, n_samples) add up to there, (n_joints, 6, n_samples).
std::tuple<Array<double, 2>, Array<double, 3>> circulation_samples(
    const CycleJoints& cycles, View<const Index> sign, const JointFrames& frames, View<const Index> dimension,
    View<const double, 3> wrench, View<const double, 2> center, View<const double> length,
    View<const double, 3> weight);

}  // namespace sparsebody
