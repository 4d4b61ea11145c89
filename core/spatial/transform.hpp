// Pluecker transforms X from A to B coordinates. Featherstone (2008), sec. 2.8 and appendix A.
#pragma once

#include "spatial/vector.hpp"

namespace sparsebody {

// ---- Spatial motion and force vectors, angular part first. Featherstone (2008), chapter 2.

// v, a, a column of S: (angular, linear), the linear part that of the point at the origin.
template <class T>
struct Motion {
  Vec3<T> angular, linear;

  template <class S> static Motion load(const S* p) { return {Vec3<T>::load(p), Vec3<T>::load(p + 3)}; }
  void store(T* p) const { angular.store(p), linear.store(p + 3); }

  friend Motion operator*(const Motion& a, const T& s) { return {s * a.angular, s * a.linear}; }
  friend Motion operator*(const T& s, const Motion& a) { return a * s; }
  // a x b of two motions, (2.33)
  friend Motion cross(const Motion& a, const Motion& b) {
    return {cross(a.angular, b.angular), cross(a.angular, b.linear) + cross(a.linear, b.angular)};
  }
  // The same motion about the origin moved by d: its linear part is u + w x d.
  Motion about(const Vec3<T>& d) const { return {angular, linear + cross(angular, d)}; }
};

// f, p, a column of T: (moment about the origin, force).
template <class T>
struct Force {
  Vec3<T> angular, linear;

  template <class S> static Force load(const S* p) { return {Vec3<T>::load(p), Vec3<T>::load(p + 3)}; }
  void store(T* p) const { angular.store(p), linear.store(p + 3); }
  void add_to(T* p) const { angular.add_to(p), linear.add_to(p + 3); }

  friend Force operator*(const Force& a, const T& s) { return {s * a.angular, s * a.linear}; }
  friend Force operator*(const T& s, const Force& a) { return a * s; }
  // v x* f of a motion and a force, (2.34)
  friend Force cross(const Motion<T>& v, const Force& f) {
    return {cross(v.angular, f.angular) + cross(v.linear, f.linear), cross(v.angular, f.linear)};
  }
  // m . f, the power of a force on a motion
  friend T dot(const Motion<T>& m, const Force& f) { return dot(m.angular, f.angular) + dot(m.linear, f.linear); }
  // The same force about the origin moved by d: its moment is n - d x f.
  Force about(const Vec3<T>& d) const { return {angular - cross(d, linear), linear}; }
};

// E turns A axes into B axes; r is the origin of B in A coordinates. For example the pose of a joint's
// successor frame seen from its predecessor frame.
template <class T>
struct Transform {
  Mat3<T> E = Mat3<T>::identity();
  Vec3<T> r;

  // Rotation of B by an angle about the common z axis: rotz(angle) of table 2.2.
  static Transform rotation_z(const T& angle) {
    using std::cos, std::sin;
    const T c = cos(angle), s = sin(angle);
    return {{{c, s, T(0), -s, c, T(0), T(0), T(0), T(1)}}, {}};
  }
  static Transform translation(const Vec3<T>& r) { return {Mat3<T>::identity(), r}; }
  // This transform in numbers of another type.
  template <class S> explicit operator Transform<S>() const {
    Transform<S> X{{}, {r.x, r.y, r.z}};
    for (int k = 0; k < 9; ++k) X.E.m[k] = E.m[k];
    return X;
  }

  // X m = [E w; E (u - r x w)]
  friend Motion<T> operator*(const Transform& X, const Motion<T>& m) {
    return {X.E * m.angular, X.E * (m.linear - cross(X.r, m.angular))};
  }
  // X* f = [E (n - r x f); E f]
  friend Force<T> operator*(const Transform& X, const Force<T>& f) {
    return {X.E * (f.angular - cross(X.r, f.linear)), X.E * f.linear};
  }
  // X^-1 m = [E' w; E' u + r x E' w]
  Motion<T> inverse(const Motion<T>& m) const {
    const Vec3<T> w = transpose_times(E, m.angular);
    return {w, transpose_times(E, m.linear) + cross(r, w)};
  }
  // X' f = [E' n + r x E' f; E' f], from B to A
  Force<T> transpose(const Force<T>& f) const {
    const Vec3<T> linear = transpose_times(E, f.linear);
    return {transpose_times(E, f.angular) + cross(r, linear), linear};
  }
  // X_CA = X_CB X_BA
  friend Transform operator*(const Transform& CB, const Transform& BA) {
    return {CB.E * BA.E, BA.r + transpose_times(BA.E, CB.r)};
  }
};

}  // namespace sparsebody
