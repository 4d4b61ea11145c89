#include <algorithm>
#include <cmath>
#include <limits>

#include "base/gram_schmidt.hpp"
#include "dynamics/reduced.hpp"

namespace sparsebody {
namespace {

constexpr int most_rows = 6;  // of a joint

// y with a_1 y_1 + ... + a_n y_n = b in the sense of least squares; 0 for columns that depend on others. Columns, and at
// last b, are rows of `equations`, followed by the unit vectors e_1, ..., e_n and 0: what orthogonalization makes of the
// last row is the residual and -y. Bjoerck (1996), sec. 2.4.
void solve_least_squares(View<double, 2> equations, double* y) {
  const Index n = equations.rows() - 1;
  double moment = 0.0, force = 0.0, largest = 0.0;
  for (Index c = 0; c < n; ++c)
    moment = std::max(moment, dense::largest(&equations(c, 0), 3)), force = std::max(force, dense::largest(&equations(c, 3), 3));
  const double scale = moment > 0.0 && force > 0.0 ? force / moment : 1.0;  // moments in units of forces
  for (Index c = 0; c <= n; ++c) {
    for (int a = 0; a < 3; ++a) equations(c, a) *= scale;
    if (c < n) equations(c, 6 + c) = 1.0, largest = std::max(largest, std::sqrt(dense::dot(&equations(c, 0), &equations(c, 0), 6)));
  }
  std::vector<Index> waiting = dense::first_numbers(n + 1);
  dense::orthogonalize(equations, 6, waiting, n, 6 * std::numeric_limits<double>::epsilon() * largest, [](Index, double) {});
  for (Index c = 0; c < n; ++c) y[c] = -equations(n, 6 + c);
}

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
    const View<const Index> rows = joint_rows[i];
    const Index n = std::find(rows.begin(), rows.end(), -1) - rows.begin();
    double numbers[(most_rows + 1) * (6 + most_rows)] = {}, y[most_rows];
    const View<double, 2> equations(numbers, {n + 1, 6 + n});
    for (Index c = 0; c < n; ++c) std::copy_n(&A(rows[c], side, 0), 6, &equations(c, 0));
    std::copy_n(&required(body, 0), 6, &equations(n, 0));
    solve_least_squares(equations, y);
    for (Index c = 0; c < n; ++c) {
      multiplier[rows[c]] += y[c];
      subtract(rows[c], y[c]);
    }
  }
}

}  // namespace sparsebody
