// Forward dynamics where bodies move within displacement subgroups about the world.
//
// Rows and forces are assembled as for all freedoms, in units in which inertias are one, and then multiplied by an
// orthonormal basis Q of what each body can do there. Q is constant in its axes, so that the acceleration is Q times
// that of the freedoms. Vectors and rows have six numbers for every body, of which the first ones are used; what is
// saved are the rows outside the subgroups.
#pragma once

#include <array>

#include "dynamics/spatial_evaluation.hpp"

namespace sparsebody {

inline constexpr Index outside_subgroups = bad_state + 1;  // status of an evaluation: a body is not in its subgroup
inline constexpr double direction_tolerance = 1e-9;        // of directions, and of parts of velocities
inline constexpr double rest_velocity = 1e-12;             // velocities that are none [m/s]

// What a body keeps: two directions and a point of it, in body and in world coordinates. The point must not move
// along `across` by more than `reach` [m].
struct FixedDirections {
  double first[3], first_world[3], second[3], second_world[3];
  double point[3], point_world[3], across[3][3], reach;

  // Where the point is, from where it has to be.
  Vec3<double> point_error(const Vec3<double>& x, const Mat3<double>& R) const {
    return x + R * Vec3<double>::load(point) - Vec3<double>::load(point_world);
  }
  bool hold(const Vec3<double>& x, const Mat3<double>& R) const {
    for (const auto& [direction, world] : {std::pair{first, first_world}, std::pair{second, second_world}}) {
      const Vec3<double> gap = R * Vec3<double>::load(direction) - Vec3<double>::load(world);
      if (!(std::max({std::abs(gap.x), std::abs(gap.y), std::abs(gap.z)}) <= direction_tolerance)) return false;
    }
    const Vec3<double> gap = point_error(x, R);
    for (const auto& line : across)
      if (!(std::abs(dot(Vec3<double>::load(line), gap)) <= reach)) return false;
    return true;
  }
};

struct ReducedEvaluation {
  SpatialEvaluation& unreduced;  // with all freedoms, where rows are assembled
  SpatialEvaluation& reduced;    // what is factorized and solved
  View<const std::uint32_t> freedoms;  // (n + 1,) of the world 0
  View<const double, 2> basis;         // (n + 1, 36) Q, row by row; columns beyond the freedoms are zero
  View<const double, 2> fixed;         // (n, 28) FixedDirections
  bool has_successor_rows = false;     // whether rows on successors are filled, which hardly ever vary

  Index n_bodies() const { return unreduced.n_bodies(); }
  Index n_coordinates() const { return unreduced.n_coordinates(); }

  // Fills rows and right-hand side at a state; returns regular, bad_state or outside_subgroups.
  Index assemble(const EvaluationInput& in) {
    const Index status = unreduced.assemble(in);
    if (status != block_ldl::regular) return status;
    const bool is_within = fill_bodies();
    fill_rows();
    const View<double> right = unreduced.system.right;
    std::copy(right.begin() + 6 * n_bodies(), right.end(), reduced.system.right.begin() + 6 * n_bodies());
    return is_within ? block_ldl::regular : outside_subgroups;
  }
  EvaluationResult accelerate(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier) {
    Index status = assemble(in);
    if (status == block_ldl::regular) status = factorize();
    if (status != block_ldl::regular) return {status, {}};
    const Refinement refinement = solve(reduced.system.right, 0.0, false);
    to_user_order(acceleration, multiplier);
    return {status, refinement};
  }
  Index factorize() { return reduced.factorize(); }
  Refinement solve(View<const double> right, double goal, bool is_shifted) {
    return reduced.solve(right, goal, is_shifted);
  }
  void to_user_order(View<double, 2> acceleration, View<double> multiplier) {
    const View<double> x = reduced.solution.x(), unreduced_x = unreduced.solution.x();
    const Index n = n_bodies();
    for (Index i = 0; i < n; ++i) {
      const Twist a = in_body(&basis(i, 0), freedoms[i], load(&x[6 * i]));
      std::copy(a.begin(), a.end(), &unreduced_x[6 * i]);
    }
    std::copy(x.begin() + 6 * n, x.end(), unreduced_x.begin() + 6 * n);
    unreduced.to_user_order(acceleration, multiplier);
  }

