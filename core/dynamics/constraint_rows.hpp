// Constraint rows of a joint on its two bodies, and the accelerations that they require.
// Featherstone (2008), (8.10), (8.64):  T'(a_s - a_p) = gamma = -T'(v_J x v_p) - (dT/dt)' v_J,  v_J = v_s - v_p.
#pragma once

#include "spatial/transform.hpp"

namespace sparsebody {

// A frame S on the successor, in whose coordinates T, v_p and v_J stand.
template <class T>
struct RelativeMotion {
  Transform<T> X_p;  // from the predecessor's body coordinates to S
  Motion<T> v_p, v_J;
  Motion<T> bias;    // v_J x v_p = v_s x v_p

  RelativeMotion(const Transform<T>& X_p_, const Motion<T>& v_p_, const Motion<T>& v_J_)
      : X_p(X_p_), v_p(v_p_), v_J(v_J_), bias(cross(v_J, v_p)) {}
  // Rotations and positions are those of S and of the predecessor in the world; its velocity is in its coordinates.
  RelativeMotion(const Mat3<T>& R_S, const Vec3<T>& x_S, const Motion<T>& v_s, const Mat3<T>& R_p, const Vec3<T>& x_p,
                 const Motion<T>& v)
      : X_p{transpose_times(R_S, R_p), transpose_times(R_p, x_S - x_p)}, v_p(X_p * v), v_J(v_s - v_p),
        bias(cross(v_J, v_p)) {}

  // gamma = -t'(v_J x v_p), of a constant row t
  T required_acceleration(const Force<T>& t) const { return -dot(bias, t); }
  // -X_p' t
  Force<T> on_predecessor(const Force<T>& t) const { return -X_p.transpose(t); }
};

}  // namespace sparsebody
