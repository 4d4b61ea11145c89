// Vectors of links (world axes, joint's origin) from those of bodies (body axes, center of mass), and back.
#pragma once

#include <vector>

#include "tree/least_squares.hpp"
#include "tree/motion.hpp"

namespace sparsebody::tree {

// Forces on the links, of those on the bodies.
inline void link_forces(const Links& links, const TreeMotion& motion, View<const Force> body, View<Force> link) {
  for (Index i = 0; i < links.size(); ++i) {
    const Force& f = body[links.indices[i].body];
    link[i] = motion.to_com(i).to_parent(rotate(motion.body_rotation(links, i), f));
  }
}

// Accelerations of the bodies, of those of the links.
inline void body_accelerations(const Links& links, const TreeMotion& motion, View<const Motion> link,
                               View<Motion> body) {
  for (Index i = 0; i < links.size(); ++i)
    body[links.indices[i].body] = rotate_back(motion.body_rotation(links, i), motion.to_com(i) * link[i]);
}

// qdd of accelerations of the bodies: S qdd = a_i - X a_parent - c in the sense of least squares.
inline void joint_accelerations(const Links& links, const TreeMotion& motion, View<const Motion> body,
                                View<double> qdd) {
  std::vector<Motion> a(links.size());
  for (Index i = 0; i < links.size(); ++i) {
    const Index parent = links.parent(i);
    a[i] = rotate(motion.body_rotation(links, i), body[links.indices[i].body]).about(-motion.to_com(i).d);
    const Motion from_parent = parent < 0 ? motion.c[i] : motion.X(i) * a[parent] + motion.c[i];
    const Index first = links.first_velocity(i), last = links.first_velocity(i + 1);
    components(View<const Motion>(motion.S.slice(first, last)), a[i] - from_parent, qdd.slice(first, last));
  }
}

}  // namespace sparsebody::tree
