// The constants of a spatial evaluation: units of the bodies, and rows of A that are constant on the successors.
#pragma once

#include "base/threads.hpp"
#include "dynamics/spatial_workspace.hpp"
#include "model/joint_motion.hpp"

namespace sparsebody {

// Fills BodyUnits (n + 1, 14): the Cholesky factor C of each rotational inertia, its inverse, and those of the mass.
// bodies: the user's numbers in elimination order.
inline void fill_units(View<const double> mass, View<const double, 3> inertia, View<const Index> bodies,
                       View<double, 2> unit) {
  const auto units = reinterpret_cast<BodyUnit*>(unit.data());
  const Index n = bodies.size();
  for (Index i = 0; i < n; ++i) {
    const double* const I = inertia[bodies[i]].data();
    const double c0 = std::sqrt(I[0]), c1 = I[3] / c0, c3 = I[6] / c0;
    const double c2 = std::sqrt(I[4] - c1 * c1), c4 = (I[7] - c1 * c3) / c2;
    const double c5 = std::sqrt(I[8] - c3 * c3 - c4 * c4), m = std::sqrt(mass[bodies[i]]);
    units[i] = {{c0, c1, c2, c3, c4, c5},
                {1.0 / c0, -c1 / (c0 * c2), 1.0 / c2, (c1 * c4 / c2 - c3) / (c0 * c5), -c4 / (c2 * c5), 1.0 / c5},
                m, 1.0 / m};
  }
  constexpr double c = world_root, one = 1.0 / world_root;
  units[n] = {{c, 0.0, c, 0.0, 0.0, c}, {one, 0.0, one, 0.0, 0.0, one}, c, one};
}

// Fills T' of `user_row` on the successors in their units; general rows stay as they are. Where the world is the
// successor, in world axes about the origin of S.
inline void fill_rows_on_successors(const RowTable& table, View<const double, 2> unit, View<const Index> row_joint,
                                    View<const double, 3> successor_rotation, View<const double, 2> successor_point,
                                    const model::Subspaces& subspaces, int threads) {
  const auto units = reinterpret_cast<const BodyUnit*>(unit.data());
  const Index world = unit.rows() - 1;
  for_each(table.n_joints(), threads, [&](Index j) {
    if (table.is_general[j]) return;
    for (Index k = table.first_row[j]; k < Index(table.first_row[j + 1]); ++k) {
      const Index row = table.user_row[k], s = table.successor[j], joint = row_joint[row];
      const auto R = Mat3<double>::load(successor_rotation[joint].data());
      const auto t = Force<double>::load(subspaces[row]);
      Force<double> f = {R * t.angular, R * t.linear};
      if (s != world) f = f.about(-Vec3<double>::load(successor_point[joint].data()));
      units[s].to_unit(f).store(&table.rows(k, 1, 0));
    }
  });
}

}  // namespace sparsebody
