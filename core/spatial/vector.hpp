// Vectors and matrices of three, on any scalar: double, DoubleDouble, ... Everything stays in registers.
#pragma once

#include <cmath>
#include <iterator>

namespace sparsebody {

// ---- Sums of what has entries m[], or an angular and a linear part.

template <class M> concept HasEntries = requires(M A) { A.m[0]; };
template <HasEntries M> M& operator+=(M& A, const M& B) {
  for (std::size_t k = 0; k < std::size(A.m); ++k) A.m[k] += B.m[k];
  return A;
}
template <HasEntries M> M operator+(M A, const M& B) { return A += B; }
template <HasEntries M> M operator-(M A, const M& B) {
  for (std::size_t k = 0; k < std::size(A.m); ++k) A.m[k] -= B.m[k];
  return A;
}

template <class V> concept SpatialVector = requires(V v) { v.angular, v.linear; };
template <SpatialVector V> V operator+(const V& a, const V& b) { return {a.angular + b.angular, a.linear + b.linear}; }
template <SpatialVector V> V operator-(const V& a, const V& b) { return {a.angular - b.angular, a.linear - b.linear}; }
template <SpatialVector V> V operator-(const V& a) { return {-a.angular, -a.linear}; }
template <SpatialVector V> V& operator+=(V& a, const V& b) { return a = a + b; }
template <SpatialVector V> V& operator-=(V& a, const V& b) { return a = a - b; }

// ---- Vectors and matrices of three

template <class T>
struct Vec3 {
  T x{}, y{}, z{};

  template <class S> static Vec3 load(const S* p) { return {p[0], p[1], p[2]}; }
  void store(T* p) const { p[0] = x, p[1] = y, p[2] = z; }
  void add_to(T* p) const { p[0] += x, p[1] += y, p[2] += z; }

  Vec3& operator+=(const Vec3& b) { return *this = *this + b; }
  Vec3& operator-=(const Vec3& b) { return *this = *this - b; }
  friend Vec3 operator+(const Vec3& a, const Vec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vec3 operator-(const Vec3& a, const Vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vec3 operator-(const Vec3& a) { return {-a.x, -a.y, -a.z}; }
  friend Vec3 operator*(const T& s, const Vec3& a) { return {s * a.x, s * a.y, s * a.z}; }
  friend Vec3 operator*(const Vec3& a, const T& s) { return s * a; }
  friend T dot(const Vec3& a, const Vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
  friend Vec3 cross(const Vec3& a, const Vec3& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
  }
  friend T norm(const Vec3& a) {
    using std::sqrt;
    return sqrt(dot(a, a));
  }
};

// A matrix of three rows; rotations are from body to world axes unless said otherwise.
template <class T>
struct Mat3 {
  T m[9]{};  // row by row

  template <class S> static Mat3 load(const S* p) {
    Mat3 A;
    for (int i = 0; i < 9; ++i) A.m[i] = p[i];
    return A;
  }
  void store(T* p) const {
    for (int i = 0; i < 9; ++i) p[i] = m[i];
  }
  static Mat3 identity() { return {{T(1), T(0), T(0), T(0), T(1), T(0), T(0), T(0), T(1)}}; }
  // The rotation of a unit quaternion (w, x, y, z).
  static Mat3 from_quaternion(const T& w, const T& x, const T& y, const T& z) {
    const T one(1), two(2);
    return {{one - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y),
             two * (x * y + w * z), one - two * (x * x + z * z), two * (y * z - w * x),
             two * (x * z - w * y), two * (y * z + w * x), one - two * (x * x + y * y)}};
  }
  // v x
  static Mat3 skew(const Vec3<T>& v) { return {{T(0), -v.z, v.y, v.z, T(0), -v.x, -v.y, v.x, T(0)}}; }

  const T& operator()(int row, int column) const { return m[3 * row + column]; }
  T& operator()(int row, int column) { return m[3 * row + column]; }
  Vec3<T> row(int i) const { return {m[3 * i], m[3 * i + 1], m[3 * i + 2]}; }
  Vec3<T> column(int j) const { return {m[j], m[3 + j], m[6 + j]}; }

  friend Vec3<T> operator*(const Mat3& A, const Vec3<T>& v) {
    return {A.m[0] * v.x + A.m[1] * v.y + A.m[2] * v.z, A.m[3] * v.x + A.m[4] * v.y + A.m[5] * v.z,
            A.m[6] * v.x + A.m[7] * v.y + A.m[8] * v.z};
  }
  // A' v
  friend Vec3<T> transpose_times(const Mat3& A, const Vec3<T>& v) {
    return {A.m[0] * v.x + A.m[3] * v.y + A.m[6] * v.z, A.m[1] * v.x + A.m[4] * v.y + A.m[7] * v.z,
            A.m[2] * v.x + A.m[5] * v.y + A.m[8] * v.z};
  }
  friend Mat3 operator*(const Mat3& A, const Mat3& B) {
    Mat3 C;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) C(i, j) = A(i, 0) * B(0, j) + A(i, 1) * B(1, j) + A(i, 2) * B(2, j);
    return C;
  }
  friend Mat3 transpose(const Mat3& A) {
    return {{A.m[0], A.m[3], A.m[6], A.m[1], A.m[4], A.m[7], A.m[2], A.m[5], A.m[8]}};
  }
  friend Mat3 transpose_times(const Mat3& A, const Mat3& B) { return transpose(A) * B; }
  friend Mat3 times_transpose(const Mat3& A, const Mat3& B) { return A * transpose(B); }
};

// A symmetric matrix of three, by its lower triangle row by row: xx, yx, yy, zx, zy, zz.
template <class T>
struct Symmetric3 {
  T m[6]{};

  static Symmetric3 load(const T* p) { return {{p[0], p[1], p[2], p[3], p[4], p[5]}}; }
  void store(T* p) const {
    for (int i = 0; i < 6; ++i) p[i] = m[i];
  }
  friend Vec3<T> operator*(const Symmetric3& A, const Vec3<T>& v) {
    return {A.m[0] * v.x + A.m[1] * v.y + A.m[3] * v.z, A.m[1] * v.x + A.m[2] * v.y + A.m[4] * v.z,
            A.m[3] * v.x + A.m[4] * v.y + A.m[5] * v.z};
  }
  // R A R'
  friend Symmetric3 rotated(const Mat3<T>& R, const Symmetric3& A) {
    const Vec3<T> p = A * R.row(0), q = A * R.row(1), s = A * R.row(2);
    return {{dot(p, R.row(0)), dot(p, R.row(1)), dot(q, R.row(1)), dot(p, R.row(2)), dot(q, R.row(2)),
             dot(s, R.row(2))}};
  }
};

// A lower triangle L of three, row by row; the Cholesky factor of a rotational inertia, say.
template <class T>
struct Lower3 {
  T m[6]{};

  static Lower3 load(const T* p) { return {{p[0], p[1], p[2], p[3], p[4], p[5]}}; }
  friend Vec3<T> operator*(const Lower3& L, const Vec3<T>& v) {
    return {L.m[0] * v.x, L.m[1] * v.x + L.m[2] * v.y, L.m[3] * v.x + L.m[4] * v.y + L.m[5] * v.z};
  }
  // L' v
  friend Vec3<T> transpose_times(const Lower3& L, const Vec3<T>& v) {
    return {L.m[0] * v.x + L.m[1] * v.y + L.m[3] * v.z, L.m[2] * v.y + L.m[4] * v.z, L.m[5] * v.z};
  }
};

}  // namespace sparsebody
