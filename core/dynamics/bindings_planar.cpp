#include "dynamics/bindings.hpp"
#include "dynamics/planar_evaluation.hpp"

namespace sparsebody {

static Index result(PlanarEvaluation::Status status) { return status; }

namespace {

using Indices = View<const Index>;

using E = PlanarEvaluation;

void construct_rows(PlanarRows* self, Indices predecessor, Indices successor, Indices kind, Loads constant,
                    Indices first_row, Indices user_row, Indices general_row, Matrices rows) {
  new (self) PlanarRows{{}, {}, rows};
  self->joints.reserve(predecessor.size() + 1), self->rows.reserve(user_row.size());
  for (Index j = 0; j < predecessor.size(); ++j)
    self->joints.push_back({std::uint32_t(predecessor[j]), std::uint32_t(successor[j]), std::uint32_t(kind[j]),
                            std::uint32_t(first_row[j]),
                            {constant(j, 0), constant(j, 1), constant(j, 2), constant(j, 3)}});
  self->joints.push_back({0, 0, 0, std::uint32_t(first_row[predecessor.size()]), {}});
  for (Index k = 0; k < user_row.size(); ++k)
    self->rows.push_back({std::uint32_t(user_row[k]), std::uint32_t(general_row[k])});
}

void construct_evaluation(E* self, PlanarRows& kept, BlockQR* qr, Indices bodies, Rows basis, Loads axes,
                          Values gravity, Values inertia, Values mass, Vector right, Vector x, Index n_coordinates) {
  new (self) E{kept, qr, {}, {}, {}, Mat3<double>::load(axes.data()), {gravity[0], gravity[1]}, right, x,
               n_coordinates};
  constexpr double world_root = 0x1p200;  // what rows hold at its end must not count in their norms
  self->bodies.reserve(bodies.size()), self->units.reserve(bodies.size() + 1);
  for (const Index b : bodies) {
    self->bodies.push_back({std::uint32_t(b), Mat3<double>::load(basis[b].data())});
    const double turn = std::sqrt(inertia[b]), root = std::sqrt(mass[b]);
    self->units.push_back({turn, root, 1.0 / turn, 1.0 / root});
  }
  self->units.push_back({world_root, world_root, 1.0 / world_root, 1.0 / world_root});
  self->motion.resize(bodies.size() + 1);
  self->motion.back().R.cosine = 1.0;
}

}  // namespace

void bind_dynamics_planar(nb::module_& m) {
  nb::class_<PlanarRows> rows(m, "PlanarRows", "Rows within the plane, those of a joint together.");
  def<"__init__(predecessor, successor, kind, constant, first_row, user_row, general_row, rows)">(
      rows, &construct_rows, nb::keep_alive<1, 9>());
  rows.attr("CARRIED") = int(PlanarRows::carried);
  rows.attr("GENERAL") = int(PlanarRows::general);
  rows.attr("LINE") = int(PlanarRows::line);

  nb::class_<SuccessorFrames> frames(m, "SuccessorFrames", "Where rows that are constant on successors come from.");
  def_members<"__init__(joints, rows, rotation, point, distinct, subspace)">(frames);

  nb::class_<E> evaluation(m, "PlanarEvaluation", "Forward dynamics of bodies with three freedoms.");
  def_keeping<"__init__(kept, qr?, bodies, basis, axes, gravity, inertia, mass, right, x, n_coordinates)">(
      evaluation, &construct_evaluation);
  def_threads(evaluation, &PlanarEvaluation::qr);
  def_evaluation(evaluation);
  def<"accelerate(position, orientation, velocity, coordinate, time, acceleration)">(
      evaluation,
      [](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time,
         Table acceleration) {
        check_state(self, position, orientation, velocity, coordinate, time);
        const EvaluationInput in{position, orientation, velocity, {}, {}, {}, {}};
        return result(unlocked(self.n_bodies(), [&] { return self.accelerate(in, acceleration, {}); }));
      },
      "The same without loads, general rows and multipliers.");
  def<"solve(rhs, accurate)">(
      evaluation,
      [](E& self, Values rhs, bool accurate) {
        unlocked(self.n_bodies(), [&] { self.solve(rhs, accurate); });
        return self.residual;
      },
      "Fill x from the newest factors; return the relative residual.");
  def<"fill_rows_on_successors(table, frames)">(evaluation, &PlanarEvaluation::fill_rows_on_successors,
                                                "Fill the rows of a table that are constant on their successors.");
  def<"violation(left_out, general_rows, general_gamma, stabilization)">(
      evaluation,
      [](const E& self, PlanarRows& left_out, Rows general_rows, Values general_gamma, Values stabilization) {
        const EvaluationInput in{{}, {}, {}, {}, general_rows, general_gamma, stabilization};
        return unlocked(self.n_bodies(), [&] { return self.violation(left_out, in); });
      },
      "Return the largest violation of rows left out by the newest solution.");
  evaluation.def_ro("residual", &PlanarEvaluation::residual, "Relative residual of the newest solution.")
      .def_ro("row", &PlanarEvaluation::row, "The row that depends on others.");
  evaluation.attr("GOOD") = int(PlanarEvaluation::good);
  evaluation.attr("NOT_FINITE") = int(PlanarEvaluation::not_finite);
  evaluation.attr("OUT_OF_PLANE") = int(PlanarEvaluation::out_of_plane);

  nb::class_<ExtendedPlanarSystem> extended(m, "ExtendedPlanarSystem", "Residuals of 31 digits.");
  def<"__init__(evaluation, frames)">(extended, construct<ExtendedPlanarSystem, const E&, const SuccessorFrames&>);
  def<"solve(evaluation, position, orientation, velocity, stabilization)">(
      extended,
      [](ExtendedPlanarSystem& self, E& e, Table position, Table orientation, Table velocity, Values stabilization) {
        const EvaluationInput in{position, orientation, velocity, {}, {}, {}, stabilization};
        return unlocked(e.n_bodies(), [&] { return self.solve(e, in); });
      },
      "Correct the newest solution with residuals made from the state; return the last correction.");
}

}  // namespace sparsebody
