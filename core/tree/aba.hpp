// Forward dynamics by the articulated-body algorithm. Featherstone (2008), sec. 7.3, table 7.1.
#pragma once

#include "tree/motion.hpp"

namespace sparsebody::tree {

// I^A and p^A of a link.
struct ArticulatedLink {
  ArticulatedInertia I;
  Force p;
};

// Elimination of a velocity coordinate: U = I^A S, 1 / D with D = S' U, u = tau - S' p^A.
struct EliminatedCoordinate {
  Force U;
  double inverse_D;
  double u;
};

// The arrays of Python's Articulated, to be filled.
struct Articulated {
  View<ArticulatedLink> link;
  View<EliminatedCoordinate> coordinate;
  View<Motion> a;  // spatial accelerations without gravity's fictitious one, about the links' origins
};

// I S; of revolute and spherical joints the linear part of S is zero.
inline Force times_subspace(const ArticulatedInertia& I, const Motion& S) {
  if (S.linear.x == 0.0 && S.linear.y == 0.0 && S.linear.z == 0.0)
    return {I.a * S.angular, transpose_times(I.b, S.angular)};
  return I * S;
}

// qdd of a tree, the loops of table 7.1 in its order. O(n); allocates nothing.
//
// The coordinates of a joint with several are eliminated one after the other, as in Gaussian elimination. Where is_prescribed
// (empty for nowhere), qdd is given: its acceleration is part of c. external: forces besides gravity, or empty.
template <bool has_prescribed>
void articulated_body_with(const Links& links, const TreeMotion& motion, View<const double> tau,
                           View<const Force> external, View<const bool> is_prescribed, const Articulated& work,
                           View<double> qdd) {
  const Index n = links.size();
  const auto& S = motion.S;
  const auto is_free = [&](Index k) { return !has_prescribed || !is_prescribed[k]; };
  const auto c = [&](Index i) {  // velocity products, and S qdd where qdd is prescribed
    Motion c_i = motion.c[i];
    if constexpr (has_prescribed)
      for (const Index k : links.velocities(i))
        if (is_prescribed[k]) c_i += S[k] * qdd[k];
    return c_i;
  };

  for (Index i = 0; i < n; ++i) {
    const Inertia I = motion.I(links, i);
    const Motion& v = motion.v[i];
    work.link[i] = {ArticulatedInertia(I), cross(v, I * v)};  // p^A = v x* I v - f_x
    if (!external.empty()) work.link[i].p -= external[i];
  }

  for (Index i = n - 1; i >= 0; --i) {  // leaves to root: what a subtree feels like at its joint
    auto I = ArticulatedInertia::load(work.link[i].I);
    Force p = work.link[i].p;
    for (const Index k : links.velocities(i)) {
      if (!is_free(k)) continue;
      const Force U = times_subspace(I, S[k]);      // U = I^A S
      const double inverse_D = 1.0 / dot(S[k], U);  // D = S' U
      const double u = tau[k] - dot(S[k], p);       // u = tau - S' p^A
      work.coordinate[k] = {U, inverse_D, u};
      I = I.without(U, inverse_D);                  // I^a = I^A - U D^-1 U'
      p += U * (u * inverse_D);
    }
    const Index parent = links.parent(i);
    if (parent < 0) continue;
    p += I * c(i);                                       // p^a = p^A + I^a c + U D^-1 u
    work.link[parent].I += motion.X(i).to_parent(I);     // I^A_parent += X* I^a X
    work.link[parent].p += motion.X(i).to_parent(p);     // p^A_parent += X* p^a
  }

  const Motion a_g = {{}, links.gravity()};
  for (Index i = 0; i < n; ++i) {  // root to leaves: accelerations
    const Index parent = links.parent(i);
    Motion a = (parent < 0 ? -a_g : motion.X(i) * work.a[parent]) + c(i);  // a' = X a_parent + c
    const auto own = links.velocities(i);
    for (Index k = *own.end() - 1; k >= *own.begin(); --k) {
      if (!is_free(k)) continue;
      const auto& [U, inverse_D, u] = work.coordinate[k];
      qdd[k] = inverse_D * (u - dot(a, U));  // qdd = D^-1 (u - U' a')
      a += S[k] * qdd[k];                    // a = a' + S qdd
    }
    work.a[i] = a;
  }
  for (Motion& a : work.a) a += a_g;  // gravity was a fictitious acceleration of the world
}

inline void articulated_body(const Links& links, const TreeMotion& motion, View<const double> tau,
                             View<const Force> external, View<const bool> is_prescribed, const Articulated& work,
                             View<double> qdd) {
  const auto algorithm = is_prescribed.empty() ? articulated_body_with<false> : articulated_body_with<true>;
  algorithm(links, motion, tau, external, is_prescribed, work, qdd);
}

}  // namespace sparsebody::tree
