// Matrices of six, row by row: what motions become forces by, and transforms written out.
#pragma once

#include <algorithm>

#include "spatial/transform.hpp"

namespace sparsebody {

struct Matrix6 {
  double m[36]{};

  double& operator()(int row, int column) { return m[6 * row + column]; }
  double operator()(int row, int column) const { return m[6 * row + column]; }
  void add_block(int row, int column, const Mat3<double>& block) {
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) (*this)(row + i, column + j) += block(i, j);
  }
  // Adds f g'.
  void add_outer(const Force<double>& f, const Force<double>& g) {
    double left[6], right[6];
    f.store(left), g.store(right);
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) (*this)(i, j) += left[i] * right[j];
  }
  friend Matrix6 operator*(double s, Matrix6 A) {
    for (double& a : A.m) a *= s;
    return A;
  }
  friend Matrix6 operator*(const Matrix6& A, const Matrix6& B) {
    Matrix6 C;
    for (int i = 0; i < 6; ++i)
      for (int k = 0; k < 6; ++k)
        for (int j = 0; j < 6; ++j) C(i, j) += A(i, k) * B(k, j);
    return C;
  }
  void multiply(const double* x, double* y) const {
    for (int i = 0; i < 6; ++i) {
      y[i] = 0.0;
      for (int j = 0; j < 6; ++j) y[i] += (*this)(i, j) * x[j];
    }
  }
  friend Force<double> operator*(const Matrix6& A, const Force<double>& f) {
    double x[6], y[6];
    f.store(x), A.multiply(x, y);
    return Force<double>::load(y);
  }
  // A' f
  friend Force<double> transpose_times(const Matrix6& A, const Force<double>& f) {
    double x[6], y[6] = {};
    f.store(x);
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) y[j] += A(i, j) * x[i];
    return Force<double>::load(y);
  }
  // Adds (A + A') / 2.
  void add_symmetric_part(const Matrix6& A) {
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) (*this)(i, j) += 0.5 * (A(i, j) + A(j, i));
  }
  Mat3<double> block(int row, int column) const {
    Mat3<double> A;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) A(i, j) = (*this)(row + i, column + j);
    return A;
  }
  static Matrix6 identity() {
    Matrix6 one;
    for (int i = 0; i < 6; ++i) one(i, i) = 1.0;
    return one;
  }
  // v x of motions, (2.33)
  static Matrix6 cross(const Motion<double>& v) {
    Matrix6 A;
    A.add_block(0, 0, Mat3<double>::skew(v.angular));
    A.add_block(3, 3, Mat3<double>::skew(v.angular));
    A.add_block(3, 0, Mat3<double>::skew(v.linear));
    return A;
  }
  // m -> m x* f: -[n x, f x; f x, 0], (2.34)
  static Matrix6 cross_with(const Force<double>& f) {
    Matrix6 A;
    A.add_block(0, 0, Mat3<double>::skew(-f.angular));
    A.add_block(0, 3, Mat3<double>::skew(-f.linear));
    A.add_block(3, 0, Mat3<double>::skew(-f.linear));
    return A;
  }
};

// X' A X. Blocks of zeros, which most blocks of joints are, cost nothing.
inline Matrix6 congruence(const Transform<double>& X, const Matrix6& A) {
  const auto is_zero = [](const Mat3<double>& block) {
    return std::all_of(block.m, block.m + 9, [](double entry) { return entry == 0.0; });
  };
  const auto times = [&](const Mat3<double>& left, const Mat3<double>& right) {
    return is_zero(left) || is_zero(right) ? Mat3<double>() : left * right;
  };
  const auto turned = [&](int row, int column) {
    const Mat3<double> block = A.block(row, column);
    return is_zero(block) ? block : transpose_times(X.E, block * X.E);
  };
  const Mat3<double> r = Mat3<double>::skew(X.r), c = turned(3, 0), d = turned(3, 3), b = turned(0, 3) + times(r, d);
  Matrix6 B;
  B.add_block(0, 0, turned(0, 0) + times(r, c) - times(b, r));
  B.add_block(0, 3, b);
  B.add_block(3, 0, c - times(d, r));
  B.add_block(3, 3, d);
  return B;
}

}  // namespace sparsebody
