// Circulations: wrenches, constant along a single loop, that its joints transmit and that no load determines, the states
// of self-stress of the loop. w is one if w' s = 0 for all freedoms s of its joints. Davies (1981), Mech. Mach. Theory
// 16:171.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/array.hpp"
#include "base/dense.hpp"
#include "spatial/transform.hpp"

namespace sparsebody {

// Frames and sizes of the joints: axes (n_joints, 3, 3) turns S coordinates into those of the world, origin and size
// [m].
struct JointFrames {
  View<const double, 3> axes;
  View<const double, 2> origin;
  View<const double> size;
};

// Cycles of joints, cycle c at start[c] .. start[c + 1] - 1.
struct CycleJoints {
  View<const Index> start, joint;
  Index size() const { return start.size() - 1; }
};

// Vectors of six, of unit length, and an orthonormal basis q of R^6: `rank` rows of their span, then its complement.
class Basis {
 public:
  double q[6][6];
  Index rank = 0;
  double gap = 0.0;  // least remainder of the independent vectors by the largest of the others

  void clear() {
    vectors_.clear();
    std::fill_n(&q[0][0], 36, std::numeric_limits<double>::quiet_NaN());  // remains if a vector is not finite
  }
  void add(const Vec3<double>& angular, const Vec3<double>& linear) {
    vectors_.resize(vectors_.size() + 6);
    double* const x = &vectors_.end()[-6];
    angular.store(x), linear.store(x + 3);
    normalize(x);
  }
  // Orthogonalizes the vectors, the largest remainder first, up to `tolerance`, then unit vectors against them. Remainders
  // below `noise` count as `noise` in the gap.
  void find(double tolerance, double noise) {
    const Index n = Index(vectors_.size()) / 6;
    vectors_.resize(vectors_.size() + 36);
    const View<double, 2> x(vectors_.data(), {n + 6, 6});
    for (int a = 0; a < 6; ++a) x(n + a, a) = 1.0;
    std::vector<Index> waiting = dense::first_numbers(n + 6);
    double least = std::numeric_limits<double>::infinity(), largest = 0.0;
    Index n_basis = 0;
    const auto take = [&](Index i, double remainder) {  // orthogonalized twice: Golub and Van Loan (2013), sec. 5.2.9
      if (n_basis == 6) return;
      double* const unit = x[i].data();
      for (Index k = 0; k < n_basis; ++k) dense::add_scaled(unit, -dense::dot(unit, q[k], 6), q[k], 6);
      normalize(unit);
      std::copy_n(unit, 6, q[n_basis++]);
      least = remainder;
    };
    dense::orthogonalize(x, 6, waiting, n, tolerance, take);
    rank = n_basis;
    for (; waiting.front() < n; waiting.erase(waiting.begin()))
      largest = std::max(largest, std::sqrt(dense::dot(&x(waiting.front(), 0), &x(waiting.front(), 0), 6)));
    gap = least / std::max(largest, noise);
    constexpr double rounding = 0.1;  // where k are missing, the largest remainder is sqrt(k / 6) at least
    dense::orthogonalize(x, 6, waiting, 6, rounding, take);
  }

