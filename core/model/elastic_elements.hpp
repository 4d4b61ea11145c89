// Elastic elements between two frames: rows z = B (e - e_0) of a deformation e of the pose of S seen from P, and forces
// mu = z + D dz/dt on them, so that the energy is z'z / 2. e is the position error of a joint type, or the logarithm
// on SE(3), which is the same seen from either frame: exp(e) e exp(-e) = e.
//
// The wrench on the successor in S coordinates is w = (dz/dx)' mu, of displacements x of S in S coordinates: the
// gradient of the energy exactly, however large the deformation.
#pragma once

#include "joints/joint_types.hpp"
#include "model/body_forces.hpp"
#include "spatial/dual.hpp"
#include "spatial/matrix6.hpp"

namespace sparsebody::model {

// e = log(X): the twist that takes P to S in unit time. V(w)^-1 r = r - w x r / 2 + c w x w x r,
// c = (1 - a cot(a)) / (2 a)^2 with a = |w| / 2. Bruels, Cardona and Arnold (2012), sec. 2.
struct Logarithm {
  template <class T> static void error(const Transform<T>& X, T* e) {
    const Mat3<T>& E = X.E;
    const Vec3<T> w = joints::rotation_vector(E), across = cross(w, X.r);
    const T square = dot(w, w), versine = T(0.5) * (T(3) - E(0, 0) - E(1, 1) - E(2, 2));
    T c(0.0);
    if (versine < T(0.05)) {
      constexpr double bernoulli[] = {1.0 / 12.0,      1.0 / 720.0,      1.0 / 30240.0,
                                      1.0 / 1209600.0, 1.0 / 47900160.0, 691.0 / 1307674368000.0};
      for (int k = 5; k >= 0; --k) c = T(bernoulli[k]) + square * c;
    } else {
      const T sine_over_angle = dot(w, Vec3<T>{E(1, 2) - E(2, 1), E(2, 0) - E(0, 2), E(0, 1) - E(1, 0)}) / (T(2) * square);
      c = (T(1) - (T(2) - versine) / (T(2) * sine_over_angle)) / square;
    }
    w.store(e);
    (X.r - T(0.5) * across + c * cross(w, across)).store(e + 3);
  }
};

struct ElasticElements {
  JointFrames frames;
  View<const Index> kind;              // of the joint type, or -1 for the logarithm
  View<const double> parameter;
  View<const Index> n_rows;
  View<const double, 2> rest;          // (n, 6) e_0
  View<const double, 3> root, damping; // (n, 6, 6) B and D, zero beyond the rows

  Index size() const { return kind.size(); }
};

// Tables of a system as kernels take them, without the joints whose rows are constant.
struct SystemTables {
  JointTable joints;
  TrackedCoordinates coordinates;
  CoordinateSprings springs;
  PointSprings points;
  ElasticElements elements;
  ExternalForces loads;
};

// X_SP under a twist x of S in S coordinates, dE = -w x E and dr = E' u, as derivatives from the `first` on.
template <int N = 6, class S>
Transform<Dual<N, S>> with_rates(const Transform<S>& X, int first = 0) {
  Transform<Dual<N, S>> moving;
  for (int j = 0; j < 3; ++j) {
    const Vec3<S> column = X.E.column(j);
    for (int i = 0; i < 3; ++i) moving.E(i, j).value = X.E(i, j);
    for (int a = 0; a < 3; ++a) {
      const Vec3<S> rate = cross(column, Mat3<S>::identity().row(a));
      moving.E(0, j).rate[first + a] = rate.x, moving.E(1, j).rate[first + a] = rate.y;
      moving.E(2, j).rate[first + a] = rate.z;
    }
  }
  moving.r.x.value = X.r.x, moving.r.y.value = X.r.y, moving.r.z.value = X.r.z;
  for (int a = 0, k = first + 3; a < 3; ++a, ++k)
    moving.r.x.rate[k] = X.E(a, 0), moving.r.y.rate[k] = X.E(a, 1), moving.r.z.rate[k] = X.E(a, 2);
  return moving;
}

// The rows z of an element at a pose, and dz/dx (n_rows x 6), on any scalar.
template <class T>
struct ElasticRows {
  int n_rows = 0;
  T value[6] = {};
  T rows[6][6] = {};

  ElasticRows() = default;
  ElasticRows(const ElasticElements& elements, Index k, const Transform<T>& X);
  // The same with the derivatives of a twist of S, from those along its components.
  template <class S>
  ElasticRows<S> along(const S (&x)[6]) const {
    const auto chained = [&](const T& number) {
      S moving(number.value);
      for (int a = 0; a < 6; ++a) moving += x[a].chained(0.0, number.rate[a]);
      return moving;
    };
    ElasticRows<S> z;
    z.n_rows = n_rows;
    for (int i = 0; i < n_rows; ++i) {
      z.value[i] = chained(value[i]);
      for (int j = 0; j < 6; ++j) z.rows[i][j] = chained(rows[i][j]);
    }
    return z;
  }
  // dz/dx x, of a row
  template <class S>
  S rate(int row, const Motion<S>& x) const {
    const T* const t = rows[row];
    return t[0] * x.angular.x + t[1] * x.angular.y + t[2] * x.angular.z + t[3] * x.linear.x + t[4] * x.linear.y +
           t[5] * x.linear.z;
  }
  // mu = z + D dz/dt, of a row
  template <class S>
  S force(const ElasticElements& elements, Index k, int row, const Motion<S>& v_J) const {
    S mu = value[row];
    for (int l = 0; l < n_rows; ++l)
      if (const double d = elements.damping(k, row, l); d != 0.0) mu = mu + d * rate(l, v_J);
    return mu;
  }
};

// z'z / 2 of an element at a pose.
double elastic_energy(const ElasticElements& elements, Index k, const Transform<double>& X);
// Fills e - e_0 (6) and the rows de/dx (6), in S coordinates.
void elastic_deformation(const ElasticElements& elements, Index k, const Transform<double>& X, double* e,
                         Force<double>* rows);
// The change of the wrench (dz/dx)' mu with x.
Matrix6 elastic_wrench_rate(const ElasticElements& elements, Index k, const Transform<double>& X, const double* mu);

// Deformations z (n, 6) of all elements, their rates, and rows (n, 6, 2, 6) on the bodies, in body coordinates.
struct ElasticMotion {
  Array<double, 2> value, rate;
  Array<double, 4> rows;
};
ElasticMotion elastic_motion(const ElasticElements& elements, const BodyMotions& bodies);

}  // namespace sparsebody::model
