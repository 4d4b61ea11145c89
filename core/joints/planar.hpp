#pragma once

#include "joints/joint.hpp"

namespace sparsebody::joints {

// S slides in the xy plane of P and turns about z; q = (x [m], y [m], angle [rad]); the velocities are the rates of q.
// Featherstone (2008), table 4.1.
struct Planar {
  static constexpr JointInfo info{.name = "planar", .n_positions = 3, .n_velocities = 3,
                                  .units = {"m", "m", "rad"}, .n_scalars = 3, .subgroup = Subgroup::planar};

  template <class T> static Transform<T> pose(const T* q) {
    Transform<T> X = Transform<T>::rotation_z(q[2]);
    X.r = {q[0], q[1], T(0)};
    return X;
  }
  template <class T> static void coordinates(const Transform<T>& X, T* q) {
    q[0] = X.r.x, q[1] = X.r.y, q[2] = angle_about_z(X.E);
  }
  // The x and y axes of the rotation about z nearest to E, E's columns where the joint is closed; the angular z axis.
  template <class T> static MotionColumns<T, 3> motion_subspace(const Transform<T>& X) {
    const T c_s[2] = {X.E(0, 0) + X.E(1, 1), X.E(0, 1) - X.E(1, 0)};
    using std::sqrt;
    const T scale = T(1) / sqrt(c_s[0] * c_s[0] + c_s[1] * c_s[1]), c = scale * c_s[0], s = scale * c_s[1];
    return {Motion<T>{{}, {c, -s, T(0)}}, Motion<T>{{}, {s, c, T(0)}}, unit_vector<Motion, T>(2)};
  }
  // c = -w x v and the multiple of z_P that makes T' c = 0: z_P is orthogonal to x_P and y_P of T_a, so T_a' c stays
  template <class T> static Motion<T> drift(const Transform<T>& X, const Motion<T>& v) {
    const Vec3<T> c = cross(v.linear, v.angular), z = X.E.column(2);
    return {{}, {c.x - c.z / z.z * z.x, c.y - c.z / z.z * z.y, T(0)}};
  }
  template <class T> static ForceColumns<T, 3> active_force_subspace(const Transform<T>& X) {
    return {along_axis_of_predecessor<Force>(X, 0), along_axis_of_predecessor<Force>(X, 1), unit_vector<Force, T>(2)};
  }
  template <class T> static ForceColumns<T, 3> constraint_force_subspace(const Transform<T>&) {
    return {unit_vector<Force, T>(0), unit_vector<Force, T>(1), unit_vector<Force, T>(5)};
  }
  // d6 (joint.hpp) has the sign of the side that the z axis of S points to.
  template <class T> static void error(const Transform<T>& X, T* delta) {
    tilt_error(X.E, delta);
    delta[2] = X.E(2, 2) >= T(0) ? X.r.z : -X.r.z;
  }
};

}  // namespace sparsebody::joints
