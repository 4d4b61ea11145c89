// The quasi-definite matrix of an implicit step: the blocks H of bodies, the rows A, and the shears G and Y.
#include "base/small_cholesky.hpp"
#include "simulation/implicit_terms.hpp"

namespace sparsebody::implicit {

using namespace small;

namespace {

using Wrench = Force<double>;

// The columns of T^+' = T (T'T)^-1. Those of joints are orthogonal. False where they are dependent.
bool pseudo_inverse(const ConnectionTerms<double>& terms, Wrench (&dual)[6]) {
  const int n = terms.n_rows;
  double scale[6], gram[36];
  for (int k = 0; k < n; ++k) {
    scale[k] = 1.0 / std::sqrt(dot6(terms.rows[k], terms.rows[k]));
    dual[k] = scale[k] * scale[k] * Wrench::load(terms.rows[k]);
  }
  if (!terms.is_element) return true;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) gram[i * n + j] = scale[i] * scale[j] * dot6(terms.rows[i], terms.rows[j]);
  if (!cholesky(n, gram)) return false;
  for (int k = 0; k < n; ++k) {
    double inverse[6] = {};
    inverse[k] = scale[k];
    forward(n, gram, inverse);
    backward(n, gram, inverse);
    dual[k] = {};
    for (int i = 0; i < n; ++i) dual[k] += inverse[i] * scale[i] * Wrench::load(terms.rows[i]);
  }
  return true;
}

// f(m) of a number of rows as a constant; nothing for none.
template <class F>
void with_constant(Index m, F f) {
  switch (m) {
    case 1: return f(std::integral_constant<int, 1>{});
    case 2: return f(std::integral_constant<int, 2>{});
    case 3: return f(std::integral_constant<int, 3>{});
    case 4: return f(std::integral_constant<int, 4>{});
    case 5: return f(std::integral_constant<int, 5>{});
    case 6: return f(std::integral_constant<int, 6>{});
  }
}

}  // namespace

// D = d(v x* M v)/dv = v x* M + (. x* M v), and K, the change of the weight seen from a turning body.
Equations::BodyMatrices Equations::body_matrices(Index i) const {
  const auto& [R, x, v] = motions_[i];
  const double mass = bodies_.mass[i];
  const Mat3<double> tensor = Mat3<double>::load(&bodies_.inertia(i, 0, 0));
  BodyMatrices of;
  of.M.add_block(0, 0, tensor);
  for (int a = 3; a < 6; ++a) of.M(a, a) = mass;
  of.D.add_block(0, 0, Mat3<double>::skew(v.angular) * tensor - Mat3<double>::skew(tensor * v.angular));
  of.D.add_block(3, 0, Mat3<double>::skew(-mass * v.linear));
  of.D.add_block(3, 3, Mat3<double>::skew(mass * v.angular));
  of.K.add_block(3, 0, Mat3<double>::skew(-mass * transpose_times(R, Vec3<double>::load(bodies_.gravity.data()))));
  return of;
}

// The part of K of a load [n; f] in world axes at a point r of a body.
Matrix6 Equations::load_stiffness(Index load) const {
  const auto [n, f] = tables_.loads.in_body(load, motions_[tables_.loads.body[load]].R);
  Matrix6 K;
  if (!tables_.loads.in_world[load]) return K;
  K.add_block(0, 0, Mat3<double>::skew(tables_.loads.at(load)) * Mat3<double>::skew(-f) - Mat3<double>::skew(n));
  K.add_block(3, 0, Mat3<double>::skew(-f));
  return K;
}

