// What both forms of the matrix of an implicit step are made of.
#pragma once

#include "simulation/implicit_equations.hpp"

namespace sparsebody::implicit {

// The line between the points of a spring; sides are those of the first and of the second body.
struct Equations::PointTerms {
  Index body[2];
  double row[2][6];       // dl = sum row d
  double turn[2][6];      // d(dl/dt) by turning the bodies
  Mat3<double> E[2][2];   // dl vector = E[.][0] w + E[.][1] u, signs included
  Vec3<double> arm[2], n_body[2];
  Vec3<double> n, line_rate;
  double length, rate;
};

// The change of a wrench [n + r x f; f] of world axes at a point r, seen from a turning body.
inline Matrix6 turning(const Vec3<double>& r, const Force<double>& load) {
  const Mat3<double> f = Mat3<double>::skew(load.linear);
  Matrix6 K;
  K.add_block(0, 0, Mat3<double>::skew(load.angular) + Mat3<double>::skew(r) * f);
  K.add_block(3, 0, f);
  return K;
}

}  // namespace sparsebody::implicit
