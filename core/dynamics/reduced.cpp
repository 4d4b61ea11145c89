#include "dynamics/reduced.hpp"

#include <algorithm>
#include <cmath>

namespace sparsebody {
namespace {

constexpr double direction_tolerance = 1e-9;  // how far a state may leave its subgroup: directions, parts of velocities
constexpr double point_tolerance = 1e-6;      // a point, in sizes of the body: integrators only correct it
constexpr double rest_tolerance = 1e-12;      // velocities that are none [m/s]
constexpr double row_tolerance = 1e-9;        // part of a row that is rounding

// A vector on the freedoms of a body; in two registers.
struct OnFreedoms {
  Vec<double, 4> low;
  Vec<double, 2> high;  // zero for three freedoms or less

  // Q' r
  OnFreedoms(const double* Q, Index d, const double* r) : low(Vec<double, 4>::load(Q) * r[0]), high{} {
    for (int a = 1; a < 6; ++a) low += Vec<double, 4>::load(Q + 6 * a) * r[a];
    if (d > 4)
      for (int a = 0; a < 6; ++a) high += Vec<double, 2>::load(Q + 6 * a + 4) * r[a];
  }
  void store(double* y) const {
    low.store(y);
    high.store(y + 4);
  }
};

// r = Q y
void to_body(const double* Q, Index d, const double* y, double* r) {
  for (int a = 0; a < 6; ++a, Q += 6) {
    r[a] = Q[0] * y[0] + Q[1] * y[1] + Q[2] * y[2];
    if (d > 3) r[a] += Q[3] * y[3] + Q[4] * y[4] + Q[5] * y[5];
  }
}

double largest(const double* v) {
  double m = 0.0;
  for (int a = 0; a < 6; ++a) m = std::max(m, std::abs(v[a]));
  return m;
}
double largest(const Vec3<double>& v) {
  return std::max(std::max(std::abs(v.x), std::abs(v.y)), std::abs(v.z));
}

const FixedDirections& fixed_of(View<const double, 2> fixed, Index i) {
  return *reinterpret_cast<const FixedDirections*>(fixed[i].data());
}

// Whether directions and a point of a body are where they belong.
bool is_in_place(const FixedDirections& at, const Vec3<double>& x, const Mat3<double>& R) {
  return largest(R * at.first - at.first_in_world) <= direction_tolerance &&
         largest(R * at.second - at.second_in_world) <= direction_tolerance &&
         largest(at.deviation(x, R)) <= point_tolerance * at.size;
}

}  // namespace

// ---- Evaluations

// Forces on the freedoms; returns regular, or outside_subgroup where positions or velocities are.
Index ReducedEvaluation::reduce_bodies() {
  const SpatialWorkspace& w = unreduced.system;
  double fastest = 0.0, outside = 0.0;
  bool is_within = true;
  for (Index i = 0; i < n_bodies(); ++i) {
    const Index d = freedoms[i];
    const double* const Q = &basis(i, 0);
    OnFreedoms(Q, d, &w.right[6 * i]).store(&reduced.system.right[6 * i]);
    const BodyUnit& unit = w.unit_of(i);
    double v[6], y[6], r[6];
    unit.to_unit(Motion<double>::load(&w.velocity(i, 0))).store(v);
    fastest = std::max(fastest, unit.mass_inverse * largest(v));
    if (d == 6) continue;
    OnFreedoms(Q, d, v).store(y);
    to_body(Q, d, y, r);
    for (int a = 0; a < 6; ++a) r[a] = v[a] - r[a];  // the part outside the subgroup
    outside = std::max(outside, unit.mass_inverse * largest(r));
    is_within &= is_in_place(fixed_of(fixed, i), Vec3<double>::load(&w.position(i, 0)),
                             Mat3<double>::load(&w.rotation(i, 0)));
  }
  const bool is_slow = outside <= direction_tolerance * fastest + rest_tolerance;
  return is_within && is_slow ? block_ldl::regular : outside_subgroup;
}

void ReducedEvaluation::reduce_rows(bool both) {
  const RowTable& kept = unreduced.system.kept;
  double* const A = reduced.system.kept.rows.data();
  const double* const rows = kept.rows.data();
  for (Index j = 0; j < kept.n_joints(); ++j) {
    const Index p = kept.predecessor[j], s = kept.successor[j];
    const bool is_varying = both || kept.is_general[j];
    for (Index k = kept.first_row[j]; k < Index(kept.first_row[j + 1]); ++k) {
      OnFreedoms(&basis(p, 0), freedoms[p], rows + 12 * k).store(A + 12 * k);
      if (is_varying) OnFreedoms(&basis(s, 0), freedoms[s], rows + 12 * k + 6).store(A + 12 * k + 6);
    }
  }
}

Index ReducedEvaluation::assemble(const EvaluationInput& in) {
  const SpatialWorkspace& w = unreduced.system;
  if (!sparsebody::assemble(w, in)) return bad_state;
  const Index status = reduce_bodies();
  reduce_rows(false);
  std::copy(w.right.begin() + 6 * n_bodies(), w.right.end(), reduced.system.right.begin() + 6 * n_bodies());
  return status;
}

EvaluationResult ReducedEvaluation::accelerate(const EvaluationInput& in, Index max_corrections, double goal,
                                               View<double, 2> acceleration, View<double> multiplier) {
  if (const Index status = assemble(in); status != block_ldl::regular) return {status, {}};
  if (const Index status = reduced.factorize(); status != block_ldl::regular) return {status, {}};
  const Refinement refinement = reduced.solve(reduced.system.right, max_corrections, goal, false);
  to_user_order(acceleration, multiplier);
  return {block_ldl::regular, refinement};
}

void ReducedEvaluation::to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
  const View<double> y = reduced.solution.x(), x = unreduced.solution.x();
  for (Index i = 0; i < n_bodies(); ++i) to_body(&basis(i, 0), freedoms[i], &y[6 * i], &x[6 * i]);
  std::copy(y.begin() + 6 * n_bodies(), y.end(), x.begin() + 6 * n_bodies());
  unreduced.to_user_order(acceleration, multiplier);
}

