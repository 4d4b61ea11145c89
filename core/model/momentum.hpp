// Energy and momentum of all bodies. Featherstone (2008), sec. 2.13.
#pragma once

#include "model/poses.hpp"
#include "spatial/inertia.hpp"

namespace sparsebody::model {

struct Momentum {
  double kinetic_energy;  // sum of v' I v / 2
  Array<double> total;    // (6,) sum of I v about the world's origin, in world axes
};

inline Momentum momentum(View<const double> mass, View<const double, 3> inertia, View<const double, 2> position,
                         View<const double, 2> orientation, View<const double, 2> velocity) {
  double kinetic_energy = 0.0;
  Force<double> total;
  for (Index i = 0; i < mass.size(); ++i) {
    const auto [w, u] = Motion<double>::load(&velocity(i, 0));
    const Vec3<double> spin = Mat3<double>::load(&inertia(i, 0, 0)) * w, push = mass[i] * u;
    kinetic_energy += 0.5 * (dot(w, spin) + dot(u, push));
    const Mat3<double> R = rotation_of(orientation, i);
    const Vec3<double> linear = R * push;
    total.angular += R * spin + cross(Vec3<double>::load(&position(i, 0)), linear);
    total.linear += linear;
  }
  Momentum out{kinetic_energy, Array<double>::uninitialized({6})};
  total.store(out.total.data());
  return out;
}

}  // namespace sparsebody::model
