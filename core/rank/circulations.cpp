#include "rank/circulations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "spatial/motion.hpp"

namespace sparsebody {
namespace {

struct Vector6 {
  double v[6] = {};

  static Vector6 unit(const Vec3<double>& angular, const Vec3<double>& linear) {
    Vector6 x;
    angular.store(x.v);
    linear.store(x.v + 3);
    x.normalize();
    return x;
  }
  friend double dot(const Vector6& a, const Vector6& b) {
    double total = 0.0;
    for (int i = 0; i < 6; ++i) total += a.v[i] * b.v[i];
    return total;
  }
  double length() const { return std::sqrt(dot(*this, *this)); }
  void normalize() {
    const double size = length();
    for (double& x : v) x /= size;
  }
  // v -= (v'u) u
  void project_out(const Vector6& u) {
    const double part = dot(*this, u);
    for (int i = 0; i < 6; ++i) v[i] -= part * u.v[i];
  }
};

// An orthonormal basis of the span of some vectors, then of its complement.
struct Basis {
  Vector6 q[6];
  int rank = 0;
  double gap = 0.0;  // least remainder kept by the largest one dropped

  // Gram-Schmidt, the largest remainder first; overwrites the vectors.
  Basis(std::span<Vector6> vectors, double tolerance, double noise) {
    double least = std::numeric_limits<double>::infinity(), largest = 0.0;
    while (rank < 6) {
      const Vector6* best = nullptr;
      largest = 0.0;
      for (const Vector6& x : vectors)
        if (const double size = x.length(); size > largest) best = &x, largest = size;
      if (best == nullptr || largest <= tolerance) break;
      least = largest;
      add(*best, rank++);
      for (Vector6& x : vectors) x.project_out(q[rank - 1]);
    }
    gap = least / std::max(rank == 6 ? 0.0 : largest, noise);
    for (int k = rank; k < 6; ++k) {
      int best = 0;
      double most = -1.0;
      for (int a = 0; a < 6; ++a) {  // the unit vector that is covered least
        double remainder = 1.0;
        for (int i = 0; i < k; ++i) remainder -= q[i].v[a] * q[i].v[a];
        if (remainder > most) best = a, most = remainder;
      }
      Vector6 unit;
      unit.v[best] = 1.0;
      for (int i = 0; i < k; ++i) unit.project_out(q[i]);
      add(unit, k);
    }
  }

 private:
  // Orthogonalized twice: Golub and Van Loan (2013), sec. 5.2.9.
  void add(const Vector6& x, int k) {
    q[k] = x;
    for (int round = 0; round < 2; ++round) {
      q[k].normalize();
      for (int i = 0; i < k; ++i) q[k].project_out(q[i]);
    }
  }
};

Vec3<double> point(View<const double, 2> points, Index i) { return Vec3<double>::load(&points(i, 0)); }
Mat3<double> rotation(View<const double, 3> axes, Index i) { return Mat3<double>::load(&axes(i, 0, 0)); }

}  // namespace

std::tuple<Array<double, 3>, Array<Index>> joint_freedoms(View<const Index> first_row, View<const double, 2> subspace,
                                                          View<const double> sizes, double tolerance, double noise) {
  const Index n = sizes.size();
  Array<double, 3> free({n, 6, 6});
  Array<Index> n_free(n);
  std::vector<Vector6> rows;
  for (Index j = 0; j < n; ++j) {
    rows.clear();
    for (Index r = first_row[j]; r < first_row[j + 1]; ++r) {
      const Force<double> row = Force<double>::load(&subspace(r, 0));
      rows.push_back(Vector6::unit((1.0 / sizes[j]) * row.angular, row.linear));
    }
    const Basis basis(rows, tolerance, noise);
    n_free[j] = 6 - basis.rank;
    for (int k = basis.rank; k < 6; ++k) std::copy_n(basis.q[k].v, 6, &free(j, k - basis.rank, 0));
  }
  return {std::move(free), std::move(n_free)};
}

std::tuple<Array<Index>, Array<double, 3>, Array<double, 2>, Array<double>, Array<double>> cycle_wrenches(
    const CycleJoints& cycles, const JointFrames& frames, View<const double, 3> free, View<const Index> n_free,
    double tolerance, double noise) {
  const Index n = cycles.size();
  Array<Index> dimension(n);
  Array<double, 3> wrench({n, 6, 6});
  Array<double, 2> center({n, 3});
  Array<double> length(n), gap(n);
  std::vector<Vector6> motions;
  for (Index c = 0; c < n; ++c) {
    const auto joints = cycles.joint.slice(cycles.start[c], cycles.start[c + 1]);
    Vec3<double> middle;
    for (const Index j : joints) middle += (1.0 / double(joints.size())) * point(frames.origin, j);
    middle.store(&center(c, 0));
    for (const Index j : joints)
      length[c] = std::max({length[c], norm(middle - point(frames.origin, j)), frames.size[j]});
    motions.clear();
    for (const Index j : joints) {
      const Vec3<double> arm = middle - point(frames.origin, j);
      const Mat3<double> R = rotation(frames.axes, j);
      for (Index k = 0; k < n_free[j]; ++k) {
        const Motion<double> s = Motion<double>::load(&free(j, k, 0));
        const Vec3<double> w = (1.0 / frames.size[j]) * (R * s.angular);
        const Vec3<double> v = R * s.linear + cross(w, arm);  // of the point at the center
        motions.push_back(Vector6::unit(w, (1.0 / length[c]) * v));
      }
    }
    const Basis basis(motions, tolerance, noise);
    gap[c] = basis.gap;
    dimension[c] = 6 - basis.rank;
    for (int k = basis.rank; k < 6; ++k) std::copy_n(basis.q[k].v, 6, &wrench(c, k - basis.rank, 0));
  }
  return {std::move(dimension), std::move(wrench), std::move(center), std::move(length), std::move(gap)};
}

std::tuple<Array<double, 2>, Array<double, 3>> circulation_samples(
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
