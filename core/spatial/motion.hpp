// Spatial motion and force vectors, angular part first. Featherstone (2008), chapter 2.
#pragma once

#include "spatial/vector.hpp"

namespace sparsebody {

// v, a, a column of S: (angular, linear), the linear part that of the point at the origin.
template <class T>
struct Motion {
  Vec3<T> angular, linear;

  static Motion load(const T* p) { return {Vec3<T>::load(p), Vec3<T>::load(p + 3)}; }
  void store(T* p) const { angular.store(p), linear.store(p + 3); }

  Motion& operator+=(const Motion& b) { return *this = *this + b; }
  friend Motion operator+(const Motion& a, const Motion& b) { return {a.angular + b.angular, a.linear + b.linear}; }
  friend Motion operator-(const Motion& a, const Motion& b) { return {a.angular - b.angular, a.linear - b.linear}; }
  friend Motion operator-(const Motion& a) { return {-a.angular, -a.linear}; }
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

  static Force load(const T* p) { return {Vec3<T>::load(p), Vec3<T>::load(p + 3)}; }
  void store(T* p) const { angular.store(p), linear.store(p + 3); }
  void add_to(T* p) const { angular.add_to(p), linear.add_to(p + 3); }

  Force& operator+=(const Force& b) { return *this = *this + b; }
  Force& operator-=(const Force& b) { return *this = *this - b; }
  friend Force operator+(const Force& a, const Force& b) { return {a.angular + b.angular, a.linear + b.linear}; }
  friend Force operator-(const Force& a, const Force& b) { return {a.angular - b.angular, a.linear - b.linear}; }
  friend Force operator-(const Force& a) { return {-a.angular, -a.linear}; }
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

}  // namespace sparsebody
