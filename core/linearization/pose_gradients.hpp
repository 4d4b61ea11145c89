// Reverse mode of steps on poses, the maps `pose_derivatives` and `moved` of model/poses.hpp: gradients g of some
// scalar in what a map returns become gradients in what it takes, (dy/dx)' g. x_bar is the gradient in x:
// Griewank and Walther (2008), sec. 3.2.
//
// Poses change by twists (a, b) in body coordinates, dx = R b, dq = q (0, a) / 2; gradients in them are (n, 6). The
// gradient in p of a scalar with the gradient g in q p is q* g, for multiplication with a unit quaternion q is
// orthogonal.
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
// Gradients (n, 6) in twists, velocities and accelerations of a state.
struct StateGradients {
  View<double, 2> twist, velocity, acceleration;
};

// Adds the gradients in a state, from the gradients (n, 7) in
//
//   y' = (R u, q (0, w / 2)),   y'' = (R (du/dt + w x u), q (-w'w / 4, dw/dt / 2)),
//
// for a velocity (w, u) and an acceleration (dw/dt, du/dt) in body coordinates.
inline void add_pose_derivative_gradients(View<const double, 2> orientation, View<const double, 2> velocity,
                                          View<const double, 2> acceleration, View<const double, 2> rate,
                                          View<const double, 2> curvature, const StateGradients& out) {
  for (Index i = 0; i < orientation.rows(); ++i) {
    const auto [w, u] = Motion<double>::load(&velocity(i, 0));
    const auto [dw, du] = Motion<double>::load(&acceleration(i, 0));
    const Mat3<double> R = model::rotation_of(orientation, i);
    const Quaternion conjugate = Quaternion::load(&orientation(i, 0)).conjugate();
    const Vec3<double> g1 = transpose_times(R, Vec3<double>::load(&rate(i, 0)));       // in u
    const Vec3<double> g2 = transpose_times(R, Vec3<double>::load(&curvature(i, 0)));  // in du + w x u
    const auto [s1, v1] = conjugate * Quaternion::load(&rate(i, 3));       // in (0, w / 2)
    const auto [s2, v2] = conjugate * Quaternion::load(&curvature(i, 3));  // in (-w'w / 4, dw / 2)
    const double p = -0.25 * dot(w, w);
    const Vec3<double> rotation_bar = cross(u, g1) + cross(du + cross(w, u), g2) + 0.25 * (cross(w, v1) - s1 * w) +
                                     0.5 * (p * v2 - 0.5 * s2 * dw + 0.5 * cross(dw, v2));
    rotation_bar.add_to(&out.twist(i, 0));
    (0.5 * v1 - 0.5 * s2 * w + cross(u, g2)).add_to(&out.velocity(i, 0));
    (g1 + cross(g2, w)).add_to(&out.velocity(i, 3));
    (0.5 * v2).add_to(&out.acceleration(i, 0));
    g2.add_to(&out.acceleration(i, 3));
  }
}

// The curve of a step of length h from a pose y = (x, q) with the rate y': C and c are means of y'' over the step.
//
//   y_1 = y + h y' + h^2 C / 2,  q_1 of unit length,   u_1 = R_1' (x' + h c_x),   w_1 = 2 k (q_1* (q' + h c_q))_v,
//
// k the factor that gives q_1 unit length, ( )_v the vector part.
struct PoseCurve {
  View<const double, 2> position, orientation;  // at the start
  View<const double, 2> rate, pose_curvature, rate_curvature;
};
// Gradients in y', C and c, (n, 7), and in twists at the start, (n, 6).
struct CurveGradients {
  View<double, 2> twist, rate, pose_curvature, rate_curvature;
};

// From gradients in twists and velocities at the end of the curve: adds those in twists at the start and in y', fills
// those in C and c.
inline void moved_gradients(const PoseCurve& of, double h, View<const double, 2> twist, View<const double, 2> velocity,
                            const CurveGradients& out) {
  const double half_square = 0.5 * h * h;
  for (Index i = 0; i < of.position.rows(); ++i) {
    const double *const rate = &of.rate(i, 0), *const C = &of.pose_curvature(i, 0), *const c = &of.rate_curvature(i, 0);
    const Quaternion start = Quaternion::load(&of.orientation(i, 0));
    const Quaternion end = start + h * Quaternion::load(rate + 3) + half_square * Quaternion::load(C + 3);
    const double k = 1.0 / std::sqrt(dot(end, end));
    const Quaternion q = k * end, spin = q.conjugate() * (Quaternion::load(rate + 3) + h * Quaternion::load(c + 3));
    const Mat3<double> R = Mat3<double>::from_quaternion(q.s, q.v.x, q.v.y, q.v.z);
    const Vec3<double> u = transpose_times(R, Vec3<double>::load(rate) + h * Vec3<double>::load(c));
    const auto [a, b] = Motion<double>::load(&twist(i, 0));
    const auto [w_bar, u_bar] = Motion<double>::load(&velocity(i, 0));
    const Vec3<double> velocity_bar = R * u_bar, position_bar = R * b;  // in x' + h c_x, x_1
    const Vec3<double> rotation_bar = a + cross(u_bar, u) - k * (spin.s * w_bar + cross(spin.v, w_bar));
    const Quaternion rate_bar = 2.0 * k * (q * Quaternion{0.0, w_bar});  // in q' + h c_q
    const Quaternion end_bar =                                           // in q_1 / k
        2.0 * k * (q * Quaternion{0.0, rotation_bar}) + (-2.0 * k * k * dot(spin.v, w_bar)) * q;
    const auto add = [](const Vec3<double>& x, const Quaternion& p, double* sum) { x.add_to(sum), p.add_to(sum + 3); };
    add(h * position_bar + velocity_bar, h * end_bar + rate_bar, &out.rate(i, 0));
    std::fill_n(&out.pose_curvature(i, 0), 7, 0.0), std::fill_n(&out.rate_curvature(i, 0), 7, 0.0);
    add(half_square * position_bar, half_square * end_bar, &out.pose_curvature(i, 0));
    add(h * velocity_bar, h * rate_bar, &out.rate_curvature(i, 0));
    (0.5 * (start.conjugate() * end_bar).v).add_to(&out.twist(i, 0));
    transpose_times(model::rotation_of(of.orientation, i), position_bar).add_to(&out.twist(i, 3));
  }
}

