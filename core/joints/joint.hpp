// The terms in which a joint type states its motion. Featherstone (2008), sec. 3.5, 4.4 and table 8.1.
//
// A type is a struct with at most one number (a pitch, a length) and the members
//   info                              its names and sizes
//   pose(q)                           X_SP: E from P to S coordinates (E = R'), r is the origin of S in P coordinates
//   coordinates(X, q)                 q of a pose, angles in (-pi, pi]
//   motion_subspace(X)                S, in S coordinates at the origin of S, as are T, T_a and v_J
//   constraint_force_subspace(X)      T with T' S = 0
//   error(X, delta)                   one number a column of T, zero where the joint closes, of the rate T' v_J
// and, where the defaults of joint_types.hpp do not hold,
//   drift(X, v)                       bias c = (dS/dt) qd in S axes, not constraint drift; v = v_J = S qd; default: 0
//   active_force_subspace(X)          T_a, T_a' S = identity where the joint is closed, so that qd = T_a' v_J; default: S
//   small_error(offset, z, delta)     the same as error(X, delta), of several poses at once, from the origin of S seen from that of P
//                                     and the z axis of P, both in S axes; false where one of them is too open
// Types derived from UnitAxes<...> move along constant unit vectors, from which S and T follow.
// Where bodies have drifted off a joint, T' c = -(dT/dt)' v_J and T_a' c = -(dT_a/dt)' v_J still, seen from S.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "spatial/lanes.hpp"
#include "spatial/transform.hpp"

namespace sparsebody::joints {

// The smallest displacement subgroup that the motion of a type stays in, z being its axis or normal. Herve (1999).
enum class Subgroup { none, rigid, rotation, translation, screw, cylindrical, planar, spherical };

struct JointInfo {
  const char* name;
  int n_positions, n_velocities;
  std::array<const char*, 7> units{};  // of the positions; none of a quaternion, which comes first
  int n_scalars = 0;                   // velocities, the last ones, that are the rates of scalar positions
  Subgroup subgroup = Subgroup::none;
  bool counts_turns = false;           // a pose shows the whole turns of the angles
  bool has_varying_T = false;          // T varies in S coordinates
  bool has_named_coordinates = true;   // the basis of S is not arbitrary

  constexpr bool has_quaternion() const { return n_positions > n_velocities; }
};

template <class T, int N> using MotionColumns = std::array<Motion<T>, N>;
template <class T, int N> using ForceColumns = std::array<Force<T>, N>;

// Unit vectors: angular axes 0, 1, 2 and linear axes 3, 4, 5.
template <template <class> class Vector, class T>
Vector<T> unit_vector(int axis) {
  T v[6]{};
  v[axis] = T(1);
  return Vector<T>::load(v);
}
// The column [0; e] along an axis e of P, in S coordinates.
template <template <class> class Vector, class T>
Vector<T> along_axis_of_predecessor(const Transform<T>& X, int axis) {
  return {{}, X.E.column(axis)};
}

// The angle of S about the common z axis, in (-pi, pi].
template <class T>
T angle_about_z(const Mat3<T>& E) {
  using std::atan2;
  return atan2(E(0, 1) - E(1, 0), E(0, 0) + E(1, 1));
}

// The whole turns nearest to an angle.
template <class T>
T whole_turns(const T& angle) {
  using std::floor;
  constexpr double turn = 2.0 * std::numbers::pi;
  return turn * floor(angle / turn + T(0.5));
}

// q[0:4], the quaternion (w, x, y, z), w >= 0, of the rotation E' from S to P axes.
template <class T>
void quaternion_from_rotation(const Mat3<T>& E, T* q) {
  const T square[4] = {T(1) + E(0, 0) + E(1, 1) + E(2, 2), T(1) + E(0, 0) - E(1, 1) - E(2, 2),
                       T(1) - E(0, 0) + E(1, 1) - E(2, 2), T(1) - E(0, 0) - E(1, 1) + E(2, 2)};
  int k = 0;
  for (int a = 1; a < 4; ++a)
    if (square[a] > square[k]) k = a;
  const T x = E(1, 2) - E(2, 1), y = E(2, 0) - E(0, 2), z = E(0, 1) - E(1, 0);
  const T xy = E(0, 1) + E(1, 0), xz = E(0, 2) + E(2, 0), yz = E(1, 2) + E(2, 1);
  const T rows[4][4] = {{square[0], x, y, z}, {x, square[1], xy, xz}, {y, xy, square[2], yz}, {z, xz, yz, square[3]}};
  const T* p = rows[k];
  using std::sqrt;
  T norm = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]);
  if (p[0] < T(0)) norm = -norm;
  for (int a = 0; a < 4; ++a) q[a] = p[a] / norm;
}

// E = R' of a quaternion (w, x, y, z), which need not be of unit length.
template <class T>
Mat3<T> rotation_to_successor(const T* q) {
  const T w = q[0], x = q[1], y = q[2], z = q[3], s = T(2) / (w * w + x * x + y * y + z * z);
  return {{T(1) - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y),
           s * (x * y - w * z), T(1) - s * (x * x + z * z), s * (y * z + w * x),
           s * (x * z + w * y), s * (y * z - w * x), T(1) - s * (x * x + y * y)}};
}

