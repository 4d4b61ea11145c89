// The whole matrix of an implicit step, by rates of the forces and rows along all directions.
#include "simulation/implicit_terms.hpp"

namespace sparsebody::implicit {

void Equations::assemble(Triplets& out) {
  const Index n = n_bodies();
  std::vector<Matrix6> tangent(n);  // T^-1: dy = T^-1 d
  for (Index i = 0; i < n; ++i) tangent[i] = inverse_tangent(Motion<double>::load(&end_.displacement(i, 0)));
  const auto add_block = [&](Index i, const Matrix6& K, const Matrix6& D, const Matrix6& M) {
    for (int a = 0; a < 6; ++a)
      for (int e = 0; e < 6; ++e) out.add(6 * i + a, 6 * i + e, K(a, e), D(a, e), M(a, e));
  };
  for (Index i = 0; i < n; ++i) {
    const auto [M, D, K] = body_matrices(i);
    add_block(i, K, D * tangent[i], M * tangent[i]);
  }
  for (Index k = 0; k < of_.loads.body.size(); ++k) add_block(of_.loads.body[k], load_stiffness(k), {}, {});
  // The change of a number by the motions of two bodies.
  const auto add_rates = [&](Index row, const OfBoth& number, const Index (&body)[2]) {
    for (int side = 0; side < 2; ++side)
      for (int e = 0; e < 6 && body[side] >= 0; ++e) {
        double damping = 0.0;
        for (int a = 0; a < 6; ++a) damping += number.rate[12 + 6 * side + a] * tangent[body[side]](a, e);
        out.add(row, 6 * body[side] + e, number.rate[6 * side + e], damping);
      }
  };
  const auto add_force = [&](int side, const Force<OfBoth>& f, const Index (&body)[2]) {
    OfBoth part[6];
    f.store(part);
    for (int a = 0; a < 6 && body[side] >= 0; ++a) add_rates(6 * body[side] + a, part[a], body);
  };
  for_connections<OfBoth>(true, [&](Index j, const ConnectionTerms<OfBoth>& terms) {
    const auto& [body, first, n_rows, first_entry] = connections_[j];
    add_force(0, -terms.X_p.transpose(terms.wrench), body);
    add_force(1, terms.X_s.transpose(terms.wrench), body);
    for (int k = 0; k < terms.n_rows; ++k) {
      const Index row = 6 * n + first + k;
      const auto t = Force<OfBoth>::load(terms.rows[k]);
      const Force<OfBoth> on[2] = {-terms.X_p.transpose(t), terms.X_s.transpose(t)};
      for (int side = 0; side < 2; ++side) {
        OfBoth entry[6];
        on[side].store(entry);
        for (int e = 0; e < 6 && body[side] >= 0; ++e) {
          out.add(6 * body[side] + e, row, entry[e].value);
          if (!terms.is_element) out.add(row, 6 * body[side] + e, entry[e].value);  // A, though delta is not quite zero
        }
      }
      if (terms.is_element) {
        add_rates(row, terms.delta[k], body);
        out.add(row, row, -1.0);
      }
      for (int l = 0; l < terms.n_rows && !terms.is_element; ++l)
        out.add(row, 6 * n + first + l, -compliance_.entries[first_entry + k * terms.n_rows + l]);
    }
  });
  const model::PointSprings& springs = of_.points;
  for (Index k = 0; k < springs.size(); ++k) {
    const Index body[2] = {springs.first[k], springs.second[k]};
    const model::PointLine<OfBoth> line(springs, k, motion<OfBoth>(body[0], 0), motion<OfBoth>(body[1], 1));
    for (int side = 0; side < 2; ++side)
      add_force(side, line.pull(springs, k, given_.point_effort[k]) * line.row[side], body);
  }
}

}  // namespace sparsebody::implicit