// The part of a joint in the blocks of its bodies, with its multipliers and rows sheared:
//   [p] G = T^+ R X_p, Y = X_p' (1 - P) Q T^+';  [s] G = -T^+ Q X_s, Y = -X_s' (1 - P) R T^+',
// R = dw/dq, Q = R + (. x* w), P = T T^+. Left are the blocks, in S coordinates,
//   [p] Q - (1 - P) Q P - P R,  [s] R - P Q - (1 - P) R P.
void Equations::shear(const ConnectionTerms<double>& terms, const Transform<double> (&X)[2], const Index (&body)[2],
                      Shear& out, Matrix6 (&block)[2]) {
  const Matrix6 B = Matrix6::cross_with(terms.wrench);
  out.is_two_sided = terms.has_rate;
  block[0] = B;
  int axis[6];
  bool is_free[6] = {true, true, true, true, true, true};
  bool is_simple = !terms.has_rate;  // T of unit vectors, and constant
  for (int k = 0; k < terms.n_rows && is_simple; ++k) {
    axis[k] = int(std::find_if(terms.rows[k], terms.rows[k] + 5, [](double t) { return t != 0.0; }) - terms.rows[k]);
    is_free[axis[k]] = false;
    is_simple = terms.rows[k][axis[k]] == 1.0 && std::count(terms.rows[k], terms.rows[k] + 6, 0.0) == 5;
  }
  const auto store = [&](double* of, int side, int k, const Wrench& f, double sign) {
    if (body[side] >= 0) (sign * X[side].transpose(f)).store(of + 6 * k);
  };
  if (is_simple) {
    for (int k = 0; k < terms.n_rows; ++k) {
      const int a = axis[k];
      double column[6];
      for (int i = 0; i < 6; ++i) {
        block[1](a, i) = -B(a, i);
        column[i] = is_free[i] ? B(i, a) : 0.0;
        if (is_free[i]) block[0](i, a) = 0.0;
      }
      store(out.G(1), 1, k, Wrench::load(&B.m[6 * a]), -1.0);
      store(out.Y(0), 0, k, Wrench::load(column), 1.0);
    }
    return;
  }
  const Matrix6 R = terms.has_rate ? terms.wrench_rate : Matrix6(), Q = B + R;
  block[0] = Q, block[1] = R;
  Wrench dual[6];
  if (!pseudo_inverse(terms, dual)) {
    for (const auto& sides : out.of)
      for (double* const entries : sides) std::fill_n(entries, 6 * terms.n_rows, 0.0);
    return;
  }
  Matrix6 P;
  for (int k = 0; k < terms.n_rows; ++k) P.add_outer(Wrench::load(terms.rows[k]), dual[k]);
  const Matrix6 free = Matrix6::identity() - P, free_Q = free * Q;
  block[0] = Q - free_Q * P;
  block[1] = R - P * Q;
  for (int k = 0; k < terms.n_rows; ++k) {
    store(out.Y(0), 0, k, free_Q * dual[k], 1.0);
    store(out.G(1), 1, k, transpose_times(Q, dual[k]), -1.0);
  }
  if (!terms.has_rate) return;
  const Matrix6 free_R = free * R;
  block[0] = block[0] - P * R;
  block[1] = block[1] - free_R * P;
  for (int k = 0; k < terms.n_rows; ++k) {
    store(out.G(0), 0, k, transpose_times(R, dual[k]), 1.0);
    store(out.Y(1), 1, k, free_R * dual[k], -1.0);
  }
}

// The factors of C: of the joints, and (1 + c D)^-1 of the elements.
void Equations::factorize_compliance(double c) {
  std::copy(compliance_.entries.begin(), compliance_.entries.end(), row_root_.begin());
  for (Index j = 0; j < Index(connections_.size()); ++j) {
    const Connection& of = connections_[j];
    const int m = int(of.n_rows);
    double* const C = row_root_.data() + of.first_entry;
    if (const Index k = j - tables_.joints.size(); k >= 0) {
      double inverse[36], column[6];
      for (int i = 0; i < m; ++i)
        for (int l = 0; l < m; ++l) inverse[i * m + l] = (i == l ? 1.0 : 0.0) + c * tables_.elements.damping(k, i, l);
      cholesky(m, inverse);
      for (int i = 0; i < m; ++i) {
        std::fill_n(column, 6, 0.0);
        column[i] = 1.0;
        forward(m, inverse, column);
        backward(m, inverse, column);
        for (int l = 0; l < m; ++l) C[l * m + i] = column[l];
      }
    }
    cholesky(m, C);
  }
}

