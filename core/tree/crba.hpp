// Joint-space inertia H by the composite-rigid-body algorithm. Featherstone (2008), sec. 6.2, table 6.2.
#pragma once

#include "tree/branch_sparsity.hpp"
#include "tree/motion.hpp"

namespace sparsebody::tree {

// Inertia of a rigid composite about the link's origin: [A h x; (h x)' m 1], h its first moment. (2.63)
struct CompositeInertia {
  Symmetric3 A;
  Vec3 h;
  double mass;

  explicit CompositeInertia(const Inertia& I) : A(ArticulatedInertia(I).a), h(I.mass * I.com), mass(I.mass) {}

  friend Force operator*(const CompositeInertia& I, const Motion& m) {
    return {I.A * m.angular + cross(I.h, m.linear), cross(m.angular, I.h) + I.mass * m.linear};
  }
  void operator+=(const CompositeInertia& I) { A += I.A, h += I.h, mass += I.mass; }
  // X* I X of a shift by d, to the parent: h + m d, A + (d.(h + g)) 1 - h d' - d g' with g = h + m d.
  CompositeInertia to_parent(const Vec3& d) const {
    CompositeInertia I = *this;
    I.h = h + mass * d;
    const Vec3& g = I.h;
    const double trace = dot(d, h + g);
    I.A += Symmetric3{{trace - (h.x * d.x + d.x * g.x), -(h.y * d.x + d.y * g.x), trace - (h.y * d.y + d.y * g.y),
                       -(h.z * d.x + d.z * g.x), -(h.z * d.y + d.z * g.y), trace - (h.z * d.z + d.z * g.z)}};
    return I;
  }
};

// H, packed by rows of the branch pattern; composite (n) is work space.
inline void composite_rigid_body(const Links& links, const TreeMotion& motion, const BranchPattern& pattern,
                                 View<CompositeInertia> composite, View<double> H) {
  const Index n = links.size();
  const auto& S = motion.S;
  for (Index i = 0; i < n; ++i) composite[i] = CompositeInertia(motion.I(links, i));

  for (Index i = n - 1; i >= 0; --i) {
    const CompositeInertia& I = composite[i];
    for (const Index k : links.velocities(i)) {
      Force F = I * S[k];  // F = I^c S
      double* entry = &H[pattern.diagonal(k)];
      for (Index j = k; j >= links.first_velocity(i); --j) *entry-- = dot(S[j], F);  // H_ii = S' F
      Index j = i;
      for (Index parent = links.parent(j); parent >= 0; parent = links.parent(j)) {
        F = motion.X(j).to_parent(F);  // F = X* F
        j = parent;
        for (Index l = links.first_velocity(j + 1) - 1; l >= links.first_velocity(j); --l)
          *entry-- = dot(S[l], F);  // H_ij = F' S_j
      }
    }
    if (const Index p = links.parent(i); p >= 0) composite[p] += I.to_parent(motion.X(i).d);  // I^c_p += X* I^c X
  }
}

}  // namespace sparsebody::tree
