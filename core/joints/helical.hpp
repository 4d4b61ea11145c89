#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// A screw on the common z axis; q is the angle [rad], pitch q the travel. Featherstone (2008), table 4.1.
struct Helical {
  static constexpr JointInfo info{.name = "helical", .n_positions = 1, .n_velocities = 1, .units = {"rad"},
                                  .n_scalars = 1, .subgroup = Subgroup::screw, .counts_turns = true};
  double pitch;  // [m/rad]

  template <class T> Transform<T> pose(const T* q) const {
    Transform<T> X = Transform<T>::rotation_z(q[0]);
    X.r.z = pitch * q[0];
    return X;
  }
  // The travel only counts the turns, so that dq/dt = T_a' v_J also where the thread is not quite closed.
  template <class T> void coordinates(const Transform<T>& X, T* q) const {
    const T angle = angle_about_z(X.E);
    q[0] = angle + whole_turns(X.r.z / pitch - angle);
  }
  template <class T> MotionColumns<T, 1> motion_subspace(const Transform<T>&) const {
    return {Motion<T>{{T(0), T(0), T(1)}, {T(0), T(0), T(pitch)}}};
  }
  template <class T> static ForceColumns<T, 1> active_force_subspace(const Transform<T>&) {
    return {unit_vector<Force, T>(2)};
  }
  // d1, d2, d4, d5 and d6 - pitch d3
  template <class T> ForceColumns<T, 5> constraint_force_subspace(const Transform<T>&) const {
    return {unit_vector<Force, T>(0), unit_vector<Force, T>(1), unit_vector<Force, T>(3), unit_vector<Force, T>(4),
            Force<T>{{T(0), T(0), T(-pitch)}, {T(0), T(0), T(1)}}};
  }
  template <class T> void error(const Transform<T>& X, T* delta) const {
    tilt_error(X.E, delta);
    offset_error(X, delta + 2);
    const T slip = X.r.z / pitch - angle_about_z(X.E);
    delta[4] = pitch * (slip - whole_turns(slip));  // any turn of the thread is as good: the nearest
  }
};

}  // namespace sparsebody::joints
