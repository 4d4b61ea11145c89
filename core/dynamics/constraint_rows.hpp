// Constraint rows of a joint on its two bodies, and the accelerations that they require, in space and in a plane.
// Featherstone (2008), (8.10), (8.64):  T'(a_s - a_p) = gamma = -T'(v_J x v_p) - (dT/dt)' v_J,  v_J = v_s - v_p.
#pragma once

#include "spatial/planar.hpp"
#include "spatial/transform.hpp"

namespace sparsebody {

// What bodies can do, on any scalar.
template <class T>
struct InSpace {
  static constexpr int n_freedoms = 6;
  using Vector = Vec3<T>;
  using Rotation = Mat3<T>;
  using Motion = sparsebody::Motion<T>;
  using Force = sparsebody::Force<T>;
  using Transform = sparsebody::Transform<T>;
};
template <class T>
struct InPlane {
  static constexpr int n_freedoms = 3;
  using Vector = Vec2<T>;
  using Rotation = Rotation2<T>;
  using Motion = PlanarMotion<T>;
  using Force = PlanarForce<T>;
  using Transform = PlanarTransform<T>;
};

// R turns body into world axes; x is the center of mass, v in body coordinates.
template <class Space>
struct BodyMotion {
  typename Space::Rotation R = Space::Rotation::identity();
  typename Space::Vector x;
  typename Space::Motion v;
};

// A frame S on the successor, in whose coordinates T, v_p and v_J stand.
template <class Space>
struct RelativeMotion {
  using Vector = typename Space::Vector;
  using Motion = typename Space::Motion;
  using Force = typename Space::Force;
  using Transform = typename Space::Transform;

  Transform X_p;  // from the predecessor's body coordinates to S
  Motion v_p, v_J;
  Motion bias;  // v_J x v_p = v_s x v_p

  RelativeMotion(const Transform& X_p_, const Motion& v_p_, const Motion& v_J_)
      : X_p(X_p_), v_p(v_p_), v_J(v_J_), bias(cross(v_J, v_p)) {}
  // S has the axes of the successor and its origin at x_S in the world.
  RelativeMotion(const BodyMotion<Space>& p, const BodyMotion<Space>& s, const Vector& x_S)
      : X_p{transpose_times(s.R, p.R), transpose_times(p.R, x_S - p.x)}, v_p(X_p * p.v), v_J(s.v - v_p),
        bias(cross(v_J, v_p)) {}

  // gamma = -t'(v_J x v_p), of a constant row t
  auto required_acceleration(const Force& t) const { return -dot(bias, t); }
  // -X_p' t
  Force on_predecessor(const Force& t) const { return -X_p.transpose(t); }
};

// The row of a point a of the successor on a line of the predecessor with normal n, in the axes of the body that each
// is fixed to. With V the velocity of the point and v that of the point of the predecessor where it is,
// n'(V - v) = 0, so that n' times the difference of accelerations is -(w_p x n)'(V - v) - n'((w_s - w_p) x V).
template <class T>
struct PlanarLineRow {
  PlanarForce<T> on_predecessor, on_successor;
  T gamma;

  PlanarLineRow(const BodyMotion<InPlane<T>>& p, const BodyMotion<InPlane<T>>& s, const Vec2<T>& n, const Vec2<T>& a) {
    const Rotation2<T> R = transpose_times(p.R, s.R);
    const Vec2<T> m = transpose_times(R, n);                    // n in the successor's axes
    const Vec2<T> r = transpose_times(p.R, s.x - p.x) + R * a;  // the point, in the predecessor's axes
    on_predecessor = {-cross(r, n), -n};
    on_successor = {cross(a, m), m};
    const Vec2<T> V = R * (s.v.linear + cross(s.v.angular, a));
    const Vec2<T> slip = V - p.v.linear - cross(p.v.angular, r);  // V - v
    gamma = -(p.v.angular * cross(n, slip) + (s.v.angular - p.v.angular) * cross(V, n));
  }
};

}  // namespace sparsebody