// The residuals of the rows of a connection; those of elements times C, so that the matrix is symmetric.
void Equations::copy_row_residual(const Connection& of, double* row) const {
  std::copy_n(&residual_.row[of.first_row], of.n_rows, row);
  if (&of - connections_.data() >= tables_.joints.size())
    multiply_by_product(int(of.n_rows), &row_root_[of.first_entry], row);
}

Index Equations::linearize(double b, double c, View<double, 3> rows) {
  const Index n = n_bodies();
  std::vector<Matrix6>& H = remainder_;
  for (Index i = 0; i < n; ++i) {  // b M T^-1 + c D + K, T^-1 to first order
    const auto [M, D, K] = body_matrices(i);
    const auto y = Motion<double>::load(&end_.displacement(i, 0));
    H[i] = b * M + c * D + K;
    H[i].add_block(0, 0, M.block(0, 0) * Mat3<double>::skew(0.5 * b * y.angular));
    H[i].add_block(3, 0, Mat3<double>::skew(0.5 * b * M(3, 3) * y.linear));
    H[i].add_block(3, 3, Mat3<double>::skew(0.5 * b * M(3, 3) * y.angular));
  }
  for (Index k = 0; k < tables_.loads.body.size(); ++k) H[tables_.loads.body[k]] += load_stiffness(k);
  std::fill(rows.begin(), rows.end(), 0.0);
  factorize_compliance(c);
  for_connections(true, [&](Index j, const ConnectionTerms<double>& terms) {
    const auto& [body, first, n_rows, first_entry] = connections_[j];
    const Transform<double> X[2] = {terms.X_p, terms.X_s};
    Matrix6 block[2];
    shear(terms, X, body, shear_[j], block);
    const auto fill_row = [&](Index row, const double* column, double scale) {
      for (int side = 0; side < 2; ++side)
        if (body[side] >= 0)
          ((side == 0 ? -scale : scale) * X[side].transpose(Wrench::load(column))).store(&rows(row, side, 0));
    };
    for (int k = 0; k < terms.n_rows; ++k) fill_row(first + k, terms.rows[k], 1.0);
    for (const Spring& spring : terms.springs)
      fill_row(n_rows_ + spring.index, spring.w, std::sqrt(std::max(0.0, spring.stiffness + c * spring.damping)));
    for (int side = 0; side < 2; ++side)
      if (body[side] >= 0) H[body[side]] += congruence(X[side], block[side]);
    const int m = terms.n_rows;
    if (m == 0) return;
    forward_columns<12>(m, &row_root_[first_entry], &rows(first, 0, 0));
  });
  const auto& [joints, coordinates, springs, points, elements, loads] = tables_;
  const Index first_point = n_rows_ + springs.item.size();
  for (Index k = 0; k < points.size(); ++k) {
    const Index body[2] = {points.first[k], points.second[k]};
    const model::PointLine<double> line(points, k, motions_[body[0]], motions_[body[1]]);
    const double stiffness = std::max(0.0, points.stiffness[k] + c * points.damping[k]);
    for (int side = 0; side < 2; ++side)
      if (body[side] >= 0) (std::sqrt(stiffness) * line.row[side]).store(&rows(first_point + k, side, 0));
  }
  Index n_indefinite = 0;
  for (Index i = 0; i < n; ++i) {
    Matrix6 symmetric;
    symmetric.add_symmetric_part(H[i]);
    Matrix6 used = symmetric;
    double share = 1.0;
    while (!cholesky(6, (root_[i] = used).m) && share > 0.0) {  // NaN never is
      share -= 0.25;
      used = share * symmetric + (1.0 - share) * (b * body_matrices(i).M);  // c D + K scaled down
    }
    invert<6>(root_[i].m);
    H[i] = H[i] - used;
    n_indefinite += share < 1.0;
  }
  const auto in_units = [&](Index row, Index m, Index first, Index second) {
    for (Index k = row; k < row + m; ++k) {
      if (first >= 0) multiply_lower<6>(root_[first].m, &rows(k, 0, 0));
      if (second >= 0) multiply_lower<6>(root_[second].m, &rows(k, 1, 0));
    }
  };
  for (const auto& [body, first, m, entry] : connections_) in_units(first, m, body[0], body[1]);
  for (Index k = 0; k < springs.item.size(); ++k) {
    const Index j = coordinates.joint[springs.item[k]];
    in_units(n_rows_ + k, 1, joints.frames.predecessor[j], joints.frames.successor[j]);
  }
  for (Index k = 0; k < points.size(); ++k) in_units(first_point + k, 1, points.first[k], points.second[k]);
  return n_indefinite;
}

