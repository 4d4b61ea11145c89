// Motions, forces and transforms of bodies that move parallel to a plane, the subalgebra se(2): angular parts are along
// its normal, linear parts in it. Featherstone (2008), ch. 2. On doubles and on numbers of 31 digits.
#pragma once

#include "spatial/transform.hpp"

namespace sparsebody {

template <class T>
struct Vec2 {
  T x{}, y{};

  template <class S> static Vec2 load(const S* p) { return {p[0], p[1]}; }
  friend Vec2 operator+(const Vec2& a, const Vec2& b) { return {a.x + b.x, a.y + b.y}; }
  friend Vec2 operator-(const Vec2& a, const Vec2& b) { return {a.x - b.x, a.y - b.y}; }
  friend Vec2 operator-(const Vec2& a) { return {-a.x, -a.y}; }
  friend Vec2 operator*(const T& s, const Vec2& a) { return {s * a.x, s * a.y}; }
  friend T dot(const Vec2& a, const Vec2& b) { return a.x * b.x + a.y * b.y; }
  friend T cross(const Vec2& a, const Vec2& b) { return a.x * b.y - a.y * b.x; }
  // w x a, w along the normal
  friend Vec2 cross(const T& w, const Vec2& a) { return {-(w * a.y), w * a.x}; }
};

template <class T>
struct Rotation2 {
  T cosine{}, sine{};

  static Rotation2 identity() { return {T(1.0), T(0.0)}; }
  friend Vec2<T> operator*(const Rotation2& R, const Vec2<T>& a) {
    return {R.cosine * a.x - R.sine * a.y, R.sine * a.x + R.cosine * a.y};
  }
  friend Vec2<T> transpose_times(const Rotation2& R, const Vec2<T>& a) {
    return {R.cosine * a.x + R.sine * a.y, R.cosine * a.y - R.sine * a.x};
  }
  // R' S
  friend Rotation2 transpose_times(const Rotation2& R, const Rotation2& S) {
    return {R.cosine * S.cosine + R.sine * S.sine, R.cosine * S.sine - R.sine * S.cosine};
  }
};

template <class T>
struct PlanarMotion {
  T angular{};
  Vec2<T> linear;

  // a x b, (2.33)
  friend PlanarMotion cross(const PlanarMotion& a, const PlanarMotion& b) {
    return {T{}, cross(a.angular, b.linear) - cross(b.angular, a.linear)};
  }
};

template <class T>
struct PlanarForce {
  T angular{};
  Vec2<T> linear;

  template <class S> static PlanarForce load(const S* p) { return {p[0], {p[1], p[2]}}; }
  void store(T* p) const { p[0] = angular, p[1] = linear.x, p[2] = linear.y; }
  friend T dot(const PlanarMotion<T>& m, const PlanarForce& f) { return m.angular * f.angular + dot(m.linear, f.linear); }
};

// From A to B coordinates: E turns A axes into B axes, r is the origin of B in A coordinates.
template <class T>
struct PlanarTransform {
  Rotation2<T> E;
  Vec2<T> r;

  friend PlanarMotion<T> operator*(const PlanarTransform& X, const PlanarMotion<T>& m) {
    return {m.angular, X.E * (m.linear + cross(m.angular, X.r))};
  }
  // X' f, from B to A
  PlanarForce<T> transpose(const PlanarForce<T>& f) const {
    const Vec2<T> linear = transpose_times(E, f.linear);
    return {f.angular + cross(r, linear), linear};
  }
};

// Freedoms of a body in space and in a plane, on any scalar.
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

}  // namespace sparsebody
