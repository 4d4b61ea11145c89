// Constraint rows of a joint on its two bodies, and the accelerations that they require.
// Featherstone (2008), (8.10), (8.64):  T'(a_s - a_p) = gamma = -T'(v_J x v_p) - (dT/dt)' v_J,  v_J = v_s - v_p.
#pragma once

#include "spatial/motion.hpp"

namespace sparsebody {

// A frame S on the successor as seen from the predecessor's body frame. T stands in S coordinates.
template <class T>
struct RelativeMotion {
  Mat3<T> R;         // from S to the predecessor's axes
  Vec3<T> d;         // origin of S from the predecessor's, in its axes
  Motion<T> v_p;     // in S coordinates
  Motion<T> v_J;     // v_s - v_p
  Motion<T> bias;    // v_J x v_p = v_s x v_p

  RelativeMotion() = default;
  // Rotations and positions are those in the world; v_s stands in S coordinates, v_p in the predecessor's.
  RelativeMotion(const Mat3<T>& R_s, const Vec3<T>& x_s, const Motion<T>& v_s, const Mat3<T>& R_p,
                 const Vec3<T>& x_p, const Motion<T>& v_p_)
      : R(transpose_times(R_p, R_s)), d(transpose_times(R_p, x_s - x_p)) {
    const Motion<T> at_S = v_p_.about(d);
    v_p = {transpose_times(R, at_S.angular), transpose_times(R, at_S.linear)};
    v_J = v_s - v_p;
    bias = cross(v_J, v_p);
  }

  // gamma = -t'(v_J x v_p) of a constant row t
  T required_acceleration(const Force<T>& t) const { return -dot(bias, t); }

  // -X' t = -[R n + d x R f; R f], the row on the predecessor
  Force<T> on_predecessor(const Force<T>& t) const {
    const Vec3<T> f = R * t.linear;
    return {-(R * t.angular + cross(d, f)), -f};
  }
};

}  // namespace sparsebody
