// Constraint rows of joints between bodies that move parallel to one plane, and the accelerations that they require:
// Featherstone (2008), (8.10), in the three freedoms (w, u_x, u_y). On doubles and on numbers of 31 digits.
#pragma once

namespace sparsebody {

template <class T>
struct Vec2 {
  T x{}, y{};

  friend Vec2 operator+(const Vec2& a, const Vec2& b) { return {a.x + b.x, a.y + b.y}; }
  friend Vec2 operator-(const Vec2& a, const Vec2& b) { return {a.x - b.x, a.y - b.y}; }
  friend Vec2 operator-(const Vec2& a) { return {-a.x, -a.y}; }
  friend Vec2 operator*(const T& s, const Vec2& a) { return {s * a.x, s * a.y}; }
  friend T dot(const Vec2& a, const Vec2& b) { return a.x * b.x + a.y * b.y; }
  friend T cross(const Vec2& a, const Vec2& b) { return a.x * b.y - a.y * b.x; }
  // w x a, w along the normal of the plane
  friend Vec2 cross(const T& w, const Vec2& a) { return {-(w * a.y), w * a.x}; }
};

template <class T>
struct Rotation2 {
  T cosine{}, sine{};

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

// A body in the plane: pose, and velocity in its axes about its center of mass.
template <class T>
struct PlanarBody {
  Vec2<T> x;       // center of mass [m]
  Rotation2<T> R;  // from the axes of the body to those of the world
  T w{};
  Vec2<T> u;
};

// A moment about the normal and a force in the plane.
template <class T>
struct PlanarForce {
  T n{};
  Vec2<T> f;
};

// The units of a body, in which its inertia is one.
struct PlanarUnit {
  double turn_root, mass_root;        // square roots of rotational inertia and mass
  double turn_inverse, mass_inverse;  // their inverses

  template <class T>
  PlanarForce<T> to_unit(const PlanarForce<T>& t) const {
    return {T(turn_inverse) * t.n, T(mass_inverse) * t.f};
  }
};

// A successor as seen from its predecessor, for rows T that are constant in the axes of the successor about a
// reference point (in the world's axes in x_s).
template <class T>
struct PlanarRelativeMotion {
  Rotation2<T> R;  // from the successor's axes to the predecessor's
  Vec2<T> d;       // the reference point from the predecessor's center of mass, in its axes
  Vec2<T> bias;    // linear part of v_J x v_p, in the successor's axes; the angular part is zero

  PlanarRelativeMotion(const PlanarBody<T>& p, const PlanarBody<T>& s, const Vec2<T>& x_s)
      : R(transpose_times(p.R, s.R)), d(transpose_times(p.R, x_s - p.x)) {
    const Vec2<T> u_p = transpose_times(R, p.u + cross(p.w, d));  // v_p at the reference point
    const T w_J = s.w - p.w;
    const Vec2<T> u_J = s.u - u_p;
    bias = cross(w_J, u_p) - cross(p.w, u_J);
  }
  // gamma = -t'(v_J x v_p)
  T required_acceleration(const PlanarForce<T>& t) const { return -dot(t.f, bias); }
  // -X' t = -[n + d x R f; R f], the row on the predecessor
  PlanarForce<T> on_predecessor(const PlanarForce<T>& t) const {
    const Vec2<T> f = R * t.f;
    return {-(t.n + cross(d, f)), -f};
  }
};

// The row of a point a of the successor on a line of the predecessor with normal n, in the axes of the body that each
// is fixed to. With V the velocity of the point and v that of the point of the predecessor where it is,
// n'(V - v) = 0, so that n' times the difference of accelerations is -(w_p x n)'(V - v) - n'((w_s - w_p) x V).
template <class T>
struct PlanarLineRow {
  PlanarForce<T> on_predecessor, on_successor;
  T gamma;

  PlanarLineRow(const PlanarBody<T>& p, const PlanarBody<T>& s, const Vec2<T>& n, const Vec2<T>& a) {
    const Rotation2<T> R = transpose_times(p.R, s.R);
    const Vec2<T> m = transpose_times(R, n);                         // n in the successor's axes
    const Vec2<T> r = transpose_times(p.R, s.x - p.x) + R * a;       // the point, in the predecessor's axes
    on_predecessor = {-cross(r, n), -n};
    on_successor = {cross(a, m), m};
    const Vec2<T> V = R * (s.u + cross(s.w, a));
    const Vec2<T> slip = V - p.u - cross(p.w, r);                    // V - v
    gamma = -(p.w * cross(n, slip) + (s.w - p.w) * cross(V, n));
  }
};

}  // namespace sparsebody