// The twists y = (w, u) (n, 6) that take poses from start to end, x_end = x + R u and q_end = q exp(w), and B' (n, 6,
// 6): changes dy move the end by the twists B dy, B = diag(T(w), R_end' R).
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
    const double sine = norm(q.v), half_angle = std::atan2(sine, std::abs(q.s));
    const Vec3<double> w = (q.s < 0.0 ? -1.0 : 1.0) * (sine > 0.0 ? 2.0 * half_angle / sine : 2.0) * q.v;
    const Vec3<double> path = Vec3<double>::load(&end.position(i, 0)) - Vec3<double>::load(&start.position(i, 0));
    Motion<double>{w, transpose_times(R, path)}.store(&out.twist(i, 0));
    const Mat3<double> rotation = transpose_times(R, R_end);
    for (int a = 0; a < 3; ++a) {  // T(w)' = T(-w)
      Vec3<double> unit;
      (a == 0 ? unit.x : a == 1 ? unit.y : unit.z) = 1.0;
      const Vec3<double> column = tangent(Motion<double>{-w, {}}, Motion<double>{unit, {}}).angular;
      for (int b = 0; b < 3; ++b) {
        out.transposed_jacobian(i, b, a) = b == 0 ? column.x : b == 1 ? column.y : column.z;
        out.transposed_jacobian(i, 3 + b, 3 + a) = rotation.m[3 * b + a];
      }
    }
  }
  return out;
}

// Angular momenta p (n, 3) of discrete free rotations in t, p = s I t + c t x I t (simulation/variational_step.hpp),
// and S'^-1 (n, 3, 3), S = dp/dt; and C = s 1 - c tx (n, 3, 3), so that w . p changes by (C w)' dI t with the inertia.
struct DiscreteRotations {
  Array<double, 2> momentum;
  Array<double, 3> inverse_transposed, inertia_bar;
};

inline DiscreteRotations discrete_rotation_slopes(View<const double, 3> inertia, View<const double, 2> twist) {
  const Index n = inertia.shape(0);
  DiscreteRotations out{Array<double, 2>::uninitialized({n, 3}), Array<double, 3>::uninitialized({n, 3, 3}),
                        Array<double, 3>::uninitialized({n, 3, 3})};
  for (Index i = 0; i < n; ++i) {
    const simulation::DiscreteRotation of(Mat3<double>::load(&inertia(i, 0, 0)), Vec3<double>::load(&twist(i, 0)));
    of.momentum.store(&out.momentum(i, 0));
    const Mat3<double> S = of.slope(), t = Mat3<double>::skew(of.t), one = Mat3<double>::identity();
    for (int a = 0; a < 9; ++a) (&out.inertia_bar(i, 0, 0))[a] = of.s * one.m[a] - of.c * t.m[a];
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

// Wrenches (n, 6) on bodies at the end of a step, in the coordinates of the bodies at its start.
inline Array<double, 2> transported_forces(const Poses& start, const Poses& end, View<const double, 2> force) {
  auto out = Array<double, 2>::uninitialized(force.shape());
  for (Index i = 0; i < force.rows(); ++i) {
    const Mat3<double> R = model::rotation_of(start.orientation, i), R_end = model::rotation_of(end.orientation, i);
    const auto [moment, linear] = Force<double>::load(&force(i, 0));
    const Vec3<double> path = Vec3<double>::load(&end.position(i, 0)) - Vec3<double>::load(&start.position(i, 0));
    const Vec3<double> in_world = R_end * linear;
    Force<double>{transpose_times(R, R_end * moment + cross(path, in_world)), transpose_times(R, in_world)}.store(&out(i, 0));
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

// Adds the gradients of -p' M m, p and m twists (n, 6), in masses, and in inertias (n, 6): xx yy zz xy xz yz.
inline void add_inertial_gradients(View<const double, 2> p, View<const double, 2> m, View<double> mass,
                                   View<double, 2> inertia) {
  for (Index i = 0; i < p.rows(); ++i) {
    const auto [n, f] = Motion<double>::load(&p(i, 0));
    const auto [w, u] = Motion<double>::load(&m(i, 0));
    mass[i] -= dot(f, u);
    const double products[6] = {n.x * w.x, n.y * w.y, n.z * w.z, n.x * w.y + n.y * w.x, n.x * w.z + n.z * w.x,
                                n.y * w.z + n.z * w.y};
    for (int a = 0; a < 6; ++a) inertia(i, a) -= products[a];
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