// The angle of a rotation over its sine, from the vector sin(angle) n and 1 - cos(angle): near zero by the series
// sum c_k versine^k, c_(k+1) / c_k = (k + 1) / (2 k + 3), which has derivatives there.
template <class T>
T angle_over_sine(const Vec3<T>& sine_vector, const T& versine) {
  using std::atan2;
  if (!(versine < T(0.05))) {
    const T sine = norm(sine_vector);
    return atan2(sine, T(1) - versine) / sine;
  }
  T sum(1);
  for (int k = 11; k >= 0; --k) sum = T(1) + T((k + 1.0) / (2.0 * k + 3.0)) * versine * sum;
  return sum;
}

// --- Position errors: X = X_err X_J with X_err ~ 1 - d x. Angles themselves, not their sines as in table 8.1,
// which vanish for a joint put together backwards. ---

// d1, d2: the z axes of P and S are not parallel; the rotation that takes z_P to z_S.
// A small one by asin(s) / s to rounding; false where it is not small.
template <class T>
bool small_tilt_error(const Vec3<T>& z, T* delta) {
  const T square = z.x * z.x + z.y * z.y;
  const T stretch = T(1) + square * (T(1.0 / 6.0) + square * (T(3.0 / 40.0) + square * T(5.0 / 112.0)));
  delta[0] = stretch * z.y, delta[1] = -(stretch * z.x);
  return all_less(square, T(1e-4)) && all_less(T(0), z.z);
}
template <class T>
void tilt_error(const Mat3<T>& E, T* delta) {
  using std::atan2, std::sqrt;
  if (small_tilt_error(Vec3<T>{E(0, 2), E(1, 2), E(2, 2)}, delta)) return;
  const T sine = sqrt(E(0, 2) * E(0, 2) + E(1, 2) * E(1, 2));
  if (sine < T(1e-8)) {  // opposite: half a turn about any axis across
    delta[0] = T(std::numbers::pi), delta[1] = T(0);
    return;
  }
  const T stretch = atan2(sine, E(2, 2)) / sine;
  delta[0] = stretch * E(1, 2);
  delta[1] = -stretch * E(0, 2);
}

// d1, d2, d3: the rotation vector of S in P.
template <class T>
Vec3<T> rotation_vector(const Mat3<T>& E) {
  using std::sqrt;
  const Vec3<T> half = T(0.5) * Vec3<T>{E(1, 2) - E(2, 1), E(2, 0) - E(0, 2), E(0, 1) - E(1, 0)};
  const T versine = T(0.5) * (T(3) - E(0, 0) - E(1, 1) - E(2, 2));
  if (versine > T(1) && norm(half) < T(1e-8)) {  // half a turn: E = 2 n n' - 1
    int k = 0;
    for (int a = 1; a < 3; ++a)
      if (E(a, a) > E(k, k)) k = a;
    const T n_k = sqrt(T(0.5) * (T(1) + E(k, k)));
    T n[3];
    for (int a = 0; a < 3; ++a) n[a] = a == k ? n_k : T(0.5) * E(a, k) / n_k;
    return T(std::numbers::pi) * Vec3<T>::load(n);
  }
  return angle_over_sine(half, versine) * half;
}

// d4, d5: the origin of S is off the z axis of P, at any height. (d4, d5) = Q (r_x, r_y), Q the orthogonal matrix nearest
// to the leading 2 x 2 block of E, a reflection for opposite z axes: as long as the offset, and along the x and y axes of
// S on which the rows act.
template <class T>
void offset_error(const Transform<T>& X, T* delta) {
  using std::abs;
  const Mat3<T>& E = X.E;
  const T side = E(2, 2) >= T(0) ? T(1) : T(-1), scale = T(1) / (T(1) + abs(E(2, 2)));
  const T c = scale * (E(0, 0) + side * E(1, 1)), s = scale * (E(0, 1) - side * E(1, 0));
  delta[0] = c * X.r.x + s * X.r.y;
  delta[1] = side * (c * X.r.y - s * X.r.x);
}

// d4, d5, d6: the origins of S and P do not coincide.
template <class T>
void point_error(const Transform<T>& X, T* delta) {
  (X.E * X.r).store(delta);
}

// S of unit vectors along some of the six axes, T of those along the others.
template <int... motion_axes>
struct UnitAxes {
  static constexpr int n = sizeof...(motion_axes);
  static constexpr std::array<int, n> axes{motion_axes...};

  template <class T> static MotionColumns<T, n> motion_subspace(const Transform<T>&) {
    return {unit_vector<Motion, T>(motion_axes)...};
  }
  template <class T> static ForceColumns<T, 6 - n> constraint_force_subspace(const Transform<T>&) {
    ForceColumns<T, 6 - n> columns;
    for (int axis = 0, k = 0; axis < 6; ++axis)
      if (!((axis == motion_axes) || ...)) columns[k++] = unit_vector<Force, T>(axis);
    return columns;
  }
  // T' v
  template <class T> static void constraint_velocities(const Motion<T>& v, T* velocity) {
    T component[6];
    v.store(component);
    for (int axis = 0, k = 0; axis < 6; ++axis)
      if (!((axis == motion_axes) || ...)) velocity[k++] = component[axis];
  }
};

}  // namespace sparsebody::joints
