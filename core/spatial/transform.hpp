// Pluecker transforms X from A to B coordinates. Featherstone (2008), sec. 2.8 and appendix A.
#pragma once

#include "spatial/motion.hpp"

namespace sparsebody {

// E turns A axes into B axes; r is the origin of B in A coordinates. The pose of a joint's successor frame
// seen from its predecessor frame is one.
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
