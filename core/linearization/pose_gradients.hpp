// Reverse sweeps of steps on poses: of their derivatives in time, and of where these lead; see model/poses.hpp.
//
// Poses change by twists (a, b) in body coordinates, dx = R b, dq = q (0, a) / 2; gradients by them are (n, 6). With
// q* k = (s, v) of a gradient k by q p, that is by p, for products with unit quaternions are orthogonal.
#pragma once

#include "model/poses.hpp"
#include "simulation/variational_step.hpp"
#include "spatial/exponential.hpp"

namespace sparsebody::linearization {

struct Quaternion {
  double s;
  Vec3<double> v;

  static Quaternion load(const double* q) { return {q[0], Vec3<double>::load(q + 1)}; }
  void add_to(double* q) const { q[0] += s, v.add_to(q + 1); }
  friend Quaternion operator*(const Quaternion& a, const Quaternion& b) {
    return {a.s * b.s - dot(a.v, b.v), a.s * b.v + b.s * a.v + cross(a.v, b.v)};
  }
  friend Quaternion operator*(double c, const Quaternion& a) { return {c * a.s, c * a.v}; }
  friend Quaternion operator+(const Quaternion& a, const Quaternion& b) { return {a.s + b.s, a.v + b.v}; }
  friend double dot(const Quaternion& a, const Quaternion& b) { return a.s * b.s + dot(a.v, b.v); }
  Quaternion conjugate() const { return {s, -v}; }
};

struct Poses {
  View<const double, 2> position, orientation;
};
// Gradients (n, 6) by twists, velocities and accelerations of a state.
struct StateGradients {
  View<double, 2> twist, velocity, acceleration;
};

// Adds those by a state of gradients (n, 7) by y' and y''.
inline void add_pose_derivative_gradients(View<const double, 2> orientation, View<const double, 2> velocity,
                                          View<const double, 2> acceleration, View<const double, 2> rate,
                                          View<const double, 2> curvature, const StateGradients& out) {
  for (Index i = 0; i < orientation.rows(); ++i) {
    const auto [w, u] = Motion<double>::load(&velocity(i, 0));
    const auto [dw, du] = Motion<double>::load(&acceleration(i, 0));
    const Mat3<double> R = model::rotation_of(orientation, i);
    const Quaternion back = Quaternion::load(&orientation(i, 0)).conjugate();
    const Vec3<double> of_rate = transpose_times(R, Vec3<double>::load(&rate(i, 0)));
    const Vec3<double> of_curvature = transpose_times(R, Vec3<double>::load(&curvature(i, 0)));
    const auto [s1, v1] = back * Quaternion::load(&rate(i, 3));       // by (0, w / 2)
    const auto [s2, v2] = back * Quaternion::load(&curvature(i, 3));  // by (-w'w / 4, dw / 2)
    const double p = -0.25 * dot(w, w);
    const Vec3<double> turning = cross(u, of_rate) + cross(du + cross(w, u), of_curvature) +
                                 0.25 * (cross(w, v1) - s1 * w) +
                                 0.5 * (p * v2 - 0.5 * s2 * dw + 0.5 * cross(dw, v2));
    turning.add_to(&out.twist(i, 0));
    (0.5 * v1 - 0.5 * s2 * w + cross(u, of_curvature)).add_to(&out.velocity(i, 0));
    (of_rate + cross(of_curvature, w)).add_to(&out.velocity(i, 3));
    (0.5 * v2).add_to(&out.acceleration(i, 0));
    of_curvature.add_to(&out.acceleration(i, 3));
  }
}

// What `moved` takes: y' and the means of y'' of poses and rates.
struct PoseCurve {
  View<const double, 2> position, orientation;  // at the start
  View<const double, 2> rate, pose_curvature, rate_curvature;
};
// Gradients by y' and the means, (n, 7), and by twists at the start, (n, 6).
struct CurveGradients {
  View<double, 2> twist, rate, pose_curvature, rate_curvature;
};

// From gradients by twists and velocities of the states that `moved` returns: adds those by twists at the start and by
// y', fills those by the means.
inline void moved_gradients(const PoseCurve& of, double h, View<const double, 2> twist, View<const double, 2> velocity,
                            const CurveGradients& out) {
  const double half_square = 0.5 * h * h;
  for (Index i = 0; i < of.position.rows(); ++i) {
    const double *const rate = &of.rate(i, 0), *const C = &of.pose_curvature(i, 0), *const c = &of.rate_curvature(i, 0);
    const Quaternion start = Quaternion::load(&of.orientation(i, 0));
    const Quaternion end = start + h * Quaternion::load(rate + 3) + half_square * Quaternion::load(C + 3);
    const double k = 1.0 / std::sqrt(dot(end, end));
    const Quaternion q = k * end, turned = q.conjugate() * (Quaternion::load(rate + 3) + h * Quaternion::load(c + 3));
    const Mat3<double> R = Mat3<double>::from_quaternion(q.s, q.v.x, q.v.y, q.v.z);
    const Vec3<double> u = transpose_times(R, Vec3<double>::load(rate) + h * Vec3<double>::load(c));
    const auto [a, b] = Motion<double>::load(&twist(i, 0));
    const auto [w_bar, u_bar] = Motion<double>::load(&velocity(i, 0));
    const Vec3<double> by_speed = R * u_bar, by_place = R * b;
    const Vec3<double> by_turn = a + cross(u_bar, u) - k * (turned.s * w_bar + cross(turned.v, w_bar));
    const Quaternion by_spin = 2.0 * k * (q * Quaternion{0.0, w_bar});  // by q' + h c
    const Quaternion by_end = 2.0 * k * (q * Quaternion{0.0, by_turn}) + (-2.0 * k * k * dot(turned.v, w_bar)) * q;
    const auto add = [](const Vec3<double>& x, const Quaternion& p, double* sum) { x.add_to(sum), p.add_to(sum + 3); };
    add(h * by_place + by_speed, h * by_end + by_spin, &out.rate(i, 0));
    std::fill_n(&out.pose_curvature(i, 0), 7, 0.0), std::fill_n(&out.rate_curvature(i, 0), 7, 0.0);
    add(half_square * by_place, half_square * by_end, &out.pose_curvature(i, 0));
    add(h * by_speed, h * by_spin, &out.rate_curvature(i, 0));
    (0.5 * (start.conjugate() * by_end).v).add_to(&out.twist(i, 0));
    transpose_times(model::rotation_of(of.orientation, i), by_place).add_to(&out.twist(i, 3));
  }
}

// The twists (w, u) (n, 6) from poses to others, x += R u and q <- q exp(w), and B' (n, 6, 6), B the Jacobian of the
// other poses by them.
struct Displacements {
  Array<double, 2> twist;
  Array<double, 3> transposed_jacobian;
};

inline Displacements displacements(const Poses& start, const Poses& end) {
  const Index n = start.position.rows();
  Displacements out{Array<double, 2>::uninitialized({n, 6}), Array<double, 3>({n, 6, 6})};
  for (Index i = 0; i < n; ++i) {
    const Mat3<double> R = model::rotation_of(start.orientation, i), R_end = model::rotation_of(end.orientation, i);
    const Quaternion q = Quaternion::load(&start.orientation(i, 0)).conjugate() * Quaternion::load(&end.orientation(i, 0));
    const double sine = norm(q.v), half = std::atan2(sine, std::abs(q.s));
    const Vec3<double> w = (q.s < 0.0 ? -1.0 : 1.0) * (sine > 0.0 ? 2.0 * half / sine : 2.0) * q.v;
    const Vec3<double> way = Vec3<double>::load(&end.position(i, 0)) - Vec3<double>::load(&start.position(i, 0));
    Motion<double>{w, transpose_times(R, way)}.store(&out.twist(i, 0));
    const Mat3<double> turned = transpose_times(R, R_end);
    for (int a = 0; a < 3; ++a) {  // T(w)' = T(-w)
      Vec3<double> unit;
      (a == 0 ? unit.x : a == 1 ? unit.y : unit.z) = 1.0;
      const Vec3<double> column = tangent(Motion<double>{-w, {}}, Motion<double>{unit, {}}).angular;
      for (int b = 0; b < 3; ++b) {
        out.transposed_jacobian(i, b, a) = b == 0 ? column.x : b == 1 ? column.y : column.z;
        out.transposed_jacobian(i, 3 + b, 3 + a) = turned.m[3 * b + a];
      }
    }
  }
  return out;
}

// Angular momenta (n, 3) of discrete free rotations by t, and S'^-1 (n, 3, 3), S their rates by t; and C (n, 3, 3), so
// that weights w of them change by (C w)' dI t.
struct DiscreteRotations {
  Array<double, 2> momentum;
  Array<double, 3> inverse_transposed, of_inertia;
};

inline DiscreteRotations discrete_rotation_slopes(View<const double, 3> inertia, View<const double, 2> twist) {
  const Index n = inertia.shape(0);
  DiscreteRotations out{Array<double, 2>::uninitialized({n, 3}), Array<double, 3>::uninitialized({n, 3, 3}),
                        Array<double, 3>::uninitialized({n, 3, 3})};
  for (Index i = 0; i < n; ++i) {
    const simulation::DiscreteRotation of(Mat3<double>::load(&inertia(i, 0, 0)), Vec3<double>::load(&twist(i, 0)));
    of.momentum.store(&out.momentum(i, 0));
    const Mat3<double> S = of.slope(), t = Mat3<double>::skew(of.t), one = Mat3<double>::identity();
    for (int a = 0; a < 9; ++a) (&out.of_inertia(i, 0, 0))[a] = of.s * one.m[a] - of.c * t.m[a];
    const Vec3<double> c[3] = {S.column(0), S.column(1), S.column(2)};
    const double scale = 1.0 / dot(cross(c[1], c[2]), c[0]);
    for (int a = 0; a < 3; ++a) {  // columns of S'^-1 are rows of S^-1
      const Vec3<double> row = scale * cross(c[(a + 1) % 3], c[(a + 2) % 3]);
      out.inverse_transposed(i, 0, a) = row.x, out.inverse_transposed(i, 1, a) = row.y;
      out.inverse_transposed(i, 2, a) = row.z;
    }
  }
  return out;
}

// Forces (n, 6) in the coordinates of bodies at the start of a step, of those at its end.
inline Array<double, 2> transported_forces(const Poses& start, const Poses& end, View<const double, 2> force) {
  auto out = Array<double, 2>::uninitialized(force.shape());
  for (Index i = 0; i < force.rows(); ++i) {
    const Mat3<double> R = model::rotation_of(start.orientation, i), R_end = model::rotation_of(end.orientation, i);
    const auto [moment, linear] = Force<double>::load(&force(i, 0));
    const Vec3<double> way = Vec3<double>::load(&end.position(i, 0)) - Vec3<double>::load(&start.position(i, 0));
    const Vec3<double> pull = R_end * linear;
    Force<double>{transpose_times(R, R_end * moment + cross(way, pull)), transpose_times(R, pull)}.store(&out(i, 0));
  }
  return out;
}

// M v (n, 6).
inline Array<double, 2> momenta(View<const double> mass, View<const double, 3> inertia, View<const double, 2> velocity) {
  auto out = Array<double, 2>::uninitialized(velocity.shape());
  for (Index i = 0; i < velocity.rows(); ++i) {
    const auto [angular, linear] = Motion<double>::load(&velocity(i, 0));
    Force<double>{Mat3<double>::load(&inertia(i, 0, 0)) * angular, mass[i] * linear}.store(&out(i, 0));
  }
  return out;
}

// Adds the gradients of -p' M change by masses, and by inertias (n, 6): xx yy zz xy xz yz.
inline void add_inertial_gradients(View<const double, 2> p, View<const double, 2> change, View<double> mass,
                                   View<double, 2> inertia) {
  for (Index i = 0; i < p.rows(); ++i) {
    const auto [n, f] = Motion<double>::load(&p(i, 0));
    const auto [w, u] = Motion<double>::load(&change(i, 0));
    mass[i] -= dot(f, u);
    const double of[6] = {n.x * w.x,           n.y * w.y,           n.z * w.z, n.x * w.y + n.y * w.x,
                          n.x * w.z + n.z * w.x, n.y * w.z + n.z * w.y};
    for (int a = 0; a < 6; ++a) inertia(i, a) -= of[a];
  }
}

// v x* f (n, 6). Featherstone (2008), eq. (2.34).
inline Array<double, 2> force_cross(View<const double, 2> velocity, View<const double, 2> force) {
  auto out = Array<double, 2>::uninitialized(force.shape());
  for (Index i = 0; i < force.rows(); ++i)
    cross(Motion<double>::load(&velocity(i, 0)), Force<double>::load(&force(i, 0))).store(&out(i, 0));
  return out;
}

}  // namespace sparsebody::linearization