void Equations::right_side(View<double> rhs) const {
  const Index n = n_bodies();
  std::fill(rhs.begin(), rhs.end(), 0.0);
  for (Index k = 0; k < 6 * n; ++k) rhs[k] = -residual_.force.data()[k];
  for (const Connection& of : connections_)
    with_constant(of.n_rows, [&](auto n_rows) {
      constexpr int m = n_rows;
      const Shear& shear = shear_[&of - connections_.data()];
      double row[m];
      copy_row_residual(of, row);
      for (int side = 0; side <= shear.is_two_sided; ++side) {
        if (of.body[side] < 0) continue;
        const double* const Y = shear.Y(side);
        double force[6] = {};
        for (int k = 0; k < m; ++k)
          for (int e = 0; e < 6; ++e) force[e] += Y[6 * k + e] * row[k];
        for (int e = 0; e < 6; ++e) rhs[6 * of.body[side] + e] -= force[e];
      }
      for (int k = 0; k < m; ++k) row[k] = -row[k];
      forward(m, &row_root_[of.first_entry], row);
      std::copy_n(row, m, &rhs[6 * n + of.first_row]);
    });
  for (Index i = 0; i < n; ++i) multiply_lower<6>(root_[i].m, &rhs[6 * i]);
}

void Equations::subtract_remainder(View<const double> x, View<const double> rhs, View<double> refined_rhs) const {
  std::copy(rhs.begin(), rhs.end(), refined_rhs.begin());
  for (Index i = 0; i < n_bodies(); ++i) {
    double twist[6], force[6];
    std::copy_n(&x[6 * i], 6, twist);
    multiply_lower_transposed<6>(root_[i].m, twist);
    remainder_[i].multiply(twist, force);
    multiply_lower<6>(root_[i].m, force);
    for (int a = 0; a < 6; ++a) refined_rhs[6 * i + a] -= force[a];
  }
}

void Equations::to_correction(View<const double> x, View<double, 2> twist, View<double> multiplier) const {
  const Index n = n_bodies();
  for (Index i = 0; i < n; ++i) {
    std::copy_n(&x[6 * i], 6, &twist(i, 0));
    multiply_lower_transposed<6>(root_[i].m, &twist(i, 0));
  }
  for (const Connection& of : connections_)
    with_constant(of.n_rows, [&](auto n_rows) {
      constexpr int m = n_rows;
      const Shear& shear = shear_[&of - connections_.data()];
      double lambda[m];
      std::copy_n(&x[6 * n + of.first_row], m, lambda);
      backward(m, &row_root_[of.first_entry], lambda);
      for (int side = !shear.is_two_sided; side < 2; ++side) {
        if (of.body[side] < 0) continue;
        const double* const G = shear.G(side);
        for (int k = 0; k < m; ++k) lambda[k] += dot6(G + 6 * k, &twist(of.body[side], 0));
      }
      std::copy_n(lambda, m, &multiplier[of.first_row]);
    });
}

}  // namespace sparsebody::implicit
