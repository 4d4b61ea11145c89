// Inverse dynamics by the recursive Newton-Euler algorithm. Featherstone (2008), sec. 5.3, table 5.1.
#pragma once

#include "tree/motion.hpp"

namespace sparsebody::tree {

// X a_parent + c + S qdd, the acceleration of link i.
inline Motion link_acceleration(const Links& links, const TreeMotion& motion, View<const double> qdd,
                                View<const Motion> a, Index i) {
  const Index parent = links.parent(i);
  Motion a_i = motion.c[i];
  if (parent >= 0) a_i += motion.X(i) * a[parent];
  for (const Index k : links.velocities(i)) a_i += motion.S[k] * qdd[k];
  return a_i;
}

// Accelerations of all links about their origins; with qdd = 0 they are the velocity products (dJ/dt) qd.
inline void link_accelerations(const Links& links, const TreeMotion& motion, View<const double> qdd, View<Motion> a) {
  for (Index i = 0; i < links.size(); ++i) a[i] = link_acceleration(links, motion, qdd, a, i);
}

// tau = H qdd + C; the accelerations a of the links, and the forces f transmitted by their joints.
// external: forces on the links besides gravity, or empty. a is the acceleration itself: a_g enters f alone.
inline void recursive_newton_euler(const Links& links, const TreeMotion& motion, View<const double> qdd,
                                   View<const Force> external, View<Motion> a, View<Force> f, View<double> tau) {
  const Index n = links.size();
  const Motion a_g = {{}, links.gravity()};
  for (Index i = 0; i < n; ++i) {
    const Inertia I = motion.I(links, i);
    const Motion& v = motion.v[i];
    a[i] = link_acceleration(links, motion, qdd, a, i);  // a = X a_parent + c + S qdd
    f[i] = I * (a[i] - a_g) + cross(v, I * v);           // f = I (a - a_g) + v x* I v - f_x
    if (!external.empty()) f[i] -= external[i];
  }
  for (Index i = n - 1; i >= 0; --i) {
    for (const Index k : links.velocities(i)) tau[k] = dot(motion.S[k], f[i]);            // tau = S' f
    if (const Index p = links.parent(i); p >= 0) f[p] += motion.X(i).to_parent(f[i]);  // f_parent += X' f
  }
}

}  // namespace sparsebody::tree