 private:
  static void normalize(double* x) {
    const double size = std::sqrt(dense::dot(x, x, 6));
    for (int a = 0; a < 6; ++a) x[a] /= size;
  }
  std::vector<double> vectors_;
};

inline Vec3<double> point(View<const double, 2> points, Index i) { return Vec3<double>::load(&points(i, 0)); }
inline Mat3<double> rotation(View<const double, 3> axes, Index i) { return Mat3<double>::load(&axes(i, 0, 0)); }

// (free, n_free): the freedoms (size * angular, linear) of every joint in S coordinates, orthonormal, (n_joints, 6, 6),
// as the complement of the rows of T' up to `tolerance`.
inline std::tuple<Array<double, 3>, Array<Index>> joint_freedoms(
    View<const Index> first_row, View<const double, 2> subspace, View<const double> sizes, double tolerance,
    double noise) {
  const Index n = sizes.size();
  Array<double, 3> free({n, 6, 6});
  Array<Index> n_free(n);
  Basis basis;
  for (Index j = 0; j < n; ++j) {
    basis.clear();
    for (Index r = first_row[j]; r < first_row[j + 1]; ++r) {
      const Force<double> row = Force<double>::load(&subspace(r, 0));
      basis.add((1.0 / sizes[j]) * row.angular, row.linear);
    }
    basis.find(tolerance, noise);
    n_free[j] = 6 - basis.rank;
    for (Index k = basis.rank; k < 6; ++k) std::copy_n(basis.q[k], 6, &free(j, k - basis.rank, 0));
  }
  return {std::move(free), std::move(n_free)};
}

// (dimension, wrench, center, length, gap): the wrenches (moment / length, force) about the center of each cycle that
// do no work on any freedom of its joints, orthonormal, (n_cycles, 6, 6).
inline std::tuple<Array<Index>, Array<double, 3>, Array<double, 2>, Array<double>, Array<double>> cycle_wrenches(
    const CycleJoints& cycles, const JointFrames& frames, View<const double, 3> free, View<const Index> n_free,
    double tolerance, double noise) {
  const Index n = cycles.size();
  Array<Index> dimension(n);
  Array<double, 3> wrench({n, 6, 6});
  Array<double, 2> center({n, 3});
  Array<double> length(n), gap(n);
  Basis basis;
  for (Index c = 0; c < n; ++c) {
    const auto joints = cycles.joint.slice(cycles.start[c], cycles.start[c + 1]);
    Vec3<double> middle;
    for (const Index j : joints) middle += (1.0 / double(joints.size())) * point(frames.origin, j);
    middle.store(&center(c, 0));
    for (const Index j : joints)
      length[c] = std::max({length[c], norm(middle - point(frames.origin, j)), frames.size[j]});
    basis.clear();
    for (const Index j : joints) {
      const Vec3<double> arm = middle - point(frames.origin, j);
      const Mat3<double> R = rotation(frames.axes, j);
      for (Index k = 0; k < n_free[j]; ++k) {
        const Motion<double> s = Motion<double>::load(&free(j, k, 0));
        const Vec3<double> w = (1.0 / frames.size[j]) * (R * s.angular);
        const Vec3<double> v = R * s.linear + cross(w, arm);  // of the point at the center
        basis.add(w, (1.0 / length[c]) * v);
      }
    }
    basis.find(tolerance, noise);
    gap[c] = basis.gap;
    dimension[c] = 6 - basis.rank;
    for (Index k = basis.rank; k < 6; ++k) std::copy_n(basis.q[k], 6, &wrench(c, k - basis.rank, 0));
  }
  return {std::move(dimension), std::move(wrench), std::move(center), std::move(length), std::move(gap)};
}

// (share, sample): the largest part of a unit circulation at every joint by component in S coordinates, (n_joints, 6),
// and what the circulations weight[c] (6, n_samples) add up to there, (n_joints, 6, n_samples).
inline std::tuple<Array<double, 2>, Array<double, 3>> circulation_samples(
    const CycleJoints& cycles, View<const Index> sign, const JointFrames& frames, View<const Index> dimension,
    View<const double, 3> wrench, View<const double, 2> center, View<const double> length,
    View<const double, 3> weight) {
  const Index n_joints = frames.size.size(), n_samples = weight.shape(2);
  Array<double, 2> share({n_joints, 6});
  Array<double, 3> sample({n_joints, 6, n_samples});
  for (Index c = 0; c < cycles.size(); ++c) {
    for (Index entry = cycles.start[c]; entry < cycles.start[c + 1]; ++entry) {
      const Index j = cycles.joint[entry];
      const Mat3<double> R = rotation(frames.axes, j);
      const Vec3<double> arm = (1.0 / length[c]) * (point(center, c) - point(frames.origin, j));
      double square[6] = {}, part[6];
      for (Index i = 0; i < dimension[c]; ++i) {
        const Force<double> at_center = Force<double>::load(&wrench(c, i, 0));
        const Vec3<double> moment = at_center.angular + cross(arm, at_center.linear);  // about the joint
        Force<double>{transpose_times(R, moment), transpose_times(R, at_center.linear)}.store(part);
        for (int a = 0; a < 6; ++a) {
          square[a] += part[a] * part[a];
          const double size = double(sign[entry]) * part[a] * (a < 3 ? length[c] / frames.size[j] : 1.0);
          for (Index k = 0; k < n_samples; ++k) sample(j, a, k) += size * weight(c, i, k);
        }
      }
      for (int a = 0; a < 6; ++a) share(j, a) = std::max(share(j, a), std::sqrt(square[a]));
    }
  }
  return {std::move(share), std::move(sample)};
}

}  // namespace sparsebody