double retract(View<const double, 2> fixed, View<const double, 2> position, View<const double, 2> orientation,
               View<double, 2> retracted) {
  double farthest = 0.0;
  for (Index i = 0; i < fixed.rows(); ++i) {
    const FixedDirections& at = fixed_of(fixed, i);
    const double* const q = &orientation(i, 0);
    const auto x = Vec3<double>::load(&position(i, 0));
    const Vec3<double> gap = at.deviation(x, Mat3<double>::from_quaternion(q[0], q[1], q[2], q[3]));
    (x - gap).store(&retracted(i, 0));
    farthest = std::max(farthest, largest(gap) / at.size);
  }
  return farthest;
}

// ---- The choice of rows

Array<double> rows_on_freedoms(View<const Index> row_joint, View<const Index, 2> ends, View<const double, 3> A,
                               View<const double, 3> to_freedoms, View<const double, 3> inverse,
                               View<double, 3> reduced) {
  Array<double> size(A.rows());
  for (Index k = 0; k < A.rows(); ++k) {
    double square[2] = {}, whole_square = 0.0;
    for (int side = 0; side < 2; ++side) {
      const Index body = ends(row_joint[k], side);
      if (body < 0) continue;
      for (int c = 0; c < 6; ++c) {
        double total = 0.0, whole = 0.0;
        for (int a = 0; a < 6; ++a) {
          total += A(k, side, a) * to_freedoms(body, a, c);
          whole += A(k, side, a) * inverse(body, a, c);
        }
        reduced(k, side, c) = total;
        square[side] += total * total;
        whole_square += whole * whole;
      }
    }
    size[k] = std::sqrt(whole_square);
    for (int side = 0; side < 2; ++side)
      if (square[side] <= row_tolerance * row_tolerance * whole_square)
        for (int c = 0; c < 6; ++c) reduced(k, side, c) = 0.0;
  }
  return size;
}

std::tuple<Array<bool>, Array<Index>> locally_independent_rows(View<const Index> first_row,
                                                               View<const bool> is_within,
                                                               View<const double, 3> reduced,
                                                               View<const double> size,
                                                               View<const bool> is_prescribed) {
  Array<bool> keep(size.size());
  Array<Index> n_dropped(is_within.size());
  std::fill(keep.begin(), keep.end(), true);
  std::vector<std::array<double, 12>> work;
  const auto dot = [](const auto& a, const auto& b) {
    double total = 0.0;
    for (int c = 0; c < 12; ++c) total += a[c] * b[c];
    return total;
  };
  for (Index j = 0; j < is_within.size(); ++j) {
    if (!is_within[j]) continue;
    work.clear();
    for (Index k = first_row[j]; k < first_row[j + 1]; ++k) {
      if (is_prescribed[k]) continue;  // the last ones
      auto& row = work.emplace_back();
      for (int c = 0; c < 12; ++c) row[c] = reduced(k, c / 6, c % 6) / std::max(size[k], 1e-300);
      keep[k] = false;
    }
    for (std::size_t n = 0; n < work.size(); ++n) {
      std::size_t best = work.size();
      double largest = row_tolerance * row_tolerance;
      for (std::size_t i = 0; i < work.size(); ++i)
        if (const double square = dot(work[i], work[i]); square > largest) best = i, largest = square;
      if (best == work.size()) break;
      keep[first_row[j] + Index(best)] = true;
      auto unit = work[best];
      for (double& entry : unit) entry /= std::sqrt(largest);
      for (auto& row : work) {
        const double part = dot(row, unit);
        for (int c = 0; c < 12; ++c) row[c] -= part * unit[c];
      }
      work[best].fill(0.0);
    }
    for (Index k = first_row[j]; k < first_row[j + 1]; ++k) n_dropped[j] += !keep[k];
  }
  return {std::move(keep), std::move(n_dropped)};
}

std::tuple<Array<Index>, Array<Index>> reaction_tree(View<const Index> begin, View<const Index> incident,
                                                     View<const Index, 2> ends, View<const Index> freedoms,
                                                     View<const Index> n_dropped) {
  const Index world = freedoms.size() - 1;
  std::vector<Index> bodies{world}, joints{-1};
  std::vector<bool> is_reached(world + 1);
  is_reached[world] = true;
  for (std::size_t i = 0; i < bodies.size(); ++i)
    for (Index e = begin[bodies[i]]; e < begin[bodies[i] + 1]; ++e) {
      const Index j = incident[e], other = ends(0, j) == bodies[i] ? ends(1, j) : ends(0, j);
      if (is_reached[other] || freedoms[other] == 6 || n_dropped[j] < 6 - freedoms[other]) continue;
      is_reached[other] = true;
      bodies.push_back(other);
      joints.push_back(j);
    }
  bodies.erase(bodies.begin());
  joints.erase(joints.begin());
  return {Array<Index>(bodies), Array<Index>(joints)};
}

}  // namespace sparsebody
