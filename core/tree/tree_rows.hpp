// Constraint rows of the tree joints: multipliers of transmitted forces, and stabilization of drifted joints.
#pragma once

#include "tree/joint_frames.hpp"
#include "tree/least_squares.hpp"

namespace sparsebody::tree {

// Calls f(i, rows first, last) for every tree joint that has rows; joint: the system's numbers, -1 for a virtual one.
template <class F>
void for_constrained_joints(View<const Index> joint, View<const Index> first_row, F&& f) {
  for (Index i = 0; i < joint.size(); ++i)
    if (const Index j = joint[i]; j >= 0 && first_row[j] < first_row[j + 1]) f(i, first_row[j], first_row[j + 1]);
}

// lambda of the rows of tree joints: T lambda is the force that each transmits. T: its columns in S coordinates.
inline void tree_multipliers(const Links& links, const TreeMotion& motion, View<const Index> joint,
                             View<const Index> first_row, View<const Force> T, View<const Force> transmitted,
                             View<double> multiplier) {
  for_constrained_joints(joint, first_row, [&](Index i, Index first, Index last) {
    const Force f = joint_frames(links, motion.pose, i).to_S(transmitted[i]);
    components(T.slice(first, last), f, multiplier.slice(first, last));
  });
}

// Adds to c the least acceleration in S coordinates that makes T' (a_s - a_p) of tree joints larger by k_stab. (8.22)
inline void add_stabilization(const Links& links, const TreeMotion& motion, View<const Index> joint,
                              View<const Index> first_row, View<const Force> T, View<const double> k_stab) {
  for_constrained_joints(joint, first_row, [&](Index i, Index first, Index last) {
    double x[6];
    std::copy(k_stab.begin() + first, k_stab.begin() + last, x);
    Gram(T.slice(first, last)).solve(x);  // (T' T)^-1 k_stab
    Motion c;
    for (Index r = first; r < last; ++r) c += x[r - first] * Motion{T[r].angular, T[r].linear};
    motion.c[i] += joint_frames(links, motion.pose, i).to_world(c);
  });
}

}  // namespace sparsebody::tree
