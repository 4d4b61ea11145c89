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

// The size of the largest term of the bodies' equations of motion; weight: that of gravity.
inline double largest_inertial_term(View<const double> mass, View<const Mat3> inertia, View<const Motion> velocity,
                                    View<const Motion> a, double weight) {
  const auto largest = [](const Vec3& x) { return std::max({std::abs(x.x), std::abs(x.y), std::abs(x.z)}); };
  double term = 0.0;
  for (Index i = 0; i < mass.size(); ++i) {
    const Mat3& I = inertia[i];
    const double omega = largest(velocity[i].angular), u = largest(velocity[i].linear);
    const double moment = std::max({I(0, 0), I(1, 1), I(2, 2)}) * (largest(a[i].angular) + omega * omega);
    term = std::max({term, moment, mass[i] * (largest(a[i].linear) + omega * u + weight)});
  }
  return term;
}

}  // namespace sparsebody::tree
