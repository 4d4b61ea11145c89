// Derivatives of inverse and forward dynamics by joint coordinates, in O(sum of depths) before H^-1. Carpentier and
// Mansard (2018), Analytical derivatives of rigid body dynamics algorithms, RSS; Singh, Russell and Wensing (2022),
// Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra, IEEE RA-L 7(2).
//
// A step of coordinate j moves the subtree of its joint J by S_j, and changes for all its links l alike
//
//   dv_l/dq_j = S_j x v_l + Psi'_j,   da_l/dq_j = S_j x a_l + Psi'_j x v_l + Psi''_j,   da_l/dqd_j = S_j x v_l + Psi*_j,
//
// where, with the parent's velocity v_p carried to J, v_J = v - v_p = sum of S_l qd_l, derivatives dS_l in world axes,
// the apparent derivative c_J of S times qd, and a without gravity's fictitious part,
//
//   Psi'_j = v x S_j + r_j,   Psi*_j = (v + v_p) x S_j + dc_J/dqd_j,   r_j = sum of dS_l/dq_j qd_l,
//   Psi''_j = a x S_j - (v x S_j) x v + dc_J/dq_j + sum of dS_l/dq_j qdd_l + v_p x r_j - r_j x v,
//
// so that of the force F_i through joint i, J or one beyond it, with I and 2B summed over the links from i on,
//
//   dF_i/dq_j = S_j x* F_i + I Psi''_j + 2B Psi'_j,   dF_i/dqd_j = I Psi*_j + 2B S_j,
//   2B m = v x* I m - I (v x m) + m x* I v;
//
// the joints before J transmit dF_J. Positions of quaternions change by rotations seen from S, as velocities do.
#pragma once

#include <algorithm>
#include <vector>

#include "spatial/dual.hpp"
#include "tree/aba.hpp"
#include "tree/branch_sparsity.hpp"
#include "tree/crba.hpp"
#include "tree/rnea.hpp"
#include "tree/tree_motion.hpp"

namespace sparsebody::tree {

// 2 (x.p) 1 - x p' - p x', the rate of m (c.c 1 - c c') for x = c and p = m dc/dt.
inline Symmetric3 parallel_axis_rate(const Vec3& x, const Vec3& p) {
  const Vec3 d = {x.x * p.x, x.y * p.y, x.z * p.z};
  return {{2.0 * (d.y + d.z), -(x.y * p.x + x.x * p.y), 2.0 * (d.x + d.z), -(x.z * p.x + x.x * p.z),
           -(x.z * p.y + x.y * p.z), 2.0 * (d.x + d.y)}};
}

// 2B = [dA/dt - L x, 0; -2 p x, 0] of a composite of momentum (L, p) about a fixed origin.
struct CompositeRate {
  Symmetric3 A_rate;
  Vec3 L, p;