 private:
  using Twist = std::array<double, 6>;

  static Twist load(const double* p) { return {p[0], p[1], p[2], p[3], p[4], p[5]}; }

  // Q' v with d columns of Q
  template <int d>
  static Twist transpose_times(const double* Q, const Twist& v) {
    Twist y{};
    for (int r = 0; r < 6; ++r)
      for (int c = 0; c < d; ++c) y[c] += v[r] * Q[6 * r + c];
    return y;
  }

  template <int d>
  static Twist times(const double* Q, const Twist& y) {
    Twist v{};
    for (int r = 0; r < 6; ++r)
      for (int c = 0; c < d; ++c) v[r] += Q[6 * r + c] * y[c];
    return v;
  }

  // Three freedoms or less are half the work.
  static Twist on_freedoms(const double* Q, Index d, const Twist& v) {
    return d <= 3 ? transpose_times<3>(Q, v) : transpose_times<6>(Q, v);
  }

  static Twist in_body(const double* Q, Index d, const Twist& y) { return d <= 3 ? times<3>(Q, y) : times<6>(Q, y); }

  static double largest(const Twist& v) {
    double m = 0.0;
    for (const double a : v) m = std::max(m, std::abs(a));
    return m;
  }

  // Whether all are within their subgroups.
  bool fill_bodies() {
    const SpatialWorkspace& w = unreduced.system;
    double fastest = 0.0, outside = 0.0;
    bool is_held = true;
    for (Index i = 0; i < n_bodies(); ++i) {
      const Index d = freedoms[i];
      const double* const Q = &basis(i, 0);
      const Twist f = on_freedoms(Q, d, load(&w.right[6 * i]));
      std::copy(f.begin(), f.end(), &reduced.system.right[6 * i]);
      const BodyUnit& unit = w.unit_of(i);
      Twist v;
      unit.to_unit(w.bodies[i].v).store(v.data());
      fastest = std::max(fastest, unit.mass_inverse * largest(v));
      if (d == 6) continue;
      const Twist within = in_body(Q, d, on_freedoms(Q, d, v));
      for (int a = 0; a < 6; ++a) v[a] -= within[a];
      outside = std::max(outside, unit.mass_inverse * largest(v));
      const auto& directions = *reinterpret_cast<const FixedDirections*>(&fixed(i, 0));
      is_held = is_held && directions.hold(w.bodies[i].x, w.bodies[i].R);
    }
    return is_held && outside <= direction_tolerance * fastest + rest_velocity;
  }
  void fill_rows() {
    const RowTable &kept = unreduced.system.kept, &to = reduced.system.kept;
    for (Index j = 0; j < kept.n_joints(); ++j) {
      const Index ends[2] = {kept.predecessor[j], kept.successor[j]};
      const bool is_varying = !has_successor_rows || kept.kind[j] == RowTable::general;
      for (Index k = kept.first_row[j]; k < Index(kept.first_row[j + 1]); ++k)
        for (int side = 0; side < 1 + is_varying; ++side) {
          const Twist row = on_freedoms(&basis(ends[side], 0), freedoms[ends[side]], load(&kept.rows(k, side, 0)));
          std::copy(row.begin(), row.end(), &to.rows(k, side, 0));
        }
    }
    has_successor_rows = true;
  }
};

// Fills positions (n, 3) with points where they have to be; returns how far away they were, relative to their reach.
// Bodies are numbered as the user does.
inline double retract(View<const double, 2> fixed, View<const double, 2> position, View<const double, 2> orientation,
                      View<double, 2> retracted) {
  double farthest = 0.0;
  for (Index i = 0; i < fixed.rows(); ++i) {
    const auto& directions = *reinterpret_cast<const FixedDirections*>(&fixed(i, 0));
    const double* const q = &orientation(i, 0);
    const Vec3<double> gap = directions.point_error(Vec3<double>::load(&position(i, 0)),
                                                    Mat3<double>::from_quaternion(q[0], q[1], q[2], q[3]));
    for (int a = 0; a < 3; ++a) {
      const double part = dot(Vec3<double>::load(directions.across[a]), gap);
      retracted(i, a) = position(i, a) - part;
      farthest = std::max(farthest, std::abs(part) / directions.reach);
    }
  }
  return farthest;
}

}  // namespace sparsebody
