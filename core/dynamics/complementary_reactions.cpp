#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/reduced.hpp"

namespace sparsebody {
namespace {

constexpr int most_rows = 6;  // of a joint

struct LeastSquares {
  int n = 0;
  double column[most_rows][6], b[6];

  // Moments in units of forces: the size of the columns' moments by that of their forces.
  void scale_moments() {
    double moment = 0.0, force = 0.0;
    for (int c = 0; c < n; ++c)
      for (int a = 0; a < 3; ++a) {
        moment = std::max(moment, std::abs(column[c][a]));
        force = std::max(force, std::abs(column[c][a + 3]));
      }
    if (!(moment > 0.0 && force > 0.0)) return;
    const double scale = force / moment;
    for (int a = 0; a < 3; ++a) {
      for (int c = 0; c < n; ++c) column[c][a] *= scale;
      b[a] *= scale;
    }
  }
  // Modified Gram-Schmidt with pivoting, b being orthogonalized along. Bjoerck (1996), sec. 2.4. A column that
  // depends on others gets 0.
  void solve(double* y) {
    int order[most_rows], rank = 0;
    double R[most_rows][most_rows] = {}, z[most_rows], largest = 0.0;
    const auto dot = [](const double* p, const double* q) {
      double total = 0.0;
      for (int a = 0; a < 6; ++a) total += p[a] * q[a];
      return total;
    };
    for (int c = 0; c < n; ++c) order[c] = c, y[c] = 0.0;
    for (; rank < n; ++rank) {
      const int t = rank;
      for (int c = t + 1; c < n; ++c)
        if (dot(column[order[c]], column[order[c]]) > dot(column[order[t]], column[order[t]]))
          std::swap(order[c], order[t]);
      double* const q = column[order[t]];
      const double norm = std::sqrt(dot(q, q));
      largest = std::max(largest, norm);
      if (norm <= 6 * std::numeric_limits<double>::epsilon() * largest) break;
      for (int a = 0; a < 6; ++a) q[a] /= norm;
      R[t][order[t]] = norm;
      for (int c = t + 1; c < n; ++c) {
        double* const other = column[order[c]];
        const double part = R[t][order[c]] = dot(q, other);
        for (int a = 0; a < 6; ++a) other[a] -= part * q[a];
      }
      z[t] = dot(q, b);
      for (int a = 0; a < 6; ++a) b[a] -= z[t] * q[a];
    }
    for (int t = rank - 1; t >= 0; --t) {
      double total = z[t];
      for (int c = t + 1; c < rank; ++c) total -= R[t][order[c]] * y[order[c]];
      y[order[t]] = total / R[t][order[t]];
    }
  }
};

}  // namespace

void fill_complementary_reactions(View<const Index> bodies, View<const Index> joints, View<const Index, 2> joint_rows,
                                  View<const Index> predecessor, View<const Index> successor,
                                  View<const Index> row_joint, View<const double, 3> A, View<double, 2> required,
                                  View<double> multiplier) {
  // Subtracts the wrenches of a row from what its bodies require.
  const auto subtract = [&](Index k, double size) {
    const Index ends[2] = {predecessor[row_joint[k]], successor[row_joint[k]]};
    for (int side = 0; side < 2; ++side)
      if (ends[side] >= 0)
        for (int a = 0; a < 6; ++a) required(ends[side], a) -= size * A(k, side, a);
  };
  for (Index k = 0; k < multiplier.size(); ++k) subtract(k, multiplier[k]);
  for (Index i = bodies.size() - 1; i >= 0; --i) {
    const Index body = bodies[i], side = successor[joints[i]] == body ? 1 : 0;
    LeastSquares equations;
    for (const Index k : joint_rows[i]) {
      if (k < 0) break;
      std::copy(&A(k, side, 0), &A(k, side, 0) + 6, equations.column[equations.n++]);
    }
    std::copy(&required(body, 0), &required(body, 0) + 6, equations.b);
    equations.scale_moments();
    double y[most_rows];
    equations.solve(y);
    for (int c = 0; c < equations.n; ++c) {
      multiplier[joint_rows(i, c)] += y[c];
      subtract(joint_rows(i, c), y[c]);
    }
  }
}

}  // namespace sparsebody
