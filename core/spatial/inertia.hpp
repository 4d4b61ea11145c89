// Spatial inertias. Featherstone (2008), sec. 2.13 and 7.1.
#pragma once

#include "spatial/transform.hpp"

namespace sparsebody {

// A rigid body: mass, center of mass c from the origin, rotational inertia about the center of mass. (2.63)
template <class T>
struct Inertia {
  T mass{};
  Vec3<T> com;
  Symmetric3<T> rotational;

  // I v = [I_c w + c x m (u + w x c); m (u + w x c)]
  friend Force<T> operator*(const Inertia& I, const Motion<T>& v) {
    const Vec3<T> linear = I.mass * (v.linear + cross(v.angular, I.com));
    return {I.rotational * v.angular + cross(I.com, linear), linear};
  }
};

// A symmetric 6 x 6 matrix [a b; b' d] from motions to forces.
template <class T>
struct ArticulatedInertia {
  Symmetric3<T> a;
  Mat3<T> b;
  Symmetric3<T> d;

  ArticulatedInertia() = default;
  ArticulatedInertia(const Symmetric3<T>& a_, const Mat3<T>& b_, const Symmetric3<T>& d_) : a(a_), b(b_), d(d_) {}
  // (2.63): a = I_c + m (c.c 1 - c c'), b = m c x, d = m 1
  explicit ArticulatedInertia(const Inertia<T>& I) {
    const auto& [m, c, tensor] = I;
    a = {{tensor.m[0] + m * (c.y * c.y + c.z * c.z), tensor.m[1] - m * c.x * c.y,
          tensor.m[2] + m * (c.x * c.x + c.z * c.z), tensor.m[3] - m * c.x * c.z, tensor.m[4] - m * c.y * c.z,
          tensor.m[5] + m * (c.x * c.x + c.y * c.y)}};
    b = Mat3<T>::skew(m * c);
    d = {{m, T(0), m, T(0), T(0), m}};
  }

  // Number by number, which keeps it in registers: a copy of the whole goes through memory.
  static ArticulatedInertia load(const ArticulatedInertia& I) {
    return {Symmetric3<T>::load(I.a.m), Mat3<T>::load(I.b.m), Symmetric3<T>::load(I.d.m)};
  }

  friend Force<T> operator*(const ArticulatedInertia& I, const Motion<T>& v) {
    return {I.a * v.angular + I.b * v.linear, transpose_times(I.b, v.angular) + I.d * v.linear};
  }
  ArticulatedInertia& operator+=(const ArticulatedInertia& I) {
    a += I.a;
    b += I.b;
    d += I.d;
    return *this;
  }
  // I - U D^-1 U'
  ArticulatedInertia without(const Force<T>& U, const T& inverse_D) const {
    const auto& [n, f] = U;
    const Vec3<T> u = inverse_D * n, w = inverse_D * f;
    return {{{a.m[0] - u.x * n.x, a.m[1] - u.y * n.x, a.m[2] - u.y * n.y, a.m[3] - u.z * n.x, a.m[4] - u.z * n.y,
              a.m[5] - u.z * n.z}},
            {{b.m[0] - u.x * f.x, b.m[1] - u.x * f.y, b.m[2] - u.x * f.z, b.m[3] - u.y * f.x, b.m[4] - u.y * f.y,
              b.m[5] - u.y * f.z, b.m[6] - u.z * f.x, b.m[7] - u.z * f.y, b.m[8] - u.z * f.z}},
            {{d.m[0] - w.x * f.x, d.m[1] - w.y * f.x, d.m[2] - w.y * f.y, d.m[3] - w.z * f.x, d.m[4] - w.z * f.y,
              d.m[5] - w.z * f.z}}};
  }
  // The same about the origin moved by -r: B = b + r x d, A = a + (r x b')' + r x B'.
  ArticulatedInertia about(const Vec3<T>& r) const {
    const auto& [x, y, z] = r;
    const T* d_ = d.m;
    const T* b_ = b.m;
    const Mat3<T> B = {{b_[0] + y * d_[3] - z * d_[1], b_[1] + y * d_[4] - z * d_[2], b_[2] + y * d_[5] - z * d_[4],
                        b_[3] + z * d_[0] - x * d_[3], b_[4] + z * d_[1] - x * d_[4], b_[5] + z * d_[3] - x * d_[5],
                        b_[6] + x * d_[1] - y * d_[0], b_[7] + x * d_[2] - y * d_[1], b_[8] + x * d_[4] - y * d_[3]}};
    const T* B_ = B.m;
    return {{{a.m[0] + y * (b_[2] + B_[2]) - z * (b_[1] + B_[1]), a.m[1] + y * B_[5] - z * B_[4] + z * b_[0] - x * b_[2],
              a.m[2] + z * (b_[3] + B_[3]) - x * (b_[5] + B_[5]), a.m[3] + y * B_[8] - z * B_[7] + x * b_[1] - y * b_[0],
              a.m[4] + z * B_[6] - x * B_[8] + x * b_[4] - y * b_[3], a.m[5] + x * (b_[7] + B_[7]) - y * (b_[6] + B_[6])}},
            B,
            d};
  }
};

}  // namespace sparsebody