  // One body's: dA/dt = w x I_c - I_c w x, and the rate of m (c.c 1 - c c').
  CompositeRate(const Inertia& I, const Motion& v) {
    const auto& [x, y, z] = v.angular;
    const double* c = I.rotational.m;
    const Force momentum = I * v;
    L = momentum.angular, p = momentum.linear;
    A_rate = parallel_axis_rate(I.com, p);
    A_rate += Symmetric3{{2.0 * (y * c[3] - z * c[1]), z * (c[0] - c[2]) - x * c[3] + y * c[4],
                          2.0 * (z * c[1] - x * c[4]), y * (c[5] - c[0]) + x * c[1] - z * c[4],
                          x * (c[2] - c[5]) - y * c[1] + z * c[3], 2.0 * (x * c[4] - y * c[3])}};
  }
  friend Force operator*(const CompositeRate& B, const Motion& m) {
    return {B.A_rate * m.angular - cross(B.L, m.angular), -2.0 * cross(B.p, m.angular)};
  }
  // The angular part of (2B)' m; the linear part is zero.
  Vec3 transposed(const Motion& m) const { return A_rate * m.angular + cross(L, m.angular) + 2.0 * cross(p, m.linear); }
  void add_to_parent(const Vec3& d, CompositeRate& parent) const {
    parent.A_rate += A_rate, parent.A_rate += parallel_axis_rate(d, p);
    parent.L += L + cross(d, p), parent.p += p;
  }
};

// S_j and the Psi of a coordinate, in world axes about its link's origin. A row of Python's array.
struct CoordinateRates {
  Motion S, psi_rate, psi_second, psi_star;
};

// Derivatives of a tree joint by its own coordinates k, in world axes: dS_l/dq_k, dc/dq_k and dc/dqd_k of c = (dS/dt)
// qd.
struct OwnRates {
  Motion S[6][6], c_by_q[6], c_by_qd[6];
};

// Adds the derivatives of a joint type whose S varies in S coordinates, by dual numbers, for a joint at rest in S.
template <class J>
void add_varying_rates(const J& joint, const JointFrames& frames, const double* qd, OwnRates& rates) {
  constexpr int n = J::info.n_velocities;
  using T = Dual<2 * n>;  // by q, then by qd
  const Transform X = frames.pose();
  auto X_T = sparsebody::Transform<T>(X);
  const auto columns = joint.motion_subspace(X);
  for (int k = 0; k < n; ++k) {  // dE = -w x E, dr = E' u
    const Mat3 turned = Mat3::skew(columns[k].angular) * X.E;
    for (int e = 0; e < 9; ++e) X_T.E.m[e].rate[k] = -turned.m[e];
    const Vec3 r = transpose_times(X.E, columns[k].linear);
    X_T.r.x.rate[k] = r.x, X_T.r.y.rate[k] = r.y, X_T.r.z.rate[k] = r.z;
  }
  const auto S = joint.motion_subspace(X_T);
  sparsebody::Motion<T> v;
  for (int l = 0; l < n; ++l) {
    T rate(qd[l]);
    rate.rate[n + l] = 1.0;
    v += S[l] * rate;
  }
  const auto c = joint.drift(X_T, v);
  const auto in_world = [&](const sparsebody::Motion<T>& m, int k) {
    const auto& [w, u] = m;
    return frames.to_world({{w.x.rate[k], w.y.rate[k], w.z.rate[k]}, {u.x.rate[k], u.y.rate[k], u.z.rate[k]}});
  };
  for (int k = 0; k < n; ++k) {
    for (int l = 0; l < n; ++l) rates.S[k][l] += in_world(S[l], k);
    rates.c_by_q[k] += in_world(c, k);
    rates.c_by_qd[k] += in_world(c, n + k);
  }
}

// Psi of all coordinates, from the recursion's accelerations a; (dS_l/dq_k)' F of own coordinates into by_q.
inline void coordinate_rates(const Links& links, const TreeMotion& motion, View<const double> qdd,
                             View<const Motion> a, View<const Force> F, View<CoordinateRates> rates,
                             View<double, 2> by_q) {
  const Motion a_g = {{}, links.gravity()};
  visit_links(links, [&]<class J>(Index i, const J& joint) {
    constexpr int n = J::info.n_velocities;
    const Index first = links.first_velocity(i), parent = links.parent(i);
    const Motion *S = motion.S.data() + first, &v = motion.v[i], a_i = a[i] - a_g;
    const Motion v_p = parent < 0 ? Motion{} : motion.X(i) * motion.v[parent];
    for (int k = 0; k < n; ++k) {
      const Motion psi_rate = cross(v, S[k]);  // v x S, of constant S
      rates[first + k] = {S[k], psi_rate, cross(a_i, S[k]) - cross(psi_rate, v), psi_rate + cross(v_p, S[k])};
    }
    if constexpr (n > 1) {
      OwnRates own{};
      const bool moves_S = links.indices[i].direction > 0;
      if (moves_S)
        for (int k = 0; k < n; ++k)
          for (int l = 0; l < n; ++l) own.S[k][l] = cross(S[k], S[l]);
      if constexpr (requires(Transform X, Motion m) { joint.drift(X, m); }) {
        const JointFrames frames = joint_frames(links, motion.pose, i);
        add_varying_rates(joint, frames, &motion.qd[first], own);
        if (moves_S) {
          Motion v_J = v - v_p;
          const Motion c_J = motion.c[i] - cross(v, v_J);
          for (int k = 0; k < n; ++k) own.c_by_q[k] += cross(S[k], c_J);
        }
      }
      for (int k = 0; k < n; ++k) {
        auto& [S_k, psi_rate, psi_second, psi_star] = rates[first + k];
        Motion v_rate, a_rate = own.c_by_q[k];  // of v_J, and of S qdd + c
        for (int l = 0; l < n; ++l) {
          v_rate += own.S[k][l] * motion.qd[first + l];
          a_rate += own.S[k][l] * qdd[first + l];
          by_q(first + l, first + k) += dot(own.S[k][l], F[i]);
        }
        psi_rate += v_rate;
        psi_second += a_rate + cross(v_p, v_rate) - cross(v_rate, v);
        psi_star += own.c_by_qd[k];
      }
    }
  });
}

// Fills tau = H qdd + C, H, packed, the links' accelerations a, the forces F through their joints, and `rates`; adds
// the derivatives of tau to by_q and by_qd (n, n). external: forces that move with the links, or empty. Inlined wholly,
// so that composites stay in registers.
[[gnu::flatten]] inline void inverse_dynamics_derivatives(const Links& links, const TreeMotion& motion,
                                                          const BranchPattern& pattern, View<const double> qdd,
                                                          View<const Force> external, View<Motion> a, View<Force> F,
                                                          View<CoordinateRates> rates, View<double> tau,
                                                          View<double, 2> by_q, View<double, 2> by_qd,
                                                          View<double> H) {
  recursive_newton_euler(links, motion, qdd, external, a, F, tau);
  coordinate_rates(links, motion, qdd, a, F, rates, by_q);
  std::vector<CompositeInertia> inertia;
  std::vector<CompositeRate> inertia_rate;
  for (Index i = 0; i < links.size(); ++i) {
    const Inertia I = motion.I(links, i);
    inertia.emplace_back(I), inertia_rate.emplace_back(I, motion.v[i]);
  }
  for (Index i = links.size() - 1; i >= 0; --i) {  // leaves to root
    const CompositeInertia& I = inertia[i];
    const CompositeRate& B = inertia_rate[i];
    for (const Index k : links.velocities(i)) {
      const auto& [S, psi_rate, psi_second, psi_star] = rates[k];
      Force P = I * S;                                                // I S, of dtau_k by coordinates before k
      const Vec3 Q = B.transposed(S);                                 // (2B)' S
      Force by_q_k = cross(S, F[i]) + I * psi_second + B * psi_rate;  // dF/dq_k
      Force by_qd_k = I * psi_star + B * S;                           // dF/dqd_k
      for (const Index l : links.velocities(i)) {
        by_q(l, k) += dot(motion.S[l], by_q_k);
        by_qd(l, k) += dot(motion.S[l], by_qd_k);
      }
      double* entry = &H[pattern.diagonal(k)];
      for (Index l = k; l >= links.first_velocity(i); --l) *entry-- = dot(motion.S[l], P);
      for (Index j = i; links.parent(j) >= 0;) {
        const Shift& X = motion.X(j);
        P = X.to_parent(P), by_q_k = X.to_parent(by_q_k), by_qd_k = X.to_parent(by_qd_k);
        j = links.parent(j);
        for (Index l = links.first_velocity(j + 1) - 1; l >= links.first_velocity(j); --l) {
          const auto& [S_l, psi_rate_l, psi_second_l, psi_star_l] = rates[l];
          *entry-- = dot(S_l, P);
          by_q(l, k) += dot(S_l, by_q_k);
          by_qd(l, k) += dot(S_l, by_qd_k);
          by_q(k, l) += dot(psi_second_l, P) + dot(psi_rate_l.angular, Q);
          by_qd(k, l) += dot(psi_star_l, P) + dot(S_l.angular, Q);
        }
      }
    }
    if (const Index p = links.parent(i); p >= 0) {
      inertia[p] += I.to_parent(motion.X(i).d);
      B.add_to_parent(motion.X(i).d, inertia_rate[p]);
    }
  }
}

// Derivatives of tau by q and qd, or those of qdd by q, qd and tau.
struct JointDerivatives {
  View<double, 2> by_q, by_qd, by_tau;
};

// qdd = H^-1 (tau - C), dqdd/dq = -H^-1 dtau/dq, dqdd/dqd = -H^-1 dtau/dqd and dqdd/dtau = H^-1, with L of H = L' L,
// packed. Prescribed qdd do not change. by_q and by_qd come with the derivatives of tau by external forces that do not
// move with the links. Returns -1, or the coordinate whose pivot is not positive.
inline Index forward_dynamics_derivatives(const Links& links, const TreeMotion& motion, const BranchPattern& pattern,
                                          View<const double> tau, View<const Force> external,
                                          View<const bool> is_prescribed, const Articulated& work,
                                          View<double> qdd, const JointDerivatives& derivatives, View<double> L) {
  const auto& [by_q, by_qd, by_tau] = derivatives;
  const Index n = qdd.size();
  articulated_body(links, motion, tau, external, is_prescribed, work, qdd);
  std::vector<Force> F(links.size());
  std::vector<double> own_tau(n);
  std::vector<CoordinateRates> rates(n);
  inverse_dynamics_derivatives(links, motion, pattern, qdd, external, work.a, F, rates, own_tau, by_q, by_qd, L);
  if (!is_prescribed.empty()) decouple(pattern, is_prescribed, L);
  for (Index k = 0; k < n; ++k) by_tau(k, k) = 1.0;
  for (Index k = 0; k < is_prescribed.size(); ++k)
    if (is_prescribed[k])
      for (const auto& matrix : {by_q, by_qd, by_tau}) std::fill(matrix[k].begin(), matrix[k].end(), 0.0);
  for (const auto& matrix : {by_q, by_qd})
    for (double& x : matrix) x = -x;
  const Index failed = factorize_ltl(pattern, L);
  if (failed < 0)
    for (const auto& matrix : {by_q, by_qd, by_tau}) solve_ltl_columns(pattern, L, matrix);
  return failed;
}

}  // namespace sparsebody::tree
